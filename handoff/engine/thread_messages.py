"""Handles the messages that people write in the thread of a job: their purpose, and what follows from it.

A message may be a request, a correction of the request under way, an answer to a question, or a thank-you. Without a
mention it counts only if it is meant for the bot. Free rules (`classify_by_rules`) sort a message if they are certain;
the dispatcher sorts the rest. Then this module applies it: only the requester may correct a request, and only until its
answer is being written. Later, such a message becomes a request of its own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from handoff import events as ev
from handoff.contracts import Request, Usage
from handoff.conversation import message_kinds
from handoff.effects import Acknowledge, Effect, SortMessage
from handoff.engine import corrections, retry
from handoff.engine.transitions import apply_question_answered
from handoff.events import MessageAim
from handoff.state.job_state import Job, RequestState, replace
from handoff.state.state_values import HeardMessage, Outcome, Question, ThreadActivity, may_answer

CERTAIN_QUESTION_SECONDS = 15 * 60.0
"""Seconds after the bot's last message in which a plain question of a requester is certainly for the bot."""
MAX_FOLLOW_UP_SECONDS = 24 * 3600.0
"""Seconds after the bot's last message, after which a message without a mention counts only if it is a question."""
MAX_LATE_EDIT_SECONDS = 3600.0
"""Seconds after the answer in which people are told that an edit came too late. Later edits are ignored."""
MAX_SPEAKERS = 20
SORTING_DELAYS = (5.0, 20.0, 60.0, 180.0, 600.0)
"""Seconds before each further try to sort a message whose purpose could not be decided."""

# ---------------------------------------------------------------- outstanding effects


def list_message_effects(job: Job, now: float) -> tuple[list[Effect], float | None]:
    """Return the effects of messages that are still to be sorted or acknowledged, and the time to look again.

    The time is None if no message waits for a further try.
    """
    if not job.asks:
        return [], None
    waits = [one.not_before for one in job.heard if one.not_before > now]
    return [_make_message_effect(job, one) for one in job.heard if one.not_before <= now], min(waits, default=None)


def _make_message_effect(job: Job, heard_message: HeardMessage) -> Effect:
    if heard_message.outcome:
        return Acknowledge(heard_message.receipt, job.latest_request.id)
    aims, otherwise = _list_possible_aims(job, heard_message)
    return SortMessage(
        heard_message.receipt,
        job.latest_request.id,
        heard_message.message.text,
        heard_message.mentioned,
        aims,
        otherwise,
    )


def find_waiting_message(job: Job, receipt: str) -> HeardMessage | None:
    """Return the message with that receipt that is still to be sorted or acknowledged; None if there is none."""
    return next((one for one in job.heard if one.receipt == receipt), None)


def _list_possible_aims(job: Job, heard_message: HeardMessage) -> tuple[tuple[MessageAim, ...], MessageAim]:
    """Return the purposes that a message may have now, and the one to assume if it cannot be decided.

    If a message may change the work or follow up on it, that is `unknown`: it is sorted again later, so that no
    correction is lost because a model did not reply.

    A requester's message may be a correction even if it is too late for one: `apply_message_aim` then makes it a
    request.
    """
    asked = list_answerable_questions(job, heard_message)
    corrects = job.current_request is not None and job.current_request.request.user == heard_message.message.user
    unless: MessageAim = "request" if heard_message.mentioned and not corrects else "unknown"
    aims: list[MessageAim] = ["answer", "explain"] if asked else []
    aims += ["correction"] if corrects else []
    aims += ["request", "thanks"]
    aims += [] if heard_message.mentioned else ["nothing"]
    if asked:
        return tuple(aims), "explain" if message_kinds.is_question(heard_message.message.text) else "answer"
    return tuple(aims), unless


# ---------------------------------------------------------------- the free rules


