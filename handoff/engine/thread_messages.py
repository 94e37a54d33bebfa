"""Handles the messages that people write in the thread of a job: their purpose, and what follows from it.

A message may be a request, a correction of the request under way, an answer to a question, or a thank-you. Without a
mention it counts only if it is meant for the bot. Rules without a model (`classify_by_rules`) find its purpose if they
are certain; otherwise the dispatcher, a supervisor's role, finds it. Only the requester may correct a request, and only
until its answer is being written. Later, such a message becomes a request of its own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from handoff import events as ev
from handoff.contracts import Request, Usage
from handoff.conversation import message_kinds
from handoff.effects import AcknowledgeMessage, ClassifyMessage, Effect
from handoff.engine import corrections, retry
from handoff.engine.transitions import apply_question_answered
from handoff.events import MessageAim
from handoff.state.job_state import Job, RequestState, replace
from handoff.state.state_values import HeardMessage, MessageOutcome, Question, ThreadActivity, may_answer

FOLLOW_UP_QUESTION_SECONDS = 15 * 60.0
"""Seconds after the bot's last message in which a plain question of a requester is certainly for the bot."""
MAX_FOLLOW_UP_SECONDS = 24 * 3600.0
"""Seconds after the bot's last message, after which a message without a mention counts only if it is a question."""
MAX_LATE_EDIT_SECONDS = 3600.0
"""Seconds after the answer in which people are told that an edit came too late. Later edits are ignored."""
MAX_SPEAKERS = 20
SORTING_DELAY_SECONDS = (5.0, 20.0, 60.0, 180.0, 600.0)
"""Seconds before each further try to sort a message whose purpose could not be decided."""

# ---------------------------------------------------------------- outstanding effects


def list_message_effects(job: Job, now: float) -> tuple[list[Effect], float | None]:
    """Return the effects of messages that are still to be sorted or acknowledged, and the time to look again.

    The time is None if no message waits for a further try.
    """
    if not job.requests:
        return [], None
    retry_times = [one.not_before for one in job.pending_messages if one.not_before > now]
    return [_make_message_effect(job, one) for one in job.pending_messages if one.not_before <= now], min(
        retry_times, default=None
    )


def _make_message_effect(job: Job, heard_message: HeardMessage) -> Effect:
    if heard_message.outcome:
        return AcknowledgeMessage(heard_message.receipt, job.latest_request.id)
    aims, default_aim = _list_possible_aims(job, heard_message)
    return ClassifyMessage(
        heard_message.receipt,
        job.latest_request.id,
        heard_message.message.text,
        heard_message.is_mention,
        aims,
        default_aim,
    )


def find_waiting_message(job: Job, receipt: str) -> HeardMessage | None:
    """Return the message with that receipt that is still to be sorted or acknowledged; None if there is none."""
    return next((one for one in job.pending_messages if one.receipt == receipt), None)


def _list_possible_aims(job: Job, heard_message: HeardMessage) -> tuple[tuple[MessageAim, ...], MessageAim]:
    """Return the purposes that a message may have now, and the one to assume if it cannot be decided.

    A message that may be a correction or a follow-up is assumed to be `unknown`. It is sorted again later, so that no
    correction is lost because a model did not reply.

    `correction` is possible even if it is too late for one: `apply_message_aim` then makes the message a request.
    """
    open_questions = list_answerable_questions(job, heard_message)
    may_be_correction = job.current_request is not None and job.current_request.spec.user == heard_message.message.user
    default_aim: MessageAim = "request" if heard_message.is_mention and not may_be_correction else "unknown"
    aims: list[MessageAim] = ["answer", "explain"] if open_questions else []
    aims += ["correction"] if may_be_correction else []
    aims += ["request", "thanks"]
    aims += [] if heard_message.is_mention else ["nothing"]
    if open_questions:
        return tuple(aims), "explain" if message_kinds.is_question(heard_message.message.text) else "answer"
    return tuple(aims), default_aim


# ---------------------------------------------------------------- the free rules


