"""Decides on a returned result: it is accepted, sent back with its faults, or the best result so far is accepted."""

from __future__ import annotations

from handoff import events as ev
from handoff.engine import ladder
from handoff.engine.ladder import MIN_ATTEMPT_SECONDS, compute_seconds_left
from handoff.engine.subtask import add_faults_to_gaps, complete_subtask
from handoff.state.job_state import RequestState, SubtaskState, replace
from handoff.state.state_values import Candidate

MAX_FAULTY_RESULTS = 3
"""The number of faulty results of one subtask after which the best of them is accepted, with its faults as gaps."""


def review_result(request: RequestState, subtask: SubtaskState, event: ev.ResultReturned) -> RequestState:
    """Accept a result, or send it back if the checks found a new fault in it.

    A fault that the last result had as well, word for word, is only a doubt, since the check may be wrong. If the
    result itself has `doubts`, such as one that was not handed in properly, a new fault makes its attempt fail.
    """
    request, subtask = request.charge_subtask(
        subtask.end_attempt(event.took, private=event.private, sources=event.private_sources), event.result.usage
    )
    known_faults = subtask.rejected_candidate.faults if subtask.rejected_candidate is not None else ()
    faults = tuple(fault for fault in event.faults if fault not in known_faults)
    doubts = (*(fault for fault in event.faults if fault in known_faults), *event.doubts)
    if not faults:
        if doubts:
            request = request.with_decision(event.at, event.subtask, "accepted in doubt", " ".join(doubts))
        return complete_subtask(request, subtask, event.result, event.at)
    why = " ".join(faults)
    if event.result.doubts:
        request = request.with_decision(event.at, event.subtask, "sent back", why)
        return ladder.recover_from_failure(request, subtask, "bad_reply", why, event.at)
    candidate = Candidate(event.result, faults)
    subtask = replace(
        subtask,
        faulty_result_count=subtask.faulty_result_count + 1,
        best_candidate=_choose_better_candidate(subtask.best_candidate, candidate),
    )
    if subtask.best_candidate is not None and (
        subtask.faulty_result_count >= MAX_FAULTY_RESULTS
        or compute_seconds_left(request, subtask) < MIN_ATTEMPT_SECONDS
    ):
        why += f" (after {subtask.faulty_result_count} rounds; the best of them is taken)"
        request = request.with_decision(event.at, event.subtask, "best effort", why)
        return complete_subtask(request, subtask, add_faults_to_gaps(subtask.best_candidate), event.at)
    request = request.with_decision(event.at, event.subtask, "sent back", why)
    return request.with_subtask(replace(subtask, state="pending", rejected_candidate=candidate, not_before=0.0))


def _choose_better_candidate(best: Candidate | None, candidate: Candidate) -> Candidate:
    """Return the candidate with fewer faults; the later one if they are equal, or if the earlier one is partial."""
    if best is None or best.is_partial or len(candidate.faults) <= len(best.faults):
        return candidate
    return best


def apply_refined_brief(request: RequestState, event: ev.BriefRefined) -> RequestState:
    """Try a subtask again with the refiner's new brief; without one, take the next step of the ladder."""
    subtask = request.subtasks.get(event.subtask)
    if (
        request.run.failure is not None
        or subtask is None
        or not subtask.refining_error
        or subtask.attempt != event.attempt
    ):
        return request
    request, subtask = request.with_pack_decision(event.at, event.subtask, event.pack).charge_subtask(
        subtask, event.usage
    )
    message, trouble = subtask.refining_error, subtask.failure_cause
    subtask = replace(subtask, refining_error="", failure_cause=None)
    if event.intent.strip():
        request = request.with_decision(event.at, event.subtask, "brief rewritten", event.intent)
        return request.with_subtask(replace(subtask, rewritten_brief=event.intent))
    request = request.with_decision(event.at, event.subtask, "brief kept", event.fault or "the refiner gave no other")
    return ladder.take_recovery_step(request, subtask, trouble or "bad_reply", message, event.at)
