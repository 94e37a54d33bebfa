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

HOLD_SECONDS = 15.0
"""Seconds that a slot, or the place of a breaker's probe, stays taken without a renewal."""
RENEW_SECONDS = HOLD_SECONDS / 3
"""Seconds between two renewals: most calls are over before the first."""


class HeldSlots:
    """The slots that one instance holds in the shared counters."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._held: dict[str, tuple[Counter, ...]] = {}
        self._renewing: asyncio.Task[None] | None = None

    def hold_slots(self, operation: str, counters: Sequence[Counter]) -> None:
        """Renew the slots among an operation's counters, if there are any, until `release_slots` is called."""
        slots = tuple(one for one in counters if one.kind == "slots")
        if not slots:
            return
        self._held[operation] = slots
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._renew_until_empty())

    def release_slots(self, operation: str) -> None:
        """Stop renewing the slots of an operation: its call is over."""
        self._held.pop(operation, None)

    async def _renew_until_empty(self) -> None:
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            if not self._held:
                return
            for operation, slots in tuple(self._held.items()):
                if operation not in self._held:
                    continue
                try:
                    await self._counters.admit(operation, slots, patience=0.0, hold=HOLD_SECONDS)
                except StoreError as error:
                    log.warning("the slots of running calls could not be renewed and are tried again: %s", error)
                    break

    async def close(self) -> None:
        """Stop renewing all slots."""
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)
