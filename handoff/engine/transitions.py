"""The transitions of the state machine: `TRANSITIONS`, at the end of this file, has one function for each event.

Small functions are in this file, by topic; longer ones are in the modules that the table names. Each returns the
request unchanged if the event no longer fits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from handoff import events as ev
from handoff.contracts import EscalationReason
from handoff.effects import make_answer_key
from handoff.engine import answer, approvals, ladder, plan, questions, retry, returned_results, unknown_writes
from handoff.engine.crew_runs import begin_attempt, is_crew_working
from handoff.engine.ladder import get_subtask_seconds
from handoff.engine.opening_requests import apply_thread_opened
from handoff.engine.subtask import charge_aborted_turns, end_subtasks, settle_run
from handoff.state.job_state import SETTLED_STATES, PlanRun, RequestState, SubtaskState, replace
from handoff.state.state_values import Failure, FailureCause, QuestionAnswer

EARLIER_RELEASE_REASON = "an earlier release ended it"


def apply_deadline(request: RequestState, event: ev.DeadlineReached) -> RequestState:
    """End a subtask, or all subtasks of the request, whose time ran out, with their best results so far."""
    if request.run.is_concluded or request.run.plan is None:
        return request
    if event.subtask:
        subtask = request.subtasks.get(event.subtask)
        limit, words = get_subtask_seconds(request, subtask) if subtask is not None else 0.0, "for this part"
        overdue = [subtask] if subtask is not None and subtask.state not in SETTLED_STATES else []
    else:
        limit, words = request.run.terms.job_seconds, "for the whole request"
        subtask, overdue = None, [one for one in request.list_subtasks("") if one.state not in SETTLED_STATES]
    text = f"the time {words} ({limit:g} s) ran out"
    if overdue:
        request = request.with_decision(event.at, event.subtask, "deadline", text)
    names = [one.spec.id for one in overdue]
    ended_subtasks = [one for name in names for one in (request.subtasks[name], *request.list_all_subtasks(name))]
    request = charge_aborted_turns(request, (one for one in ended_subtasks if one.state not in SETTLED_STATES))
    request = end_subtasks(request, [request.subtasks[name] for name in names], text, event.at)
    return settle_run(request, event.at, subtask.within if subtask is not None else "") if overdue else request


def end_posted_request(request: RequestState, at: float) -> RequestState:
    """End a request whose answer or failure an earlier release has posted, even if this release would continue it."""
    unsettled_subtasks = [one for one in request.list_subtasks("") if one.state not in SETTLED_STATES]
    request = (
        settle_run(end_subtasks(request, unsettled_subtasks, EARLIER_RELEASE_REASON, at), at)
        if request.list_subtasks("")
        else request
    )
    if request.run.is_concluded:
        return request
    return request.with_run(replace(request.run, failure=Failure("the job", EARLIER_RELEASE_REASON), concluded_at=at))


HANDOVER_REASONS: frozenset[EscalationReason] = frozenset({"hand_over", "out_of_scope", "confidence_too_low"})
"""The reasons of a first responder's escalation for which the planner takes over."""
HANDOVER_DECISION = "hand over"


def hand_over_to_planner(
    request: RequestState, run: PlanRun, subtask: SubtaskState, reason: str, at: float
) -> RequestState:
    """End the first responder's subtask and remove its plan, so that the planner is asked and told the reason.

    The subtask stays in the state as a dropped one, since the private content that it read still restricts what may be
    sent out. People's answers to it become answers for the whole request.
    """
    words = " ".join(reason.split())
    ended_subtask = replace(
        subtask,
        state="skipped",
        is_dropped=True,
        is_handed_over=True,
        ended_at=at,
        reason=f"handed over: {words}",
        question=None,
    )
    question_answers = tuple(one for one in subtask.question_answers if one.question.approval is None)
    request = replace(
        request.with_subtask(ended_subtask), question_answers=(*request.question_answers, *question_answers)
    )
    run = replace(run, plan=None, members=MappingProxyType({}), is_first_responder=False, handover_reason=words)
    return request.with_run(run).with_decision(
        at, subtask.spec.id, HANDOVER_DECISION, f"{subtask.specialist} hands it over: {words}"
    )


MISSED_CORRECTION_FAULT = "The requester has said since: “{words}” It was not taken in."
"""The fault of a result that was made without a correction of the request."""


def cancel_request(request: RequestState, event: ev.CancelRequested) -> RequestState:
    """End a request because a person stopped it. Only its report is still posted."""
    request = charge_aborted_turns(
        request, (subtask for subtask in request.subtasks.values() if subtask.state not in SETTLED_STATES)
    )
    run = replace(request.run, failure=Failure("the job", "stopped by a person"), concluded_at=event.at)
    return replace(request, cancelled_by=event.user, run=run)


def end_withdrawn_request(request: RequestState, event: ev.RequestWithdrawn) -> RequestState:
    """End a request because its message was deleted, unless its answer is posted already."""
    if make_answer_key(request.id) in request.posted_ids:
        return request
    stop = ev.CancelRequested(at=event.at, user=request.spec.user)
    request = cancel_request(replace(request, run=replace(request.run, answer=None)), stop)
    return replace(request, is_withdrawn=True)


