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
from handoff.engine import answer, approvals, ladder, plan, questions, retry, returned_results, writes
from handoff.engine.ladder import get_subtask_seconds
from handoff.engine.nested import begin_attempt, is_crew_working
from handoff.engine.opening import apply_thread_opened
from handoff.engine.subtask import charge_aborted_turns, end_subtasks, settle_run
from handoff.state.job_state import SETTLED_STATES, PlanRun, RequestState, SubtaskState, replace
from handoff.state.state_values import Failure, FailureCause, QuestionAnswer

EARLIER_RELEASE_REASON = "an earlier release ended it"


def apply_deadline(ask: RequestState, event: ev.DeadlineReached) -> RequestState:
    """End a subtask, or all subtasks of the request, whose time ran out, with their best results so far."""
    if ask.run.is_concluded or ask.run.plan is None:
        return ask
    if event.subtask:
        work = ask.work.get(event.subtask)
        limit, words = get_subtask_seconds(ask, work) if work is not None else 0.0, "for this part"
        late = [work] if work is not None and work.state not in SETTLED_STATES else []
    else:
        limit, words = ask.run.terms.job_seconds, "for the whole request"
        work, late = None, [one for one in ask.list_subtasks("") if one.state not in SETTLED_STATES]
    text = f"the time {words} ({limit:g} s) ran out"
    if late:
        ask = ask.with_decision(event.at, event.subtask, "deadline", text)
    names = [one.subtask.id for one in late]
    ended = [one for name in names for one in (ask.work[name], *ask.list_all_subtasks(name))]
    ask = charge_aborted_turns(ask, (one for one in ended if one.state not in SETTLED_STATES))
    ask = end_subtasks(ask, [ask.work[name] for name in names], text, event.at)
    return settle_run(ask, event.at, work.within if work is not None else "") if late else ask


def end_as_earlier_release(ask: RequestState, at: float) -> RequestState:
    """End a request whose visible end an earlier release has posted, even if today's rules would continue it."""
    late = [one for one in ask.list_subtasks("") if one.state not in SETTLED_STATES]
    ask = settle_run(end_subtasks(ask, late, EARLIER_RELEASE_REASON, at), at) if ask.list_subtasks("") else ask
    if ask.run.is_concluded:
        return ask
    return ask.with_run(replace(ask.run, failure=Failure("the job", EARLIER_RELEASE_REASON), written=at))


HANDOVER_REASONS: frozenset[EscalationReason] = frozenset({"hand_over", "out_of_scope", "confidence_too_low"})
"""The reasons of a first responder's escalation for which the planner takes over."""
HANDOVER_DECISION = "hand over"


def hand_over_to_planner(ask: RequestState, run: PlanRun, work: SubtaskState, reason: str, at: float) -> RequestState:
    """End the first responder's subtask and remove its plan, so that the planner is asked and told the reason.

    The subtask stays in the state as a dropped one, since the private content that it read still restricts what may be
    sent out. People's answers to it become answers for the whole request.
    """
    words = " ".join(reason.split())
    over = replace(
        work, state="skipped", dropped=True, handed_over=True, ended=at, reason=f"handed over: {words}", question=None
    )
    answered = tuple(one for one in work.answered if one.question.approval is None)
    ask = replace(ask.with_subtask(over), answered=(*ask.answered, *answered))
    run = replace(run, plan=None, members=MappingProxyType({}), is_first=False, handed_over=words)
    return ask.with_run(run).with_decision(
        at, work.subtask.id, HANDOVER_DECISION, f"{work.specialist} hands it over: {words}"
    )


MISSED_CORRECTION_FAULT = "The requester has said since: “{words}” It was not taken in."
"""The fault of a result that was made without a correction of the request."""


def cancel_request(ask: RequestState, event: ev.CancelRequested) -> RequestState:
    """End a request because a person stopped it. Only its report is still posted."""
    ask = charge_aborted_turns(ask, (work for work in ask.work.values() if work.state not in SETTLED_STATES))
    run = replace(ask.run, failure=Failure("the job", "stopped by a person"), written=event.at)
    return replace(ask, cancelled_by=event.user, run=run)


def end_withdrawn_request(ask: RequestState, event: ev.RequestWithdrawn) -> RequestState:
    """End a request because its message was deleted, unless its answer is posted already."""
    if make_answer_key(ask.id) in ask.posted:
        return ask
    stop = ev.CancelRequested(at=event.at, user=ask.request.user)
    ask = cancel_request(replace(ask, run=replace(ask.run, answer=None)), stop)
    return replace(ask, withdrawn=True)


