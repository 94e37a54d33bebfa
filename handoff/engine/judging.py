"""A look at a result, by the free checks or the judge: accept it, send it back, or take the best one as it is."""

from __future__ import annotations

from handoff import events as ev
from handoff.engine import ladder
from handoff.engine.decisions import with_decision, with_pack
from handoff.engine.ladder import LEAST_SECONDS
from handoff.engine.subtask import attempt_over, charged, complete, seconds_left, with_gaps
from handoff.events import Verdict
from handoff.state import Ask, Candidate, Work, replace

MAX_ROUNDS = 3
"""Results of one subtask that may be found wanting; the last of them is taken as it is, its faults named."""


def after_look(verdict: Verdict, *, rounds: int, left: float) -> Verdict:
    """What follows the `rounds`-th look (counted from 1) that a result of a subtask was given.

    `left` are the seconds of its deadline: without them nothing is sent back.
    """
    if verdict == "revise" and (rounds >= MAX_ROUNDS or left < LEAST_SECONDS):
        return "best_effort"
    return verdict


def returned(ask: Ask, work: Work, event: ev.ResultReturned) -> Ask:
    """Accept a result if the free checks say nothing and its subtask is not critical; else have it looked at."""
    ask, work = charged(ask, attempt_over(work, event.took), event.result.usage)
    if not event.faults and not event.doubts and not work.subtask.critical:
        return complete(ask, work, event.result, event.at)
    found = _stood_by(Candidate(event.result, event.faults, event.doubts), work.wanting)
    return ask.with_work(replace(work, look=found))


def _stood_by(found: Candidate, before: Candidate | None) -> Candidate:
    """What a free check finds again, word for word, is for the judge: the check may be what is wrong."""
    again = tuple(fault for fault in found.faults if before is not None and fault in before.faults)
    faults = tuple(fault for fault in found.faults if fault not in again)
    return Candidate(found.result, faults, (*again, *found.doubts), found.partial)


def judged(ask: Ask, event: ev.ResultJudged) -> Ask:
    """Accept, send back with what is wrong, or take the best as it is."""
    work = ask.work.get(event.subtask)
    look = work.look if work is not None else None
    if ask.run.failure is not None or work is None or look is None or work.attempt != event.attempt:
        return ask
    ask, work = charged(with_pack(ask, event.at, event.subtask, event.pack), work, event.usage)
    rounds = work.rounds + (event.verdict == "revise")
    verdict = after_look(event.verdict, rounds=rounds, left=seconds_left(ask, work))
    nobody = event.verdict == "best_effort"  # there was no judge to be had: its doubts stand
    found = Candidate(look.result, () if nobody else event.faults, event.faults if nobody else ())
    who = "the judge" if event.by == "model" else "the free checks"
    why = f"{who}: {' '.join(event.faults) or 'nothing is wrong with it'}"
    if verdict == "best_effort" and event.verdict == "revise":
        why += f" (after {rounds} rounds; the best of them is taken)"
    ask = with_decision(ask, event.at, event.subtask, verdict.replace("_", " "), why)
    if verdict == "accepted":
        return complete(ask, work, found.result, event.at)
    best = _better(work.best, found)
    work = replace(work, look=None, rounds=rounds, best=best)
    if verdict == "best_effort":
        return complete(ask, work, with_gaps(best), event.at)
    return ask.with_work(replace(work, state="pending", wanting=found, not_before=0.0))


def _better(best: Candidate | None, found: Candidate) -> Candidate:
    """The one with fewer faults, the later of equals; what was handed in only in part gives way."""
    if best is None or best.partial or len(found.faults) <= len(best.faults):
        return found
    return best


def refined(ask: Ask, event: ev.BriefRefined) -> Ask:
    """Try again with the new brief; without one, the next rung follows."""
    work = ask.work.get(event.subtask)
    if ask.run.failure is not None or work is None or not work.refining or work.attempt != event.attempt:
        return ask
    ask, work = charged(with_pack(ask, event.at, event.subtask, event.pack), work, event.usage)
    message, trouble = work.refining, work.trouble
    work = replace(work, refining="", trouble=None)
    if event.intent.strip():
        ask = with_decision(ask, event.at, event.subtask, "brief rewritten", event.intent)
        return ask.with_work(replace(work, brief=event.intent))
    ask = with_decision(ask, event.at, event.subtask, "brief kept", event.fault or "the refiner gave no other")
    return ladder.step(ask, work, trouble or "bad_reply", message, event.at)
