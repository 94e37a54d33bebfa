"""A claimed job's lease: renewed while the work makes progress, and known to have run out without asking the store.

A frozen process wakes in the middle of its work. So before anything is
started, `Lease.ensure_held` is awaited: within the lease it returns at once;
after that it asks the store.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Literal

from bot.store.interface import Claim, Store, StoreError

log = logging.getLogger(__name__)

AGAIN = 0.5
"""Seconds at most until the next attempt to renew when the store did not answer."""
Ending = Literal["lost", "stalled"]


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

    def alive(self) -> bool:
        """Return True if the job is certainly ours."""
        return not self.lost and self._clock() < self._until

    async def ensure_held(self) -> None:
        """Return if the job is ours; ask the store only if that is not certain. Raises Fenced or StoreError."""
        if not self.alive() and (self.lost or not await self.renew()):
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

    async def keep(self, stuck: Callable[[], str]) -> Ending:
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
