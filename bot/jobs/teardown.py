"""The end of the work on a claimed job: what ended it, and how long each step of stopping may take."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Coroutine
from typing import Any, Literal

from bot.jobs.lease import Fenced
from bot.store.interface import LogBroken, PayloadTooLarge, StoreError

log = logging.getLogger(__name__)

LAST_EDIT_SECONDS = 30.0
"""Seconds that the last edit of a card may delay the release of a job."""
CANCEL_SECONDS = 5.0
"""Seconds that cancelled work gets to end."""
HURRIED_SECONDS = 0.3
"""Seconds for all steps together when the instance is stopping, in place of the two above."""
LEAST_SECONDS = 0.05
"""Seconds for each step when hurried, however long the earlier ones took."""
RELEASE_SECONDS = 0.3
"""Seconds that the store gets for the release when the instance is stopping. After that the lease runs out."""


class Stalled(Exception):
    """The job's work is stuck: the job is released, and its owner counts as lost."""


class TeardownLimits:
    """Time limits for the steps of a teardown: seconds for each one, or a moment for all of them when hurried."""

    def __init__(self) -> None:
        self._until: float | None = None
        self._timeout: asyncio.Timeout | None = None

    def hurry(self) -> None:
        """Shorten all limits from now on, that of a step under way too."""
        if self._until is None:
            self._until = asyncio.get_running_loop().time() + HURRIED_SECONDS
            if self._timeout is not None and not self._timeout.expired():
                self._timeout.reschedule(self._until)

    async def wait(self, work: Awaitable[object], seconds: float) -> None:
        """Await `work` for at most so long, then cancel it."""
        now = asyncio.get_running_loop().time()
        until = now + seconds if self._until is None else max(self._until, now + LEAST_SECONDS)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(until) as self._timeout:
                await work
        self._timeout = None


def log_ending(job: str, error: Fenced | Stalled | StoreError) -> Literal["fenced", "broken", "unreleased"]:
    """Log what ended the work, in one line without a traceback.

    Returns `fenced` if another instance has the job, `broken` if its work failed, and `unreleased` if the store is
    away and has to be told of the release later.
    """
    if isinstance(error, Fenced):
        text = "job %s: another instance has taken it over; its work here is cancelled"
        log.warning(text, job, extra={"event": "fenced"})
        return "fenced"
    if isinstance(error, Stalled):
        log.error("job %s: stalled; its work here is cancelled", job, extra={"event": "stalled"})
        return "broken"
    if isinstance(error, PayloadTooLarge | LogBroken):
        log.error("job %s: %s", job, error)
        return "broken"
    log.warning("job %s: let go of for now: %s", job, error)
    return "unreleased"


def log_failure(task: asyncio.Task[Any]) -> None:
    """Log the exception of a task whose result nobody awaits any more."""
    error = None if task.cancelled() else task.exception()
    if error is not None and not isinstance(error, Fenced | StoreError):
        log.error("the end of a job's work broke", exc_info=error)


async def finish(work: Coroutine[Any, Any, None]) -> None:
    """Run `work` to its end, and raise CancelledError only then if we are cancelled meanwhile.

    A job whose teardown was cut short would wait until its lease runs out.
    """
    task = asyncio.create_task(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled = True
    task.result()
    if cancelled:
        raise asyncio.CancelledError
