"""Transitions at the end of a subtask, and its consequences for the other subtasks of the run."""

from __future__ import annotations

from collections.abc import Iterable

from handoff.answering.fixed_words import render_phrase
from handoff.checking.checks import quote_line
from handoff.contracts import Result, Usage
from handoff.engine import replan
from handoff.engine.answer import conclude_run, is_written_as_draft, render_subtask_result
from handoff.engine.nested import combine_results, is_crew_working
from handoff.events import TurnTaken
from handoff.state.job_state import SETTLED_STATES, PlanRun, RequestState, SubtaskState, replace
from handoff.state.state_values import Candidate, Failure, ReplanTrigger

_CHECK_FIRST_ADVICE = "Look first at what is unknown, then mention me again and say what is still to be done."
_REWORD_ADVICE = "Ask in other words, or for a part of it."
_APPROVE_LATER_ADVICE = "If it is to be done after all, have it tried again, and approve it then."


def list_ready_subtasks(ask: RequestState, run: PlanRun) -> list[SubtaskState]:
    """Return the pending subtasks of a run whose dependencies have all ended.

    Subtasks whose dependencies all ended without a result are not among them: `settle_run` has skipped them.
    """
    return [
        work
        for work in ask.list_subtasks(run.within)
        if work.state == "pending" and all(ask.work[name].state in SETTLED_STATES for name in work.subtask.after)
    ]


def charge_aborted_turns(ask: RequestState, works: Iterable[SubtaskState]) -> RequestState:
    """Charge the turns of attempts that are cut off, since these attempts report no usage themselves."""
    for work in works:
        usage = sum((point.turn.usage for point in work.checkpoints if isinstance(point, TurnTaken)), Usage())
        ask, now = ask.charge_subtask(ask.work[work.subtask.id], usage)
        ask = ask.with_subtask(now)
    return ask


# ---------------------------------------------------------------- the end of a subtask


def complete_subtask(ask: RequestState, work: SubtaskState, result: Result, at: float) -> RequestState:
    """End a subtask with a result. The usage of the result must be charged already."""
    news = replan.find_plan_news(ask, work, result)
    if lost := _phrase_missing_dependencies(ask, work):
        result = result.model_copy(update={"gaps": (*result.gaps, *lost)})
    done = replace(work, state="complete", result=result, ended=at, refining="", question=None, not_before=0.0)
    return settle_run(_add_finding_trigger(ask.with_subtask(done), done, news, at), at, work.within)


def _phrase_missing_dependencies(ask: RequestState, work: SubtaskState) -> tuple[str, ...]:
    """Return a gap that names the dependencies without a result; empty if all have one."""
    others = [ask.work[name] for name in work.subtask.after]
    lost = [repr(other.subtask.title) for other in others if other.result is None and not other.dropped]
    if not lost:
        return ()
    return (render_phrase("without", ask.text, title=work.subtask.title, others=", ".join(lost)),)


def _add_finding_trigger(ask: RequestState, work: SubtaskState, words: str, at: float) -> RequestState:
    """Add a trigger for the planner if a result has news (`words`) that may change the plan, and it may be asked."""
    if not words:
        return ask
    if why_not := replan.explain_kept_plan(ask, work.within):
        return ask.with_decision(at, work.subtask.id, "plan kept", f"{quote_line(words)}: {why_not}")
    ask = ask.with_decision(at, work.subtask.id, "ask the planner again", words)
    return replan.add_trigger(ask, ReplanTrigger(work.subtask.id, words, "finding", work.within))


def fail_subtask(ask: RequestState, work: SubtaskState, reason: str, at: float) -> RequestState:
    """End a subtask in error, without a result."""
    over = replace(work, state="error", reason=reason, ended=at, refining="", question=None)
    return settle_run(ask.with_subtask(over), at, work.within)


def end_subtask(ask: RequestState, work: SubtaskState, message: str, at: float) -> RequestState:
    """End a subtask with its best result so far and `message` as a gap, or in error if there is no result."""
    if work.best is None:
        return fail_subtask(ask, work, message, at)
    return complete_subtask(ask, work, add_faults_to_gaps(work.best, message), at)


def add_faults_to_gaps(candidate: Candidate, *more: str) -> Result:
    """Return the candidate's result with its faults and `more` added to its gaps."""
    result = candidate.result
    named = (*result.gaps, *(f"not mended: {fault}" for fault in candidate.faults), *more)
    return result.model_copy(update={"gaps": tuple(dict.fromkeys(named))})


def end_subtasks(ask: RequestState, ending: list[SubtaskState], reason: str, at: float) -> RequestState:
    """End several subtasks for the reason `reason`, before one of them is skipped because of another.

    Each ends with its best result so far. The result of a crew is combined from the results inside it.
    """
    for work in ending:
        over, best = work.end_attempt(), work.best
        if is_crew_working(work):
            ask = end_subtasks(ask, list_unsettled_subtasks(ask, work), reason, at)
            there = combine_results(ask, ask.get_run(work.subtask.id))
            best = best if there is None else Candidate(there, partial=True)
        if best is not None:
            over = replace(over, state="complete", result=add_faults_to_gaps(best, reason), ended=at)
        else:
            never = work.attempt == 0
            over = replace(over, state="skipped" if never else "error", reason=reason, ended=at)
        ask = ask.with_subtask(replace(over, refining="", question=None))
    return ask