def classify_by_rules(job: Job, heard_message: HeardMessage, people_names: Iterable[str] = ()) -> MessageAim | None:
    """Return the purpose of a message if the rules are certain; None: the dispatcher has to decide.

    `people_names` are the names of the other people in the thread. The rights of the author are not checked here, but
    in `apply_message_aim`.
    """
    text, user = heard_message.message.text, heard_message.message.user
    if message_kinds.is_thanks(text) and not heard_message.message.attachments:
        return "thanks"
    if not heard_message.is_mention and message_kinds.is_addressed_to(text, people_names):
        return "nothing"
    open_questions = list_answerable_questions(job, heard_message)
    if open_questions:
        return "answer" if any(is_plain_answer(text, question.options) for _, question in open_questions) else None
    if message_kinds.is_short_statement(text) and find_approval_subtask_id(job, heard_message):
        return "answer"  # words decide no approval: its author is shown where the buttons are
    if job.current_request is not None:
        if job.current_request.spec.user == user:
            return (
                None if _may_correct(job.current_request, heard_message) or not heard_message.is_mention else "request"
            )
        return "request" if heard_message.is_mention else "nothing"
    return "request" if heard_message.is_mention else _classify_follow_up(job, heard_message)


def _classify_follow_up(job: Job, heard_message: HeardMessage) -> MessageAim | None:
    """Return the purpose of a message without a mention while no request is under way; None if it is not certain."""
    text, user, before = heard_message.message.text, heard_message.message.user, heard_message.activity_before
    seconds_since = heard_message.message.at - before.bot_spoke_at
    is_from_requester = user in {request.spec.user for request in job.requests}
    if seconds_since > MAX_FOLLOW_UP_SECONDS and not message_kinds.is_question(text):
        return "nothing"
    if before.is_for_others and before.speakers[-1:] != (user,) and not is_from_requester:
        return "nothing"  # it replies to a message for somebody else
    if not is_from_requester and before.speakers:
        return "nothing"  # people talk among themselves
    if (
        is_from_requester
        and not heard_message.message.attachments
        and retry.parse_plain_retry(job, text, user) is not None
    ):
        return "request"
    is_only_speaker = all(speaker == user for speaker in before.speakers) and not before.is_for_others
    if (
        is_from_requester
        and is_only_speaker
        and seconds_since <= FOLLOW_UP_QUESTION_SECONDS
        and message_kinds.is_plain_question(text)
    ):
        return "request"
    return None


def is_plain_answer(text: str, options: Iterable[str]) -> bool:
    """Return True if a text certainly answers an open question: it names an option, or is one or two words."""
    return not message_kinds.is_question(text) and (
        message_kinds.chooses_option(text, options) or message_kinds.is_short_statement(text)
    )


# ---------------------------------------------------------------- new messages


def record_message(job: Job, event: ev.MessageHeard) -> Job:
    """Add a new message to those to be sorted. If it is for other people, record only its author."""
    message = event.message
    if job.find_request(message.id) is not None or any(one.message.id == message.id for one in job.pending_messages):
        return job
    before = job.thread_activity
    speakers = (*before.speakers, message.user)[-MAX_SPEAKERS:]
    job = replace(
        job,
        thread_activity=ThreadActivity(before.bot_spoke_at, speakers, event.others),
        people=job.people | {message.user},
    )
    if event.others:
        return job
    return replace(
        job,
        pending_messages=(
            *job.pending_messages,
            HeardMessage(message.id, message, event.mentioned, event.groups, before),
        ),
    )


def record_bot_message(job: Job, at: float) -> Job:
    """Record the time of the bot's last message, and clear the list of people who wrote since."""
    return replace(job, thread_activity=ThreadActivity(at))


def add_queued_receipt(job: Job, request_id: str, under_way: RequestState | None) -> Job:
    """Add a receipt for a new request that has to wait. `under_way` is the request under way; None: there is none."""
    request = job.find_request(request_id)
    if under_way is None or request is None or request.refusal:
        return job
    return replace(
        job, pending_messages=(*job.pending_messages, HeardMessage(f"{request_id}+", request.spec, outcome="queued"))
    )


def drop_acknowledged_message(job: Job, event: ev.MessageAcknowledged) -> Job:
    """Remove a message whose author was shown its outcome."""
    return replace(job, pending_messages=tuple(one for one in job.pending_messages if one.receipt != event.receipt))


# ---------------------------------------------------------------- what follows from a message


