"""The retries service: records the retry of a request, or returns why there is none.

The core decides what a retry keeps, and whether the person may have it, when it folds the request. Both are also
checked here first, so that a refusal can be sent privately. Two simultaneous retries of a request share a dedupe id,
which contains the number of the job's requests: so only one is recorded, on whatever instances they arrive.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from bot.jobs.job_records import read_job
from bot.slack.show.people import FindGroups, find_no_groups
from bot.store.redis.redis_store import Store
from bot.store.values import JobKey
from handoff import events as ev
from handoff.access import rights
from handoff.access.audit_entry import AuditEntry, AuditRecorder, discard_entry
from handoff.contracts import Attachment, Material, Place, Request
from handoff.conversation.message_kinds import chooses_option
from handoff.conversation.retry_words import RetryMode, RetryRef, RetryWish
from handoff.engine import retry
from handoff.materials.material_lists import find_needed_material
from handoff.state.job_state import Job, RequestState
from handoff.summaries.step_lookup import find_step, render_step_line
from handoff.summaries.summary import build_initial_summary, render_title

NOT_OWNER_REASON = "neither who asked for it nor an admin"
MAX_FILES_CHECKED = 40
"""Maximum number of files that are looked up in the store before a retry."""


RetryRefusalReason = Literal[
    "unknown",
    "forgotten",
    "unreadable",
    "newer",
    "quarantined",
    "nothing",
    "going_on",
    "under_way",
    "not_yours",
    "done",
    "no_step",
    "asked",
]
"""Why there is no retry.

- `unknown`: there is no such job, or it has expired. `forgotten`: it was erased on somebody's request.
- `unreadable`: its log is damaged. `newer`: a newer release wrote some of its events.
- `quarantined`: the job is set aside until an admin releases it. `nothing`: the job has no request.
- `going_on`: the request has not ended. `under_way`: it is being retried already.
- `not_yours`: somebody else made the request. `done`: no part of it failed.
- `no_step`: the words match no step, or more than one.
- `asked`: the words answer a question that is open in the thread.
"""


@dataclass(frozen=True, slots=True)
class RecordedRetry:
    """A recorded retry. `steps` are titles of the subtasks that it repeats; `part_count` counts all subtasks."""

    place: Place
    mode: RetryMode
    steps: tuple[str, ...] = ()
    part_count: int = 0


@dataclass(frozen=True, slots=True)
class RetryRefusal:
    """Why no retry was recorded.

    `users` are the people who made the request or are retrying it; `steps` are the steps that match the words best.
    """

    reason: RetryRefusalReason
    users: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RepeatableRequest:
    """A request to repeat at another time: its thread, its text, and the files that came with it."""

    place: Place
    text: str
    files: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class RetryRequest:
    """A person's wish for a retry. `message_id` is the id of their message, or "" for a click or a command."""

    user: str
    words: str
    message_id: str = ""
    files: tuple[Attachment, ...] = ()