def classify_by_rules(job: Job, heard_message: HeardMessage, people_names: Iterable[str] = ()) -> MessageAim | None:
    """Return the purpose of a message if the rules are certain; None: the dispatcher has to decide.

    `people_names` are the names of the other people in the thread. Whether the author may do it is up to
    `apply_message_aim`.
    """
    text, user = heard_message.message.text, heard_message.message.user
    if message_kinds.is_thanks(text) and not heard_message.message.attachments:
        return "thanks"
    if not heard_message.mentioned and message_kinds.is_addressed_to(text, people_names):
        return "nothing"
    asked = list_answerable_questions(job, heard_message)
    if asked:
        return "answer" if any(is_plain_answer(text, question.options) for _, question in asked) else None
    if message_kinds.is_short_statement(text) and find_open_approval(job, heard_message):
        return "answer"  # words decide no approval: its author is shown where the buttons are
    if job.current_request is not None:
        if job.current_request.request.user == user:
            return (
                None if _may_correct(job.current_request, heard_message) or not heard_message.mentioned else "request"
            )
        return "request" if heard_message.mentioned else "nothing"
    return "request" if heard_message.mentioned else _classify_follow_up(job, heard_message)


def _classify_follow_up(job: Job, heard_message: HeardMessage) -> MessageAim | None:
    """Return the purpose of a message without a mention while no request is under way; None if it is not certain."""
    text, user, before = heard_message.message.text, heard_message.message.user, heard_message.before
    since = heard_message.message.at - before.spoke
    mine = user in {ask.request.user for ask in job.asks}
    if since > MAX_FOLLOW_UP_SECONDS and not message_kinds.is_question(text):
        return "nothing"
    if before.others and before.speakers[-1:] != (user,) and not mine:
        return "nothing"  # it replies to a message for somebody else
    if not mine and before.speakers:
        return "nothing"  # people talk among themselves
    if mine and not heard_message.message.attachments and retry.parse_plain_retry(job, text, user) is not None:
        return "request"
    alone = all(speaker == user for speaker in before.speakers) and not before.others
    if mine and alone and since <= CERTAIN_QUESTION_SECONDS and message_kinds.is_plain_question(text):
        return "request"
    return None


def is_plain_answer(text: str, options: Iterable[str]) -> bool:
    """Return True if a text certainly answers an open question: it names an option, or is one or two words."""
    return not message_kinds.is_question(text) and (
        message_kinds.names_option(text, options) or message_kinds.is_short_statement(text)
    )


# ---------------------------------------------------------------- new messages


def record_message(job: Job, event: ev.MessageHeard) -> Job:
    """Add a message to those that are to be sorted. Of a message for other people only the author is recorded."""
    message = event.message
    if job.find_request(message.id) is not None or any(one.message.id == message.id for one in job.heard):
        return job
    before = job.talk
    speakers = (*before.speakers, message.user)[-MAX_SPEAKERS:]
    job = replace(job, talk=ThreadActivity(before.spoke, speakers, event.others), people=job.people | {message.user})
    if event.others:
        return job
    return replace(job, heard=(*job.heard, HeardMessage(message.id, message, event.mentioned, event.groups, before)))


def record_bot_message(job: Job, at: float) -> Job:
    """Record the time of the bot's last message, and start the conversation after it anew."""
    return replace(job, talk=ThreadActivity(at))


def add_queued_receipt(job: Job, request: str, under_way: RequestState | None) -> Job:
    """Add a receipt for a new request that has to wait. `under_way` is the request under way; None: there is none."""
    ask = job.find_request(request)
    if under_way is None or ask is None or ask.refusal:
        return job
    return replace(job, heard=(*job.heard, HeardMessage(f"{request}+", ask.request, outcome="queued")))


def drop_acknowledged_message(job: Job, event: ev.MessageAcknowledged) -> Job:
    """Remove a message whose author was shown its outcome."""
    return replace(job, heard=tuple(one for one in job.heard if one.receipt != event.receipt))


# ---------------------------------------------------------------- what follows from a message


