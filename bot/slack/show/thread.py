"""Shows jobs in their Slack threads: the message of each key, the live card and the streamed answer."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.receive.attachments import download_attachment
from bot.slack.receive.markup import PERSON_MENTION, to_plain_text
from bot.slack.receive.message_reader import render_plain_content
from bot.slack.send.outbox import Outbox, SentMessage
from bot.slack.send.web_calls import TOKEN_PATIENCE, Allowed, BackgroundTasks, JobGone, close_client
from bot.slack.show.admission import find_readable_channel
from bot.slack.show.card_painter import CardPainter, CardPoster
from bot.slack.show.job_messenger import MessengerFactory
from bot.slack.show.native_parts import IN_ANSWER_FAULT, NativeBlocks, PostFile
from bot.slack.show.notices import send_direct_once
from bot.slack.show.open_questions import redraw_closed_questions, render_closed_question
from bot.slack.show.people import DIRECT_MESSAGE, People
from bot.slack.show.publisher import ArtifactPublisher
from bot.slack.show.receipts import show_receipt
from bot.slack.show.session import (
    STATUS_BY_STATE,
    SessionView,
    ThreadSessions,
    has_new_title,
    rename_session,
    set_status,
)
from bot.slack.text.cleaning import clean_markdown
from bot.slack.views import answer_message as answer_view
from bot.slack.views import request_ends
from bot.slack.views.approval import render_approval, render_dropped_approval
from bot.slack.views.card import render_plan_card
from bot.slack.views.outgoing import Outgoing
from bot.slack.views.question import find_asker_name, render_dropped_question, render_question, render_reminder
from bot.store.redis.redis_store import Store
from bot.store.values import Claim, JobKey
from handoff.briefs.addresses import list_known_addresses
from handoff.contracts import Artifact, Attachment, Audience, ChannelSpan, Place
from handoff.effects import (
    make_answer_key,
    make_card_end_key,
    make_card_key,
    make_file_key,
    make_question_key,
    make_reminder_key,
)
from handoff.engine.questions import compute_expiry_time, list_askable_people
from handoff.engine.replay import parse_log
from handoff.events import NewerEventError, SettingKnown
from handoff.state.job_state import Job, RequestState
from handoff.state.state_values import HeardMessage, Question
from handoff.summaries.summary import QuarantineNotice, TrialNotice

if TYPE_CHECKING:
    from bot.slack.receive.channel_reader import ChannelReadOutcome
    from bot.slack.receive.thread_reader import ThreadReadOutcome
    from bot.slack.show.directory import KnownChannel
    from bot.slack.show.stream import AnswerStream

log = logging.getLogger(__name__)

WITHDRAWN_FAULT = "its request was deleted"
MAX_NAMES = 40
"""Most people whose names are looked up for one table or message."""

DAY_SECONDS = 86_400.0
LAST_EDITS_SECONDS = 10.0
"""Seconds that a job waits for the last edits of its thread before it is released."""


class ThreadView:
    """Shows jobs in their threads. One object serves all the jobs of an instance. `messengers` reach other places.

    Many methods take `allowed`, which is asked before each try of a call that shows something. If it returns False, the
    call is left out.
    """

    def __init__(
        self,
        client: AsyncWebClient,
        outbox: Outbox,
        store: Store,
        people: People,
        messengers: MessengerFactory | None,
        *,
        model_label: str,
        by_rules: bool = False,
    ) -> None:
        self.messengers = messengers
        self._client = client
        self._outbox = outbox
        self._publisher = ArtifactPublisher(outbox)
        self._people = people
        self._store = store
        self._model_label = model_label
        self._by_rules = by_rules
        self._streams: dict[tuple[JobKey, str], AnswerStream] = {}
        self._painters: dict[JobKey, CardPainter] = {}
        self._cards = CardPoster(outbox)
        self._native = NativeBlocks()
        self._sessions = ThreadSessions(client, outbox.calls, self._request_card_redraw)
        self._shown_jobs: set[JobKey] = set()
        """The jobs of this instance whose threads were brought up to date."""
        self._background = BackgroundTasks()
        self._edits: dict[JobKey, set[asyncio.Task[None]]] = {}
        self._late_edits_since: dict[JobKey, float] = {}
        """The time at which the last edits of a job were late for the first time, on the monotonic clock."""
        budget = outbox.calls.budget
        budget.reserve_turns("chat.update", lambda: len(self._painters))  # the last edit of each card
        budget.reserve_turns("agents.sessions.setStatus", self._sessions.count_at_work)

    async def fetch_attachment(self, attachment: Attachment) -> tuple[Attachment, bytes] | str:
        """Return an attachment with its bytes, or a sentence that says why it could not be fetched and what to do.

        A file is downloaded from Slack. A pasted table or a forwarded message becomes plain text, with people's names.
        """
        ids = dict.fromkeys(PERSON_MENTION.findall(f"{attachment.author} {attachment.text}"))
        names = {user: name for user in list(ids)[:MAX_NAMES] if (name := await self._people.find_name(user))}
        attachment = attachment.model_copy(update={"author": to_plain_text(attachment.author, "", names)})
        if attachment.kind != "file":
            return attachment, render_plain_content(attachment, names)
        return await download_attachment(self._client, self._outbox.calls, attachment)

    async def read_thread(self, job: Job, ask: RequestState) -> ThreadReadOutcome:
        """Read the messages in the thread before a request, and look up the files of the request's own message."""
        from bot.slack.receive.thread_reader import ThreadReader  # noqa: PLC0415 - only where there is a thread

        calls, bot = self._outbox.calls, self._outbox.lookup.bot_user_id
        return await ThreadReader(self._client, calls, self._people, bot_user=bot).read(job, ask)

    async def read_channel(
        self, span: ChannelSpan, job: Job, ask: RequestState
    ) -> tuple[str, Audience, ChannelReadOutcome]:
        """Read the messages of a channel or a thread in it, if the requester may read it now.

        Returns a tuple of (its name, who may read it, its messages).
        """
        from bot.slack.receive.channel_reader import ChannelReader, ChannelReadOutcome  # noqa: PLC0415 - only where one is read

        calls, bot, people = self._outbox.calls, self._outbox.lookup.bot_user_id, self._people
        place = Place(team=people.home.team, channel=span.channel, thread_ts="")
        name = DIRECT_MESSAGE
        if span.channel != job.place.channel or not span.channel.startswith("D"):
            found = await self._find_readable(span, ask)
            if isinstance(found, str):
                return "the channel", Audience(channel=span.channel), ChannelReadOutcome(fault=found)
            name = f"{found.name} (thread)" if span.thread_ts else found.name
        above = f"What was said in {name}{_describe_period(span, ask)}, the oldest first."
        read = await ChannelReader(self._client, calls, people, bot_user=bot).read(span, name, ask.request.user, above)
        if not read.text.text and not read.fault:
            nothing = f"(Nothing was said in {name}{_describe_period(span, ask)}.)"
            read = replace(read, text=replace(read.text, text=nothing))
        return name, await people.find_audience(place), read

    async def _find_readable(self, span: ChannelSpan, ask: RequestState) -> KnownChannel | str:
        if self.messengers is None:
            return "I cannot read channels here."
        return await find_readable_channel(self.messengers.directory, span.channel, ask.request.user)

    async def find_audience(self, job: Job) -> Audience:
        """Return who may read the job's thread."""
        return await self._people.find_audience(job.place)

    async def fetch_request_setting(
        self, job: Job, ask: RequestState, crew_people: Sequence[str] = (), contact: str = ""
    ) -> SettingKnown:
        """Return an event with what Slack knows of the requester, the channel, and the other people who may be asked.

        `crew_people` are the people whom the crew names. `contact` is the crew's contact, whose name is looked up too.
        """
        setting = await self._people.find_setting(job.place, ask.request.user)
        others = [one for one in (*list_askable_people(job, ask), *crew_people) if one != ask.request.user]
        if others:
            known = await self._people.find_people(tuple(dict.fromkeys(others)))
            setting = setting.model_copy(update={"people": known})
        if contact:
            called = {"contact": contact, "contact_name": await self._people.find_contact_name(contact)}
            setting = setting.model_copy(update=called)
        return SettingKnown(at=self._store.clock(), request=ask.id, setting=setting)

    async def post(self, claim: Claim, job: Job, ask: RequestState, key: str, *, allowed: Allowed) -> SentMessage:
        """Post the message with a key into the thread, once. Raises JobGone if the job is no longer ours.

        At any end of a request, a stream that did not become its answer is deleted.
        """
        if ask.request.opens:
            return SentMessage("", "there is no thread")
        if key != make_answer_key(ask.id):
            return await self._post(claim, job, ask, key, allowed)
        stream = self._streams.get((claim.key, ask.id))
        sent = await self._post_end(claim, job, ask, stream, allowed)
        if stream is not None:
            await stream.settle()
        await self._outbox.clear_stream(
            claim, job.place, key, allowed=allowed, ts=stream.ts if stream is not None else ""
        )
        self._streams.pop((claim.key, ask.id), None)
        return sent

    async def _post(self, claim: Claim, job: Job, ask: RequestState, key: str, allowed: Allowed) -> SentMessage:
        place = job.place
        if _has_no_thread(job, ask) and key != make_card_end_key(ask.id):
            return SentMessage("", WITHDRAWN_FAULT)
        if key == make_card_key(ask.id):
            return await self._cards.post_card(claim, job, ask, self._find_or_make_painter(claim.key, allowed))
        if key == make_card_end_key(ask.id):
            return await self._draw_final_card(job, ask, allowed)
        if (asking := _render_keyed_question(job, ask, key)) is not None:
            return await self._outbox.post(claim, place, key, asking)
        results = [work.result for work in ask.work.values() if work.result is not None]
        for artifact in (file for result in results for file in result.artifacts):
            if key == make_file_key(ask.id, artifact.id):
                if self._native.is_shown_in_answer(ask, artifact):
                    return SentMessage("", IN_ANSWER_FAULT)
                return await self._post_file(claim, job, ask, key, artifact)
        return SentMessage("", "there is nothing to show any more")

    async def show_receipt(self, claim: Claim, job: Job, message: HeardMessage) -> None:
        """Show the author of a message what the bot did with it. Raises JobGone if the job is no longer ours."""
        await show_receipt(self._outbox, claim, job, message, by_rules=self._by_rules)

    async def find_names(self, users: Sequence[str]) -> dict[str, str]:
        """Return people's names by their ids; "" for a person whose name Slack does not give in time."""
        names = await asyncio.gather(*(self._people.find_name(user) for user in users))
        return dict(zip(users, names, strict=True))

    async def find_offset(self, user: str) -> int:
        """Return the seconds by which a person's time zone is ahead of UTC; 0 if Slack does not give it."""
        return (await self._people.find_zone(user))[1]

    async def list_speaker_names(self, job: Job, user: str) -> tuple[str, ...]:
        """Return the names of the other people who spoke in the thread, if Slack gives them."""
        others = {*(ask.request.user for ask in job.asks), *job.talk.speakers} - {user}
        return await self._people.find_names(sorted(others))

    async def _post_file(self, claim: Claim, job: Job, ask: RequestState, key: str, artifact: Artifact) -> SentMessage:
        try:
            data = await self._store.blobs.get(claim.key, artifact.id)
        except KeyError:
            return SentMessage("", f"{artifact.name} is no longer kept")
        if artifact.publish_as == "canvas":
            markdown = clean_markdown(data.decode("utf-8", "replace"), known=list_known_addresses(job, ask))
            return await self._publisher.publish_canvas(claim, job.place, key, artifact, markdown)
        return await self._publisher.publish_file(claim, job.place, key, artifact, data)

    async def _post_end(
        self, claim: Claim, job: Job, ask: RequestState, stream: AnswerStream | None, allowed: Allowed
    ) -> SentMessage:
        """Post the answer, or the message that ends a request without one.

        If the thread cannot be reached, or its first message was deleted, only the requester is told.
        """
        key = make_answer_key(ask.id)
        if stream is not None and ask.run.answer is None:
            stream.drop()
        if _has_no_thread(job, ask):
            message = request_ends.render_cancellation(job, ask, is_private=True)
            await send_direct_once(self._outbox, claim, ask.request.user, f"{key}:alone", message, allowed=allowed)
            return SentMessage("", WITHDRAWN_FAULT)

        async def post_file(key: str, artifact: Artifact) -> SentMessage:
            return await self._post_file(claim, job, ask, key, artifact)

        if ask.run.answer is None:
            if not ask.cancelled_by:
                await self._native.post_pictures(ask, post_file)
            sent = await self._outbox.post(claim, job.place, key, self._render_end(job, ask))
        else:
            sent = await self._post_answer(claim, job, ask, stream, post_file)
        if sent.fault:
            await self._tell_requester(claim, job, ask, sent.fault, allowed)
        return sent

    async def _post_answer(
        self, claim: Claim, job: Job, ask: RequestState, stream: AnswerStream | None, post_file: PostFile
    ) -> SentMessage:
        charts, key = await self._native.prepare_charts(ask, post_file), make_answer_key(ask.id)
        plainly = answer_view.render_answer(job, ask, self._model_label)
        if stream is not None and ask.run.answer is not None:
            over = self._sessions.says_at_work(claim.key) and job.latest_request.id == ask.id
            end = [*charts, *answer_view.render_answer_end(job, ask, self._model_label)]
            sent = await stream.finish(ask.run.answer, plainly, end, status="active" if over else "")
            if sent is not None:
                if over:
                    self._sessions.record_status(claim.key, "active")
                return sent
        sent = SentMessage("")
        for number, part in enumerate(plainly):
            last = number == len(plainly) - 1
            part_key = key if last else f"{key}:{number}"
            shown = self._native.render_part(part, charts if last else [])
            simpler = partial(self._native.fall_back_to_pictures, part, ask, post_file)
            sent = await self._outbox.post(
                claim, job.place, part_key, shown, draw_simpler=simpler if shown != part else None
            )
            if sent.fault:
                break
        return sent

    async def _tell_requester(self, claim: Claim, job: Job, ask: RequestState, fault: str, allowed: Allowed) -> None:
        """Send the requester a direct message about how the request ended, since the thread cannot be reached."""
        end = (
            self._render_end(job, ask)
            if ask.run.answer is None
            else answer_view.render_answer(job, ask, self._model_label)[0]
        )
        message, key = request_ends.render_unreachable(job, fault, end), f"{make_answer_key(ask.id)}:alone"
        await send_direct_once(self._outbox, claim, ask.request.user, key, message, allowed=allowed)

    def _render_end(self, job: Job, ask: RequestState) -> Outgoing:
        if ask.refusal:
            return request_ends.render_refusal(ask.refusal)
        return request_ends.render_cancellation(job, ask) if ask.cancelled_by else request_ends.render_failure(job, ask)

    async def _draw_final_card(self, job: Job, ask: RequestState, allowed: Allowed) -> SentMessage:
        ts = ask.posted.get(make_card_key(ask.id), "")
        if not ts:
            return SentMessage("", "there is no card")
        painter = self._painters.pop(_make_job_key(job), None)
        if painter is not None:
            await painter.stop()
        card = render_plan_card(job, ask, self._store.clock())
        shown = await self._outbox.edit_message(job.place, ts, card, allowed=allowed, priority="settled")
        return SentMessage(ts if shown else "", "" if shown else "the card could not be edited")

    async def begin_answer(self, claim: Claim, job: Job, ask: RequestState, *, allowed: Allowed) -> AnswerStream:
        """Return a stream for the answer that is about to be written, and drop a former one."""
        from bot.slack.show.stream import AnswerStream  # noqa: PLC0415 - only for an answer that is written

        key, reader = make_answer_key(ask.id), ask.request.user
        known = list_known_addresses(job, ask)
        stream = AnswerStream(self._outbox, claim, job.place, key, reader=reader, allowed=allowed, known=known)
        if (former := self._streams.get((claim.key, ask.id))) is not None:
            former.drop()
        self._streams[claim.key, ask.id] = stream
        return stream

    def show_job_change(self, key: JobKey, before: Job, after: Job, *, allowed: Allowed) -> None:
        """Update the card, redraw closed questions and set the session's status, after a change of the job.

        After a takeover it is unknown what the last owner still showed, so everything is shown again. An instance that
        continues a job also redraws the questions that were answered before.
        """
        goes_on = key not in self._shown_jobs
        self._shown_jobs.add(key)
        ask = after.latest_request
        old = before.find_request(ask.id)
        taken_over = after.takeovers > before.takeovers
        released = before.quarantine is not None and after.quarantine is None
        if old is None or goes_on or taken_over or released or STATUS_BY_STATE[old.state] != STATUS_BY_STATE[ask.state]:
            self._show_status(after, ask, allowed)
        if has_new_title(before, after):
            self._edit_in_background(
                key, rename_session(self._client, self._outbox.calls, after, allowed=allowed), "rename the session"
            )
        goes_on = goes_on and old is not None and not old.is_over
        answered = old is not None and (old.answered or any(work.answered for work in old.work.values()))
        if taken_over or (goes_on and answered):
            self._edit_in_background(
                key, redraw_closed_questions(self._outbox, after, allowed=allowed), "close questions anew"
            )
        self._cards.update_waiting_card(key, after, ask)
        if old is None or ask.refusal:
            return
        for name, asked in _list_last_questions(old).items():
            now = _list_last_questions(ask).get(name)
            if now is None or now.number != asked.number:
                self._redraw_closed_question(after, ask, name, asked, allowed)
            elif old.run.failure is None and ask.run.failure is not None:
                self._redraw_question(
                    after, ask, name, asked, _render_dropped_question(after, ask, name, asked), allowed
                )
            elif now.votes != asked.votes:  # one of several people has approved
                self._redraw_question(after, ask, name, now, render_approval(after, ask, name, now), allowed)
        ts = ask.posted.get(make_card_key(ask.id), "")
        if ts and ask.run.answer is None and ask.run.failure is None:  # after that, only the card's last edit is drawn
            self._find_or_make_painter(key, allowed).show(after, ask, ts)

    async def announce_trial(self, claim: Claim, notice: TrialNotice) -> None:
        """Tell the thread that its job, suspected of crashing its owners, will be tried alone. Raises JobGone."""
        message = request_ends.render_trial(notice.place.job_id, notice.step, notice.lost_owners)
        sent = await self._outbox.post(claim, notice.place, notice.key, message)
        if sent.fault:
            log.warning("job %s: its thread could not be told: %s", notice.place.job_id, sent.fault)

    async def announce_quarantine(self, claim: Claim, notice: QuarantineNotice) -> None:
        """Tell the thread that its job is quarantined, and update the card and the session where possible.

        Raises JobGone if the job is no longer ours.
        """
        message = request_ends.render_quarantine(
            notice.place.job_id, notice.step, notice.reason, user=notice.user, readable=notice.is_readable
        )
        sent = await self._outbox.post(claim, notice.place, notice.key, message)
        if sent.fault:
            log.warning("job %s: its thread could not be told: %s", notice.place.job_id, sent.fault)
        ask, allowed = notice.job.current_request if notice.job else None, self._outbox.make_claim_check(claim)
        await self._outbox.clear_streams(claim, notice.place, allowed=allowed)
        if notice.job is not None and ask is not None and (ts := ask.posted.get(make_card_key(ask.id))):
            card = render_plan_card(notice.job, ask, self._store.clock())
            await self._outbox.edit_message(notice.place, ts, card, allowed=allowed, priority="settled")
        shown = SessionView("suspended", notice.title, notice.user)
        await set_status(self._client, self._outbox.calls, notice.place, lambda: shown, allowed=allowed)

    def _find_or_make_painter(self, key: JobKey, allowed: Allowed) -> CardPainter:
        painter = self._painters.get(key)
        if painter is None:
            painter = self._painters[key] = CardPainter(
                self._outbox,
                allowed=allowed,
                needs_stop=lambda ask: not self._sessions.shows_stop(key, ask),
                read_job=partial(self._read_job, key),
            )
        return painter

    async def _read_job(self, key: JobKey) -> Job | None:
        """Return the current state of a job from its log; None if a newer release wrote it, or it is gone.

        Raises StoreError.
        """
        try:
            return parse_log([entry.payload for entry in await self._store.jobs.log(key)])
        except NewerEventError:
            return None

    def _redraw_closed_question(
        self, job: Job, ask: RequestState, name: str, closing: Question, allowed: Allowed
    ) -> None:
        """Redraw a question that is no longer open, without its buttons and with the outcome."""
        gone = name and name not in ask.work
        closed = None if gone else render_closed_question(job, ask, name, closing.number)
        if closed is None and not gone and closing.approval is not None:  # the subtask ran out of time
            closed = render_dropped_approval(find_asker_name(ask, name), closing)
        if closed is not None:
            self._redraw_question(job, ask, name, closing, closed, allowed)

    def _redraw_question(
        self, job: Job, ask: RequestState, name: str, closing: Question, message: Outgoing, allowed: Allowed
    ) -> None:
        ts = ask.posted.get(make_question_key(ask.id, name, closing.number), "")
        if ts:
            self._edit_in_background(
                _make_job_key(job),
                self._outbox.edit_message(job.place, ts, message, allowed=allowed),
                "close a question",
            )
        else:  # the log lacks the message's id: an owner died, or the answer was very quick
            self._edit_in_background(
                _make_job_key(job), redraw_closed_questions(self._outbox, job, allowed=allowed), "close a question"
            )

    def _edit_in_background(self, key: JobKey, work: Coroutine[Any, Any, object], label: str) -> None:
        """Edit the thread in the background. `stop_showing_job` waits for such edits if the job is idle."""
        edits = self._edits.setdefault(key, set())
        task = self._background.start(_run_unless_gone(work, label), label)
        edits.add(task)

        def forget(_: asyncio.Task[None]) -> None:
            edits.discard(task)
            if not edits and self._edits.get(key) is edits:
                del self._edits[key]

        task.add_done_callback(forget)

    def _show_status(self, job: Job, ask: RequestState, allowed: Allowed) -> None:
        """Set the session's status in the background."""
        key = _make_job_key(job)
        work = self._sessions.show(key, job, ask, allowed)
        if work is not None:
            self._edit_in_background(key, work, "set the session status")

    def _request_card_redraw(self, key: JobKey) -> None:
        """Have a card drawn again, because it may need a Stop button now, or need none any more."""
        if painter := self._painters.get(key):
            painter.request_redraw()

    async def stop_showing_job(self, key: JobKey, *, idle: bool = False) -> bool:
        """Stop showing a job that this instance releases: stop drawing, and drop unfinished streams.

        `idle`: the job waits for people or for a time to come, so the last edits of its thread must go out first.
        Returns False if they are late, and True at last when they were late for as long as such calls are retried.
        """
        self._shown_jobs.discard(key)
        self._sessions.forget(key)
        painter = self._painters.pop(key, None)
        if painter is not None:
            await painter.stop(up_to_date=idle)
        for name in [name for name in self._streams if name[0] == key]:
            self._streams.pop(name).drop()
        edits = self._edits.get(key)
        if idle and edits:
            _, late = await asyncio.wait(edits, timeout=LAST_EDITS_SECONDS)
            if late and time.monotonic() - self._late_edits_since.setdefault(key, time.monotonic()) < TOKEN_PATIENCE:
                return False
        self._late_edits_since.pop(key, None)
        return True

    async def close(self, seconds: float) -> None:
        """Wait at most `seconds` for the edits under way, and close the client."""
        try:
            await self._background.drain(seconds)
        finally:
            await close_client(self._client)


