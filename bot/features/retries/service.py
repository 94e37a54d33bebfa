"""The retries service: records the retry of a request, or returns why there is none.

The core decides what a retry keeps and whether the person may have it, when the request is folded. Both are checked
here first, so that a refusal can be told privately. Of two simultaneous retries of the same request, on any instances,
only one is recorded: both have a dedupe id with the number of requests that the job had.
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
from handoff.conversation.message_kinds import names_option
from handoff.conversation.retry_words import RetryMode, RetryRef, RetryWish
from handoff.engine import retry
from handoff.materials.material_lists import find_needed_material
from handoff.state.job_state import Job, RequestState
from handoff.summaries.step_names import find_step, render_step_line
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

- `nothing`: the job has no request. `going_on`: its request has not ended. `under_way`: it is being retried already.
- `done`: nothing of it failed. `no_step`: the words match no step, or more than one.
- `asked`: the words answer a question that is open in the thread.
"""


@dataclass(frozen=True, slots=True)
class RetryRecorded:
    """A recorded retry: its thread, the titles of the steps that it runs again, and the number of all parts."""

    place: Place
    mode: RetryMode
    steps: tuple[str, ...] = ()
    part_count: int = 0


@dataclass(frozen=True, slots=True)
class RetryRefused:
    """Why no retry was recorded. `users` are the requesters, or those who retry it now; `steps` the nearest matches."""

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
    """Who asks for a retry, and in which words. `message` is the id of their message, "" for a click or a command."""

    user: str
    words: str
    message: str = ""
    files: tuple[Attachment, ...] = ()


class RetryService:
    """Records retries. After a StoreError, nothing was recorded.

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
        self._admins, self._groups, self._note = admins, find_groups, record_audit

    async def record_retry(
        self, team: str, job: str, wish: RetryWish, retry_request: RetryRequest, *, dedupe: tuple[str, ...]
    ) -> RetryRecorded | RetryRefused:
        """Record a retry of a job's request, if there is something to retry and the person may have it."""
        key = JobKey(team, job)
        found = await self._read_job(key)
        if isinstance(found, RetryRefused):
            return found
        actor = await self._make_actor(retry_request.user)
        wanted = (
            RetryRefused("asked")
            if _answers_question(found, actor, retry_request, wish)
            else _resolve_retry(found, wish, actor)
        )
        if isinstance(wanted, RetryRefused):
            if wanted.reason == "not_yours":
                await self._audit_refusal(key, found, retry_request.user)
            return wanted
        before, again = wanted
        if (other := retry.find_open_retry(found, before)) is not None:
            mine = retry_request.message == other.id  # Slack delivered the message twice
            return (
                _summarize_retry(found, before, again)
                if mine
                else RetryRefused("under_way", users=(other.request.user,))
            )
        again = again.model_copy(update={"gone": await self._find_lost_files(key, found, before, again)})
        if await self._record_event(key, found, again, retry_request, dedupe):
            return _summarize_retry(found, before, again)
        return await self._read_conflict(key, found, before, again, retry_request)

    async def _read_job(self, key: JobKey) -> Job | RetryRefused:
        head = await self._store.jobs.head(key)
        if head is None:
            gone = await self._store.jobs.read_forget_time(key)
            return RetryRefused("unknown" if gone is None else "forgotten")
        if head.is_quarantined:
            return RetryRefused("quarantined")
        found = await read_job(self._store.jobs, key)
        return RetryRefused(found) if isinstance(found, str) else found

    async def _record_event(
        self, key: JobKey, job: Job, retry_ref: RetryRef, retry_request: RetryRequest, dedupe: tuple[str, ...]
    ) -> bool:
        """Record the retry. Returns False if it, or another next request of the job, was recorded meanwhile."""
        number = len(job.asks)
        request = Request(
            id=retry_request.message or f"{retry_ref.of.partition('-')[0]}-again{number}",
            user=retry_request.user,
            text=retry_request.words,
            at=self._store.clock(),
            attachments=retry_request.files,
        )
        event = ev.RequestAdded(at=request.at, place=job.place, request=request, again=retry_ref)
        once = f"again:{key.team}/{key.job}/{retry_ref.of}/{number}"
        new = await self._store.jobs.ingest(
            key,
            ev.dump_event(event),
            dedupe=(*dedupe, once),
            user=retry_request.user,
            fields=build_initial_summary(job.place, request),
        )
        self._nudge(key)
        return new

    async def _read_conflict(
        self, key: JobKey, job: Job, before: RequestState, retry_ref: RetryRef, retry_request: RetryRequest
    ) -> RetryRecorded | RetryRefused:
        """Return which retry was recorded instead: the same one, delivered twice, or another person's."""
        now = await self._read_job(key)
        if isinstance(now, RetryRefused):
            return now
        tries = [one for one in now.asks if before.id in {each.id for each in one.earlier_tries}]
        if retry_request.message and any(one.id == retry_request.message for one in tries):
            return _summarize_retry(job, before, retry_ref)
        return RetryRefused("under_way", users=(tries[-1].request.user,) if tries else ())

    async def _find_lost_files(
        self, key: JobKey, job: Job, before: RequestState, retry_ref: RetryRef
    ) -> tuple[str, ...]:
        """Return the names of the files that a retry needs and that are no longer in the store."""
        works = [before.work[name] for name in sorted(retry.list_rerun_subtasks(before, retry_ref))]
        needed = [one for work in works for one in find_needed_material(job, before, work).all_material]
        needed += before.materials if before.run.plan is None else ()
        files = {one.name: one for one in needed if one.kind == "file" and not one.fault}
        lost = [name for name, one in list(files.items())[:MAX_FILES_CHECKED] if not await self._is_stored(key, one)]
        return tuple(lost)

    async def _is_stored(self, key: JobKey, material: Material) -> bool:
        digest = material.file.id if material.file is not None else material.text
        try:
            await self._store.blobs.get(key, digest)
        except KeyError:
            return False
        return True

    async def read_repeatable(self, team: str, job: str, user: str) -> RepeatableRequest | RetryRefused:
        """Return the text and files of the last request in a job that this person may have retried."""
        key = JobKey(team, job)
        found = await self._read_job(key)
        if isinstance(found, RetryRefused):
            return found
        before = _find_request(found, RetryWish("whole"), await self._make_actor(user))
        if isinstance(before, RetryRefused):
            if before.reason == "not_yours":
                await self._audit_refusal(key, found, user)
            return before
        asks = (before, *before.earlier_tries, *found.list_earlier_requests(before)[::-1])
        files = next((one.request.attachments for one in asks if one.request.attachments), ())
        return RepeatableRequest(found.place, before.request.text, files)

    async def _make_actor(self, user: str) -> rights.Actor:
        return rights.Actor(user, await self._groups(user), user in self._admins)

    async def _audit_refusal(self, key: JobKey, job: Job, user: str) -> None:
        """Store in the audit that a person was refused a retry."""
        of = {"at": self._store.clock(), "team": key.team, "channel": job.place.channel, "job": key.job}
        what = {"target": "again", "why": NOT_OWNER_REASON}
        await self._note(AuditEntry(deed="asked", user=user, outcome="refused", **of, **what))


