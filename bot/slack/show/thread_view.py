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
from bot.slack.send.web_calls import TOKEN_RETRY_SECONDS, BackgroundTasks, JobGone, PermissionCheck, close_client
from bot.slack.show.admission import find_readable_channel
from bot.slack.show.card_painter import CardPainter, CardPoster
from bot.slack.show.closed_questions import redraw_closed_questions, render_closed_question
from bot.slack.show.job_messenger import MessengerFactory
from bot.slack.show.native_block_support import IN_ANSWER_FAULT, NativeBlocks, PostFile
from bot.slack.show.notices import send_direct_message_once
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
from bot.slack.views.question import find_questioner_name, render_dropped_question, render_question, render_reminder
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
"""Maximum number of people whose names are looked up for one table or message."""

DAY_SECONDS = 86_400.0
LAST_EDITS_SECONDS = 10.0
"""Seconds that a job waits for the last edits of its thread before it is released."""


class ThreadView:
    """Shows jobs in their threads. One object serves all jobs of an instance. Without `messengers`, no channel is read.

    Many methods take `check_allowed`, which is called before each try of a Slack call that shows something. If it
    returns False, the call is left out.
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
        budget.reserve_turns("agents.sessions.setStatus", self._sessions.count_processing)

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

    async def read_thread(self, job: Job, request: RequestState) -> ThreadReadOutcome:
        """Read the messages in the thread before a request, and look up the files of the request's own message."""
        from bot.slack.receive.thread_reader import ThreadReader  # noqa: PLC0415 - only where there is a thread

        calls, bot = self._outbox.calls, self._outbox.lookup.bot_user_id
        return await ThreadReader(self._client, calls, self._people, bot_user=bot).read(job, request)

    async def read_channel(
        self, span: ChannelSpan, job: Job, request: RequestState
    ) -> tuple[str, Audience, ChannelReadOutcome]:
        """Read the messages of a channel or a thread in it, if the requester may read it now.

        Returns a tuple of (its name, who may read it, its messages).
        """
        from bot.slack.receive.channel_reader import ChannelReader, ChannelReadOutcome  # noqa: PLC0415 - only where one is read

        calls, bot, people = self._outbox.calls, self._outbox.lookup.bot_user_id, self._people
        place = Place(team=people.home.team, channel=span.channel, thread_ts="")
        name = DIRECT_MESSAGE
        if span.channel != job.place.channel or not span.channel.startswith("D"):
            channel = await self._find_readable_channel(span, request)
            if isinstance(channel, str):
                return "the channel", Audience(channel=span.channel), ChannelReadOutcome(fault=channel)
            name = f"{channel.name} (thread)" if span.thread_ts else channel.name
        above = f"What was said in {name}{_describe_period(span, request)}, the oldest first."
        outcome = await ChannelReader(self._client, calls, people, bot_user=bot).read(
            span, name, request.spec.user, above
        )
        if not outcome.text.text and not outcome.fault:
            nothing = f"(Nothing was said in {name}{_describe_period(span, request)}.)"
            outcome = replace(outcome, text=replace(outcome.text, text=nothing))
        return name, await people.find_audience(place), outcome

    async def _find_readable_channel(self, span: ChannelSpan, request: RequestState) -> KnownChannel | str:
        if self.messengers is None:
            return "I cannot read channels here."
        return await find_readable_channel(self.messengers.directory, span.channel, request.spec.user)

    async def find_audience(self, job: Job) -> Audience:
        """Return who may read the job's thread."""
        return await self._people.find_audience(job.place)

    async def fetch_request_setting(
        self, job: Job, request: RequestState, crew_people: Sequence[str] = (), contact: str = ""
    ) -> SettingKnown:
        """Return an event with what Slack knows of the requester, the channel, and the other people who may be asked.

        `crew_people` are the people whom the crew names. `contact` is the crew's contact, whose name is looked up too.
        """
        setting = await self._people.fetch_request_setting(job.place, request.spec.user)
        others = [one for one in (*list_askable_people(job, request), *crew_people) if one != request.spec.user]
        if others:
            people = await self._people.find_people(tuple(dict.fromkeys(others)))
            setting = setting.model_copy(update={"people": people})
        if contact:
            contact_fields = {"contact": contact, "contact_name": await self._people.find_contact_name(contact)}
            setting = setting.model_copy(update=contact_fields)
        return SettingKnown(at=self._store.clock(), request=request.id, setting=setting)

    async def post(
        self, claim: Claim, job: Job, request: RequestState, key: str, *, check_allowed: PermissionCheck
    ) -> SentMessage:
        """Post the message with a key into the thread, once. Raises JobGone if the job is no longer ours.

        At any end of a request, a stream that did not become its answer is deleted.
        """
        if request.spec.opens:
            return SentMessage("", "there is no thread")
        if key != make_answer_key(request.id):
            return await self._post(claim, job, request, key, check_allowed)
        stream = self._streams.get((claim.key, request.id))
        sent_message = await self._post_end(claim, job, request, stream, check_allowed)
        if stream is not None:
            await stream.stop_sending()
        await self._outbox.clear_stream(
            claim, job.place, key, check_allowed=check_allowed, ts=stream.ts if stream is not None else ""
        )
        self._streams.pop((claim.key, request.id), None)
        return sent_message

    async def _post(
        self, claim: Claim, job: Job, request: RequestState, key: str, check_allowed: PermissionCheck
    ) -> SentMessage:
        place = job.place
        if _is_thread_deleted(job, request) and key != make_card_end_key(request.id):
            return SentMessage("", WITHDRAWN_FAULT)
        if key == make_card_key(request.id):
            return await self._cards.post_card(
                claim, job, request, self._find_or_make_painter(claim.key, check_allowed)
            )
        if key == make_card_end_key(request.id):
            return await self._draw_final_card(job, request, check_allowed)
        if (asking := _render_keyed_question(job, request, key)) is not None:
            return await self._outbox.post(claim, place, key, asking)
        results = [subtask.result for subtask in request.subtasks.values() if subtask.result is not None]
        for artifact in (file for result in results for file in result.artifacts):
            if key == make_file_key(request.id, artifact.id):
                if self._native.is_shown_in_answer(request, artifact):
                    return SentMessage("", IN_ANSWER_FAULT)
                return await self._post_file(claim, job, request, key, artifact)
        return SentMessage("", "there is nothing to show any more")

    async def show_receipt(self, claim: Claim, job: Job, message: HeardMessage) -> None:
        """Show the author of a message what the bot did with it. Raises JobGone if the job is no longer ours."""
        await show_receipt(self._outbox, claim, job, message, by_rules=self._by_rules)

    async def find_names(self, users: Sequence[str]) -> dict[str, str]:
        """Return people's names by their ids; "" for a person whose name Slack does not give in time."""
        names = await asyncio.gather(*(self._people.find_name(user) for user in users))
        return dict(zip(users, names, strict=True))

    async def find_utc_offset(self, user: str) -> int:
        """Return the seconds by which a person's time zone is ahead of UTC; 0 if Slack does not give it."""
        return (await self._people.find_zone(user))[1]

    async def list_speaker_names(self, job: Job, user: str) -> tuple[str, ...]:
        """Return the names of the people other than `user` who spoke in the thread, if Slack gives them in time."""
        others = {*(request.spec.user for request in job.requests), *job.thread_activity.speakers} - {user}
        return await self._people.find_names(sorted(others))

    async def _post_file(
        self, claim: Claim, job: Job, request: RequestState, key: str, artifact: Artifact
    ) -> SentMessage:
        try:
            data = await self._store.blobs.get(claim.key, artifact.id)
        except KeyError:
            return SentMessage("", f"{artifact.name} is no longer kept")
        if artifact.publish_as == "canvas":
            markdown = clean_markdown(
                data.decode("utf-8", "replace"), known_addresses=list_known_addresses(job, request)
            )
            return await self._publisher.publish_canvas(claim, job.place, key, artifact, markdown)
        return await self._publisher.publish_file(claim, job.place, key, artifact, data)

    async def _post_end(
        self, claim: Claim, job: Job, request: RequestState, stream: AnswerStream | None, check_allowed: PermissionCheck
    ) -> SentMessage:
        """Post the answer, or the message that ends a request without one.

        If the thread cannot be reached, or its first message was deleted, only the requester is told.
        """
        key = make_answer_key(request.id)
        if stream is not None and request.run.answer is None:
            stream.abandon()
        if _is_thread_deleted(job, request):
            message = request_ends.render_cancellation(job, request, is_private=True)
            await send_direct_message_once(
                self._outbox, claim, request.spec.user, f"{key}:alone", message, check_allowed=check_allowed
            )
            return SentMessage("", WITHDRAWN_FAULT)

        async def post_file(key: str, artifact: Artifact) -> SentMessage:
            return await self._post_file(claim, job, request, key, artifact)

        if request.run.answer is None:
            if not request.cancelled_by:
                await self._native.post_pictures(request, post_file)
            sent_message = await self._outbox.post(claim, job.place, key, self._render_end(job, request))
        else:
            sent_message = await self._post_answer(claim, job, request, stream, post_file)
        if sent_message.fault:
            await self._tell_requester(claim, job, request, sent_message.fault, check_allowed)
        return sent_message

    async def _post_answer(
        self, claim: Claim, job: Job, request: RequestState, stream: AnswerStream | None, post_file: PostFile
    ) -> SentMessage:
        charts, key = await self._native.prepare_charts(request, post_file), make_answer_key(request.id)
        parts = answer_view.render_answer(job, request, self._model_label)
        if stream is not None and request.run.answer is not None:
            ends_session = self._sessions.shows_processing(claim.key) and job.latest_request.id == request.id
            end = [*charts, *answer_view.render_answer_footer(job, request, self._model_label)]
            sent_message = await stream.finish(request.run.answer, parts, end, status="active" if ends_session else "")
            if sent_message is not None:
                if ends_session:
                    self._sessions.record_status(claim.key, "active")
                return sent_message
        sent_message = SentMessage("")
        for number, part in enumerate(parts):
            last = number == len(parts) - 1
            part_key = key if last else f"{key}:{number}"
            native_part = self._native.render_part(part, charts if last else [])
            simpler = partial(self._native.fall_back_to_pictures, part, request, post_file)
            sent_message = await self._outbox.post(
                claim, job.place, part_key, native_part, draw_simpler=simpler if native_part != part else None
            )
            if sent_message.fault:
                break
        return sent_message

    async def _tell_requester(
        self, claim: Claim, job: Job, request: RequestState, fault: str, check_allowed: PermissionCheck
    ) -> None:
        """Send the requester a direct message about how the request ended, since the thread cannot be reached."""
        end = (
            self._render_end(job, request)
            if request.run.answer is None
            else answer_view.render_answer(job, request, self._model_label)[0]
        )
        message, key = request_ends.render_undeliverable_end(job, fault, end), f"{make_answer_key(request.id)}:alone"
        await send_direct_message_once(
            self._outbox, claim, request.spec.user, key, message, check_allowed=check_allowed
        )

    def _render_end(self, job: Job, request: RequestState) -> Outgoing:
        if request.refusal:
            return request_ends.render_refusal(request.refusal)
        return (
            request_ends.render_cancellation(job, request)
            if request.cancelled_by
            else request_ends.render_failure(job, request)
        )

    async def _draw_final_card(self, job: Job, request: RequestState, check_allowed: PermissionCheck) -> SentMessage:
        ts = request.posted_ids.get(make_card_key(request.id), "")
        if not ts:
            return SentMessage("", "there is no card")
        painter = self._painters.pop(_make_job_key(job), None)
        if painter is not None:
            await painter.stop()
        card = render_plan_card(job, request, self._store.clock())
        is_edited = await self._outbox.edit_message(
            job.place, ts, card, check_allowed=check_allowed, priority="settled"
        )
        return SentMessage(ts if is_edited else "", "" if is_edited else "the card could not be edited")

    async def begin_answer(
        self, claim: Claim, job: Job, request: RequestState, *, check_allowed: PermissionCheck
    ) -> AnswerStream:
        """Return a new stream for the answer that is about to be written, and drop the stream of an earlier try."""
        from bot.slack.show.stream import AnswerStream  # noqa: PLC0415 - only for an answer that is written

        key, reader = make_answer_key(request.id), request.spec.user
        known_addresses = list_known_addresses(job, request)
        stream = AnswerStream(
            self._outbox,
            claim,
            job.place,
            key,
            reader=reader,
            check_allowed=check_allowed,
            known_addresses=known_addresses,
        )
        if (former := self._streams.get((claim.key, request.id))) is not None:
            former.abandon()
        self._streams[claim.key, request.id] = stream
        return stream

    def show_job_change(self, key: JobKey, before: Job, after: Job, *, check_allowed: PermissionCheck) -> None:
        """Update the card, redraw closed questions and set the session's status, after a change of the job.

        After a takeover it is unknown what the last owner still showed, so everything is shown again. An instance that
        continues a job also redraws the questions that were answered before.
        """
        goes_on = key not in self._shown_jobs
        self._shown_jobs.add(key)
        request = after.latest_request
        old = before.find_request(request.id)
        taken_over = after.takeover_count > before.takeover_count
        is_released = before.quarantine is not None and after.quarantine is None
        if (
            old is None
            or goes_on
            or taken_over
            or is_released
            or STATUS_BY_STATE[old.state] != STATUS_BY_STATE[request.state]
        ):
            self._show_status(after, request, check_allowed)
        if has_new_title(before, after):
            self._edit_in_background(
                key,
                rename_session(self._client, self._outbox.calls, after, check_allowed=check_allowed),
                "rename the session",
            )
        goes_on = goes_on and old is not None and not old.is_over
        has_answers = old is not None and (
            old.question_answers or any(subtask.question_answers for subtask in old.subtasks.values())
        )
        if taken_over or (goes_on and has_answers):
            self._edit_in_background(
                key, redraw_closed_questions(self._outbox, after, check_allowed=check_allowed), "close questions anew"
            )
        self._cards.update_waiting_card(key, after, request)
        if old is None or request.refusal:
            return
        for name, question in _list_last_questions(old).items():
            now = _list_last_questions(request).get(name)
            if now is None or now.number != question.number:
                self._redraw_closed_question(after, request, name, question, check_allowed)
            elif old.run.failure is None and request.run.failure is not None:
                self._redraw_question(
                    after,
                    request,
                    name,
                    question,
                    _render_dropped_question(after, request, name, question),
                    check_allowed,
                )
            elif now.votes != question.votes:  # one of several people has approved
                self._redraw_question(
                    after, request, name, now, render_approval(after, request, name, now), check_allowed
                )
        ts = request.posted_ids.get(make_card_key(request.id), "")
        # After that, only the card's last edit is drawn.
        if ts and request.run.answer is None and request.run.failure is None:
            self._find_or_make_painter(key, check_allowed).show(after, request, ts)

    async def announce_trial(self, claim: Claim, notice: TrialNotice) -> None:
        """Tell the thread that its job, suspected of crashing its owners, will be tried alone. Raises JobGone."""
        message = request_ends.render_trial_notice(notice.place.job_id, notice.step, notice.lost_owners)
        sent_message = await self._outbox.post(claim, notice.place, notice.key, message)
        if sent_message.fault:
            log.warning("job %s: its thread could not be told: %s", notice.place.job_id, sent_message.fault)

    async def announce_quarantine(self, claim: Claim, notice: QuarantineNotice) -> None:
        """Tell the thread that its job is quarantined, and update the card and the session where possible.

        Raises JobGone if the job is no longer ours.
        """
        message = request_ends.render_quarantine_notice(
            notice.place.job_id, notice.step, notice.reason, user=notice.user, is_readable=notice.is_readable
        )
        sent_message = await self._outbox.post(claim, notice.place, notice.key, message)
        if sent_message.fault:
            log.warning("job %s: its thread could not be told: %s", notice.place.job_id, sent_message.fault)
        request, check_allowed = (
            notice.job.current_request if notice.job else None,
            self._outbox.make_claim_check(claim),
        )
        await self._outbox.clear_streams(claim, notice.place, check_allowed=check_allowed)
        if notice.job is not None and request is not None and (ts := request.posted_ids.get(make_card_key(request.id))):
            card = render_plan_card(notice.job, request, self._store.clock())
            await self._outbox.edit_message(notice.place, ts, card, check_allowed=check_allowed, priority="settled")
        view = SessionView("suspended", notice.title, notice.user)
        await set_status(self._client, self._outbox.calls, notice.place, lambda: view, check_allowed=check_allowed)

    def _find_or_make_painter(self, key: JobKey, check_allowed: PermissionCheck) -> CardPainter:
        painter = self._painters.get(key)
        if painter is None:
            painter = self._painters[key] = CardPainter(
                self._outbox,
                check_allowed=check_allowed,
                needs_stop=lambda request: not self._sessions.shows_stop(key, request),
                read_job=partial(self._read_job, key),
            )
        return painter

    async def _read_job(self, key: JobKey) -> Job | None:
        """Return the current state of a job from its log; None if a newer release wrote it, or it is gone.

        Raises StoreError.
        """
        try:
            return parse_log([entry.payload for entry in await self._store.jobs.read_log(key)])
        except NewerEventError:
            return None

    def _redraw_closed_question(
        self, job: Job, request: RequestState, name: str, closing: Question, check_allowed: PermissionCheck
    ) -> None:
        """Redraw a question that is no longer open, without its buttons and with the outcome."""
        is_gone = name and name not in request.subtasks
        closed_message = None if is_gone else render_closed_question(job, request, name, closing.number)
        if closed_message is None and not is_gone and closing.approval is not None:  # the subtask ran out of time
            closed_message = render_dropped_approval(find_questioner_name(request, name), closing)
        if closed_message is not None:
            self._redraw_question(job, request, name, closing, closed_message, check_allowed)

    def _redraw_question(
        self,
        job: Job,
        request: RequestState,
        name: str,
        closing: Question,
        message: Outgoing,
        check_allowed: PermissionCheck,
    ) -> None:
        ts = request.posted_ids.get(make_question_key(request.id, name, closing.number), "")
        if ts:
            self._edit_in_background(
                _make_job_key(job),
                self._outbox.edit_message(job.place, ts, message, check_allowed=check_allowed),
                "close a question",
            )
        else:  # the log lacks the message's id: an owner died, or the answer was very quick
            self._edit_in_background(
                _make_job_key(job),
                redraw_closed_questions(self._outbox, job, check_allowed=check_allowed),
                "close a question",
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

    def _show_status(self, job: Job, request: RequestState, check_allowed: PermissionCheck) -> None:
        """Set the session's status in the background."""
        key = _make_job_key(job)
        work = self._sessions.make_status_update(key, job, request, check_allowed)
        if work is not None:
            self._edit_in_background(key, work, "set the session status")

    def _request_card_redraw(self, key: JobKey) -> None:
        """Have a card drawn again, because it may need, or no longer need, a Stop button of its own."""
        if painter := self._painters.get(key):
            painter.request_redraw()

    async def stop_showing_job(self, key: JobKey, *, idle: bool = False) -> bool:
        """Stop showing a job that this instance releases: stop drawing, and drop unfinished streams.

        `idle`: the job waits for people or for a time to come, so the last edits of its thread must go out first.
        Returns False while they are late, but True once they have been late for `TOKEN_RETRY_SECONDS` seconds.
        """
        self._shown_jobs.discard(key)
        self._sessions.forget(key)
        painter = self._painters.pop(key, None)
        if painter is not None:
            await painter.stop(draw_latest=idle)
        for name in [name for name in self._streams if name[0] == key]:
            self._streams.pop(name).abandon()
        edits = self._edits.get(key)
        if idle and edits:
            _, late = await asyncio.wait(edits, timeout=LAST_EDITS_SECONDS)
            if (
                late
                and time.monotonic() - self._late_edits_since.setdefault(key, time.monotonic()) < TOKEN_RETRY_SECONDS
            ):
                return False
        self._late_edits_since.pop(key, None)
        return True

    async def close(self, seconds: float) -> None:
        """Wait at most `seconds` for the edits under way, and close the client."""
        try:
            await self._background.close(seconds)
        finally:
            await close_client(self._client)


def _is_thread_deleted(job: Job, request: RequestState) -> bool:
    """Return True if a request was made in the first message of the thread, and that message was deleted."""
    return request.is_withdrawn and request.id == job.place.thread_ts


def _describe_period(span: ChannelSpan, request: RequestState) -> str:
    """Return the period in which the messages of a channel are read, in words; "" for a thread, which is read whole."""
    if span.thread_ts:
        return ""
    days = round((span.until - span.since) / DAY_SECONDS)
    return " since the last run" if request.spec.schedule else f" in the last {days} days"


def _render_keyed_question(job: Job, request: RequestState, key: str) -> Outgoing | None:
    """Return the message of the open question or reminder with a key; None if there is none."""
    for name, question in request.open_questions.items():
        if key == make_question_key(request.id, name, question.number):
            if question.approval is not None:
                return render_approval(job, request, name, question, compute_expiry_time(question))
            return render_question(job, request, name)
        for count in range(1, len(question.reminders) + 1):
            if key == make_reminder_key(request.id, name, question.number, count):
                return render_reminder(job, request, name, count)
    return None


def _list_last_questions(request: RequestState) -> dict[str, Question]:
    """Return the last unanswered question of each subtask by the subtask's id, even if the request has ended.

    The planner's question is under "".
    """
    last_questions = {"": request.question} | {name: subtask.question for name, subtask in request.subtasks.items()}
    return {name: question for name, question in last_questions.items() if question is not None}


def _render_dropped_question(job: Job, request: RequestState, name: str, question: Question) -> Outgoing:
    """Render a question as dropped, because its request ended."""
    if question.approval is not None:
        return render_dropped_approval(find_questioner_name(request, name), question)
    return render_dropped_question(find_questioner_name(request, name), question, list_known_addresses(job, request))


async def _run_unless_gone(work: Coroutine[Any, Any, object], label: str) -> None:
    """Await `work`; log JobGone, since another instance then owns the job and shows it."""
    try:
        await work
    except JobGone as error:
        log.info("left out (%s): %s", label, error)


def _make_job_key(job: Job) -> JobKey:
    return JobKey(job.place.team, job.id)
