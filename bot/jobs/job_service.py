"""The job service: records in the store what people do in Slack, and wakes the instance."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Literal

from bot.access.channel_settings import ChannelSettings
from bot.jobs.forgetting import Forgetting
from bot.jobs.instance import Instance
from bot.jobs.job_reading import read_job, read_lines
from bot.jobs.thumb_record import record_thumb
from bot.limits.call_limits import CallLimits
from bot.limits.rules import SCOPES, Payer
from bot.slack.receive.service import Answer, OverBudget, Stop, Traced
from bot.slack.show.people import GroupsOf, no_groups
from bot.store.interface import Head, JobKey, LogBroken, Store
from bot.tracing.whole_trace import read_trace
from handoff import events as ev
from handoff import rights
from handoff.audit_entry import AuditEntry, Deed, Note, dropped
from handoff.contracts import Place, Request
from handoff.deeds import CLOSED
from handoff.engine.hearing import answers_plainly
from handoff.spoken import chooses, crew_called, is_thanks
from handoff.state import ENDED, Job
from handoff.summary import OpenQuestion, begun, joined, open_questions

if TYPE_CHECKING:
    from bot.slack.receive.service import Denied, ReleaseVerdict, Thumbed
    from bot.slack.views.erasure import Forgettable
    from bot.slack.views.question import Choice

log = logging.getLogger(__name__)

_TS = re.compile(r"\d{1,12}\.\d{1,9}")
NOT_THEIRS = "neither asked for something in it nor an admin"
NOT_THERE = "said nothing in the thread"
NOT_ASKED = "the question is for somebody else"
NO_ADMIN = "not an admin"
RAISED = "raised by as much again"
LONGEST_ID = 80
"""Characters of an id that came from outside, in the audit."""
MOST_HEARD = 5_000
"""Events in a job's log from which on only mentions are heard in its thread: a log has an end."""


Recalls = Callable[[Place, str], Awaitable[bool]]


async def nothing_recalled(_place: Place, _user: str) -> bool:
    """Remember nothing."""
    return False