def _resolve_retry(job: Job, wish: RetryWish, actor: rights.Actor) -> tuple[RequestState, RetryRef] | RetryRefused:
    """Return the request to retry with the retry's reference, or why there is none."""
    before = _find_request(job, wish, actor)
    if isinstance(before, RetryRefused):
        return before
    again = RetryRef(of=before.id, mode=wish.mode, groups=actor.groups, admin=actor.admin)
    before, again = retry.resolve_planned_try(before, again)
    step = find_step(before, wish.step_words) if wish.step_words else again.step
    if isinstance(step, tuple):
        return RetryRefused("no_step", steps=tuple(render_step_line(before, one) for one in step))
    again = again.model_copy(update={"step": step})
    return RetryRefused("done") if retry.has_nothing_to_retry(before, again) else (before, again)


def _find_request(job: Job, wish: RetryWish, actor: rights.Actor) -> RequestState | RetryRefused:
    """Return the request to retry, or why there is none."""
    before = retry.find_request_to_retry(job, actor, wish.request)
    if before is not None:
        return before
    asks = [one for one in job.asks if not one.refusal and not one.withdrawn and wish.request in {"", one.id}]
    ended = [one for one in asks if one.run.is_concluded]
    if ended:
        return RetryRefused("not_yours", users=(ended[-1].request.user,))
    return RetryRefused("going_on" if asks else "nothing")


def _answers_question(job: Job, actor: rights.Actor, retry_request: RetryRequest, wish: RetryWish) -> bool:
    """Return True if the words answer a question that is open in the thread, and that this person may answer.

    “Go on” answers any question: it cannot mean a retry while one is open.
    """
    questions = (
        job.current_request.open_questions.values() if job.current_request is not None and retry_request.message else ()
    )
    may = (one for one in questions if one.may_answer(actor.user, actor.groups))
    return any(wish.mode == "continue" or names_option(retry_request.words, one.options) for one in may)


def _summarize_retry(job: Job, before: RequestState, retry_ref: RetryRef) -> RetryRecorded:
    names = retry.list_rerun_subtasks(before, retry_ref)
    works = [work for work in before.list_all_subtasks("") if work.subtask.id in names and work.run is None]
    return RetryRecorded(
        job.place, retry_ref.mode, tuple(render_title(before, work) for work in works), len(before.work)
    )