def apply_message_aim(job: Job, event: ev.MessageSorted) -> Job:
    """Apply a message by the purpose that was found for it; for `unknown`, schedule a further try.

    A correction that its author may not make counts as a request. So does a mention whose question is closed.
    """
    heard_message = find_waiting_message(job, event.message)
    if heard_message is None or heard_message.outcome:
        return job
    job = _charge_usage(job, event.usage)
    if event.aim == "unknown":
        return _schedule_sorting(job, heard_message, event.at)
    aim: MessageAim = "request" if event.aim == "nothing" and heard_message.is_mention else event.aim
    open_questions = list_answerable_questions(job, heard_message)
    if open_questions and aim in {"answer", "explain"}:
        meant_question = find_meant_question(job, heard_message)
        if meant_question is None:
            return _set_outcome(job, heard_message, "which")
        name, question, text = meant_question
        if aim == "explain":
            return _set_outcome(job, heard_message, "explained", question=name)
        return _set_outcome(
            _answer_question(job, heard_message, (name, question), text, event.at), heard_message, "taken"
        )
    if aim == "answer" and (approval := find_approval_subtask_id(job, heard_message)):
        return _set_outcome(job, heard_message, "explained", question=approval)
    if aim in {"answer", "explain"}:  # the question was closed meanwhile
        aim = "request" if heard_message.is_mention else "nothing"
    if aim == "correction":
        return _apply_as_correction(job, heard_message, event.at)
    return (
        _drop_message(job, heard_message)
        if aim == "nothing"
        else _set_outcome(job, heard_message, "thanks" if aim == "thanks" else "request")
    )


def _answer_question(
    job: Job, heard_message: HeardMessage, named_question: tuple[str, Question], text: str, at: float
) -> Job:
    request = job.current_request
    if request is None:
        return job
    answer_fields = {
        "subtask": named_question[0],
        "number": named_question[1].number,
        "user": heard_message.message.user,
        "text": text,
        "groups": heard_message.groups,
    }
    event = ev.QuestionAnswered.model_validate({"at": at, "request": request.id, **answer_fields})
    return job.with_request(apply_question_answered(request, event))


def _apply_as_correction(job: Job, heard_message: HeardMessage, at: float) -> Job:
    request = job.current_request
    if request is None or not _may_correct(request, heard_message):
        return _set_outcome(job, heard_message, "request")
    after, told_count, waits = corrections.add_correction(
        request, heard_message.message.id, heard_message.message.text, at
    )
    return _set_outcome(job.with_request(after), heard_message, "applied", told_count=told_count, waiting_count=waits)


def _schedule_sorting(job: Job, heard_message: HeardMessage, at: float) -> Job:
    """Schedule a further try to sort a message, and add a receipt for its author before the first one.

    After the last try, a mention counts as a request. Another message of a requester gets the outcome `unclear`.
    Messages of other people are dropped without a receipt.
    """
    needs_receipt = heard_message.is_mention or any(
        request.spec.user == heard_message.message.user for request in job.requests
    )
    if heard_message.sorting_tries < len(SORTING_DELAY_SECONDS):
        retried_message = dataclasses.replace(
            heard_message,
            sorting_tries=heard_message.sorting_tries + 1,
            not_before=at + SORTING_DELAY_SECONDS[heard_message.sorting_tries],
        )
        pending_messages = tuple(retried_message if each is heard_message else each for each in job.pending_messages)
        receipts = (
            (HeardMessage(f"{heard_message.receipt}?", heard_message.message, outcome="unsorted"),)
            if needs_receipt and not heard_message.sorting_tries
            else ()
        )
        return replace(job, pending_messages=(*pending_messages, *receipts))
    if needs_receipt:
        return _set_outcome(job, heard_message, "request" if heard_message.is_mention else "unclear")
    return _drop_message(job, heard_message)


def _drop_message(job: Job, heard_message: HeardMessage) -> Job:
    return replace(
        job, pending_messages=tuple(each for each in job.pending_messages if each.receipt != heard_message.receipt)
    )