def list_unsettled_subtasks(ask: RequestState, work: SubtaskState) -> list[SubtaskState]:
    """Return the subtasks inside `work` that have not ended; none if no crew worked on it."""
    if work.run is None:
        return []
    return [one for one in ask.list_subtasks(work.subtask.id) if one.state not in SETTLED_STATES]


# ---------------------------------------------------------------- consequences for the run


def settle_run(ask: RequestState, at: float, within: str = "") -> RequestState:
    """Update a run after a subtask ended: skip subtasks that cannot or need not run, and end a run without synthesis.

    If all subtasks have ended, a run without results fails, and the result of a single subtask becomes the answer, or a
    draft if the verifier has to check it. `within` is the subtask whose inner run is meant; empty: the request's own.
    """
    ask = _skip_blocked_subtasks(ask, at, within)
    run, own = ask.get_run(within), ask.list_subtasks(within)
    if any(work.state not in SETTLED_STATES for work in own):
        return ask
    results = [work for work in own if work.result is not None]
    if not results:
        return ask.with_run(replace(run, failure=_make_no_result_failure(ask, own), written=at))
    if sum(not work.dropped for work in own) == 1 and results[0].result is not None:
        alone, inner = results[0].result, results[0].run
        text = alone.content if inner is not None else render_subtask_result(ask, run, results[0])
        return (
            ask.with_run(replace(run, draft=text))
            if is_written_as_draft(ask, run, at)
            else conclude_run(ask, run, text, at)
        )
    return ask


def _skip_blocked_subtasks(ask: RequestState, at: float, within: str) -> RequestState:
    """Skip pending subtasks that are stranded or needless, and those that become so in turn.

    A subtask is stranded if all its dependencies ended without a result, and needless by its own `only_for`.
    """
    while over := [one for one in ask.list_subtasks(within) if _is_stranded(ask, one) or _is_needless(ask, one)]:
        for work in over:
            needless = not _is_stranded(ask, work)
            titles = ", ".join(repr(ask.work[name].subtask.title) for name in work.subtask.after)
            only_for = work.subtask.only_for
            said = (
                f"no finding is {only_for.description}" if needless and only_for is not None else f"it needed {titles}"
            )
            ask = ask.with_subtask(replace(work, state="skipped", dropped=needless, reason=said, ended=at))
            ask = ask.with_decision(at, work.subtask.id, "left out" if needless else "skipped", said)
    return ask


def _is_stranded(ask: RequestState, work: SubtaskState) -> bool:
    after = [ask.work[name] for name in work.subtask.after]
    lost = all(other.state in {"error", "skipped"} and not other.dropped for other in after)
    return work.state == "pending" and bool(after) and lost


def _is_needless(ask: RequestState, work: SubtaskState) -> bool:
    """Return True if no result that a pending subtask builds on has a finding that fits its `only_for`.

    A subtask without `only_for`, or one that is held back for the planner, is not needless.
    """
    only_for, after = work.subtask.only_for, [ask.work[name] for name in work.subtask.after]
    if (
        only_for is None
        or not after
        or work.state != "pending"
        or work.attempt
        or replan.is_awaiting_revision(ask, work)
    ):
        return False
    found = (one for other in after if other.result is not None for one in other.result.findings)
    return all(other.state in SETTLED_STATES for other in after) and not any(only_for.fits(one) for one in found)


def has_only_scope_failures(works: Iterable[SubtaskState]) -> bool:
    """Return True if some subtasks failed, and all of them as out of scope, so that a retry changes nothing.

    A subtask with a denied call does not count as out of scope, since people may approve the call next time.
    """
    failed = [work for work in works if work.state == "error"]
    return bool(failed) and all(work.trouble == "out_of_scope" and not _has_denied_call(work) for work in failed)


def _has_denied_call(work: SubtaskState) -> bool:
    return any(one.ruling is not None and not one.ruling.is_approved for one in work.answered)


def _make_no_result_failure(ask: RequestState, subtasks: tuple[SubtaskState, ...]) -> Failure:
    first = next((work for work in subtasks if work.state == "error"), subtasks[0])
    advice = (
        _REWORD_ADVICE
        if has_only_scope_failures(subtasks)
        else "Once that is fixed, press *Try again*. Finished parts are kept."
    )
    if ask.unknown_writes:
        advice = _CHECK_FIRST_ADVICE
    elif _has_denied_call(first):
        advice = _APPROVE_LATER_ADVICE
    return Failure(first.subtask.title, first.reason, advice)
