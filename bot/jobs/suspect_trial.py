"""Tries a suspect job once by itself: one that cost several owners in a row may have had nothing to do with it.

An instance holds many jobs, and all of them lose their owner when one of them, or a machine, brings it down. So the
first owner that finds a suspect tells its thread and lets go of it for a pause. The owner after that hands over all its
other jobs, claims none, and works on this one alone. Only a job that brings down that owner too is set aside.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from bot.store.redis.redis_store import Store
from bot.store.values import Claim, Commit, Head, JobKey
from handoff.contracts import Place
from handoff.engine.ladder import MAX_LOST_OWNERS
from handoff.events import SCHEMA
from handoff.summaries.summary import NOT_BEGUN, TRIED_ALONE, TrialNotice

log = logging.getLogger(__name__)

TRIAL = "trial"
"""The head field of a trial: empty, `WAITS`, or the epoch and the lost owners of the claim under which it is made."""
WAITS = "waits"
ALONE_SECONDS = 20.0
"""Seconds at most for which an instance holds nothing but the job on trial: other jobs may be waiting for it."""
MOST_LOST_OWNERS = 2 * MAX_LOST_OWNERS
"""Owners in a row after which a job is set aside although no trial was to its end: nobody can be that unlucky."""

TrialVerdict = Literal["untold", "ready", "guilty"]


class Seclusion(Protocol):
    """The way for an instance to hold nothing but one job."""

    async def hand_over_others(self, key: JobKey) -> bool:
        """Hand over all other jobs and claim none, within seconds. False if another job is on trial here."""

    def claim_again(self, key: JobKey) -> None:
        """Let the instance claim jobs again, if it held nothing but this job."""


class NoSeclusion:
    """The `Seclusion` of a job that is run without an instance."""

    async def hand_over_others(self, key: JobKey) -> bool:
        """There is nothing to hand over."""
        del key
        return True

    def claim_again(self, key: JobKey) -> None:
        """Nothing was held back."""


@dataclass(slots=True)
class Trial:
    """The trial of a suspect job, for whoever holds `claim` to it."""

    claim: Claim
    store: Store
    seclusion: Seclusion

    async def verdict(self) -> TrialVerdict:
        """Say where the trial stands. Raises StoreError."""
        head = await self.store.jobs.head(self.claim.key)
        mark = head.fields.get(TRIAL, "") if head is not None else ""
        if self.claim.lost >= MOST_LOST_OWNERS or _has_lost_owner(self.claim, mark):
            return "guilty"
        return "ready" if mark else "untold"

    async def announce(self, tell: Callable[[Claim, TrialNotice], Awaitable[None]]) -> None:
        """Tell the thread that the job is about to be tried by itself. Raises StoreError, and what `tell` does."""
        head = await self.store.jobs.head(self.claim.key)
        if head is not None and {"channel", "thread_ts"} <= head.fields.keys():
            await tell(self.claim, _notice(self.claim, head))
        log.warning(
            "job %s: it lost %d owners in a row; it is tried once by itself", self.claim.key.job, self.claim.lost
        )
        await self._mark(WAITS)

    async def begin(self) -> bool:
        """Have the instance to ourselves. False if it cannot be had now. Raises StoreError."""
        alone = await self.seclusion.hand_over_others(self.claim.key)
        return alone and await self._mark(f"{self.claim.epoch}:{self.claim.lost}")

    async def end_unproven(self, seq: int) -> None:
        """End a trial in which the job neither got on nor broke anything. `seq` is the end of its log as we know it.

        If it has got on meanwhile, that ends the trial. Raises StoreError.
        """
        try:
            await self._mark("", seq)
        finally:
            self.seclusion.claim_again(self.claim.key)

    async def _mark(self, mark: str, seq: int | None = None) -> bool:
        if seq is None:
            head = await self.store.jobs.head(self.claim.key)
            seq = head.seq if head is not None else 0
        operation = f"{self.claim.owner}:{self.claim.epoch}:trial:{mark}"
        done = await self.store.jobs.commit(
            self.claim, operation, seq, [], fields={TRIAL: mark}, schema=SCHEMA, progress=False
        )
        return done in {Commit.OK, Commit.DUP}


def _has_lost_owner(claim: Claim, mark: str) -> bool:
    """Return True if a trial was begun and its owner was lost, and the job has not got on since.

    If it had, every lost owner that is counted now would have claimed it after the trial.
    """
    if not mark or mark == WAITS:
        return False
    epoch, _, lost = mark.partition(":")
    return claim.lost > int(lost) and 0 < claim.epoch - int(epoch) < claim.lost


def _notice(claim: Claim, head: Head) -> TrialNotice:
    fields = head.fields
    return TrialNotice(
        key=f"{TRIED_ALONE}{head.seq}",
        place=Place(team=claim.key.team, channel=fields["channel"], thread_ts=fields["thread_ts"]),
        step=fields.get("step") or NOT_BEGUN,
        lost=claim.lost,
    )