def apply_request_edit(job: Job, event: ev.RequestEdited) -> Job:
    """Apply the edit of a message: of one that is still to be sorted, of a request, or of a correction."""
    waiting_message = next(
        (one for one in job.pending_messages if one.message.id == event.message and not one.outcome), None
    )
    if waiting_message is not None and waiting_message.message.user == event.user:
        message = _edit_request(waiting_message.message, event)
        edited_message = dataclasses.replace(waiting_message, message=message)
        return replace(
            job,
            pending_messages=tuple(edited_message if one is waiting_message else one for one in job.pending_messages),
        )
    request = job.find_request(event.message)
    if request is None:
        return _apply_correction_edit(job, event)
    if request.refusal or request.is_withdrawn or request.earlier_try is not None or event.stamp < request.edit_stamp:
        return job
    other_crew = event.crew not in {"", request.spec.crew} and request.run.plan is None
    edited_request = _edit_request(request.spec, event)
    same_files = edited_request.attachments == request.spec.attachments
    if _has_same_text(request, event.text) and same_files and not other_crew:
        return job
    if request.spec.user != event.user:
        return job
    crew = event.crew if event.crew and request.run.plan is None else request.spec.crew  # a plan stays with its crew
    spec = edited_request.model_copy(update={"crew": crew})
    # Otherwise the attachments are read anew.
    is_gathered = request.is_gathered and (same_files or request.run.plan is not None)
    new = replace(request, spec=spec, edit_stamp=event.stamp, is_gathered=is_gathered)
    receipt = HeardMessage(f"{request.id}~{event.at}", new.spec)
    if request.is_over or not corrections.is_still_changeable(request):
        return _add_late_receipt(job, request, receipt, event.at)
    if request is not job.current_request:
        return replace(
            job.with_request(new),
            pending_messages=(*job.pending_messages, dataclasses.replace(receipt, outcome="replaced")),
        )
    return _add_receipt(job, receipt, corrections.apply_edited_request(request, new, receipt.receipt, event.at))


def _edit_request(request: Request, event: ev.RequestEdited) -> Request:
    """Return a request with the text and the pasted tables after an edit."""
    pasted_tables = tuple(one for one in request.attachments if one.kind == "table" and not one.author)
    attachments = request.attachments
    if event.tables is not None and event.tables != pasted_tables:
        attachments = (*(one for one in attachments if one not in pasted_tables), *event.tables)
    return request.model_copy(update={"text": event.text, "attachments": attachments})


def _apply_correction_edit(job: Job, event: ev.RequestEdited) -> Job:
    """Apply the edit of a message that corrects a request; return the job unchanged if the message corrects none."""
    request = next((one for one in reversed(job.requests) if corrections.find_correction(one, event.message)), None)
    old = corrections.find_correction(request, event.message) if request is not None else None
    if request is None or old is None or request.spec.user != event.user or event.stamp < old.edit_stamp:
        return job
    new = dataclasses.replace(old, text=event.text, edit_stamp=event.stamp)
    receipt = _make_edit_receipt(request, event.message, event.text, event.at)
    if " ".join(new.text.split()).casefold() == " ".join(old.text.split()).casefold():
        return job
    if request.is_over or not corrections.is_still_changeable(request):
        return _add_late_receipt(job, request, receipt, event.at)
    return _add_receipt(job, receipt, corrections.reword_correction(request, old, new, receipt.receipt, event.at))


def _apply_correction_deletion(job: Job, event: ev.RequestWithdrawn) -> Job:
    """Take back the corrections whose message was deleted, with a receipt if work is still under way."""
    for request in job.requests:
        if (old := corrections.find_correction(request, event.message)) is None:
            continue
        if request.is_over or not corrections.is_still_changeable(request):
            job = job.with_request(corrections.replace_correction(request, old, None))
            continue
        receipt = _make_edit_receipt(request, event.message, "", event.at)
        correction_outcome = corrections.withdraw_correction(request, old, receipt.receipt, event.at)
        job = _add_receipt(job, receipt, correction_outcome, "dropped")
    return job


def _make_edit_receipt(request: RequestState, message: str, text: str, at: float) -> HeardMessage:
    edited_request = request.spec.model_copy(update={"id": message, "text": text, "attachments": ()})
    return HeardMessage(f"{message}~{at}", edited_request)


def _add_receipt(
    job: Job,
    receipt: HeardMessage,
    correction_outcome: tuple[RequestState, int, int],
    outcome: MessageOutcome = "applied",
) -> Job:
    request, told_count, waits_for = correction_outcome
    receipt = dataclasses.replace(receipt, outcome=outcome, told_count=told_count, waiting_count=waits_for)
    return replace(job.with_request(request), pending_messages=(*job.pending_messages, receipt))


def _add_late_receipt(job: Job, request: RequestState, receipt: HeardMessage, at: float) -> Job:
    """Add a receipt `too_late` for an edit at most `MAX_LATE_EDIT_SECONDS` seconds after people saw the answer."""
    fresh = request.run.answer is not None and at - (request.ended_at or at) <= MAX_LATE_EDIT_SECONDS
    if not fresh or request.cancelled_by:
        return job
    return replace(job, pending_messages=(*job.pending_messages, dataclasses.replace(receipt, outcome="too_late")))