def apply_message_aim(job: Job, event: ev.MessageSorted) -> Job:
    """Apply a message whose purpose was found, if its author may do that."""
    one = find_waiting_message(job, event.message)
    if one is None or one.outcome:
        return job
    job = _charge_usage(job, event.usage)
    if event.aim == "unknown":
        return _schedule_sorting(job, one, event.at)
    aim: MessageAim = "request" if event.aim == "nothing" and one.mentioned else event.aim
    asked = list_answerable_questions(job, one)
    if asked and aim in {"answer", "explain"}:
        meant = find_meant_question(job, one)
        if meant is None:
            return _set_outcome(job, one, "which")
        name, question, text = meant
        if aim == "explain":
            return _set_outcome(job, one, "explained", question=name)
        return _set_outcome(_answer_question(job, one, (name, question), text, event.at), one, "taken")
    if aim == "answer" and (approval := find_open_approval(job, one)):
        return _set_outcome(job, one, "explained", question=approval)
    if aim in {"answer", "explain"}:  # the question was closed meanwhile
        aim = "request" if one.mentioned else "nothing"
    if aim == "correction":
        return _apply_as_correction(job, one, event.at)
    return (
        _drop_message(job, one)
        if aim == "nothing"
        else _set_outcome(job, one, "thanks" if aim == "thanks" else "request")
    )


def _answer_question(
    job: Job, heard_message: HeardMessage, named_question: tuple[str, Question], text: str, at: float
) -> Job:
    ask = job.current_request
    if ask is None:
        return job
    of = {
        "subtask": named_question[0],
        "number": named_question[1].number,
        "user": heard_message.message.user,
        "text": text,
        "groups": heard_message.groups,
    }
    event = ev.QuestionAnswered.model_validate({"at": at, "request": ask.id, **of})
    return job.with_request(apply_question_answered(ask, event))


def _apply_as_correction(job: Job, heard_message: HeardMessage, at: float) -> Job:
    ask = job.current_request
    if ask is None or not _may_correct(ask, heard_message):
        return _set_outcome(job, heard_message, "request")
    after, told, waits = corrections.add_correction(ask, heard_message.message.id, heard_message.message.text, at)
    return _set_outcome(job.with_request(after), heard_message, "applied", told_count=told, waiting_count=waits)


def _schedule_sorting(job: Job, heard_message: HeardMessage, at: float) -> Job:
    """Schedule a further try to sort a message, and add a receipt for its author before the first one.

    After the last try, a mention counts as a request. Another message of a requester gets the outcome `unclear`.
    Messages of other people are dropped without a receipt.
    """
    theirs = heard_message.mentioned or any(ask.request.user == heard_message.message.user for ask in job.asks)
    if heard_message.tries < len(SORTING_DELAYS):
        later = dataclasses.replace(
            heard_message, tries=heard_message.tries + 1, not_before=at + SORTING_DELAYS[heard_message.tries]
        )
        heard = tuple(later if each is heard_message else each for each in job.heard)
        told = (
            (HeardMessage(f"{heard_message.receipt}?", heard_message.message, outcome="unsorted"),)
            if theirs and not heard_message.tries
            else ()
        )
        return replace(job, heard=(*heard, *told))
    if theirs:
        return _set_outcome(job, heard_message, "request" if heard_message.mentioned else "unclear")
    return _drop_message(job, heard_message)


def _drop_message(job: Job, heard_message: HeardMessage) -> Job:
    return replace(job, heard=tuple(each for each in job.heard if each.receipt != heard_message.receipt))


