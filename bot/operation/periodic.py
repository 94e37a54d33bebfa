"""What an instance does every so often for itself alone. APScheduler keeps the time.

It goes by the machine's clock, which people set: so here goes what may come late, and never what holds a lease or a
slot. What is to happen once in all instances together is a schedule in the store, see `Store.schedules`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC


@contextlib.contextmanager
def every(seconds: float, work: Callable[[], Awaitable[None]]) -> Iterator[None]:
    """Do it again and again while this lasts, first after `seconds`, and never twice at once.

    Where the machine slept, what was missed is made up for once. What it raises is logged, and it goes on.
    """
    from apscheduler.schedulers.asyncio import AsyncIOScheduler  # noqa: PLC0415 - only a bot that runs pays for it

    scheduler = AsyncIOScheduler(timezone=UTC)
    scheduler.add_job(work, "interval", seconds=seconds, coalesce=True, max_instances=1, misfire_grace_time=None)
    scheduler.start()
    try:
        yield
    finally:
        scheduler.shutdown(wait=False)
