"""Periodic work of one instance alone. APScheduler keeps the time.

It goes by the machine's clock, which people can set: so only work that may come late belongs here, never a lease or a
slot. Work that must happen once in all instances together is a schedule in the store, see `Store.put_schedule`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC


@contextlib.contextmanager
def every(seconds: float, work: Callable[[], Awaitable[None]]) -> Iterator[None]:
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
