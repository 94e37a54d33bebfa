"""The requests service: records requests, messages in threads, edits, deletions, and answers to questions."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bot.access.channel_settings import ChannelSettings
from bot.jobs.job_records import JobRecords, make_job_key
from bot.limits.call_limits import CallLimits
from bot.slack.receive.payloads import MessageEdited
from bot.store.values import Head, JobKey
from handoff import events as ev
from handoff.access import rights
from handoff.contracts import Place, Request
from handoff.conversation.message_kinds import chooses_option, is_thanks, split_crew_name
from handoff.engine.thread_messages import is_plain_answer
from handoff.state.job_state import ENDED_STATES
from handoff.summaries.audit_events import CLOSED_REASON
from handoff.summaries.summary import OpenQuestion, build_initial_summary, merge_answerers, parse_open_questions

if TYPE_CHECKING:
    from bot.slack.views.question import AnswerChoice

AnswerVerdict = Literal["taken", "stale", "not_yours", "unknown", "forgotten"]
"""`stale`: the question was answered before, or its request is over. `not_yours`: it is for somebody else."""
ReplyVerdict = Literal["taken", "heard", "ignored", "quarantined", "not_yours"]
"""`taken`: it answers a question. `heard`: it was recorded, and the job decides what it is for. `ignored`: it was not
recorded. `not_yours`: it answers a question that is for somebody else. `quarantined`: it was not recorded, as the
thread's job is in quarantine."""

_TS_PATTERN = re.compile(r"\d{1,12}\.\d{1,9}")
NOT_ASKED_REASON = "the question is for somebody else"
MAX_LOG_EVENTS = 5_000
"""Number of events in a job's log from which on replies without a mention are ignored, to bound the log."""

MemoryCheck = Callable[[Place, str], Awaitable[bool]]


async def assume_no_memories(_place: Place, _user: str) -> bool:
    """Return False, without reading any memories."""
    return False


@dataclass(frozen=True, slots=True)
class AnswerOutcome:
    """The outcome of an answer, or of a message that may be one.

    `answerers` is set if the person may answer none of the open questions: it names those who may.
    """

    verdict: AnswerVerdict | ReplyVerdict
    answerers: tuple[str, ...] = ()


