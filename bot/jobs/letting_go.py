"""How the work on a claimed job ends where it is not done, and how what has to be done at its end is done whole."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Coroutine
from typing import Any, Literal

from bot.jobs.lease import Fenced
from bot.store.interface import LogBroken, PayloadTooLarge, StoreError

log = logging.getLogger(__name__)

LAST_EDIT = 30.0
"""Seconds that the last edit of a card may hold up a job that is let go of."""
STUBBORN = 5.0
"""Seconds that cancelled work gets to end."""
IN_A_HURRY = 0.3
"""In place of both, for all of it together, when we are told to stop."""
LEAST = 0.05
"""Seconds of it for each step, whatever those before took."""
LAST_WORD = 0.3
"""Seconds that the store gets then to take note. What it cannot be told, it finds when the lease runs out."""


class Stalled(Exception):
    """The job's work is stuck: it is let go of, and its owner counts as lost."""


class Patience:
    """How long the steps of letting go may take: seconds each, or only a moment for all where we are in a hurry."""

    def __init__(self) -> None:
        self._until: float | None = None
        self._limit: asyncio.Timeout | None = None

    def hurry(self) -> None:
        """Be in a hurry from now on, with what is being waited for as well."""
        if self._until is None:
            self._until = asyncio.get_running_loop().time() + IN_A_HURRY
            if self._limit is not None and not self._limit.expired():
                self._limit.reschedule(self._until)

    async def wait(self, work: Awaitable[object], seconds: float) -> None:
        """Await it for so long at most, and cancel it then."""
        now = asyncio.get_running_loop().time()
        until = now + seconds if self._until is None else max(self._until, now + LEAST)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(until) as self._limit:
                await work
        self._limit = None


def say_why(job: str, error: Fenced | Stalled | StoreError) -> Literal["gone", "broke", "owed"]:
    """Log what ended the work in one clear line, without a trace.

    Gives what it means: the job is gone to somebody else, its work broke, or the store is owed word of our letting go.
    """
    if isinstance(error, Fenced):
        text = "job %s: another instance has taken it over; its work here is cancelled"
        log.warning(text, job, extra={"event": "fenced"})
        return "gone"
    if isinstance(error, Stalled):
        log.error("job %s: stalled; its work here is cancelled", job, extra={"event": "stalled"})
        return "broke"
    if isinstance(error, PayloadTooLarge | LogBroken):
        log.error("job %s: %s", job, error)
        return "broke"
    log.warning("job %s: let go of for now: %s", job, error)
    return "owed"


def note_fault(task: asyncio.Task[Any]) -> None:
    """Say what broke in a task that nobody waits for any more."""
    error = None if task.cancelled() else task.exception()
    if error is not None and not isinstance(error, Fenced | StoreError):
        log.error("the end of a job's work broke", exc_info=error)


async def to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Do it whole: told to stop meanwhile, stop after it. A job that is not let go of rests until its lease ends."""
    task = asyncio.create_task(work)
    told = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            told = True
    task.result()
    if told:
        raise asyncio.CancelledError