def withdraw_message(job: Job, event: ev.RequestWithdrawn) -> tuple[Job, tuple[RequestState, ...]]:
    """Remove a deleted message and its correction. Return the job and the requests that have to be stopped.

    These are the message's own request and the second tries at it, as far as they are under way.
    """
    kept_messages = tuple(one for one in job.pending_messages if one.message.id != event.message)
    job = replace(job, pending_messages=kept_messages) if len(kept_messages) < len(job.pending_messages) else job
    job = _apply_correction_deletion(job, event)
    requests = (one for one in job.requests if event.message in {one.id, *(each.id for each in one.earlier_tries)})
    return job, tuple(one for one in requests if not (one.is_over or one.is_withdrawn or one.refusal))


# ---------------------------------------------------------------- helpers


def list_answerable_questions(job: Job, heard_message: HeardMessage) -> list[tuple[str, Question]]:
    """Return the open questions that the author of a message may answer, as pairs (subtask id, question).

    The id is empty for the planner's question.
    """
    open_questions = job.current_request.open_questions.items() if job.current_request is not None else ()
    return [
        (name, question)
        for name, question in open_questions
        if question.may_answer(heard_message.message.user, heard_message.groups)
    ]


def find_meant_question(job: Job, heard_message: HeardMessage) -> tuple[str, Question, str] | None:
    """Return the question that a message answers, as (subtask id, question, answer text); None if that is not clear.

    Among several questions it is the one that the message names (“Place: Oslo”), or the only one with an option that
    the message names.
    """
    request, question_pairs, text = (
        job.current_request,
        list_answerable_questions(job, heard_message),
        heard_message.message.text.strip(),
    )
    if request is None or len(question_pairs) == 1:
        return (*question_pairs[0], text) if question_pairs else None
    head, colon, rest = text.partition(":")
    named_questions = [
        each for each in question_pairs if colon and rest.strip() and _names_subtask(head, request, each[0])
    ]
    if len(named_questions) == 1:
        return (*named_questions[0], rest.strip())
    chosen_questions = [each for each in question_pairs if message_kinds.chooses_option(text, each[1].options)]
    return (*chosen_questions[0], text) if len(chosen_questions) == 1 and not text.isdecimal() else None


def _names_subtask(name: str, request: RequestState, subtask: str) -> bool:
    """Return True if the title of a subtask begins with the words of `name`, or contains its only word."""
    name_words, title = (
        message_kinds.split_words(name),
        message_kinds.split_words(request.subtasks[subtask].spec.title) if subtask else [],
    )
    return bool(name_words) and (
        title[: len(name_words)] == name_words or (len(name_words) == 1 and name_words[0] in title)
    )


def find_approval_subtask_id(job: Job, heard_message: HeardMessage) -> str:
    """Return the id of the first subtask with an open approval for the author of a message; empty if there is none."""
    open_questions = job.current_request.open_questions.items() if job.current_request is not None else ()
    who = (heard_message.message.user, heard_message.groups)
    theirs = (
        name for name, question in open_questions if question.approval is not None and may_answer(question.whom, *who)
    )
    return next(theirs, "")


def _may_correct(request: RequestState, heard_message: HeardMessage) -> bool:
    return (
        request.spec.user == heard_message.message.user
        and corrections.is_correctable(request)
        and not heard_message.message.attachments
    )


def _has_same_text(request: RequestState, text: str) -> bool:
    return " ".join(text.split()).casefold() == " ".join(request.spec.text.split()).casefold()


def _set_outcome(
    job: Job,
    heard_message: HeardMessage,
    outcome: MessageOutcome,
    *,
    question: str = "",
    told_count: int = 0,
    waiting_count: int = 0,
) -> Job:
    marked_message = dataclasses.replace(
        heard_message, outcome=outcome, question_subtask=question, told_count=told_count, waiting_count=waiting_count
    )
    return replace(
        job, pending_messages=tuple(marked_message if each is heard_message else each for each in job.pending_messages)
    )


def _charge_usage(job: Job, usage: Usage) -> Job:
    if not usage.model_fields_set or not job.requests:
        return job
    request = job.latest_request
    return job.with_request(replace(request, usage=request.usage + usage))
