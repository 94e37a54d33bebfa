"""Periodic work of one instance alone: how it is run, and the check of a running store's settings.

APScheduler keeps the time. It goes by the machine's clock, which people can set: so only work that may come late
belongs here, never a lease or a slot. Work that must happen once in all instances together is a schedule in the store,
see `Schedules` in `bot.store.values`.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import UTC

from bot.store.redis.redis_store import Store


@contextlib.contextmanager
def repeat_every(seconds: float, work: Callable[[], Awaitable[None]]) -> Iterator[None]:
    """Run `work` every so many seconds inside the `with` block, first after `seconds`, and never twice at once.

    Runs that were missed while the machine slept are made up for by one. Exceptions are logged.
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

CHECK_SECONDS = 600.0
"""Seconds between two checks."""


class StoreCheck:
    """The faults of a store's settings, each logged once when it appears and once when it is mended."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: Sequence[str] = ()

    async def run(self) -> None:
        """Ask the store, and log what has changed."""
        found = await self._store.check()
        for fault in found:
            if fault not in self._known:
                log.warning("the store: %s", fault)
        for fault in self._known:
            if fault not in found:
                log.info("the store, mended: %s", fault)
        self._known = found