def apply_request_edit(job: Job, event: ev.RequestEdited) -> Job:
    """Apply the edit of a message: of one that is still to be sorted, of a request, or of a correction."""
    waits = next((one for one in job.heard if one.message.id == event.message and not one.outcome), None)
    if waits is not None and waits.message.user == event.user:
        message = _edit_request(waits.message, event)
        changed = dataclasses.replace(waits, message=message)
        return replace(job, heard=tuple(changed if one is waits else one for one in job.heard))
    ask = job.find_request(event.message)
    if ask is None:
        return _apply_correction_edit(job, event)
    if ask.refusal or ask.withdrawn or ask.before is not None or event.stamp < ask.edited:
        return job
    other_crew = event.crew not in {"", ask.request.crew} and ask.run.plan is None
    now = _edit_request(ask.request, event)
    same_files = now.attachments == ask.request.attachments
    if _has_same_text(ask, event.text) and same_files and not other_crew:
        return job
    if ask.request.user != event.user:
        return job
    crew = event.crew if event.crew and ask.run.plan is None else ask.request.crew  # a plan stays with its crew
    request = now.model_copy(update={"crew": crew})
    read = ask.gathered and (same_files or ask.run.plan is not None)  # otherwise the attachments are read anew
    new = replace(ask, request=request, edited=event.stamp, gathered=read)
    receipt = HeardMessage(f"{ask.id}~{event.at}", new.request)
    if ask.is_over or not corrections.can_still_change(ask):
        return _add_late_receipt(job, ask, receipt, event.at)
    if ask is not job.current_request:
        return replace(job.with_request(new), heard=(*job.heard, dataclasses.replace(receipt, outcome="replaced")))
    return _add_receipt(job, receipt, corrections.apply_edited_request(ask, new, receipt.receipt, event.at))


def _edit_request(request: Request, event: ev.RequestEdited) -> Request:
    """Return a request with the text and the pasted tables after an edit."""
    pasted = tuple(one for one in request.attachments if one.kind == "table" and not one.author)
    attachments = request.attachments
    if event.tables is not None and event.tables != pasted:
        attachments = (*(one for one in attachments if one not in pasted), *event.tables)
    return request.model_copy(update={"text": event.text, "attachments": attachments})


def _apply_correction_edit(job: Job, event: ev.RequestEdited) -> Job:
    """Apply the edit of a message that corrects a request; return the job unchanged if the message corrects none."""
    ask = next((one for one in reversed(job.asks) if corrections.find_correction(one, event.message)), None)
    old = corrections.find_correction(ask, event.message) if ask is not None else None
    if ask is None or old is None or ask.request.user != event.user or event.stamp < old.edited:
        return job
    new = dataclasses.replace(old, text=event.text, edited=event.stamp)
    receipt = _make_edit_receipt(ask, event.message, event.text, event.at)
    if " ".join(new.text.split()).casefold() == " ".join(old.text.split()).casefold():
        return job
    if ask.is_over or not corrections.can_still_change(ask):
        return _add_late_receipt(job, ask, receipt, event.at)
    return _add_receipt(job, receipt, corrections.reword_correction(ask, old, new, receipt.receipt, event.at))


def _apply_correction_deletion(job: Job, event: ev.RequestWithdrawn) -> Job:
    """Take back a correction whose message was deleted."""
    for ask in job.asks:
        if (old := corrections.find_correction(ask, event.message)) is None:
            continue
        if ask.is_over or not corrections.can_still_change(ask):
            job = job.with_request(corrections.replace_correction(ask, old, None))
            continue
        receipt = _make_edit_receipt(ask, event.message, "", event.at)
        back = corrections.take_back_correction(ask, old, receipt.receipt, event.at)
        job = _add_receipt(job, receipt, back, "dropped")
    return job


def _make_edit_receipt(ask: RequestState, message: str, text: str, at: float) -> HeardMessage:
    said = ask.request.model_copy(update={"id": message, "text": text, "attachments": ()})
    return HeardMessage(f"{message}~{at}", said)


def _add_receipt(
    job: Job, receipt: HeardMessage, correction_outcome: tuple[RequestState, int, int], outcome: Outcome = "applied"
) -> Job:
    ask, told, waits_for = correction_outcome
    receipt = dataclasses.replace(receipt, outcome=outcome, told=told, waiting=waits_for)
    return replace(job.with_request(ask), heard=(*job.heard, receipt))


def _add_late_receipt(job: Job, ask: RequestState, receipt: HeardMessage, at: float) -> Job:
    """Add a receipt `too_late` for an edit, if the answer was written less than `MAX_LATE_EDIT_SECONDS` seconds ago."""
    fresh = ask.run.answer is not None and at - (ask.ended or at) <= MAX_LATE_EDIT_SECONDS
    if not fresh or ask.cancelled_by:
        return job
    return replace(job, heard=(*job.heard, dataclasses.replace(receipt, outcome="too_late")))


