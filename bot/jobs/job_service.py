"""The job service: records in the store what people do in Slack, and wakes the instance."""

from __future__ import annotations

import json
import logging
import re
from typing import TYPE_CHECKING, Literal

from bot.jobs.forgetting import Forgetting
from bot.jobs.instance import Instance
from bot.limits.call_limits import CallLimits
from bot.limits.rules import Payer
from bot.settings import ON, FollowUps
from bot.store.interface import Entry, Head, JobKey, LogBroken, Store
from handoff import events as ev
from handoff.audit_entry import AuditEntry, Deed, Note, dropped
from handoff.contracts import Place, Request
from handoff.deeds import CLOSED
from handoff.engine.hearing import answers_plainly
from handoff.engine.replay import open_log
from handoff.spoken import is_thanks
from handoff.state import ENDED, Job
from handoff.summary import OpenQuestion, begun, open_questions, queries
from handoff.upcasters import NewerEvent

if TYPE_CHECKING:
    from bot.slack.receive.service import AnswerVerdict, CancelVerdict, Denied, ReleaseVerdict, ReplyVerdict
    from bot.slack.views.erasure import Forgettable
    from bot.slack.views.status import JobLine

log = logging.getLogger(__name__)

_TS = re.compile(r"\d{1,12}\.\d{1,9}")
NOT_THEIRS = "neither asked for in it nor an admin"
LONGEST_ID = 80
"""Characters of an id that came from outside, in the audit."""
MOST_HEARD = 5_000
"""Events in a job's log from which on only mentions are heard in its thread: a log has an end."""


