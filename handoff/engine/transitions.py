"""What each event changes in its request: one small function an event, and the table that finds it.

Only `handoff.engine.engine` calls these. Each gives back the request as it was when
the event no longer fits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from handoff import events as ev
from handoff import post_keys
from handoff.contracts import Note, Usage
from handoff.engine import answered, hand_up, ladder, plan, revising, writes
from handoff.engine.nested import below, is_open, put_back
from handoff.engine.subtask import attempt_over, charged, charged_around, charged_so_far, failed, packed, with_work
from handoff.state import (
    SETTLED,
    Answered,
    Ask,
    Checked,
    Checkpoint,
    Failure,
    Question,
    Trouble,
    UnknownWrite,
    Work,
    replace,
)


def cancelled(ask: Ask, event: ev.CancelRequested) -> Ask:
    """A person stopped it: what is left is the report."""
    ask = charged_so_far(ask, (work for work in ask.work.values() if work.state not in SETTLED))
    return replace(ask, cancelled_by=event.user, failure=Failure("the job", "stopped by a person"), written=event.at)


def _attachments_fetched(ask: Ask, event: ev.AttachmentsFetched) -> Ask:
    return replace(ask, fetched=True, artifacts=event.artifacts, file_faults=event.faults)


def _attempt_started(ask: Ask, event: ev.AttemptStarted) -> Ask:
    work = ask.work.get(event.subtask)
    if work is None or work.state != "pending" or event.attempt != work.attempt + 1:
        return ask
    ask = packed(ask, event.at, event.subtask, event.pack)
    ask, work = hand_up.opened(ask, work, event.specialist, event.at)
    return with_work(
        ask,
        replace(
            work,
            state="in_progress",
            attempt=event.attempt,
            specialist=event.specialist,
            tier=event.tier,
            started=work.started if work.started is not None else event.at,
            attempt_started=event.at,
            checkpoints=(),
            refining="",
            trouble=None,
        ),
    )


def _running(ask: Ask, event: ev.OfAttempt) -> Work | None:
    """The work that an event of an attempt belongs to, if that attempt is still the one under way."""
    work = ask.work.get(event.subtask)
    if ask.failure is not None or work is None or work.state != "in_progress" or work.attempt != event.attempt:
        return None
    if work.look is not None:  # it has ended
        return None
    return work


def _checkpoint(ask: Ask, event: ev.TurnTaken | ev.ToolStarted | ev.ToolReturned) -> Ask:
    work = _running(ask, event)
    return with_work(ask, _kept(work, event)) if work else ask


def _kept(work: Work, point: Checkpoint) -> Work:
    return replace(work, checkpoints=(*work.checkpoints, point))


def _tool_in_doubt(ask: Ask, event: ev.ToolInDoubt) -> Ask:
    work = _running(ask, event)
    intent = next((one for one in work.intents if one.call == event.call), None) if work else None
    return _ask_about(ask, work, intent, event.reason, event.usage, event.at) if work and intent else ask


def _ask_about(ask: Ask, work: Work, intent: ev.ToolStarted, reason: str, usage: Usage, at: float) -> Ask:
    """Let people say whether it was carried out. The attempt keeps its checkpoints, to go on from them."""
    number = work.questions + work.doubts + 1
    doubt = UnknownWrite(intent.call, intent.tool, intent.what, reason, usage)
    question = Question(number, f"Was this carried out? {intent.what}", writes.OPTIONS, at, doubt)
    return with_work(ask, replace(work, state="input_required", question=question, doubts=work.doubts + 1))


def _result_returned(ask: Ask, event: ev.ResultReturned) -> Ask:
    work = _running(ask, event)
    return ladder.returned(ask, work, event) if work else ask


def _attempt_failed(ask: Ask, event: ev.AttemptFailed) -> Ask:
    work = _running(ask, event)
    if work is None:
        return ask
    if work.intents:
        return _ask_about(ask, work, work.intents[0], event.message, event.usage, event.at)
    passing = event.transient and event.kind in {"model", "unavailable"}
    trouble: Trouble = "passing" if passing else event.kind
    ask, work = charged(ask, attempt_over(work, event.took), event.usage)
    work = replace(work, failed_calls=work.failed_calls + event.failed_calls)
    return ladder.climb(ask, work, trouble, event.message, event.at, partial=event.partial, pause=event.pause)


def _escalated(ask: Ask, event: ev.Escalated) -> Ask:
    work = _running(ask, event)
    if work is None:
        return ask
    escalation = event.escalation
    if work.intents:
        return _ask_about(ask, work, work.intents[0], escalation.message, event.usage, event.at)
    ask, work = charged(ask, attempt_over(work, event.took), event.usage)
    if escalation.reason == "ambiguous_input":
        number = work.questions + work.doubts + 1
        question = Question(number, escalation.message, escalation.options, event.at)
        work = replace(work, question=question)
    partial = escalation.partial_result
    return ladder.climb(ask, work, escalation.reason, escalation.message, event.at, partial=partial)


def _question_answered(ask: Ask, event: ev.QuestionAnswered) -> Ask:
    work = ask.work.get(event.subtask)
    question = work.question if work else None
    if ask.failure is not None or work is None or work.state != "input_required" or question is None:
        return ask
    if event.number not in {0, question.number}:
        return ask
    decision = Answered(question, event.user, event.text, event.at)
    work = replace(work, question=None, answered=(*work.answered, decision))
    if question.doubt is not None:
        return _doubt_cleared(ask, work, question.doubt, event, waited=event.at - question.asked)
    if ladder.wants_without(question, event.text):
        return ladder.ended(ask, work, "a person said to go on without it", event.at)
    note = Note(source=f"Asked: {question.message}", text=f"Answered by a person: {event.text}")
    return with_work(ask, replace(work, state="pending", answers=(*work.answers, note)))


def _doubt_cleared(ask: Ask, work: Work, doubt: UnknownWrite, event: ev.QuestionAnswered, *, waited: float) -> Ask:
    """The attempt goes on where it was, on a clock that stood still meanwhile; or people end it here."""
    verdict = writes.verdict_of(event.text)
    if verdict == "stop":
        ask, work = charged(ask, attempt_over(work), doubt.usage)
        return failed(ask, work, "stopped by a person", event.at)
    work = _kept(work, Checked(event.at, doubt.call, verdict, event.user, event.text))
    started = work.attempt_started + max(0.0, waited)
    return with_work(ask, replace(work, state="in_progress", attempt_started=started))


def _request_failed(ask: Ask, event: ev.RequestFailed) -> Ask:
    if ask.answer is not None or ask.failure is not None:
        return ask
    failure = Failure(event.step, event.reason, event.advice)
    return replace(ask, failure=failure, usage=ask.usage + event.usage, written=event.at)


def _posted(ask: Ask, event: ev.Posted) -> Ask:
    ask = replace(ask, posted=MappingProxyType({**ask.posted, event.key: event.ts}))
    ends = event.key == post_keys.answer(ask.id) and ask.answer is None and ask.failure is None
    return ladder.ended_before(ask, event.at) if ends else ask


def _on_its_level(change: Callable[[Ask, Any], Ask]) -> Callable[[Ask, Any], Ask]:
    """The change made to the request, or to what a crew inside the crew is at, as the event's `within` says."""

    def changed(ask: Ask, event: Any) -> Ask:
        if not event.within:
            return change(ask, event)
        work = ask.work.get(event.within)
        if ask.failure is not None or ask.answer is not None or work is None or not is_open(work):
            return ask
        view = below(ask, event.within)
        after = change(view, event)
        if after is view:
            return ask
        return charged_around(put_back(ask, after), event.within, event.usage)

    return changed


CHANGES: Mapping[str, Callable[[Ask, Any], Ask]] = {
    "AttachmentsFetched": _attachments_fetched,
    "PlanProposed": _on_its_level(plan.proposed),
    "PlanRejected": _on_its_level(plan.rejected),
    "PlanRevised": revising.revised,
    "AttemptStarted": _attempt_started,
    "TurnTaken": _checkpoint,
    "ToolStarted": _checkpoint,
    "ToolReturned": _checkpoint,
    "ToolInDoubt": _tool_in_doubt,
    "ResultReturned": _result_returned,
    "AttemptFailed": _attempt_failed,
    "Escalated": _escalated,
    "QuestionAnswered": _question_answered,
    "ResultJudged": ladder.judged,
    "BriefRefined": ladder.refined,
    "DeadlineReached": ladder.deadline,
    "ConflictsJudged": _on_its_level(answered.conflicts_judged),
    "MaterialReduced": _on_its_level(answered.material_reduced),
    "AnswerReviewed": _on_its_level(answered.answer_reviewed),
    "AnswerWritten": _on_its_level(answered.answer_written),
    "RequestFailed": _request_failed,
    "Posted": _posted,
    "FeedbackGiven": lambda ask, _: ask,
}
"""By the type of the event."""
