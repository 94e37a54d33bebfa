"""Renews the slots of the calls that run in this instance, every few seconds.

So the slots of a dead instance are soon free, and other instances need not wait for the deadlines of its calls.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from bot.store.counters import Counter
from bot.store.redis.redis_counters import Counters
from bot.store.values import StoreError

log = logging.getLogger(__name__)

SLOT_HOLD_SECONDS = 15.0
"""Seconds that a slot, or the place of a breaker's probe, stays taken without a renewal."""
RENEW_INTERVAL_SECONDS = SLOT_HOLD_SECONDS / 3
"""Seconds between two renewals. Most calls end before the first one."""


class SlotRenewer:
    """The slots that one instance holds in the shared counters."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._slots_by_operation: dict[str, tuple[Counter, ...]] = {}
        self._renewal_task: asyncio.Task[None] | None = None

    def start_renewing(self, operation: str, counters: Sequence[Counter]) -> None:
        """Keep renewing the slots among an operation's counters until `stop_renewing` is called."""
        slots = tuple(one for one in counters if one.kind == "slots")
        if not slots:
            return
        self._slots_by_operation[operation] = slots
        if self._renewal_task is None or self._renewal_task.done():
            self._renewal_task = asyncio.create_task(self._renew_until_empty())

    def stop_renewing(self, operation: str) -> None:
        """Stop renewing the slots of an operation: its call is over."""
        self._slots_by_operation.pop(operation, None)

    async def _renew_until_empty(self) -> None:
        while True:
            await asyncio.sleep(RENEW_INTERVAL_SECONDS)
            if not self._slots_by_operation:
                return
            for operation, slots in tuple(self._slots_by_operation.items()):
                if operation not in self._slots_by_operation:
                    continue
                try:
                    await self._counters.admit(operation, slots, patience=0.0, hold=SLOT_HOLD_SECONDS)
                except StoreError as error:
                    log.warning("the slots of running calls could not be renewed and are tried again: %s", error)
                    break

    async def close(self) -> None:
        """Stop renewing all slots."""
        if self._renewal_task is not None:
            self._renewal_task.cancel()
            await asyncio.gather(self._renewal_task, return_exceptions=True)