def _has_no_thread(job: Job, ask: RequestState) -> bool:
    """Return True if a request was made in the first message of the thread, and that message was deleted."""
    return ask.withdrawn and ask.id == job.place.thread_ts


def _describe_period(span: ChannelSpan, ask: RequestState) -> str:
    """Return from which time on the messages of a channel are read, in words; "" for a thread, which is read whole."""
    if span.thread_ts:
        return ""
    days = round((span.until - span.since) / DAY_SECONDS)
    return " since the last run" if ask.request.schedule else f" in the last {days} days"


def _render_keyed_question(job: Job, ask: RequestState, key: str) -> Outgoing | None:
    """Return the message of the open question or reminder with a key; None if there is none."""
    for name, asked in ask.open_questions.items():
        if key == make_question_key(ask.id, name, asked.number):
            if asked.approval is not None:
                return render_approval(job, ask, name, asked, compute_expiry_time(asked))
            return render_question(job, ask, name)
        for count in range(1, len(asked.reminders) + 1):
            if key == make_reminder_key(ask.id, name, asked.number, count):
                return render_reminder(job, ask, name, count)
    return None


def _list_last_questions(ask: RequestState) -> dict[str, Question]:
    """Return the last unanswered question of each subtask, by its id, also if the request has ended.

    The planner's question is under "".
    """
    found = {"": ask.question} | {name: work.question for name, work in ask.work.items()}
    return {name: question for name, question in found.items() if question is not None}


def _render_dropped_question(job: Job, ask: RequestState, name: str, dropped: Question) -> Outgoing:
    """Redraw a question whose request was stopped."""
    if dropped.approval is not None:
        return render_dropped_approval(find_asker_name(ask, name), dropped)
    return render_dropped_question(find_asker_name(ask, name), dropped, list_known_addresses(job, ask))


async def _run_unless_gone(work: Coroutine[Any, Any, object], label: str) -> None:
    """Await `work`; log JobGone, since another instance then owns the job and shows it."""
    try:
        await work
    except JobGone as error:
        log.info("left out (%s): %s", label, error)


def _make_job_key(job: Job) -> JobKey:
    return JobKey(job.place.team, job.id)
