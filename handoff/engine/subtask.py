"""Transitions at the end of a subtask, and its consequences for the other subtasks of the run."""

from __future__ import annotations

from collections.abc import Iterable

from handoff.answering.fixed_words import render_phrase
from handoff.checking.result_checks import quote_line
from handoff.contracts import Result, Usage
from handoff.engine import replan
from handoff.engine.answer import conclude_run, needs_draft, render_subtask_result
from handoff.engine.crew_runs import combine_results, is_crew_working
from handoff.events import TurnTaken
from handoff.state.job_state import SETTLED_STATES, PlanRun, RequestState, SubtaskState, replace
from handoff.state.state_values import Candidate, Failure, ReplanTrigger

_CHECK_FIRST_ADVICE = "Look first at what is unknown, then mention me again and say what is still to be done."
_REWORD_ADVICE = "Ask in other words, or for a part of it."
_APPROVE_LATER_ADVICE = "If it is to be done after all, have it tried again, and approve it then."


def list_ready_subtasks(request: RequestState, run: PlanRun) -> list[SubtaskState]:
    """Return the pending subtasks of a run whose dependencies have all ended.

    Subtasks whose dependencies all ended without a result are not among them: `settle_run` has skipped them.
    """
    return [
        subtask
        for subtask in request.list_subtasks(run.within)
        if subtask.state == "pending"
        and all(request.subtasks[name].state in SETTLED_STATES for name in subtask.spec.after)
    ]


def charge_aborted_turns(request: RequestState, subtasks: Iterable[SubtaskState]) -> RequestState:
    """Charge the turns of attempts that are cut off, since these attempts report no usage themselves."""
    for subtask in subtasks:
        usage = sum((point.turn.usage for point in subtask.checkpoints if isinstance(point, TurnTaken)), Usage())
        request, charged_subtask = request.charge_subtask(request.subtasks[subtask.spec.id], usage)
        request = request.with_subtask(charged_subtask)
    return request


# ---------------------------------------------------------------- the end of a subtask


def complete_subtask(request: RequestState, subtask: SubtaskState, result: Result, at: float) -> RequestState:
    """End a subtask with a result. The usage of the result must be charged already."""
    news = replan.find_replan_reason(request, subtask, result)
    if missing_gaps := _phrase_missing_dependencies(request, subtask):
        result = result.model_copy(update={"gaps": (*result.gaps, *missing_gaps)})
    ended_subtask = replace(
        subtask, state="complete", result=result, ended_at=at, refining_error="", question=None, not_before=0.0
    )
    return settle_run(
        _add_finding_trigger(request.with_subtask(ended_subtask), ended_subtask, news, at), at, subtask.within
    )


def _phrase_missing_dependencies(request: RequestState, subtask: SubtaskState) -> tuple[str, ...]:
    """Return a gap that names the dependencies without a result; empty if all have one."""
    others = [request.subtasks[name] for name in subtask.spec.after]
    missing_titles = [repr(other.spec.title) for other in others if other.result is None and not other.is_dropped]
    if not missing_titles:
        return ()
    return (render_phrase("without", request.text, title=subtask.spec.title, others=", ".join(missing_titles)),)


def _add_finding_trigger(request: RequestState, subtask: SubtaskState, words: str, at: float) -> RequestState:
    """Add a replan trigger for the findings in `words`, if any; record the reason if the planner is not asked."""
    if not words:
        return request
    if why_not := replan.explain_kept_plan(request, subtask.within):
        return request.with_decision(at, subtask.spec.id, "plan kept", f"{quote_line(words)}: {why_not}")
    request = request.with_decision(at, subtask.spec.id, "ask the planner again", words)
    return replan.add_trigger(request, ReplanTrigger(subtask.spec.id, words, "finding", subtask.within))


def fail_subtask(request: RequestState, subtask: SubtaskState, reason: str, at: float) -> RequestState:
    """End a subtask in error, without a result."""
    failed_subtask = replace(subtask, state="error", reason=reason, ended_at=at, refining_error="", question=None)
    return settle_run(request.with_subtask(failed_subtask), at, subtask.within)


def end_with_best_result(request: RequestState, subtask: SubtaskState, message: str, at: float) -> RequestState:
    """End a subtask with its best result so far and `message` as a gap, or in error if there is no result."""
    if subtask.best_candidate is None:
        return fail_subtask(request, subtask, message, at)
    return complete_subtask(request, subtask, add_faults_to_gaps(subtask.best_candidate, message), at)


def add_faults_to_gaps(candidate: Candidate, *more: str) -> Result:
    """Return the candidate's result with its faults and `more` added to its gaps."""
    result = candidate.result
    all_gaps = (*result.gaps, *(f"not mended: {fault}" for fault in candidate.faults), *more)
    return result.model_copy(update={"gaps": tuple(dict.fromkeys(all_gaps))})


def end_subtasks(request: RequestState, ending: list[SubtaskState], reason: str, at: float) -> RequestState:
    """End several subtasks at once for the reason `reason`, so that none is skipped because another one ended.

    Each ends with its best result so far; without one, in error, or skipped if it never began. The result of a crew is
    combined from the results inside it.
    """
    for subtask in ending:
        ended_subtask, best = subtask.end_attempt(), subtask.best_candidate
        if is_crew_working(subtask):
            request = end_subtasks(request, list_unsettled_subtasks(request, subtask), reason, at)
            combined_result = combine_results(request, request.get_run(subtask.spec.id))
            best = best if combined_result is None else Candidate(combined_result, is_partial=True)
        if best is not None:
            ended_subtask = replace(
                ended_subtask, state="complete", result=add_faults_to_gaps(best, reason), ended_at=at
            )
        else:
            is_unstarted = subtask.attempt == 0
            ended_subtask = replace(
                ended_subtask, state="skipped" if is_unstarted else "error", reason=reason, ended_at=at
            )
        request = request.with_subtask(replace(ended_subtask, refining_error="", question=None))
    return request


