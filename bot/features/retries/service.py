"""The retry desk: records that a request is to be taken up again, or says why it is not.

What is kept, and whether a person may, is decided in the core when the request is folded; here it is looked at before,
so that who may not, or asks for nothing, is told alone. Of two who ask at once for the same, on whatever instances, one
is recorded: both name the second try by the number of requests that the job had when they looked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from bot.jobs.job_records import read_job
from bot.slack.show.people import GroupsOf, find_no_groups
from bot.store.redis.redis_store import Store
from bot.store.values import JobKey
from handoff import events as ev
from handoff.access import rights
from handoff.access.audit_entry import AuditEntry, AuditRecorder, discard_entry
from handoff.contracts import Attachment, Material, Place, Request
from handoff.conversation.message_kinds import names_option
from handoff.conversation.retry_words import AgainMode, RetryRef, RetryWish
from handoff.engine import retry
from handoff.materials.material_lists import find_needed_material
from handoff.state.job_state import Job, RequestState
from handoff.summaries.step_names import find_step, step_line
from handoff.summaries.summary import build_initial_summary, title_of

NOT_THEIRS = "neither who asked for it nor an admin"
MOST_LOOKED_AT = 40
"""Files that are looked for in the store before a second try."""


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
"""Why nothing is tried again.

- `nothing`: nobody asked for anything that ended. `going_on`: it has not ended yet. `under_way`: it is being tried.
- `done`: nothing of it failed. `no_step`: no step, or more than one, is meant by those words.
- `asked`: the words answer a question that is open in the thread.
"""


@dataclass(frozen=True, slots=True)
class RetryRecorded:
    """A second try that is recorded: its thread, and the steps that it runs again, in words, out of `parts`."""

    place: Place
    mode: AgainMode
    steps: tuple[str, ...] = ()
    parts: int = 0


@dataclass(frozen=True, slots=True)
class RetryRefused:
    """Why nothing was recorded. `users` asked for it, or try it already; `steps` are the nearest ones, in words."""

    why: RetryRefusalReason
    users: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RetryTask:
    """What is to be done again at another time: the words of the request, and the files that came with it."""

    place: Place
    text: str
    files: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class RetryAsked:
    """Who has something tried again, and in which words. `message` is the id of theirs; empty: a click or a command."""

    user: str
    words: str
    message: str = ""
    files: tuple[Attachment, ...] = ()


class RetryDesk:
    """Where second tries begin. A call that returns was recorded; a StoreError means that it was not.

    Args:
        store: Where jobs live.
        nudge: Wakes a job when something is to be tried again.
        admins: Slack ids of the admins.
        groups: Gives the user groups of a person, by their ids.
        note: Keeps in the audit who was refused.
    """

    def __init__(
        self,
        store: Store,
        nudge: Callable[[JobKey], None],
        *,
        admins: frozenset[str],
        groups: GroupsOf = find_no_groups,
        note: AuditRecorder = discard_entry,
    ) -> None:
        self._store, self._nudge = store, nudge
        self._admins, self._groups, self._note = admins, groups, note

    async def begin(
        self, team: str, job: str, wish: RetryWish, asked: RetryAsked, *, dedupe: tuple[str, ...]
    ) -> RetryRecorded | RetryRefused:
        """Record a second try of a job's request, if there is something to try, and the person may."""
        key = JobKey(team, job)
        found = await self._read_job(key)
        if isinstance(found, RetryRefused):
            return found
        actor = await self._make_actor(asked.user)
        wanted = (
            RetryRefused("asked")
            if _answers_question(found, actor, asked, wish)
            else _resolve_retry(found, wish, actor)
        )
        if isinstance(wanted, RetryRefused):
            if wanted.why == "not_yours":
                await self._audit_refusal(key, found, asked.user)
            return wanted
        before, again = wanted
        if (other := retry.find_open_retry(found, before)) is not None:
            mine = asked.message == other.id  # Slack told of it twice
            return (
                _summarize_retry(found, before, again)
                if mine
                else RetryRefused("under_way", users=(other.request.user,))
            )
        again = again.model_copy(update={"gone": await self._find_lost_files(key, found, before, again)})
        if await self._record(key, found, again, asked, dedupe):
            return _summarize_retry(found, before, again)
        return await self._report_conflict(key, found, before, again, asked)

    async def _read_job(self, key: JobKey) -> Job | RetryRefused:
        head = await self._store.jobs.head(key)
        if head is None:
            gone = await self._store.jobs.read_forget_time(key)
            return RetryRefused("unknown" if gone is None else "forgotten")
        if head.quarantined:
            return RetryRefused("quarantined")
        found = await read_job(self._store.jobs, key)
        return RetryRefused(found) if isinstance(found, str) else found

    async def _record(self, key: JobKey, job: Job, again: RetryRef, asked: RetryAsked, dedupe: tuple[str, ...]) -> bool:
        """Record the second try; False if it, or another as the next request of the job, was recorded meanwhile."""
        number = len(job.asks)
        request = Request(
            id=asked.message or f"{again.of.partition('-')[0]}-again{number}",
            user=asked.user,
            text=asked.words,
            at=self._store.clock(),
            attachments=asked.files,
        )
        event = ev.RequestAdded(at=request.at, place=job.place, request=request, again=again)
        once = f"again:{key.team}/{key.job}/{again.of}/{number}"
        new = await self._store.jobs.ingest(
            key,
            ev.dump(event),
            dedupe=(*dedupe, once),
            user=asked.user,
            fields=build_initial_summary(job.place, request),
        )
        self._nudge(key)
        return new

    async def _report_conflict(
        self, key: JobKey, job: Job, before: RequestState, again: RetryRef, asked: RetryAsked
    ) -> RetryRecorded | RetryRefused:
        """Say what was recorded in its place: the same, delivered twice, or somebody else's."""
        now = await self._read_job(key)
        if isinstance(now, RetryRefused):
            return now
        tries = [one for one in now.asks if before.id in {each.id for each in one.tries}]
        if asked.message and any(one.id == asked.message for one in tries):
            return _summarize_retry(job, before, again)
        return RetryRefused("under_way", users=(tries[-1].request.user,) if tries else ())

    async def _find_lost_files(self, key: JobKey, job: Job, before: RequestState, again: RetryRef) -> tuple[str, ...]:
        """Name the files that a second try needs, and that are no longer in the store."""
        works = [before.work[name] for name in sorted(retry.list_rerun_subtasks(before, again))]
        needed = [one for work in works for one in find_needed_material(job, before, work).all]
        needed += before.materials if before.run.plan is None else ()
        files = {one.name: one for one in needed if one.kind == "file" and not one.fault}
        lost = [name for name, one in list(files.items())[:MOST_LOOKED_AT] if not await self._is_there(key, one)]
        return tuple(lost)

    async def _is_there(self, key: JobKey, material: Material) -> bool:
        digest = material.file.id if material.file is not None else material.text
        try:
            await self._store.blobs.get(key, digest)
        except KeyError:
            return False
        return True

    async def text_of(self, team: str, job: str, user: str) -> RetryTask | RetryRefused:
        """Return the words and files of the last request in a job that this person may have tried again."""
        key = JobKey(team, job)
        found = await self._read_job(key)
        if isinstance(found, RetryRefused):
            return found
        before = _find_request(found, RetryWish("whole"), await self._make_actor(user))
        if isinstance(before, RetryRefused):
            if before.why == "not_yours":
                await self._audit_refusal(key, found, user)
            return before
        asks = (before, *before.tries, *found.list_earlier_requests(before)[::-1])
        files = next((one.request.attachments for one in asks if one.request.attachments), ())
        return RetryTask(found.place, before.request.text, files)

    async def _make_actor(self, user: str) -> rights.Actor:
        return rights.Actor(user, await self._groups(user), user in self._admins)

    async def _audit_refusal(self, key: JobKey, job: Job, user: str) -> None:
        """Keep in the audit that a person may not have something tried again."""
        of = {"at": self._store.clock(), "team": key.team, "channel": job.place.channel, "job": key.job}
        what = {"target": "again", "why": NOT_THEIRS}
        await self._note(AuditEntry(deed="asked", user=user, outcome="refused", **of, **what))