def _apply_material_gathered(ask: RequestState, event: ev.MaterialGathered) -> RequestState:
    found = event.materials
    if ask.before is not None:  # material of a second try replaces earlier material of the same name
        names = {one.name for one in found}
        found = (*found, *(one for one in ask.before.materials if one.name not in names))
    return replace(ask, gathered=True, speakers=event.speakers, materials=found, file_faults=event.faults)


# ---------------------------------------------------------------- attempts


def _apply_attempt_started(ask: RequestState, event: ev.AttemptStarted) -> RequestState:
    work = ask.work.get(event.subtask)
    if work is None or work.state != "pending" or event.attempt != work.attempt + 1:
        return ask
    ask = ask.with_pack_decision(event.at, event.subtask, event.pack)
    ask, work = begin_attempt(ask, work, event.specialist, event.at)
    return ask.with_subtask(
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
        )
    )


def _find_running_subtask(ask: RequestState, event: ev.AttemptEvent) -> SubtaskState | None:
    """Return the subtask of an attempt's event; None if that attempt is not running any more."""
    work = ask.work.get(event.subtask)
    if ask.run.failure is not None or work is None or work.state != "in_progress" or work.attempt != event.attempt:
        return None
    return work


def _add_checkpoint(ask: RequestState, event: ev.TurnTaken | ev.ToolStarted | ev.ToolReturned) -> RequestState:
    work = _find_running_subtask(ask, event)
    return ask.with_subtask(replace(work, checkpoints=(*work.checkpoints, event))) if work else ask


def _apply_tool_in_doubt(ask: RequestState, event: ev.ToolInDoubt) -> RequestState:
    work = _find_running_subtask(ask, event)
    intent = next((one for one in work.open_intents if one.call == event.call), None) if work else None
    return writes.ask_about_write(ask, work, intent, event.reason, event.usage, event.at) if work and intent else ask


def _apply_approval_asked(ask: RequestState, event: ev.ApprovalAsked) -> RequestState:
    work = _find_running_subtask(ask, event)
    return approvals.open_approval(ask, work, event.approval, event.at) if work else ask


def _apply_result_returned(ask: RequestState, event: ev.ResultReturned) -> RequestState:
    work = _find_running_subtask(ask, event)
    if work is None:
        return ask
    missed = ask.changes[event.corrected :] if work.run is None else ()
    if missed:  # the specialist did not know these corrections
        faults = (*event.faults, *(MISSED_CORRECTION_FAULT.format(words=words) for words in missed))
        event = event.model_copy(update={"faults": faults})
    return returned_results.review_result(ask, work, event)


def _apply_attempt_failed(ask: RequestState, event: ev.AttemptFailed) -> RequestState:
    work = _find_running_subtask(ask, event)
    if work is None:
        return ask
    if work.open_intents:
        return writes.ask_about_write(ask, work, work.open_intents[0], event.message, event.usage, event.at)
    passing = event.transient and event.kind in {"model", "unavailable"}
    trouble: FailureCause = "passing" if passing else event.kind
    ask, work = ask.charge_subtask(
        work.end_attempt(event.took, private=event.private, sources=event.private_sources), event.usage
    )
    work = replace(work, failed_calls=work.failed_calls + event.failed_calls)
    return ladder.recover_from_failure(
        ask, work, trouble, event.message, event.at, partial_result=event.partial, pause=event.pause
    )


def _apply_escalation(ask: RequestState, event: ev.Escalated) -> RequestState:
    work = _find_running_subtask(ask, event)
    if work is None:
        return ask
    escalation = event.escalation
    if work.open_intents:
        return writes.ask_about_write(ask, work, work.open_intents[0], escalation.message, event.usage, event.at)
    ask, work = ask.charge_subtask(
        work.end_attempt(event.took, private=event.private, sources=event.private_sources), event.usage
    )
    run = ask.find_enclosing_run(work)
    if run.is_first and escalation.reason in HANDOVER_REASONS and not work.writes:
        return hand_over_to_planner(ask, run, work, escalation.message, event.at)
    if escalation.reason == "ambiguous_input":
        work = replace(work, question=questions.make_escalation_question(ask, work, event.at, escalation))
    partial = escalation.partial_result
    return ladder.recover_from_failure(
        ask, work, escalation.reason, escalation.message, event.at, partial_result=partial
    )