def _apply_material_gathered(request: RequestState, event: ev.MaterialGathered) -> RequestState:
    materials = event.materials
    if request.earlier_try is not None:  # material of a second try replaces earlier material of the same name
        names = {one.name for one in materials}
        materials = (*materials, *(one for one in request.earlier_try.materials if one.name not in names))
    return replace(request, is_gathered=True, speakers=event.speakers, materials=materials, file_faults=event.faults)


# ---------------------------------------------------------------- attempts


def _apply_attempt_started(request: RequestState, event: ev.AttemptStarted) -> RequestState:
    subtask = request.subtasks.get(event.subtask)
    if subtask is None or subtask.state != "pending" or event.attempt != subtask.attempt + 1:
        return request
    request = request.with_pack_decision(event.at, event.subtask, event.pack)
    request, subtask = begin_attempt(request, subtask, event.specialist, event.at)
    return request.with_subtask(
        replace(
            subtask,
            state="in_progress",
            attempt=event.attempt,
            specialist=event.specialist,
            tier=event.tier,
            started_at=subtask.started_at if subtask.started_at is not None else event.at,
            attempt_started=event.at,
            checkpoints=(),
            refining_error="",
            failure_cause=None,
        )
    )


def _find_running_subtask(request: RequestState, event: ev.AttemptEvent) -> SubtaskState | None:
    """Return the subtask of an attempt's event; None if that attempt is not running any more."""
    subtask = request.subtasks.get(event.subtask)
    if (
        request.run.failure is not None
        or subtask is None
        or subtask.state != "in_progress"
        or subtask.attempt != event.attempt
    ):
        return None
    return subtask


def _add_checkpoint(request: RequestState, event: ev.TurnTaken | ev.ToolStarted | ev.ToolReturned) -> RequestState:
    subtask = _find_running_subtask(request, event)
    return request.with_subtask(replace(subtask, checkpoints=(*subtask.checkpoints, event))) if subtask else request


def _apply_tool_in_doubt(request: RequestState, event: ev.ToolInDoubt) -> RequestState:
    subtask = _find_running_subtask(request, event)
    intent = next((one for one in subtask.open_intents if one.call == event.call), None) if subtask else None
    return (
        unknown_writes.ask_about_write(request, subtask, intent, event.reason, event.usage, event.at)
        if subtask and intent
        else request
    )


def _apply_approval_asked(request: RequestState, event: ev.ApprovalAsked) -> RequestState:
    subtask = _find_running_subtask(request, event)
    return approvals.open_approval(request, subtask, event.approval, event.at) if subtask else request


def _apply_result_returned(request: RequestState, event: ev.ResultReturned) -> RequestState:
    subtask = _find_running_subtask(request, event)
    if subtask is None:
        return request
    missed_corrections = request.correction_texts[event.corrected :] if subtask.run is None else ()
    if missed_corrections:  # the specialist did not know these corrections
        faults = (*event.faults, *(MISSED_CORRECTION_FAULT.format(words=words) for words in missed_corrections))
        event = event.model_copy(update={"faults": faults})
    return returned_results.review_result(request, subtask, event)


def _apply_attempt_failed(request: RequestState, event: ev.AttemptFailed) -> RequestState:
    subtask = _find_running_subtask(request, event)
    if subtask is None:
        return request
    if subtask.open_intents:
        return unknown_writes.ask_about_write(
            request, subtask, subtask.open_intents[0], event.message, event.usage, event.at
        )
    is_passing = event.transient and event.kind in {"model", "unavailable"}
    cause: FailureCause = "passing" if is_passing else event.kind
    request, subtask = request.charge_subtask(
        subtask.end_attempt(event.took, private=event.private, sources=event.private_sources), event.usage
    )
    subtask = replace(subtask, failed_call_count=subtask.failed_call_count + event.failed_calls)
    return ladder.recover_from_failure(
        request, subtask, cause, event.message, event.at, partial_result=event.partial, pause=event.pause
    )


def _apply_escalation(request: RequestState, event: ev.Escalated) -> RequestState:
    subtask = _find_running_subtask(request, event)
    if subtask is None:
        return request
    escalation = event.escalation
    if subtask.open_intents:
        return unknown_writes.ask_about_write(
            request, subtask, subtask.open_intents[0], escalation.message, event.usage, event.at
        )
    request, subtask = request.charge_subtask(
        subtask.end_attempt(event.took, private=event.private, sources=event.private_sources), event.usage
    )
    run = request.find_enclosing_run(subtask)
    if run.is_first_responder and escalation.reason in HANDOVER_REASONS and not subtask.earlier_writes:
        return hand_over_to_planner(request, run, subtask, escalation.message, event.at)
    if escalation.reason == "ambiguous_input":
        subtask = replace(subtask, question=questions.make_escalation_question(request, subtask, event.at, escalation))
    partial = escalation.partial_result
    return ladder.recover_from_failure(
        request, subtask, escalation.reason, escalation.message, event.at, partial_result=partial
    )


# ---------------------------------------------------------------- people