def list_unsettled_subtasks(request: RequestState, subtask: SubtaskState) -> list[SubtaskState]:
    """Return the subtasks inside `subtask` that have not ended; none if no crew worked on it."""
    if subtask.run is None:
        return []
    return [one for one in request.list_subtasks(subtask.spec.id) if one.state not in SETTLED_STATES]


# ---------------------------------------------------------------- consequences for the run


def settle_run(request: RequestState, at: float, within: str = "") -> RequestState:
    """Update a run after a subtask ended: skip subtasks that cannot or need not run, and conclude it if all have ended.

    A run without results fails. The result of a single subtask becomes the answer, or a draft if the verifier has to
    check it. Several results wait for the synthesizer. `within` is the subtask of an inner run; empty: the request's.
    """
    request = _skip_blocked_subtasks(request, at, within)
    run, subtasks = request.get_run(within), request.list_subtasks(within)
    if any(subtask.state not in SETTLED_STATES for subtask in subtasks):
        return request
    results = [subtask for subtask in subtasks if subtask.result is not None]
    if not results:
        return request.with_run(replace(run, failure=_make_no_result_failure(request, subtasks), concluded_at=at))
    if sum(not subtask.is_dropped for subtask in subtasks) == 1 and results[0].result is not None:
        only_result, inner = results[0].result, results[0].run
        text = only_result.content if inner is not None else render_subtask_result(request, run, results[0])
        return (
            request.with_run(replace(run, draft=text))
            if needs_draft(request, run, at)
            else conclude_run(request, run, text, at)
        )
    return request


def _skip_blocked_subtasks(request: RequestState, at: float, within: str) -> RequestState:
    """Skip pending subtasks that are stranded or needless, and those that become so in turn.

    A subtask is stranded if all its dependencies ended without a result, and needless by its own `only_for`.
    """
    while blocked_subtasks := [
        one for one in request.list_subtasks(within) if _is_stranded(request, one) or _is_needless(request, one)
    ]:
        for subtask in blocked_subtasks:
            needless = not _is_stranded(request, subtask)
            titles = ", ".join(repr(request.subtasks[name].spec.title) for name in subtask.spec.after)
            only_for = subtask.spec.only_for
            reason = (
                f"no finding is {only_for.description}" if needless and only_for is not None else f"it needed {titles}"
            )
            request = request.with_subtask(
                replace(subtask, state="skipped", is_dropped=needless, reason=reason, ended_at=at)
            )
            request = request.with_decision(at, subtask.spec.id, "left out" if needless else "skipped", reason)
    return request


def _is_stranded(request: RequestState, subtask: SubtaskState) -> bool:
    after = [request.subtasks[name] for name in subtask.spec.after]
    has_only_failures = all(other.state in {"error", "skipped"} and not other.is_dropped for other in after)
    return subtask.state == "pending" and bool(after) and has_only_failures


def _is_needless(request: RequestState, subtask: SubtaskState) -> bool:
    """Return True if a pending subtask's dependencies have all ended without a finding that fits its `only_for`.

    A subtask without `only_for`, or one that is held back for the planner, is not needless.
    """
    only_for, after = subtask.spec.only_for, [request.subtasks[name] for name in subtask.spec.after]
    if (
        only_for is None
        or not after
        or subtask.state != "pending"
        or subtask.attempt
        or replan.is_awaiting_revision(request, subtask)
    ):
        return False
    findings = (one for other in after if other.result is not None for one in other.result.findings)
    return all(other.state in SETTLED_STATES for other in after) and not any(
        only_for.is_met_by(one) for one in findings
    )


def has_only_scope_failures(subtasks: Iterable[SubtaskState]) -> bool:
    """Return True if some subtasks failed, and all of them as out of scope, so that a retry changes nothing.

    A subtask with a denied call does not count as out of scope, since people may approve the call next time.
    """
    failed_subtasks = [subtask for subtask in subtasks if subtask.state == "error"]
    return bool(failed_subtasks) and all(
        subtask.failure_cause == "out_of_scope" and not _has_unapproved_call(subtask) for subtask in failed_subtasks
    )


def _has_unapproved_call(subtask: SubtaskState) -> bool:
    return any(one.ruling is not None and not one.ruling.is_approved for one in subtask.question_answers)


def _make_no_result_failure(request: RequestState, subtasks: tuple[SubtaskState, ...]) -> Failure:
    first = next((subtask for subtask in subtasks if subtask.state == "error"), subtasks[0])
    advice = (
        _REWORD_ADVICE
        if has_only_scope_failures(subtasks)
        else "Once that is fixed, press *Try again*. Finished parts are kept."
    )
    if request.unknown_writes:
        advice = _CHECK_FIRST_ADVICE
    elif _has_unapproved_call(first):
        advice = _APPROVE_LATER_ADVICE
    return Failure(first.spec.title, first.reason, advice)
