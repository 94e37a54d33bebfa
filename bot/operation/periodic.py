"""Periodic work of a single instance: runs it, and checks the store's settings.

APScheduler uses the machine's clock, which people can set. So only work that may run late belongs here, never the
renewal of a lease or a slot. Work that must run once across all instances is a schedule in the store (`Schedules` in
`bot.store.values`).
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import UTC

from bot.store.redis.redis_store import Store


@contextlib.contextmanager
def repeat_every(seconds: float, work: Callable[[], Awaitable[None]]) -> Iterator[None]:
    """Run `work` every `seconds` inside the `with` block, first after `seconds`, and never two runs at once.

    If several runs are overdue, as after the machine slept, only one is made. Exceptions are logged.
    """
    from apscheduler.schedulers.asyncio import AsyncIOScheduler  # noqa: PLC0415 - only a running bot pays for the import

    scheduler = AsyncIOScheduler(timezone=UTC)
    scheduler.add_job(work, "interval", seconds=seconds, coalesce=True, max_instances=1, misfire_grace_time=None)
    scheduler.start()
    try:
        yield
    finally:
        scheduler.shutdown(wait=False)


log = logging.getLogger(__name__)

STORE_CHECK_SECONDS = 600.0
"""Seconds between two checks of the store's settings."""


class StoreSettingsCheck:
    """Checks a store's settings. Logs each fault when it first appears, and again when it is gone."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known_faults: Sequence[str] = ()

    async def run(self) -> None:
        """Check the store's settings, and log the faults that appeared or are gone since the last check."""
        faults = await self._store.list_faults()
        for fault in faults:
            if fault not in self._known_faults:
                log.warning("the store: %s", fault)
        for fault in self._known_faults:
            if fault not in faults:
                log.info("the store, mended: %s", fault)
        self._known_faults = faults