class RetryService:
    """Records retries. Its coroutines raise StoreError if the store cannot be used.

    Args:
        store: The store of the jobs.
        nudge: Wakes the runner of a job after a retry was recorded.
        admins: Slack ids of the admins.
        find_groups: Returns the ids of a person's user groups.
        record_audit: Stores an audit entry for each person who was refused.
    """

    def __init__(
        self,
        store: Store,
        nudge: Callable[[JobKey], None],
        *,
        admins: frozenset[str],
        find_groups: FindGroups = find_no_groups,
        record_audit: AuditRecorder = discard_entry,
    ) -> None:
        self._store, self._nudge = store, nudge
        self._admins, self._find_groups, self._record_audit = admins, find_groups, record_audit

    async def record_retry(
        self, team: str, job: str, wish: RetryWish, retry_request: RetryRequest, *, dedupe: tuple[str, ...]
    ) -> RecordedRetry | RetryRefusal:
        """Record a retry of a job's request, if there is something to retry and the person may have it."""
        key = JobKey(team, job)
        job_state = await self._read_job(key)
        if isinstance(job_state, RetryRefusal):
            return job_state
        actor = await self._make_actor(retry_request.user)
        resolution = (
            RetryRefusal("asked")
            if _answers_question(job_state, actor, retry_request, wish)
            else _resolve_retry(job_state, wish, actor)
        )
        if isinstance(resolution, RetryRefusal):
            if resolution.reason == "not_yours":
                await self._audit_refusal(key, job_state, retry_request.user)
            return resolution
        before, again = resolution
        if (other := retry.find_open_retry(job_state, before)) is not None:
            is_redelivery = retry_request.message_id == other.id  # Slack delivered the message twice
            return (
                _make_recorded_retry(job_state, before, again)
                if is_redelivery
                else RetryRefusal("under_way", users=(other.spec.user,))
            )
        again = again.model_copy(update={"gone": await self._find_lost_files(key, job_state, before, again)})
        if await self._record_event(key, job_state, again, retry_request, dedupe):
            return _make_recorded_retry(job_state, before, again)
        return await self._read_conflict(key, job_state, before, again, retry_request)

    async def _read_job(self, key: JobKey) -> Job | RetryRefusal:
        head = await self._store.jobs.read_head(key)
        if head is None:
            forget_time = await self._store.jobs.read_forget_time(key)
            return RetryRefusal("unknown" if forget_time is None else "forgotten")
        if head.is_quarantined:
            return RetryRefusal("quarantined")
        job = await read_job(self._store.jobs, key)
        return RetryRefusal(job) if isinstance(job, str) else job

    async def _record_event(
        self, key: JobKey, job: Job, retry_ref: RetryRef, retry_request: RetryRequest, dedupe: tuple[str, ...]
    ) -> bool:
        """Record the retry. Returns False if this retry, or another one of the same request, was recorded before."""
        number = len(job.requests)
        request = Request(
            id=retry_request.message_id or f"{retry_ref.of.partition('-')[0]}-again{number}",
            user=retry_request.user,
            text=retry_request.words,
            at=self._store.clock(),
            attachments=retry_request.files,
        )
        event = ev.RequestAdded(at=request.at, place=job.place, request=request, again=retry_ref)
        retry_dedupe_id = f"again:{key.team}/{key.job}/{retry_ref.of}/{number}"
        is_new = await self._store.jobs.ingest(
            key,
            ev.dump_event(event),
            dedupe=(*dedupe, retry_dedupe_id),
            user=retry_request.user,
            fields=build_initial_summary(job.place, request),
        )
        self._nudge(key)
        return is_new

    async def _read_conflict(
        self, key: JobKey, job: Job, original: RequestState, retry_ref: RetryRef, retry_request: RetryRequest
    ) -> RecordedRetry | RetryRefusal:
        """Return the retry if Slack delivered its message twice; otherwise a refusal that names the other person."""
        now = await self._read_job(key)
        if isinstance(now, RetryRefusal):
            return now
        tries = [one for one in now.requests if original.id in {each.id for each in one.earlier_tries}]
        if retry_request.message_id and any(one.id == retry_request.message_id for one in tries):
            return _make_recorded_retry(job, original, retry_ref)
        return RetryRefusal("under_way", users=(tries[-1].spec.user,) if tries else ())

    async def _find_lost_files(
        self, key: JobKey, job: Job, original: RequestState, retry_ref: RetryRef
    ) -> tuple[str, ...]:
        """Return the names of the files that a retry needs and that are no longer in the store."""
        subtasks = [original.subtasks[name] for name in sorted(retry.list_rerun_subtasks(original, retry_ref))]
        needed_materials = [
            one for subtask in subtasks for one in find_needed_material(job, original, subtask).all_material
        ]
        needed_materials += original.materials if original.run.plan is None else ()
        files = {one.name: one for one in needed_materials if one.kind == "file" and not one.fault}
        lost_names = [
            name for name, one in list(files.items())[:MAX_FILES_CHECKED] if not await self._is_stored(key, one)
        ]
        return tuple(lost_names)

    async def _is_stored(self, key: JobKey, material: Material) -> bool:
        digest = material.file.id if material.file is not None else material.text
        try:
            await self._store.blobs.get(key, digest)
        except KeyError:
            return False
        return True

    async def read_repeatable(self, team: str, job: str, user: str) -> RepeatableRequest | RetryRefusal:
        """Return the text and files of the last request in a job that this person may repeat, or why there is none."""
        key = JobKey(team, job)
        job_state = await self._read_job(key)
        if isinstance(job_state, RetryRefusal):
            return job_state
        before = _find_request(job_state, RetryWish("whole"), await self._make_actor(user))
        if isinstance(before, RetryRefusal):
            if before.reason == "not_yours":
                await self._audit_refusal(key, job_state, user)
            return before
        asks = (before, *before.earlier_tries, *job_state.list_earlier_requests(before)[::-1])
        files = next((one.spec.attachments for one in asks if one.spec.attachments), ())
        return RepeatableRequest(job_state.place, before.spec.text, files)

    async def _make_actor(self, user: str) -> rights.Actor:
        return rights.Actor(user, await self._find_groups(user), user in self._admins)

    async def _audit_refusal(self, key: JobKey, job: Job, user: str) -> None:
        """Write to the audit that a person was refused a retry for lack of rights."""
        context = {"at": self._store.clock(), "team": key.team, "channel": job.place.channel, "job": key.job}
        details = {"target": "again", "why": NOT_OWNER_REASON}
        await self._record_audit(AuditEntry(deed="asked", user=user, outcome="refused", **context, **details))