class RequestService:
    """Records what people say to the bot. After a StoreError, nothing was recorded.

    `dedupe` ids identify an event, so that a second delivery changes nothing and has the same result. People's rights
    are checked here, not by the listeners.

    Args:
        records: Reads and writes the jobs.
        limits: Limits some notices to one an hour.
        settings: The settings of channels: where messages without a mention are read, and the default crew.
        has_memories: Returns whether there are memories that apply to a person's request in a place.
    """

    def __init__(
        self,
        records: JobRecords,
        limits: CallLimits,
        settings: ChannelSettings,
        has_memories: MemoryCheck = assume_no_memories,
    ) -> None:
        self._records = records
        self._limits = limits
        self._settings = settings
        self._has_memories = has_memories
        self.crews = settings.crews

    async def record_request(
        self, place: Place, request: Request, *, dedupe: tuple[str, ...], refusal: str = ""
    ) -> bool:
        """Record a request, or with a `refusal` (a text for the thread) one that is not worked on.

        Returns False for a duplicate.
        """
        crew, text = self._split_crew_name(request.text)
        recalls = await self._has_memories(place, request.user)
        added_fields = {"at": self._records.clock(), "text": text, "crew": crew, "recalls": recalls}
        request = request.model_copy(update=added_fields)
        default_crew = (
            (await self._settings.read_effective_values(place.team, place.channel)).crew if self.crews else ""
        )
        event = ev.RequestAdded(at=request.at, place=place, request=request, refusal=refusal, usual=default_crew)
        key = make_job_key(place)
        new = await self._records.store.jobs.ingest(
            key,
            ev.dump_event(event),
            dedupe=dedupe,
            user=request.user,
            fields=build_initial_summary(place, request),
            said_at=_find_request_time(request),
        )
        self._records.nudge(key)
        return new

    async def has_job(self, place: Place) -> bool:
        """Return True if the thread has a job."""
        return await self._records.has_job(place)

    async def claim_refusal_notice(self, place: Place, bot: str) -> bool:
        """Claim the notice to another bot that it cannot make requests. Returns False within an hour of the last."""
        return await self._limits.claim_hourly_mark(f"bot:{place.team}/{place.channel}/{bot}")

    async def is_offered_answer(self, place: Place, text: str) -> bool:
        """Return True if an open question of the thread offers exactly this text as an answer."""
        reply_text = text.strip(" .!").casefold()
        options = (
            option
            for one in _list_open_questions(await self._records.store.jobs.read_head(make_job_key(place)))
            for option in one.options
        )
        return any(reply_text == option.strip(" .!").casefold() for option in options)

    async def record_reply(
        self, place: Place, message: Request, *, mentions_bot: bool, mentions_others: bool, dedupe: tuple[str, ...]
    ) -> AnswerOutcome:
        """Record a message in a thread if it answers an open question or may concern the job; otherwise ignore it.

        `mentions_bot`: it names the bot, or is in a direct message. `mentions_others`: it names other people, but not
        the bot. An ignored message leaves no trace, so its dedupe ids may be used again with `record_request`. A
        recorded message has the same outcome when it is delivered again.

        A message that is no plain answer is recorded for the job, which knows its work in progress and decides.
        """
        key, text, user = make_job_key(place), message.text, message.user
        head = await self._records.store.jobs.read_head(key)
        if head is None:
            return AnswerOutcome("ignored")
        if mentions_bot and self._split_crew_name(text)[0]:  # a text that names a crew is a request
            return AnswerOutcome("quarantined" if head.is_quarantined else "ignored")
        groups = await self._records.find_groups(user) if _list_open_questions(head) else ()
        answerable_questions = [one for one in _list_open_questions(head) if one.may_answer(user, groups)]
        question = _find_answered_question(answerable_questions, text)
        if question is not None and not mentions_others:
            await self._record_answer(
                place, question, rights.Actor(user, groups, user in self._records.admins), text, dedupe
            )
            return AnswerOutcome("taken")
        if (
            not mentions_others
            and not answerable_questions
            and (answerers := self._find_intended_answerers(head, text))
        ):
            mark = f"not-theirs:{key.team}/{place.channel}/{message.id}"  # Slack sends two events for a mention
            if not await self._limits.claim_hourly_mark(mark):
                return AnswerOutcome("not_yours")
            await self._records.record_refusal("answered", key, head, user, NOT_ASKED_REASON)
            return AnswerOutcome("not_yours", answerers)
        if head.is_quarantined:
            return AnswerOutcome("quarantined")
        if not text.strip() or not await self._may_concern_job(
            head, message, mentions_bot=mentions_bot, is_asked=bool(answerable_questions)
        ):
            question_answerers = (
                [one.whom for one in _list_open_questions(head) if not one.is_approval]
                if not answerable_questions
                else []
            )
            return AnswerOutcome("ignored", merge_answerers(question_answerers))
        recorded_message = message.model_copy(update={"at": self._records.clock()})
        if mentions_others:
            recorded_message = recorded_message.model_copy(update={"text": "", "attachments": ()})
        event = ev.MessageHeard(
            at=recorded_message.at,
            message=recorded_message,
            mentioned=mentions_bot,
            others=mentions_others,
            groups=groups,
        )
        await self._records.record_event(key, event, dedupe)
        return AnswerOutcome("heard")

    def _find_intended_answerers(self, head: Head, text: str) -> tuple[str, ...]:
        """Return the ids of those whose open question a text plainly answers; empty if there are none."""
        questions = [one for one in _list_open_questions(head) if not one.is_approval]
        option_matches = [one for one in questions if chooses_option(text, one.options)]
        matching_questions = option_matches or [
            one for one in questions if not one.options and is_plain_answer(text, ())
        ]
        return merge_answerers([one.whom for one in matching_questions]) if not is_thanks(text) else ()

    async def _may_concern_job(self, head: Head, message: Request, *, mentions_bot: bool, is_asked: bool) -> bool:
        """Return True if a message may concern the job's present work. A mention is mostly a new request instead."""
        if is_asked or (mentions_bot and is_thanks(message.text) and not message.attachments):
            return True
        if mentions_bot:  # the requester may want to change the running request
            is_own_request = head.fields.get("state") not in ENDED_STATES and head.fields.get("user") == message.user
            return is_own_request and not message.attachments
        access, now = (
            await self._settings.read_effective_values(head.key.team, head.fields.get("channel", "")),
            self._records.clock(),
        )
        return access.follow_ups and head.seq < MAX_LOG_EVENTS and access.find_quiet_end(now) == now

    async def record_edit(self, edit: MessageEdited) -> bool:
        """Record that a message was edited. Returns False if the job does not know the message."""
        crew, text = self._split_crew_name(edit.text)
        of = {"message": edit.ts, "user": edit.user, "text": text, "tables": edit.tables, "stamp": edit.edited_at}
        event = ev.RequestEdited.model_validate({"at": self._records.clock(), **of, "crew": crew})
        return await self._record_change(edit.place, edit.ts, event, edit.dedupe_keys)

    async def record_deletion(self, place: Place, message: str, *, dedupe: tuple[str, ...]) -> bool:
        """Record that a message was deleted. Returns False if the job does not know the message."""
        event = ev.RequestWithdrawn(at=self._records.clock(), message=message)
        return await self._record_change(place, message, event, dedupe, or_read=True)

    async def record_file_deletion(self, team: str, file: str) -> int:
        """Record the deletion of a file in each job that read the file. Returns how many jobs got the event."""
        told_count = 0
        for key in await self._records.store.blobs.list_jobs_that_read(team, file):
            event = ev.FileDeleted(at=self._records.clock(), file=file)
            told_count += await self._records.store.jobs.signal(
                key, ev.dump_event(event), dedupe=(f"file_deleted:{file}",)
            )
            self._records.nudge(key)
        return told_count

    async def _record_change(
        self, place: Place, message: str, event: ev.Event, dedupe: tuple[str, ...], *, or_read: bool = False
    ) -> bool:
        """Record a change of a message that the job has recorded or, with `or_read`, that it has read with its thread.

        Returns False, and records nothing, for other messages.
        """
        key = make_job_key(place)
        if await self._records.store.jobs.read_head(key) is None:
            return False
        if not await self._records.is_message_recorded(key, message) and not (
            or_read and await self._was_read(key, message)
        ):
            return False
        await self._records.record_event(key, event, dedupe)
        return True

    async def _was_read(self, key: JobKey, message: str) -> bool:
        """Return True if a message's text or files are among the job's materials."""
        message_field = f'"message":{json.dumps(message)}'
        entries = await self._records.store.jobs.read_log(key)
        return any('"type":"MaterialGathered"' in one.payload and message_field in one.payload for one in entries)

    async def record_choice(
        self, place: Place, choice: AnswerChoice, *, user: str, dedupe: tuple[str, ...], words: str = ""
    ) -> AnswerOutcome:
        """Record a click on an answer's button; with `words`, they are the answer in place of the button's option.

        An option that the question does not offer is no answer: then the outcome is `stale`.
        """
        key = make_job_key(place)
        head = await self._records.store.jobs.read_head(key)
        if head is None:
            return AnswerOutcome(await self._records.explain_missing(key))
        actor, audit_fields = (
            await self._records.find_actor(user),
            {"request": choice.request, "target": choice.subtask},
        )
        for question in _list_open_questions(head):
            if (question.request, question.subtask, question.number) == (choice.request, choice.subtask, choice.number):
                if not question.may_answer(user, actor.groups):
                    await self._records.record_refusal("answered", key, head, user, NOT_ASKED_REASON, **audit_fields)
                    return AnswerOutcome("not_yours", question.whom)
                if (text := words.strip() or _find_option(question, choice.option)) is None:
                    return AnswerOutcome("stale")
                await self._record_answer(place, question, actor, text, dedupe)
                return AnswerOutcome("taken")
        await self._records.record_refusal("answered", key, head, user, CLOSED_REASON, **audit_fields)
        return AnswerOutcome("stale")

    async def _record_answer(
        self, place: Place, question: OpenQuestion, actor: rights.Actor, text: str, dedupe: tuple[str, ...]
    ) -> None:
        event = ev.QuestionAnswered(
            at=self._records.clock(),
            request=question.request,
            subtask=question.subtask,
            user=actor.user,
            text=text.strip(),
            number=question.number,
            groups=actor.groups,
            admin=actor.is_admin,
        )
        await self._records.record_event(make_job_key(place), event, dedupe)

    def _split_crew_name(self, text: str) -> tuple[str, str]:
        """Return a pair: the crew's name that a text begins with, or "", and the rest of the text."""
        return split_crew_name(text, self.crews)


def _list_open_questions(head: Head | None) -> tuple[OpenQuestion, ...]:
    return parse_open_questions(head.fields) if head is not None else ()


def _find_answered_question(questions: Sequence[OpenQuestion], text: str) -> OpenQuestion | None:
    """Return the question that a text plainly answers; None if it answers none, or if several are open."""
    if len(questions) > 1:
        return None
    return next((one for one in questions if is_plain_answer(text, one.options)), None)


def _find_option(question: OpenQuestion, option: int | str) -> str | None:
    """Return the option that a button stands for; None if the question does not offer it."""
    if isinstance(option, int):
        return question.options[option] if 0 <= option < len(question.options) else None
    return next((one for one in question.options if option and one.strip().startswith(option)), None)


def _find_request_time(request: Request) -> float | None:
    """Return the time of a request by Slack's clock, from its message's `ts`; None if it came from a window."""
    return float(request.id) if _TS_PATTERN.fullmatch(request.id) else None
