"""An owner's hold on its job: renewed while the work gets on, and known to have run out without asking anybody.

A process that was frozen wakes in the middle of what it did. So whoever is
about to start something first asks `Lease.hold`: within the lease that costs
nothing, after it the store is asked before anything else happens.
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
"""Seconds at most before the next try to renew where the store did not answer."""
Ending = Literal["lost", "stalled"]


class Fenced(Exception):
    """The job is no longer ours: nothing more may be committed or posted."""


def steady() -> float:
    """Seconds on a clock that nobody sets, and that goes on while this process, or the machine, is halted."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Lease:
    """The hold on one job.

    Args:
        claim: What was claimed.
        store: Where it is renewed.
        seconds: How long it lasts unless renewed.
        since: When the claim was sent, on `clock`: counted from there it never seems to last longer than it does.
        clock: As `steady`.
    """

    def __init__(
        self, claim: Claim, store: Store, *, seconds: float, since: float, clock: Callable[[], float] = steady
    ) -> None:
        self._claim = claim
        self._store = store
        self._seconds = seconds
        self._clock = clock
        self._until = since + seconds
        self._renewal: asyncio.Task[bool] | None = None
        self._away = False
        self.lost = False
        """Whether another owner has the job."""
        self._let_go = False

    def alive(self) -> bool:
        """Whether the job is certainly ours."""
        return not self.lost and self._clock() < self._until

    async def hold(self) -> None:
        """Return if the job is ours, asking the store where that is not certain. Raises Fenced or StoreError."""
        if not self.alive() and (self.lost or not await self.renew()):
            raise Fenced

    async def shows(self) -> bool:
        """Whether we may still show something for the job. Raises StoreError where that has to be asked, in vain.

        We may while it is ours, and after we let go of it until somebody else takes it: what its thread was to be
        told last may still be on its way then. A third of the lease must be left, for the call itself to take: there
        is as long as renewing goes well, so that this costs nothing.
        """
        if not self._let_go:
            plenty = not self.lost and self._clock() < self._until - self._seconds / 3
            return plenty or (not self.lost and await self.renew())
        head = await self._store.jobs.head(self._claim.key)
        return head is not None and head.epoch == self._claim.epoch and head.owner in {"", self._claim.owner}

    async def renew(self) -> bool:
        """Renew. False if another owner has the job. Raises StoreError. Several callers share one call."""
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
        """Renew again and again. Ends when the job is no longer ours, or when `stuck` names work that is."""
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
        """End a renewal that is under way: the job is about to be let go of."""
        self._let_go = True
        if self._renewal is not None:
            self._renewal.cancel()
            await asyncio.gather(self._renewal, return_exceptions=True)
