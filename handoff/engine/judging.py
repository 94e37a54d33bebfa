"""Judges results, by the free checks or the judge: accept a result, send it back, or take the best one as it is."""

from __future__ import annotations

from handoff import events as ev
from handoff.engine import ladder
from handoff.engine.ladder import LEAST_SECONDS, seconds_left
from handoff.engine.subtask import complete, with_gaps
from handoff.events import Verdict
from handoff.state import Ask, Work, replace
from handoff.state_values import Candidate

MAX_ROUNDS = 3
"""Results of one subtask that may be found wanting; after the last, the best of them is taken, its faults named."""


def after_look(verdict: Verdict, *, rounds: int, left: float) -> Verdict:
    """Return what follows a verdict: a result is not sent back after `MAX_ROUNDS` rounds, or without time.

    `rounds` includes the present one. `left` is the seconds that are left to the subtask.
    """
    if verdict == "revise" and (rounds >= MAX_ROUNDS or left < LEAST_SECONDS):
        return "best_effort"
    return verdict


def returned(ask: Ask, work: Work, event: ev.ResultReturned) -> Ask:
    """Accept a result if the free checks found nothing and its subtask is not critical; otherwise have it judged."""
    ask, work = ask.charged(
        work.attempt_over(event.took, private=event.private, sources=event.private_sources), event.result.usage
    )
    if not event.faults and not event.doubts and not work.subtask.critical:
        return complete(ask, work, event.result, event.at)
    found = _doubting_repeated_faults(Candidate(event.result, event.faults, event.doubts), work.wanting)
    return ask.with_work(replace(work, look=found))


def _doubting_repeated_faults(found: Candidate, before: Candidate | None) -> Candidate:
    """Turn a fault that a free check finds again, word for word, into a doubt for the judge: the check may be wrong."""
    again = tuple(fault for fault in found.faults if before is not None and fault in before.faults)
    faults = tuple(fault for fault in found.faults if fault not in again)
    return Candidate(found.result, faults, (*again, *found.doubts), found.partial)


def judged(ask: Ask, event: ev.ResultJudged) -> Ask:
    """Accept the result, send it back with its faults, or take the best one as it is.

    Words that were never handed in are no result that could be sent back: found wanting, they are a failed attempt.
    """
    work = ask.work.get(event.subtask)
    look = work.look if work is not None else None
    if ask.run.failure is not None or work is None or look is None or work.attempt != event.attempt:
        return ask
    ask, work = ask.with_pack(event.at, event.subtask, event.pack).charged(work, event.usage)
    rounds = work.rounds + (event.verdict == "revise")
    words = bool(look.result.doubts)
    verdict = event.verdict if words else after_look(event.verdict, rounds=rounds, left=seconds_left(ask, work))
    nobody = event.verdict == "best_effort"  # there was no judge to be had: its doubts stand
    found = Candidate(look.result, () if nobody else event.faults, event.faults if nobody else ())
    who = "the judge" if event.by == "model" else "the free checks"
    why = f"{who}: {' '.join(event.faults) or 'nothing is wrong with it'}"
    if verdict == "best_effort" and event.verdict == "revise":
        why += f" (after {rounds} rounds; the best of them is taken)"
    ask = ask.with_decision(event.at, event.subtask, verdict.replace("_", " "), why)
    if verdict == "accepted":
        return complete(ask, work, found.result, event.at)
    if words and verdict == "revise":
        return ladder.climb(ask, work, "bad_reply", why, event.at)
    best = _better(work.best, found)
    work = replace(work, look=None, rounds=rounds, best=best)
    if verdict == "best_effort":
        return complete(ask, work, with_gaps(best), event.at)
    return ask.with_work(replace(work, state="pending", wanting=found, not_before=0.0))


def _better(best: Candidate | None, found: Candidate) -> Candidate:
    """Return the candidate with fewer faults, the later of equals; any candidate comes before a partial one."""
    if best is None or best.partial or len(found.faults) <= len(best.faults):
        return found
    return best


def refined(ask: Ask, event: ev.BriefRefined) -> Ask:
    """Try again with the new brief; without one, take the next rung."""
    work = ask.work.get(event.subtask)
    if ask.run.failure is not None or work is None or not work.refining or work.attempt != event.attempt:
        return ask
    ask, work = ask.with_pack(event.at, event.subtask, event.pack).charged(work, event.usage)
    message, trouble = work.refining, work.trouble
    work = replace(work, refining="", trouble=None)
    if event.intent.strip():
        ask = ask.with_decision(event.at, event.subtask, "brief rewritten", event.intent)
        return ask.with_work(replace(work, brief=event.intent))
    ask = ask.with_decision(event.at, event.subtask, "brief kept", event.fault or "the refiner gave no other")
    return ladder.step(ask, work, trouble or "bad_reply", message, event.at)
