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


def review_result(ask: RequestState, work: SubtaskState, event: ev.ResultReturned) -> RequestState:
    """Accept a result, or send it back if the free checks found a new fault in it.

    A fault that the last result had as well, word for word, is only a doubt, since the check may be wrong. A result
    with doubts, such as one that was not handed in properly, is not sent back: with a fault its attempt fails.
    """
    ask, work = ask.charge_subtask(
        work.end_attempt(event.took, private=event.private, sources=event.private_sources), event.result.usage
    )
    before = work.wanting.faults if work.wanting is not None else ()
    faults = tuple(fault for fault in event.faults if fault not in before)
    doubts = (*(fault for fault in event.faults if fault in before), *event.doubts)
    if not faults:
        if doubts:
            ask = ask.with_decision(event.at, event.subtask, "accepted in doubt", " ".join(doubts))
        return complete_subtask(ask, work, event.result, event.at)
    why = " ".join(faults)
    if event.result.doubts:
        ask = ask.with_decision(event.at, event.subtask, "sent back", why)
        return ladder.recover_from_failure(ask, work, "bad_reply", why, event.at)
    found = Candidate(event.result, faults)
    work = replace(work, rounds=work.rounds + 1, best=_choose_better_candidate(work.best, found))
    if work.best is not None and (
        work.rounds >= MAX_FAULTY_RESULTS or compute_seconds_left(ask, work) < MIN_ATTEMPT_SECONDS
    ):
        why += f" (after {work.rounds} rounds; the best of them is taken)"
        ask = ask.with_decision(event.at, event.subtask, "best effort", why)
        return complete_subtask(ask, work, add_faults_to_gaps(work.best), event.at)
    ask = ask.with_decision(event.at, event.subtask, "sent back", why)
    return ask.with_subtask(replace(work, state="pending", wanting=found, not_before=0.0))


def _choose_better_candidate(best: Candidate | None, candidate: Candidate) -> Candidate:
    """Return the candidate with fewer faults; the later one if they are equal, or if the earlier one is partial."""
    if best is None or best.partial or len(candidate.faults) <= len(best.faults):
        return candidate
    return best


def apply_refined_brief(ask: RequestState, event: ev.BriefRefined) -> RequestState:
    """Try a subtask again with the refiner's new brief; without one, take the next step of the ladder."""
    work = ask.work.get(event.subtask)
    if ask.run.failure is not None or work is None or not work.refining or work.attempt != event.attempt:
        return ask
    ask, work = ask.with_pack_decision(event.at, event.subtask, event.pack).charge_subtask(work, event.usage)
    message, trouble = work.refining, work.trouble
    work = replace(work, refining="", trouble=None)
    if event.intent.strip():
        ask = ask.with_decision(event.at, event.subtask, "brief rewritten", event.intent)
        return ask.with_subtask(replace(work, brief=event.intent))
    ask = ask.with_decision(event.at, event.subtask, "brief kept", event.fault or "the refiner gave no other")
    return ladder.take_recovery_step(ask, work, trouble or "bad_reply", message, event.at)
