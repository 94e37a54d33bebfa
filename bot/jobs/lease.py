"""A claimed job's lease, and the end of the work on it.

The lease is renewed while the work makes progress, and known to have run out without asking the store: a frozen process
wakes in the middle of its work. So before anything is started, `Lease.ensure_held` is awaited: within the lease it
returns at once; after that it asks the store. Then what ends the work, and the time that each step of stopping gets.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Literal

from bot.store.redis.redis_store import Store
from bot.store.values import Claim, LogBroken, PayloadTooLarge, StoreError

log = logging.getLogger(__name__)

AGAIN = 0.5
"""Seconds at most until the next attempt to renew when the store did not answer."""
LeaseEnd = Literal["lost", "stalled"]


class Fenced(Exception):
    """The job is no longer ours: nothing more may be committed or posted."""


def boottime() -> float:
    """Return seconds on a clock that nobody can set, and that runs on while this process, or the machine, is halted."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Lease:
    """The lease of one job.

    Args:
        claim: What was claimed.
        store: Where it is renewed.
        seconds: How long it lasts unless renewed.
        since: When the claim was sent, on `clock`. Counted from there, the lease never seems longer than it is.
        clock: A clock like `boottime`.
    """

    def __init__(
        self, claim: Claim, store: Store, *, seconds: float, since: float, clock: Callable[[], float] = boottime
    ) -> None:
        self._claim = claim
        self._store = store
        self._seconds = seconds
        self._clock = clock
        self._until = since + seconds
        self._renewal: asyncio.Task[bool] | None = None
        self._away = False
        self.lost = False
        """True once another owner has the job."""
        self._closed = False

    def is_alive(self) -> bool:
        """Return True if the job is certainly ours."""
        return not self.lost and self._clock() < self._until

    async def ensure_held(self) -> None:
        """Make sure that the job is ours; ask the store only if that is not certain. Raises Fenced or StoreError."""
        if not self.is_alive() and (self.lost or not await self.renew()):
            raise Fenced

    async def may_show(self) -> bool:
        """Return True if we may still change what people see of the job. Raises StoreError if the store is away.

        We may while the job is ours, and after we released it until another instance claims it: the last edits of its
        thread may still be on their way then. At least a third of the lease must remain, for the call to Slack itself;
        while renewals succeed that much always remains, so the store is not asked.
        """
        if not self._closed:
            plenty = not self.lost and self._clock() < self._until - self._seconds / 3
            return plenty or (not self.lost and await self.renew())
        head = await self._store.jobs.head(self._claim.key)
        return head is not None and head.epoch == self._claim.epoch and head.owner in {"", self._claim.owner}

    async def renew(self) -> bool:
        """Renew; False if another owner has the job. Concurrent callers share one call. Raises StoreError."""
        if self._renewal is None or self._renewal.done():
            self._renewal = asyncio.create_task(self._renew())
            self._renewal.add_done_callback(lambda task: task.cancelled() or task.exception())
        return await asyncio.shield(self._renewal)

    async def _renew(self) -> bool:
        sent = self._clock()
        if await self._store.jobs.beat(self._claim, lease=self._seconds):
            self._until = sent + self._seconds
        else:
            self.lost = True
        return not self.lost

    async def keep(self, stuck: Callable[[], str]) -> LeaseEnd:
        """Renew again and again, until the job is no longer ours or `stuck` names work that is stuck."""
        pause = self._seconds / 3
        while True:
            await asyncio.sleep(pause)
            if what := stuck():
                log.error("job %s: %s is stuck", self._claim.key.job, what)
                return "stalled"
            try:
                if not await self.renew():
                    return "lost"
            except StoreError as error:
                pause = min(AGAIN, self._seconds / 3)
                if not self._away:
                    log.info("job %s: the lease could not be renewed: %s", self._claim.key.job, error)
                self._away = True
            else:
                pause, self._away = self._seconds / 3, False

    async def close(self) -> None:
        """Cancel a renewal under way: the job is about to be released."""
        self._closed = True
        if self._renewal is not None:
            self._renewal.cancel()
            await asyncio.gather(self._renewal, return_exceptions=True)


# ---------------------------------------------------------------- the end of the work

LAST_EDIT_SECONDS = 30.0
"""Seconds that the last edit of a card may delay the release of a job."""
TELL_AGAIN_SECONDS = 30.0
"""Seconds until the end of a job is told again if Slack did not take its last edits in time."""
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
    """Run `work` to its end. If we are cancelled meanwhile, raise CancelledError only after it.

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
