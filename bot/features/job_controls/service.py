"""The job controls service: reads a job for a person, stops it, and releases it from quarantine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bot.jobs.job_records import DenialReason, JobRecords, make_job_key, read_job
from bot.store.values import JobKey
from handoff import events as ev
from handoff.access import rights
from handoff.contracts import Place
from handoff.state.job_state import Job

CancelVerdict = Literal["cancelling", "noted", "nothing", "not_yours", "unknown", "forgotten"]
"""`noted`: the job is in quarantine with requests of others, so the stop takes effect once it is released.
`nothing`: the job is over. `unknown`: there is no such job, or none in that thread. `forgotten`: it was erased at
somebody's request."""
ReleaseVerdict = Literal["released", "not_quarantined", "not_admin", "unknown", "forgotten"]
NOT_OWNER_REASON = "neither asked for something in it nor an admin"
NOT_IN_THREAD_REASON = "said nothing in the thread"
NOT_ADMIN_REASON = "not an admin"


@dataclass(frozen=True, slots=True)
class StopOutcome:
    """The outcome of a stop. `others` are the Slack ids of people whose requests in the job go on."""

    verdict: CancelVerdict
    others: tuple[str, ...] = ()


class JobControlService:
    """Lets people read, stop and release jobs, and checks their rights. Each coroutine raises StoreError."""

    def __init__(self, records: JobRecords) -> None:
        self._records = records

    async def read_visible_job(self, team: str, job: str, user: str) -> Job | DenialReason:
        """Return a job if the person may see it, as they spoke in its thread; otherwise the reason for the denial."""
        key = JobKey(team, job.upper())
        head = await self._records.store.jobs.read_head(key)
        if head is None:
            return await self._records.explain_missing(key)
        job_state, actor = await read_job(self._records.store.jobs, key), await self._records.find_actor(user)
        may_see = (
            await self._records.is_requester_or_admin(key, head, actor)
            if isinstance(job_state, str)
            else rights.may_see_thread(job_state, actor)
        )
        if not may_see:
            await self._records.record_refusal("traced", key, head, user, NOT_IN_THREAD_REASON)
            return "not_yours"
        return job_state

    async def cancel(self, team: str, job: str | None, place: Place | None, *, user: str) -> StopOutcome:
        """Stop the requests in a job that the person may stop: their own, or for an admin all.

        The job is named by its id or by its place. The job itself decides what ends when it reads the event; the
        result says what to expect.
        """
        key = make_job_key(place) if place is not None else JobKey(team, (job or "").upper())
        head = await self._records.store.jobs.read_head(key)
        if head is None:
            return StopOutcome(await self._records.explain_missing(key))
        actor = await self._records.find_actor(user)
        job_state = await read_job(self._records.store.jobs, key)
        if isinstance(job_state, str):  # unreadable: only its head says who asked last
            may_stop = actor.is_admin or head.fields.get("user") == user
            stoppable_count, others = (
                int(may_stop),
                tuple(one for one in (head.fields.get("user", ""),) if not may_stop),
            )
        else:
            stoppable_count, others = (
                len(rights.list_stoppable_requests(job_state, actor)),
                rights.list_other_requesters(job_state, actor),
            )
            if not stoppable_count and not others:
                return StopOutcome(
                    "nothing" if place is not None or rights.may_see_thread(job_state, actor) else "not_yours"
                )
        if not stoppable_count:
            await self._records.record_refusal("stopped", key, head, user, NOT_OWNER_REASON)
            return StopOutcome("not_yours", others if place is not None else ())
        event = ev.CancelRequested(at=self._records.clock(), user=user, groups=actor.groups, admin=actor.is_admin)
        # A stop releases a job from quarantine to end with its report, unless others' requests would go on.
        signals_only = not head.is_quarantined or others
        if signals_only or not await self._records.store.jobs.release_quarantined(key, ev.dump_event(event)):
            await self._records.store.jobs.signal(key, ev.dump_event(event), dedupe=())
        self._records.nudge(key)
        return StopOutcome("noted" if head.is_quarantined and others else "cancelling", others)

    async def release(self, team: str, job: str, *, user: str) -> ReleaseVerdict:
        """Release a job from quarantine. Only admins may do this."""
        key = JobKey(team, job.upper())
        head = await self._records.store.jobs.read_head(key)
        if user not in self._records.admins:
            await self._records.record_refusal("released", key, head, user, NOT_ADMIN_REASON)
            return "not_admin"
        if head is None:
            return await self._records.explain_missing(key)
        event = ev.Released(at=self._records.clock(), user=user)
        if not head.is_quarantined or not await self._records.store.jobs.release_quarantined(key, ev.dump_event(event)):
            return "not_quarantined"
        self._records.nudge(key)
        return "released"

    async def find_halt_reason(self) -> str:
        """Return the reason in words why no new work is started, namely a full store; "" if work is started."""
        return await self._records.store.explain_fullness()