# ---------------------------------------------------------------- people


def apply_question_answered(ask: RequestState, event: ev.QuestionAnswered) -> RequestState:
    """Apply a person's answer to the open question of a subtask, or of the request (empty `subtask`)."""
    if not event.subtask:
        return _apply_request_answer(ask, event)
    work = ask.work.get(event.subtask)
    question = work.question if work else None
    if ask.run.failure is not None or work is None or work.state != "input_required" or question is None:
        return ask
    if event.number not in {0, question.number} or not question.may_answer(event.user, event.groups):
        return ask
    answered = QuestionAnswer(question, event.user, event.text, event.at)
    if question.doubt is None:
        return questions.apply_answer(ask, work, answered)
    work = replace(work, question=None, answered=(*work.answered, answered))
    return writes.settle_unknown_write(ask, work, question.doubt, event, waited_seconds=event.at - question.asked)


def _apply_request_answer(ask: RequestState, event: ev.QuestionAnswered) -> RequestState:
    """Apply the answer to the planner's question, or to the question before a second try."""
    after, question = plan.record_planner_answer(ask, event), ask.question
    if after is ask or question is None or not question.second_try:
        return after
    if retry.is_stop_answer(event.text):
        return cancel_request(after, ev.CancelRequested(at=event.at, user=event.user))
    return retry.apply_retry_answer(after, question, event.text)


# ---------------------------------------------------------------- the end of a request


def _apply_request_failed(ask: RequestState, event: ev.RequestFailed) -> RequestState:
    if ask.run.is_concluded:
        return ask
    failure = Failure(event.step, event.reason, event.advice)
    return replace(ask, run=replace(ask.run, failure=failure, written=event.at), usage=ask.usage + event.usage)


def _apply_posted(ask: RequestState, event: ev.Posted) -> RequestState:
    ask = replace(ask, posted=MappingProxyType({**ask.posted, event.key: event.ts}))
    ends = event.key == make_answer_key(ask.id) and not ask.run.is_concluded
    return end_as_earlier_release(ask, event.at) if ends else ask


def _make_run_transition(
    transition: Callable[[RequestState, PlanRun, Any], RequestState],
) -> Callable[[RequestState, Any], RequestState]:
    """Return a transition that applies another to the run of the event's `within`, and charges the event's usage."""

    def apply_transition(ask: RequestState, event: Any) -> RequestState:
        if event.within:
            work = ask.work.get(event.within)
            if ask.run.is_concluded or work is None or not is_crew_working(work):
                return ask
        after = transition(ask, ask.get_run(event.within), event)
        return ask if after is ask else after.charge_enclosing(event.within, event.usage)

    return apply_transition


def _make_uncorrected_transition(
    transition: Callable[[RequestState, Any], RequestState],
) -> Callable[[RequestState, Any], RequestState]:
    """Return a transition that ignores a planner's reply to a request that was corrected meanwhile."""

    def apply_transition(ask: RequestState, event: Any) -> RequestState:
        if not event.within and ask.run.plan is None and event.corrected < ask.correction_count:
            return replace(ask, usage=ask.usage + event.usage)
        return transition(ask, event)

    return apply_transition


def _apply_planner_asked(ask: RequestState, event: ev.PlannerAsked) -> RequestState:
    return plan.open_planner_question(ask, event) if event.corrected >= ask.correction_count else ask


TRANSITIONS: Mapping[str, Callable[[RequestState, Any], RequestState]] = {
    "MaterialGathered": _apply_material_gathered,
    "SettingKnown": lambda ask, event: replace(ask, setting=ask.setting or event.setting),
    "PlannerAsked": _apply_planner_asked,
    "PlanProposed": _make_uncorrected_transition(_make_run_transition(plan.apply_plan)),
    "PlanRejected": _make_uncorrected_transition(_make_run_transition(plan.apply_rejection)),
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
    "AnswerWritten": _make_uncorrected_transition(_make_run_transition(answer.apply_answer_written)),
    "RequestFailed": _apply_request_failed,
    "Posted": _apply_posted,
    "ThreadOpened": apply_thread_opened,
    "FeedbackGiven": lambda ask, _: ask,
}
"""The function for each type of event."""