def apply_question_answered(request: RequestState, event: ev.QuestionAnswered) -> RequestState:
    """Apply a person's answer to the open question of a subtask, or of the request (empty `subtask`)."""
    if not event.subtask:
        return _apply_request_answer(request, event)
    subtask = request.subtasks.get(event.subtask)
    question = subtask.question if subtask else None
    if request.run.failure is not None or subtask is None or subtask.state != "input_required" or question is None:
        return request
    if event.number not in {0, question.number} or not question.may_answer(event.user, event.groups):
        return request
    question_answer = QuestionAnswer(question, event.user, event.text, event.at)
    if question.doubt is None:
        return questions.apply_answer(request, subtask, question_answer)
    subtask = replace(subtask, question=None, question_answers=(*subtask.question_answers, question_answer))
    return unknown_writes.settle_unknown_write(
        request, subtask, question.doubt, event, waited_seconds=event.at - question.asked_at
    )


def _apply_request_answer(request: RequestState, event: ev.QuestionAnswered) -> RequestState:
    """Apply the answer to the planner's question, or to the question before a second try."""
    answered_request, question = plan.record_planner_answer(request, event), request.question
    if answered_request is request or question is None or not question.is_retry_question:
        return answered_request
    if retry.is_stop_answer(event.text):
        return cancel_request(answered_request, ev.CancelRequested(at=event.at, user=event.user))
    return retry.apply_repeat_writes_answer(answered_request, question, event.text)


# ---------------------------------------------------------------- the end of a request


def _apply_request_failed(request: RequestState, event: ev.RequestFailed) -> RequestState:
    if request.run.is_concluded:
        return request
    failure = Failure(event.step, event.reason, event.advice)
    return replace(
        request, run=replace(request.run, failure=failure, concluded_at=event.at), usage=request.usage + event.usage
    )


def _apply_posted(request: RequestState, event: ev.Posted) -> RequestState:
    request = replace(request, posted_ids=MappingProxyType({**request.posted_ids, event.key: event.ts}))
    ends = event.key == make_answer_key(request.id) and not request.run.is_concluded
    return end_posted_request(request, event.at) if ends else request


def _make_run_transition(
    transition: Callable[[RequestState, PlanRun, Any], RequestState],
) -> Callable[[RequestState, Any], RequestState]:
    """Return a transition that applies another to the run of the event's `within`, and charges the event's usage."""

    def apply_transition(request: RequestState, event: Any) -> RequestState:
        if event.within:
            subtask = request.subtasks.get(event.within)
            if request.run.is_concluded or subtask is None or not is_crew_working(subtask):
                return request
        after = transition(request, request.get_run(event.within), event)
        return request if after is request else after.charge_with_enclosing(event.within, event.usage)

    return apply_transition


def _ignore_outdated_replies(
    transition: Callable[[RequestState, Any], RequestState],
) -> Callable[[RequestState, Any], RequestState]:
    """Return a transition that only charges a reply if the request was corrected meanwhile and has no plan yet."""

    def apply_transition(request: RequestState, event: Any) -> RequestState:
        if not event.within and request.run.plan is None and event.corrected < request.correction_count:
            return replace(request, usage=request.usage + event.usage)
        return transition(request, event)

    return apply_transition


def _apply_planner_asked(request: RequestState, event: ev.PlannerAsked) -> RequestState:
    return plan.open_planner_question(request, event) if event.corrected >= request.correction_count else request


TRANSITIONS: Mapping[str, Callable[[RequestState, Any], RequestState]] = {
    "MaterialGathered": _apply_material_gathered,
    "SettingKnown": lambda request, event: replace(request, setting=request.setting or event.setting),
    "PlannerAsked": _apply_planner_asked,
    "PlanProposed": _ignore_outdated_replies(_make_run_transition(plan.apply_plan)),
    "PlanRejected": _ignore_outdated_replies(_make_run_transition(plan.apply_rejected_plan)),
    "PlanRevised": plan.apply_revised_plan,
    "AttemptStarted": _apply_attempt_started,
    "TurnTaken": _add_checkpoint,
    "ToolStarted": _add_checkpoint,
    "ToolReturned": _add_checkpoint,
    "ToolInDoubt": _apply_tool_in_doubt,
    "ApprovalAsked": _apply_approval_asked,
    "ApprovalDecided": approvals.apply_decision,
    "ResultReturned": _apply_result_returned,
    "AttemptFailed": _apply_attempt_failed,
    "Escalated": _apply_escalation,
    "QuestionAnswered": apply_question_answered,
    "QuestionReminded": questions.apply_reminder,
    "QuestionExpired": questions.apply_expiry,
    "BriefRefined": returned_results.apply_refined_brief,
    "DeadlineReached": apply_deadline,
    **{event: _make_run_transition(change) for event, change in answer.TRANSITIONS.items()},
    "AnswerWritten": _ignore_outdated_replies(_make_run_transition(answer.apply_answer_written)),
    "RequestFailed": _apply_request_failed,
    "Posted": _apply_posted,
    "ThreadOpened": apply_thread_opened,
    "FeedbackGiven": lambda request, _: request,
}
"""The function for each type of event: from a request and an event to the changed request."""
