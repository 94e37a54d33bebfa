"""The trial of a suspect job: an instance runs the job alone once, before the job is quarantined.

A job that lost several owners in a row need not be the cause: an instance holds many jobs, and all of them lose their
owner when one of them, or the machine, brings the instance down. So the first owner that finds a suspect job tells its
thread and releases it for a while. The next owner hands over all its other jobs, claims none, and runs only this one.
The job is quarantined only if it brings down that owner too.
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
from handoff.summaries.summary import NOT_BEGUN_STEP, TRIAL_KEY_PREFIX, TrialNotice

log = logging.getLogger(__name__)

TRIAL_FIELD = "trial"
"""The head field of a trial: empty, `ANNOUNCED_MARK`, or `epoch:lost_owners` of the claim that the trial runs under."""
ANNOUNCED_MARK = "waits"
MAX_TRIAL_SECONDS = 20.0
"""Maximum seconds for which an instance holds only the job on trial, as other jobs may wait for the instance."""
MAX_OWNERS_WITHOUT_TRIAL = 2 * MAX_LOST_OWNERS
"""Number of lost owners in a row after which a job is quarantined even without a completed trial."""

TrialStage = Literal["untold", "ready", "guilty"]


class Exclusivity(Protocol):
    """Makes an instance hold one job alone."""

    async def release_other_jobs(self, key: JobKey) -> bool:
        """Release all other jobs within seconds, and claim none. False if another job is on trial here."""

    def end_trial(self, key: JobKey) -> None:
        """Let the instance claim jobs again, if it holds this job alone."""


class NoExclusivity:
    """The `Exclusivity` of a job that is run without an instance."""

    async def release_other_jobs(self, key: JobKey) -> bool:
        """Return True: there are no other jobs."""
        del key
        return True

    def end_trial(self, key: JobKey) -> None:
        """Do nothing: there is no instance that claims jobs."""


@dataclass(slots=True)
class Trial:
    """The trial of a suspect job, for the owner with `claim`."""

    claim: Claim
    store: Store
    exclusivity: Exclusivity

    async def read_stage(self) -> TrialStage:
        """Return the stage of the trial, by the mark in the job's head. Raises StoreError.

        - `untold`: the thread has to be told before the trial.
        - `ready`: the thread was told, so the trial can begin.
        - `guilty`: the job brought down the owner of its trial, or too many owners in all.
        """
        head = await self.store.jobs.read_head(self.claim.key)
        mark = head.fields.get(TRIAL_FIELD, "") if head is not None else ""
        if self.claim.lost_owners >= MAX_OWNERS_WITHOUT_TRIAL or _has_lost_trial_owner(self.claim, mark):
            return "guilty"
        return "ready" if mark else "untold"

    async def announce(self, notify: Callable[[Claim, TrialNotice], Awaitable[None]]) -> None:
        """Tell the thread that the job is about to be run alone. Raises StoreError, and what `notify` raises."""
        head = await self.store.jobs.read_head(self.claim.key)
        if head is not None and {"channel", "thread_ts"} <= head.fields.keys():
            await notify(self.claim, _make_trial_notice(self.claim, head))
        log.warning(
            "job %s: it lost %d owners in a row; it is tried once by itself", self.claim.key.job, self.claim.lost_owners
        )
        await self._write_mark(ANNOUNCED_MARK)

    async def begin(self) -> bool:
        """Make the instance hold this job alone, and write the mark. False if either fails. Raises StoreError."""
        has_released_others = await self.exclusivity.release_other_jobs(self.claim.key)
        return has_released_others and await self._write_mark(f"{self.claim.epoch}:{self.claim.lost_owners}")

    async def end_without_progress(self, seq: int) -> None:
        """End a trial in which the job neither made progress nor brought down its owner. Raises StoreError.

        `seq` is the last entry of its log that we know. If the log is longer by now, its progress has ended the trial.
        """
        try:
            await self._write_mark("", seq)
        finally:
            self.exclusivity.end_trial(self.claim.key)

    async def _write_mark(self, mark: str, seq: int | None = None) -> bool:
        if seq is None:
            head = await self.store.jobs.read_head(self.claim.key)
            seq = head.seq if head is not None else 0
        operation = f"{self.claim.owner}:{self.claim.epoch}:trial:{mark}"
        outcome = await self.store.jobs.commit(
            self.claim, operation, seq, [], fields={TRIAL_FIELD: mark}, schema=SCHEMA, is_progress=False
        )
        return outcome in {Commit.OK, Commit.DUP}


def _has_lost_trial_owner(claim: Claim, mark: str) -> bool:
    """Return True if a trial was begun and its owner was lost, without progress of the job since.

    Progress resets the count of lost owners. So if there was progress, the count in `claim.lost_owners` has only owners
    that claimed the job after the trial.
    """
    if not mark or mark == ANNOUNCED_MARK:
        return False
    epoch, _, lost_count = mark.partition(":")
    return claim.lost_owners > int(lost_count) and 0 < claim.epoch - int(epoch) < claim.lost_owners


def _make_trial_notice(claim: Claim, head: Head) -> TrialNotice:
    fields = head.fields
    return TrialNotice(
        key=f"{TRIAL_KEY_PREFIX}{head.seq}",
        place=Place(team=claim.key.team, channel=fields["channel"], thread_ts=fields["thread_ts"]),
        step=fields.get("step") or NOT_BEGUN_STEP,
        lost_owners=claim.lost_owners,
    )