def _resolve_retry(job: Job, wish: RetryWish, actor: rights.Actor) -> tuple[RequestState, RetryRef] | RetryRefusal:
    """Return the request to retry with a reference to it and its step, or why there is no retry."""
    before = _find_request(job, wish, actor)
    if isinstance(before, RetryRefusal):
        return before
    again = RetryRef(of=before.id, mode=wish.mode, groups=actor.groups, admin=actor.is_admin)
    before, again = retry.skip_unplanned_tries(before, again)
    step = find_step(before, wish.step_words) if wish.step_words else again.step
    if isinstance(step, tuple):
        return RetryRefusal("no_step", steps=tuple(render_step_line(before, one) for one in step))
    again = again.model_copy(update={"step": step})
    return RetryRefusal("done") if retry.has_nothing_to_retry(before, again) else (before, again)


def _find_request(job: Job, wish: RetryWish, actor: rights.Actor) -> RequestState | RetryRefusal:
    """Return the request that the wish is about; a refusal if none has ended, or the person may not retry it."""
    before = retry.find_request_to_retry(job, actor, wish.request)
    if before is not None:
        return before
    requests = [
        one for one in job.requests if not one.refusal and not one.is_withdrawn and wish.request in {"", one.id}
    ]
    ended_requests = [one for one in requests if one.run.is_concluded]
    if ended_requests:
        return RetryRefusal("not_yours", users=(ended_requests[-1].spec.user,))
    return RetryRefusal("going_on" if requests else "nothing")


def _answers_question(job: Job, actor: rights.Actor, retry_request: RetryRequest, wish: RetryWish) -> bool:
    """Return True if the words answer a question that is open in the thread, and that this person may answer.

    “Go on” answers any question: it cannot mean a retry while one is open.
    """
    questions = (
        job.current_request.open_questions.values()
        if job.current_request is not None and retry_request.message_id
        else ()
    )
    may = (one for one in questions if one.may_answer(actor.user, actor.groups))
    return any(wish.mode == "continue" or chooses_option(retry_request.words, one.options) for one in may)


def _make_recorded_retry(job: Job, original: RequestState, retry_ref: RetryRef) -> RecordedRetry:
    names = retry.list_rerun_subtasks(original, retry_ref)
    subtasks = [
        subtask for subtask in original.list_all_subtasks("") if subtask.spec.id in names and subtask.run is None
    ]
    return RecordedRetry(
        job.place,
        retry_ref.mode,
        tuple(render_title(original, subtask) for subtask in subtasks),
        len(original.subtasks),
    )