class JobService:
    """The `Service` of a running bot. A call that returns was recorded; a StoreError means that it was not.

    Args:
        store: Where jobs live.
        instance: Woken when something came in.
        limits: What is spent and left.
        admins: Slack ids of people who may trace and cancel every job, and release those in quarantine.
        settings: What holds in each channel: where messages without a mention are heard.
        note: Keeps in the audit what leaves no event in a job: refusals, and who looked at a trace.
        groups_of: The user groups that a person is in, of those that settings and crews name.
        forgetting: Forgets jobs; None where nothing can be forgotten (in tests of other things).
        recalls: Says if something is remembered that a person's request in a place may need.
    """

    def __init__(  # noqa: PLR0913 - all that it stands on, each named where it is made
        self,
        store: Store,
        instance: Instance,
        limits: CallLimits,
        *,
        admins: frozenset[str],
        settings: ChannelSettings,
        note: Note = dropped,
        groups_of: GroupsOf = no_groups,
        forgetting: Forgetting | None = None,
        recalls: Recalls = nothing_recalled,
    ) -> None:
        self._store = store
        self._forgetting = forgetting
        self._recalls = recalls
        self._settings = settings
        self._instance = instance
        self._limits = limits
        self._note = note
        self._groups_of = groups_of
        self.admins = admins
        self.crews = settings.crews

    def clock(self) -> float:
        """Return the time on the store's clock."""
        return self._store.clock()

    async def request(self, place: Place, request: Request, *, dedupe: tuple[str, ...], refusal: str = "") -> bool:
        """Record a request. Returns False for a duplicate."""
        crew, text = self._crew_called(request.text)
        recalls = await self._recalls(place, request.user)
        known = {"at": self._store.clock(), "text": text, "crew": crew, "recalls": recalls}
        request = request.model_copy(update=known)
        usual = (await self._settings.of(place.team, place.channel)).crew if self.crews else ""
        event = ev.RequestAdded(at=request.at, place=place, request=request, refusal=refusal, usual=usual)
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

    def _crew_called(self, text: str) -> tuple[str, str]:
        """Return the crew that a text begins with, and the rest of it."""
        return crew_called(text, self.crews)

    async def knows(self, place: Place) -> bool:
        """See `Service.knows`."""
        return await self._store.jobs.head(_key(place)) is not None

    async def turns_away(self, place: Place, bot: str) -> bool:
        """See `Service.turns_away`."""
        return await self._limits.first_in_an_hour(f"bot:{place.team}/{place.channel}/{bot}")

    async def over_budget(self, place: Place, user: str, ts: str) -> OverBudget | None:
        """See `Service.over_budget`. Costs nothing if no budget is set."""
        limit = await self._limits.used_up(Payer(place.team, place.channel, user, place.job_id))
        if limit is None or await self._recorded(_key(place), ts):
            return None
        told = not await self._limits.first_in_an_hour(f"over:{place.team}/{place.channel}/{ts}")
        return OverBudget(limit.scope, limit.named, "" if told else limit.refusal)

    async def asks_for_more(self, place: Place, user: str, scope: str) -> bool:
        """See `Service.asks_for_more`."""
        return await self._limits.first_in_an_hour(f"more:{place.team}/{place.channel}/{user}/{scope}")

    async def raise_budget(self, place: Place, user: str, scope: str, *, by: str, operation: str) -> str | None:
        """See `Service.raise_budget`."""
        key, target = _key(place), f"budget {scope}"
        if by not in self.admins:
            await self._refused("configured", key, None, by, NO_ADMIN, target=target)
            return None
        payer = Payer(place.team, place.channel, user, place.job_id)
        now = await self._limits.raise_budget(payer, scope, operation) if scope in SCOPES else ""
        if now and await self._limits.first_in_an_hour(f"raised:{place.team}/{operation}"):
            of = {"at": self._store.clock(), "team": key.team, "channel": place.channel, "job": key.job, "user": by}
            await self._note(AuditEntry.model_validate({"deed": "configured", **of, "target": target, "why": RAISED}))
        return now

    async def _recorded(self, key: JobKey, request: str) -> bool:
        """Return True if the request, or a message that may become one, is recorded: Slack repeats what it sends."""
        lines = await read_lines(self._store.jobs, key)
        kinds, named = ('"type":"RequestAdded"', '"type":"MessageHeard"'), f'"id":{json.dumps(request)}'
        return any(named in line and any(kind in line for kind in kinds) for line in lines)

    async def _was_read(self, key: JobKey, message: str) -> bool:
        """Return True if what a message said or brought is among the materials."""
        named = f'"message":{json.dumps(message)}'
        entries = await self._store.jobs.log(key)
        return any('"type":"MaterialGathered"' in one.payload and named in one.payload for one in entries)

    async def left(self, team: str, channel: str, user: str, job: str = "") -> list[str]:
        """See `Service.left`."""
        return await self._limits.status(Payer(team, channel, user, job))

    async def offers(self, place: Place, text: str) -> bool:
        """See `Service.offers`."""
        said = text.strip(" .!").casefold()
        options = (option for one in _open(await self._store.jobs.head(_key(place))) for option in one.options)
        return any(said == option.strip(" .!").casefold() for option in options)

    async def reply(
        self, place: Place, message: Request, *, mentioned: bool, others: bool, dedupe: tuple[str, ...]
    ) -> Answer:
        """See `Service.reply`. A message that is no plain answer is left to the job: it knows what is under way."""
        key, text, user = _key(place), message.text, message.user
        head = await self._store.jobs.head(key)
        if head is None:
            return Answer("ignored")
        if mentioned and self._crew_called(text)[0]:  # whoever names a crew asks for something
            return Answer("quarantined" if head.quarantined else "ignored")
        groups = await self._groups_of(user) if _open(head) else ()
        asked = [one for one in _open(head) if one.may_answer(user, groups)]
        question = _meant(asked, text)
        if question is not None and not others:
            await self._record_answer(place, question, rights.Actor(user, groups, user in self.admins), text, dedupe)
            return Answer("taken")
        if not others and not asked and (whom := self._answers_for_others(head, text)):
            once = f"not-theirs:{key.team}/{place.channel}/{message.id}"  # a mention comes twice
            if not await self._limits.first_in_an_hour(once):
                return Answer("not_yours")
            await self._refused("answered", key, head, user, NOT_ASKED)
            return Answer("not_yours", whom)
        if head.quarantined:
            return Answer("quarantined")
        if not text.strip() or not await self._hears(head, message, mentioned=mentioned, asked=bool(asked)):
            theirs = [one.whom for one in _open(head) if not one.approval] if not asked else []
            return Answer("ignored", joined(theirs))
        kept = message.model_copy(update={"at": self._store.clock()})
        if others:
            kept = kept.model_copy(update={"text": "", "attachments": ()})
        event = ev.MessageHeard(at=kept.at, message=kept, mentioned=mentioned, others=others, groups=groups)
        await self._store.jobs.signal(key, ev.dump(event), dedupe=dedupe)
        self._instance.nudge(key)
        return Answer("heard")

    def _answers_for_others(self, head: Head, text: str) -> tuple[str, ...]:
        """Return whom the questions are for that a text plainly answers; none if it answers none, or is mere talk."""
        asked = [one for one in _open(head) if not one.approval]
        named = [one for one in asked if chooses(text, one.options)]
        fitting = named or [one for one in asked if not one.options and answers_plainly(text, ())]
        return joined([one.whom for one in fitting]) if not is_thanks(text) else ()

    async def _hears(self, head: Head, message: Request, *, mentioned: bool, asked: bool) -> bool:
        """Return True if a message may be for the job: an ordinary request of somebody who mentions the bot is not."""
        if asked or (mentioned and is_thanks(message.text) and not message.attachments):
            return True
        if mentioned:  # the requester may want to change what is under way
            own = head.fields.get("state") not in ENDED and head.fields.get("user") == message.user
            return own and not message.attachments
        access, now = await self._settings.of(head.key.team, head.fields.get("channel", "")), self._store.clock()
        return access.follow_ups and head.seq < MOST_HEARD and access.quiet_until(now) == now

    async def edited(
        self, place: Place, message: str, *, user: str, text: str, stamp: float, dedupe: tuple[str, ...]
    ) -> bool:
        """See `Service.edited`."""
        crew, text = self._crew_called(text)
        of = {"message": message, "user": user, "text": text, "stamp": stamp, "crew": crew}
        event = ev.RequestEdited.model_validate({"at": self._store.clock(), **of})
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
        self, place: Place, choice: Choice, *, user: str, dedupe: tuple[str, ...], words: str = ""
    ) -> Answer:
        """See `Service.answer`. Only what the question offers is an answer, whatever a button says."""
        key = _key(place)
        head = await self._store.jobs.head(key)
        if head is None:
            return Answer(await self._missing(key))
        actor, about = await self._actor(user), {"request": choice.request, "target": choice.subtask}
        for question in _open(head):
            if (question.request, question.subtask, question.number) == (choice.request, choice.subtask, choice.number):
                if not question.may_answer(user, actor.groups):
                    await self._refused("answered", key, head, user, NOT_ASKED, **about)
                    return Answer("not_yours", question.whom)
                if (text := words.strip() or _chosen(question, choice.option)) is None:
                    return Answer("stale")
                await self._record_answer(place, question, actor, text, dedupe)
                return Answer("taken")
        await self._refused("answered", key, head, user, CLOSED, **about)
        return Answer("stale")

    async def _record_answer(
        self, place: Place, question: OpenQuestion, actor: rights.Actor, text: str, dedupe: tuple[str, ...]
    ) -> None:
        event = ev.QuestionAnswered(
            at=self._store.clock(),
            request=question.request,
            subtask=question.subtask,
            user=actor.user,
            text=text.strip(),
            number=question.number,
            groups=actor.groups,
            admin=actor.admin,
        )
        await self._store.jobs.signal(_key(place), ev.dump(event), dedupe=dedupe)
        self._instance.nudge(_key(place))

    async def cancel(self, team: str, job: str | None, place: Place | None, *, user: str) -> Stop:
        """See `Service.cancel`. What ends is decided by the job when the event comes; this says what to expect."""
        key = _key(place) if place is not None else JobKey(team, (job or "").upper())
        head = await self._store.jobs.head(key)
        if head is None:
            return Stop(await self._missing(key))
        actor = await self._actor(user)
        found = await read_job(self._store.jobs, key)
        if isinstance(found, str):  # its owner cannot say who asked for what; the head knows who asked last
            mine = actor.admin or head.fields.get("user") == user
            ends, others = int(mine), tuple(one for one in (head.fields.get("user", ""),) if not mine)
        else:
            ends, others = len(rights.stoppable(found, actor)), rights.going_on(found, actor)
            if not ends and not others:
                return Stop("nothing" if place is not None or rights.may_see(found, actor) else "not_yours")
        if not ends:
            await self._refused("stopped", key, head, user, NOT_THEIRS)
            return Stop("not_yours", others if place is not None else ())
        event = ev.CancelRequested(at=self._store.clock(), user=user, groups=actor.groups, admin=actor.admin)
        # A job in quarantine is released for it, to end with its report; but not to go on with what others asked for.
        free = not head.quarantined or others
        if free or not await self._store.jobs.release_quarantined(key, ev.dump(event)):
            await self._store.jobs.signal(key, ev.dump(event), dedupe=())
        self._instance.nudge(key)
        return Stop("noted" if head.quarantined and others else "cancelling", others)

    async def _actor(self, user: str) -> rights.Actor:
        return rights.Actor(user, await self._groups_of(user), user in self.admins)

    async def _refused(
        self, deed: Deed, key: JobKey, head: Head | None, user: str, why: str, *, request: str = "", target: str = ""
    ) -> None:
        """Record that a deed was refused."""
        channel = head.fields.get("channel", "") if head is not None else ""
        of = {"at": self._store.clock(), "team": key.team, "channel": channel, "job": key.job, "user": user}
        named = {"request": request[:LONGEST_ID], "target": target[:LONGEST_ID], "outcome": "refused", "why": why}
        await self._note(AuditEntry.model_validate({"deed": deed, **of, **named}))

    async def release(self, team: str, job: str, *, user: str) -> ReleaseVerdict:
        """Release a job from quarantine. Only admins may."""
        key = JobKey(team, job.upper())
        head = await self._store.jobs.head(key)
        if user not in self.admins:
            await self._refused("released", key, head, user, NO_ADMIN)
            return "not_admin"
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
        something = not isinstance(found, str) and (found.jobs or found.remembered or found.schedules)
        if isinstance(found, str) or not something or self._forgetting is None:
            return False
        await self._forgetting.begin(team, user, found, mark)
        return True

    async def _missing(self, key: JobKey) -> Literal["unknown", "forgotten"]:
        """Say why there is no such job."""
        return "unknown" if await self._store.jobs.forgotten(key) is None else "forgotten"

    async def trouble(self) -> str:
        """Return why no work is begun at the moment, in words for people; empty if it is."""
        return await self._store.full()

    async def job(self, team: str, job: str, user: str) -> Job | Denied:
        """See `Service.job`."""
        key = JobKey(team, job.upper())
        head = await self._store.jobs.head(key)
        if head is None:
            return await self._missing(key)
        found, actor = await read_job(self._store.jobs, key), await self._actor(user)
        sees = await self._asked_there(key, head, actor) if isinstance(found, str) else rights.may_see(found, actor)
        if not sees:
            await self._refused("traced", key, head, user, NOT_THERE)
            return "not_yours"
        return found

    async def _asked_there(self, key: JobKey, head: Head, actor: rights.Actor) -> bool:
        """Return True if the person asked for something in a job whose log cannot say so, or is an admin."""
        if actor.admin or head.fields.get("user") == actor.user:
            return True
        return any(other.key == key for other in await self._store.jobs.asked_by(key.team, actor.user, limit=100))

    async def trace(self, team: str, job: str, user: str) -> Traced | Denied:
        """See `Service.trace`. If the log cannot be read, nobody knows whose a step is: only admins see them."""
        key = JobKey(team, job.upper())
        head = await self._store.jobs.head(key)
        if head is None:
            return await self._missing(key)
        found, actor = await read_job(self._store.jobs, key), await self._actor(user)
        own = frozenset[str]() if isinstance(found, str) else rights.traced(found, actor)
        asked = await self._asked_there(key, head, actor) if isinstance(found, str) else bool(own)
        if not asked:
            await self._refused("traced", key, head, user, NOT_THEIRS)
            return "not_yours"
        try:
            entries = await self._store.jobs.log(key)
            seen = {"at": self._store.clock(), "team": team, "job": key.job, "channel": head.fields.get("channel", "")}
            await self._note(AuditEntry.model_validate({"deed": "traced", "user": user, **seen}))
            if actor.admin:
                readable = None if isinstance(found, str) else found
                why: Denied = found if isinstance(found, str) else "unreadable"
                whole = await asyncio.to_thread(read_trace, entries, job=key.job, team=team)
                return Traced(whole, readable, why, whole=True)
            if isinstance(found, str):
                return found
            return Traced(
                await asyncio.to_thread(read_trace, entries, job=key.job, team=team, own=own, user=user), found
            )
        except LogBroken as error:
            log.error("%s", error)  # noqa: TRY400 - one clear line, no trace
            return "unreadable"
        except ValueError:
            return "unreadable"

    async def job_of_thread(self, place: Place) -> Job | None:
        """Return the job of a thread, for whoever can read the thread; None if it has expired.

        Unlike the trace, the evidence that is shown of it is for all: it says what the answer in the thread stands on.
        """
        job = await read_job(self._store.jobs, _key(place))
        return job if isinstance(job, Job) else None

    async def feedback(
        self,
        place: Place,
        *,
        request: str,
        user: str,
        good: bool,
        dedupe: tuple[str, ...],
        reason: str = "",
        withdrawn: bool = False,
    ) -> Thumbed:
        """See `Service.feedback`."""
        said = {"user": user, "good": good, "reason": reason, "withdrawn": withdrawn}
        event = ev.FeedbackGiven.model_validate({"at": self._store.clock(), "request": request, **said})
        return await record_thumb(self._store, self._instance.nudge, _key(place), event, dedupe)


def _open(head: Head | None) -> tuple[OpenQuestion, ...]:
    return open_questions(head.fields) if head is not None else ()


def _meant(asked: Sequence[OpenQuestion], text: str) -> OpenQuestion | None:
    """Return the question that a text plainly answers; None if that is none, or the job has to find out which."""
    if len(asked) > 1:
        return None
    return next((one for one in asked if answers_plainly(text, one.options)), None)


def _chosen(question: OpenQuestion, option: int | str) -> str | None:
    """Return the option that a button stands for; None if the question offers none such."""
    if isinstance(option, int):
        return question.options[option] if 0 <= option < len(question.options) else None
    return next((one for one in question.options if option and one.strip().startswith(option)), None)


def _said(request: Request) -> float | None:
    """Return when a request was made, by Slack's clock: its message's `ts`. One from a window was made just now."""
    return float(request.id) if _TS.fullmatch(request.id) else None


def _key(place: Place) -> JobKey:
    return JobKey(place.team, place.job_id)