class JobService:
    """The `Service` of a running bot. A call that returns was recorded; a StoreError means that it was not.

    Args:
        store: Where jobs live.
        instance: Woken when something came in.
        limits: What is spent and left.
        admins: Slack ids of people who may see and cancel every job, and release those in quarantine.
        follow_ups: Where messages without a mention are heard.
        note: Keeps in the audit what leaves no event in a job: refusals, and who looked at a trace.
        forgetting: Forgets jobs; None where nothing can be forgotten (in tests of other things).
    """

    def __init__(
        self,
        store: Store,
        instance: Instance,
        limits: CallLimits,
        *,
        admins: frozenset[str],
        follow_ups: FollowUps = ON,
        note: Note = dropped,
        forgetting: Forgetting | None = None,
    ) -> None:
        self._store = store
        self._forgetting = forgetting
        self._note = note
        self._follow_ups = follow_ups
        self._instance = instance
        self._limits = limits
        self.admins = admins

    def clock(self) -> float:
        """Return the time on the store's clock."""
        return self._store.clock()

    async def request(self, place: Place, request: Request, *, dedupe: tuple[str, ...], refusal: str = "") -> bool:
        """Record a request. Returns False for a duplicate."""
        request = request.model_copy(update={"at": self._store.clock()})  # the clock of all times of a job
        event = ev.RequestAdded(at=request.at, place=place, request=request, refusal=refusal)
        key = _key(place)
        new = await self._store.jobs.ingest(
            key,
            ev.dump(event),
            dedupe=dedupe,
            user=request.user,
            fields=begun(place, request),
            said=_said(request),
        )
        self._instance.nudge(key)
        return new

    async def turns_away(self, place: Place, bot: str) -> bool:
        """See `Service.turns_away`."""
        return await self._limits.first_in_an_hour(f"bot:{place.team}/{place.channel}/{bot}")

    async def over_budget(self, place: Place, user: str, ts: str) -> str | None:
        """See `Service.over_budget`. Costs nothing if no budget is set."""
        words = await self._limits.used_up(Payer(place.team, place.channel, user, place.job_id))
        if not words or await self._recorded(_key(place), ts):
            return None
        return words if await self._limits.first_in_an_hour(f"over:{place.team}/{place.channel}/{ts}") else ""

    async def _recorded(self, key: JobKey, request: str) -> bool:
        """Return True if the request, or a message that may become one, is recorded: Slack repeats what it sends."""
        entries = [*await self._store.jobs.inbox(key), *await self._store.jobs.log(key)]
        kinds, named = ('"type":"RequestAdded"', '"type":"MessageHeard"'), f'"id":{json.dumps(request)}'
        return any(named in entry.payload and any(kind in entry.payload for kind in kinds) for entry in entries)

    async def _was_read(self, key: JobKey, message: str) -> bool:
        """Return True if what a message said or brought is among the materials."""
        named = f'"message":{json.dumps(message)}'
        entries = await self._store.jobs.log(key)
        return any('"type":"MaterialGathered"' in one.payload and named in one.payload for one in entries)

    async def left(self, team: str, channel: str, user: str, job: str = "") -> list[str]:
        """See `Service.left`."""
        return await self._limits.status(Payer(team, channel, user, job))

    async def reply(
        self, place: Place, message: Request, *, mentioned: bool, others: bool, dedupe: tuple[str, ...]
    ) -> ReplyVerdict:
        """See `Service.reply`. A message that is no plain answer is left to the job: it knows what is under way."""
        key, text, user = _key(place), message.text, message.user
        head = await self._store.jobs.head(key)
        if head is None:
            return "ignored"
        question = next((one for one in _open(head) if one.may_answer(user)), None)
        if question is not None and not others and answers_plainly(text, question.options):
            await self._record_answer(place, question, user, text, dedupe)
            return "taken"
        if head.quarantined:
            return "quarantined"
        if not text.strip() or not self._hears(head, message, mentioned=mentioned, asked=question is not None):
            return "ignored"
        kept = message.model_copy(update={"at": self._store.clock()})
        if others:
            kept = kept.model_copy(update={"text": "", "attachments": ()})
        event = ev.MessageHeard(at=kept.at, message=kept, mentioned=mentioned, others=others)
        await self._store.jobs.signal(key, ev.dump(event), dedupe=dedupe)
        self._instance.nudge(key)
        return "heard"

    def _hears(self, head: Head, message: Request, *, mentioned: bool, asked: bool) -> bool:
        """Return True if a message may be for the job: an ordinary request of somebody who mentions the bot is not."""
        if asked or (mentioned and is_thanks(message.text) and not message.attachments):
            return True
        if mentioned:  # the requester may want to change what is under way
            own = head.fields.get("state") not in ENDED and head.fields.get("user") == message.user
            return own and not message.attachments
        return self._follow_ups.heard_in(head.fields.get("channel", "")) and head.seq < MOST_HEARD

    async def edited(
        self, place: Place, message: str, *, user: str, text: str, stamp: float, dedupe: tuple[str, ...]
    ) -> bool:
        """See `Service.edited`."""
        event = ev.RequestEdited(at=self._store.clock(), message=message, user=user, text=text, stamp=stamp)
        return await self._changed(place, message, event, dedupe)

    async def deleted(self, place: Place, message: str, *, dedupe: tuple[str, ...]) -> bool:
        """See `Service.deleted`."""
        event = ev.RequestWithdrawn(at=self._store.clock(), message=message)
        return await self._changed(place, message, event, dedupe, read=True)

    async def file_deleted(self, team: str, file: str) -> int:
        """See `Service.file_deleted`."""
        told = 0
        for key in await self._store.blobs.jobs_that_read(team, file):
            event = ev.FileDeleted(at=self._store.clock(), file=file)
            told += await self._store.jobs.signal(key, ev.dump(event), dedupe=(f"file_deleted:{file}",))
            self._instance.nudge(key)
        return told

    async def _changed(
        self, place: Place, message: str, event: ev.Event, dedupe: tuple[str, ...], *, read: bool = False
    ) -> bool:
        """Record a change of a message that is recorded or, with `read`, that was read with its thread."""
        key = _key(place)
        if await self._store.jobs.head(key) is None:
            return False
        if not await self._recorded(key, message) and not (read and await self._was_read(key, message)):
            return False
        await self._store.jobs.signal(key, ev.dump(event), dedupe=dedupe)
        self._instance.nudge(key)
        return True

    async def answer(
        self, place: Place, *, request: str, subtask: str, number: int, user: str, text: str, dedupe: tuple[str, ...]
    ) -> AnswerVerdict:
        """Record a click on a button of a question as its answer."""
        head = await self._store.jobs.head(_key(place))
        if head is None:
            return await self._missing(_key(place))
        for question in _open(head):
            if (question.request, question.subtask, question.number) == (request, subtask, number):
                if not question.may_answer(user):
                    await self._refused("answered", _key(place), user, "not asked", request=request, target=subtask)
                    return "not_yours"
                await self._record_answer(place, question, user, text, dedupe)
                return "taken"
        await self._refused("answered", _key(place), user, CLOSED, request=request, target=subtask)
        return "stale"

    async def _record_answer(
        self, place: Place, question: OpenQuestion, user: str, text: str, dedupe: tuple[str, ...]
    ) -> None:
        event = ev.QuestionAnswered(
            at=self._store.clock(),
            request=question.request,
            subtask=question.subtask,
            user=user,
            text=text.strip(),
            number=question.number,
        )
        await self._store.jobs.signal(_key(place), ev.dump(event), dedupe=dedupe)
        self._instance.nudge(_key(place))

    async def cancel(self, team: str, job: str | None, place: Place | None, *, user: str) -> CancelVerdict:
        """Stop a job, named by its id or its place. People who asked for something in it may, and admins."""
        key = _key(place) if place is not None else JobKey(team, (job or "").upper())
        head = await self._store.jobs.head(key)
        if head is None:
            return await self._missing(key)
        if not await self._may_see(key, head, user):
            await self._refused("stopped", key, user, NOT_THEIRS)
            return "not_yours"
        if head.fields.get("state") in ENDED:
            return "nothing"
        event = ev.dump(ev.CancelRequested(at=self._store.clock(), user=user))
        # A job in quarantine is released for it: it ends with its report.
        if not (head.quarantined and await self._store.jobs.release_quarantined(key, event)):
            await self._store.jobs.signal(key, event, dedupe=())
        self._instance.nudge(key)
        return "cancelling"

    async def release(self, team: str, job: str, *, user: str) -> ReleaseVerdict:
        """Release a job from quarantine. Only admins may."""
        key = JobKey(team, job.upper())
        if user not in self.admins:
            await self._refused("released", key, user, "no admin")
            return "not_admin"
        head = await self._store.jobs.head(key)
        if head is None:
            return await self._missing(key)
        event = ev.Released(at=self._store.clock(), user=user)
        if not head.quarantined or not await self._store.jobs.release_quarantined(key, ev.dump(event)):
            return "not_quarantined"
        self._instance.nudge(key)
        return "released"

    async def forgettable(self, team: str, user: str, *, job: str = "", person: str = "") -> Forgettable | Denied:
        """See `Service.forgettable`."""
        if self._forgetting is None:
            return "unknown"
        found = await self._forgetting.find(team, user, job=job.upper(), person=person)
        if found is None:
            return "not_yours"
        return await self._missing(JobKey(team, job.upper())) if job and not found.jobs else found

    async def forget(self, team: str, user: str, mark: str, *, job: str = "", person: str = "") -> bool:
        """See `Service.forget`."""
        found = await self.forgettable(team, user, job=job, person=person)
        if isinstance(found, str) or not found.jobs or self._forgetting is None:
            return False
        await self._forgetting.begin(team, user, found, mark)
        return True

    async def _missing(self, key: JobKey) -> Literal["unknown", "forgotten"]:
        """Say why there is no such job."""
        return "unknown" if await self._store.jobs.forgotten(key) is None else "forgotten"

    async def trouble(self) -> str:
        """Return why no work is begun at the moment, in words for people; empty if it is."""
        return await self._store.full()

    async def jobs(self, team: str, user: str) -> list[JobLine]:
        """List the jobs that a person asked for, newest first."""
        return [_line(head) for head in await self._store.jobs.asked_by(team, user)]

    async def job(self, team: str, job: str, user: str) -> Job | Denied:
        """Return a job, if the person may see it."""
        key = JobKey(team, job.upper())
        try:
            entries = await self._log_of(key, user)
            if isinstance(entries, str):
                return entries
            waiting = await self._store.jobs.inbox(key) if not entries else []
            folded = open_log([entry.payload for entry in [*entries, *waiting]])
        except NewerEvent:
            return "newer"
        except (LogBroken, ValueError) as error:
            # Only its type: the text of a validation error quotes what people wrote.
            log.error("job %s: its log cannot be read (%s)", job.upper(), type(error).__name__)  # noqa: TRY400 - one line
            return "unreadable"
        return folded if folded is not None else "unknown"

    async def trace(self, team: str, job: str, user: str) -> list[Entry] | Denied:
        """Return a job's log, if the person may see it. The audit keeps who did."""
        key = JobKey(team, job.upper())
        entries = await self._log_of(key, user)
        if not isinstance(entries, str):
            await self._note(AuditEntry(at=self._store.clock(), team=team, deed="traced", user=user, job=key.job))
        return entries

    async def _log_of(self, key: JobKey, user: str) -> list[Entry] | Denied:
        head = await self._store.jobs.head(key)
        if head is None:
            return await self._missing(key)
        if not await self._may_see(key, head, user):
            await self._refused("traced", key, user, NOT_THEIRS)
            return "not_yours"
        try:
            return await self._store.jobs.log(key)
        except LogBroken as error:
            log.error("%s", error)  # noqa: TRY400 - one clear line, no trace
            return "unreadable"

    async def queries(self, place: Place, request: str) -> list[str]:
        """Return the queries behind the answer to a request, for whoever can read the thread; none if it has expired.

        Unlike the trace they are for all: they say how the figures came about that stand in the thread.
        """
        try:
            job = open_log([entry.payload for entry in await self._store.jobs.log(_key(place))])
        except (LogBroken, NewerEvent, ValueError) as error:
            log.error("job %s: its log cannot be read (%s)", place.job_id, type(error).__name__)  # noqa: TRY400 - one line
            return []
        ask = job.ask(request) if job is not None else None
        return queries(ask) if ask is not None else []

    async def feedback(self, place: Place, *, request: str, user: str, good: bool, dedupe: tuple[str, ...]) -> bool:
        """Record a thumb below an answer in the job's log. Returns False if the job has expired."""
        if await self._store.jobs.head(_key(place)) is None:
            return False
        event = ev.FeedbackGiven(at=self._store.clock(), request=request, user=user, good=good)
        await self._store.jobs.signal(_key(place), ev.dump(event), dedupe=dedupe)
        self._instance.nudge(_key(place))
        return True

    async def _refused(
        self, deed: Deed, key: JobKey, user: str, why: str, *, request: str = "", target: str = ""
    ) -> None:
        of = {"at": self._store.clock(), "team": key.team, "job": key.job, "user": user, "outcome": "refused"}
        named = {"request": request[:LONGEST_ID], "target": target[:LONGEST_ID]}
        await self._note(AuditEntry.model_validate({"deed": deed, "why": why, **of, **named}))

    async def _may_see(self, key: JobKey, head: Head, user: str) -> bool:
        """Return True if the person asked for something in the job, or is an admin."""
        if user in self.admins or head.fields.get("user") == user:
            return True
        return any(other.key == key for other in await self._store.jobs.asked_by(key.team, user, limit=100))


def _open(head: Head | None) -> tuple[OpenQuestion, ...]:
    return open_questions(head.fields) if head is not None else ()


def _said(request: Request) -> float | None:
    """Return when a request was made, by Slack's clock: its message's `ts`. One from a window was made just now."""
    return float(request.id) if _TS.fullmatch(request.id) else None


def _key(place: Place) -> JobKey:
    return JobKey(place.team, place.job_id)


def _line(head: Head) -> JobLine:
    from bot.slack.views.status import JobLine  # noqa: PLC0415 - only for those who list their jobs

    return JobLine(
        job=head.key.job,
        title=head.fields.get("title", ""),
        state=head.fields.get("state", "submitted"),
        channel=head.fields.get("channel", ""),
        updated=head.updated,
        quarantined=head.fields.get("step", "") if head.quarantined else "",
        waits_for=next((one.whom[0] for one in _open(head) if one.whom), ""),
        in_part=head.fields.get("in_part") == "1",
    )
