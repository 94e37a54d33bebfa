"""The lease of a claimed job, and the end of the work on the job.

The lease is renewed until the work ends or is stuck. A suspended process may wake up after its lease ran out. So
`Lease.ensure_held` is awaited before anything is started: while the lease lasts, it returns at once; after that, it
asks the store. The second part of the file has the exceptions and time limits with which the work ends.
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

RENEW_RETRY_SECONDS = 0.5
"""Maximum seconds until the next renewal if the store did not answer."""
LeaseEnd = Literal["lost", "stalled"]


class Fenced(Exception):
    """The job is no longer ours: nothing more may be committed or posted."""


def read_boot_clock() -> float:
    """Return seconds on a clock that nobody can set. On Linux it also runs while the machine is suspended."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Lease:
    """The lease of one job.

    Args:
        claim: The claim of the job.
        store: The store that keeps the job.
        seconds: How long the lease lasts unless renewed.
        claimed_at: When the claim was sent, on `clock`. The store counts from a later time, so ours ends first.
        clock: A clock like `read_boot_clock`.
    """

    def __init__(
        self,
        claim: Claim,
        store: Store,
        *,
        seconds: float,
        claimed_at: float,
        clock: Callable[[], float] = read_boot_clock,
    ) -> None:
        self._claim = claim
        self._store = store
        self._seconds = seconds
        self._clock = clock
        self._expires_at = claimed_at + seconds
        self._renewal: asyncio.Task[bool] | None = None
        self._is_store_away = False
        self.is_lost = False
        """True once another owner has the job."""
        self._is_closed = False

    def is_alive(self) -> bool:
        """Return True if the job is certainly ours."""
        return not self.is_lost and self._clock() < self._expires_at

    async def ensure_held(self) -> None:
        """Make sure that the job is ours; ask the store only if that is not certain. Raises Fenced or StoreError."""
        if not self.is_alive() and (self.is_lost or not await self.renew()):
            raise Fenced

    async def may_show(self) -> bool:
        """Return True if we may still change the job's messages in Slack. Raises StoreError if the store is away.

        We may while the job is ours, and after its release until another instance claims it, since the last edits may
        still be under way. A third of the lease must remain, for the call to Slack; otherwise the lease is renewed.
        """
        if not self._is_closed:
            has_enough_time = not self.is_lost and self._clock() < self._expires_at - self._seconds / 3
            return has_enough_time or (not self.is_lost and await self.renew())
        head = await self._store.jobs.read_head(self._claim.key)
        return head is not None and head.epoch == self._claim.epoch and head.owner in {"", self._claim.owner}

    async def renew(self) -> bool:
        """Renew the lease; False if another owner has the job. Concurrent callers share one call. Raises StoreError."""
        if self._renewal is None or self._renewal.done():
            self._renewal = asyncio.create_task(self._renew())
            self._renewal.add_done_callback(lambda task: task.cancelled() or task.exception())
        return await asyncio.shield(self._renewal)

    async def _renew(self) -> bool:
        sent_at = self._clock()
        if await self._store.jobs.beat(self._claim, lease=self._seconds):
            self._expires_at = sent_at + self._seconds
        else:
            self.is_lost = True
        return not self.is_lost

    async def keep_renewing(self, find_stuck_work: Callable[[], str]) -> LeaseEnd:
        """Renew the lease every third of its length, until it is lost or the work is stuck.

        Returns `lost` once the job is not ours, `stalled` if `find_stuck_work` returns the name of stuck work.
        """
        pause = self._seconds / 3
        while True:
            await asyncio.sleep(pause)
            if stuck_work := find_stuck_work():
                log.error("job %s: %s is stuck", self._claim.key.job, stuck_work)
                return "stalled"
            try:
                if not await self.renew():
                    return "lost"
            except StoreError as error:
                pause = min(RENEW_RETRY_SECONDS, self._seconds / 3)
                if not self._is_store_away:
                    log.info("job %s: the lease could not be renewed: %s", self._claim.key.job, error)
                self._is_store_away = True
            else:
                pause, self._is_store_away = self._seconds / 3, False

    async def close(self) -> None:
        """Cancel a renewal under way: the job is about to be released."""
        self._is_closed = True
        if self._renewal is not None:
            self._renewal.cancel()
            await asyncio.gather(self._renewal, return_exceptions=True)


# ---------------------------------------------------------------- the end of the work

LAST_EDIT_SECONDS = 30.0
"""Maximum seconds that a job's release waits for the last edits of its card."""
REPEAT_EDITS_DELAY_SECONDS = 30.0
"""Seconds after which a job that is over is due again, if Slack did not accept its last edits in time."""
CANCEL_SECONDS = 5.0
"""Maximum seconds that a teardown waits for cancelled work to end."""
HURRIED_TEARDOWN_SECONDS = 0.3
"""Seconds for all steps of a teardown together when the instance is stopping."""
MIN_STEP_SECONDS = 0.05
"""Minimum seconds for each step of a hurried teardown, however long the earlier steps took."""
RELEASE_SECONDS = 0.3
"""Seconds that the store gets to release a job when the instance is stopping. If it is too slow, the lease runs out."""


class Stalled(Exception):
    """The job's work is stuck: the job is released, and its owner counts as lost."""


class TeardownLimits:
    """Time limits for the steps of a teardown: each has its own; when hurried, all share `HURRIED_TEARDOWN_SECONDS`."""

    def __init__(self) -> None:
        self._deadline: float | None = None
        self._timeout: asyncio.Timeout | None = None

    def hurry(self) -> None:
        """Shorten all limits from now on, including that of a step under way."""
        if self._deadline is None:
            self._deadline = asyncio.get_running_loop().time() + HURRIED_TEARDOWN_SECONDS
            if self._timeout is not None and not self._timeout.expired():
                self._timeout.reschedule(self._deadline)

    async def wait(self, work: Awaitable[object], seconds: float) -> None:
        """Await `work` for at most `seconds`, or less when hurried, then cancel it."""
        now = asyncio.get_running_loop().time()
        until = now + seconds if self._deadline is None else max(self._deadline, now + MIN_STEP_SECONDS)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(until) as self._timeout:
                await work
        self._timeout = None


def log_and_classify_error(job: str, error: Fenced | Stalled | StoreError) -> Literal["fenced", "broken", "unreleased"]:
    """Log the error that ended the work, in one line without a traceback.

    Returns `fenced` if another instance has the job, `broken` if its work failed, and `unreleased` if the store is
    away, so that the job has to be released later.
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


def log_task_error(task: asyncio.Task[Any]) -> None:
    """Log the exception of a task that nobody awaits any more, unless it is Fenced or StoreError."""
    error = None if task.cancelled() else task.exception()
    if error is not None and not isinstance(error, Fenced | StoreError):
        log.error("the end of a job's work broke", exc_info=error)


async def finish_despite_cancel(work: Coroutine[Any, Any, None]) -> None:
    """Run `work` to its end. If the caller is cancelled meanwhile, CancelledError is raised only after that.

    If a teardown were cut short, its job would wait until the lease runs out.
    """
    task = asyncio.create_task(work)
    was_cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            was_cancelled = True
    task.result()
    if was_cancelled:
        raise asyncio.CancelledError