def withdraw_message(job: Job, event: ev.RequestWithdrawn) -> tuple[Job, tuple[RequestState, ...]]:
    """Remove a deleted message and its correction, and return the job and the requests that have to be stopped.

    These are the message's own request and the second tries at it, which have the same words.
    """
    kept = tuple(one for one in job.heard if one.message.id != event.message)
    job = replace(job, heard=kept) if len(kept) < len(job.heard) else job
    job = _apply_correction_deletion(job, event)
    found = (one for one in job.asks if event.message in {one.id, *(each.id for each in one.earlier_tries)})
    return job, tuple(one for one in found if not (one.is_over or one.withdrawn or one.refusal))


# ---------------------------------------------------------------- helpers


def list_answerable_questions(job: Job, heard_message: HeardMessage) -> list[tuple[str, Question]]:
    """Return the open questions that the author of a message may answer, as pairs (subtask id, question).

    The id is empty for the planner's question.
    """
    found = job.current_request.open_questions.items() if job.current_request is not None else ()
    return [
        (name, question)
        for name, question in found
        if question.may_answer(heard_message.message.user, heard_message.groups)
    ]


def find_meant_question(job: Job, heard_message: HeardMessage) -> tuple[str, Question, str] | None:
    """Return the question that a message answers, as (subtask id, question, answer text); None if that is not clear.

    Among several questions it is the one that the message names (“Place: Oslo”), or the only one with an option that
    the message names.
    """
    ask, asked, text = (
        job.current_request,
        list_answerable_questions(job, heard_message),
        heard_message.message.text.strip(),
    )
    if ask is None or len(asked) == 1:
        return (*asked[0], text) if asked else None
    head, colon, rest = text.partition(":")
    named = [each for each in asked if colon and rest.strip() and _names_subtask(head, ask, each[0])]
    if len(named) == 1:
        return (*named[0], rest.strip())
    chosen = [each for each in asked if message_kinds.names_option(text, each[1].options)]
    return (*chosen[0], text) if len(chosen) == 1 and not text.isdecimal() else None


def _names_subtask(name: str, ask: RequestState, subtask: str) -> bool:
    """Return True if the text `name` names a subtask: its title begins with these words, or contains a single word."""
    said, title = (
        message_kinds.split_words(name),
        message_kinds.split_words(ask.work[subtask].subtask.title) if subtask else [],
    )
    return bool(said) and (title[: len(said)] == said or (len(said) == 1 and said[0] in title))


def find_open_approval(job: Job, heard_message: HeardMessage) -> str:
    """Return the id of the first subtask with an open approval for the author of a message; empty if there is none."""
    found = job.current_request.open_questions.items() if job.current_request is not None else ()
    who = (heard_message.message.user, heard_message.groups)
    theirs = (name for name, asked in found if asked.approval is not None and may_answer(asked.whom, *who))
    return next(theirs, "")


def _may_correct(ask: RequestState, heard_message: HeardMessage) -> bool:
    return (
        ask.request.user == heard_message.message.user
        and corrections.may_correct(ask)
        and not heard_message.message.attachments
    )


def _has_same_text(ask: RequestState, text: str) -> bool:
    return " ".join(text.split()).casefold() == " ".join(ask.request.text.split()).casefold()


def _set_outcome(
    job: Job,
    heard_message: HeardMessage,
    outcome: Outcome,
    *,
    question: str = "",
    told_count: int = 0,
    waiting_count: int = 0,
) -> Job:
    marked = dataclasses.replace(
        heard_message, outcome=outcome, question=question, told=told_count, waiting=waiting_count
    )
    return replace(job, heard=tuple(marked if each is heard_message else each for each in job.heard))


def _charge_usage(job: Job, usage: Usage) -> Job:
    if not usage.model_fields_set or not job.asks:
        return job
    ask = job.latest_request
    return job.with_request(replace(ask, usage=ask.usage + usage))