def _resolve_retry(job: Job, wish: RetryWish, actor: rights.Actor) -> tuple[RequestState, RetryRef] | RetryRefused:
    """Return the request to take up, and how; or why there is none."""
    before = _find_request(job, wish, actor)
    if isinstance(before, RetryRefused):
        return before
    again = RetryRef(of=before.id, mode=wish.mode, groups=actor.groups, admin=actor.admin)
    before, again = retry.resolve_planned_try(before, again)
    step = find_step(before, wish.step) if wish.step else again.step
    if isinstance(step, tuple):
        return RetryRefused("no_step", steps=tuple(step_line(before, one) for one in step))
    again = again.model_copy(update={"step": step})
    return RetryRefused("done") if retry.is_done(before, again) else (before, again)


def _find_request(job: Job, wish: RetryWish, actor: rights.Actor) -> RequestState | RetryRefused:
    """Return the request that is meant; or why there is none."""
    before = retry.find_request_to_retry(job, actor, wish.request)
    if before is not None:
        return before
    asks = [one for one in job.asks if not one.refusal and not one.withdrawn and wish.request in {"", one.id}]
    ended = [one for one in asks if one.run.is_concluded]
    if ended:
        return RetryRefused("not_yours", users=(ended[-1].request.user,))
    return RetryRefused("going_on" if asks else "nothing")


def _answers_question(job: Job, actor: rights.Actor, asked: RetryAsked, wish: RetryWish) -> bool:
    """Return True if words answer a question that is open in the thread, and that this person may answer.

    “Go on” answers any: there is nothing else that it could be about.
    """
    questions = job.current.open_questions.values() if job.current is not None and asked.message else ()
    may = (one for one in questions if one.may_answer(actor.user, actor.groups))
    return any(wish.mode == "continue" or names_option(asked.words, one.options) for one in may)


def _summarize_retry(job: Job, before: RequestState, again: RetryRef) -> RetryRecorded:
    names = retry.list_rerun_subtasks(before, again)
    works = [work for work in before.list_all_subtasks("") if work.subtask.id in names and work.run is None]
    return RetryRecorded(job.place, again.mode, tuple(title_of(before, work) for work in works), len(before.work))
