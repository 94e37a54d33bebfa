"""Carries out on a subtask what `handoff.engine.policy` decides: the ladder, the judge, the deadlines."""

from __future__ import annotations

from handoff import events as ev
from handoff.contracts import Member, Result, Tier, Usage
from handoff.engine import replan
from handoff.engine.hand_up import gathered
from handoff.engine.nested import all_inside, below, inside, is_open, member_of, members_of, seconds_for
from handoff.engine.policy import RUNGS, Next, Standing, after_look, after_trouble
from handoff.engine.subtask import (
    attempt_over,
    charged,
    charged_so_far,
    complete,
    decided,
    failed,
    only_sure,
    packed,
    seconds_left,
    settle,
    with_work,
)
from handoff.state import SETTLED, Ask, Candidate, Failure, Question, Trouble, Upset, Work, replace

ONCE_MORE = "Try once more"
WITHOUT = "Go on without it"
BEFORE = "an earlier release ended it"


def climb(
    ask: Ask,
    work: Work,
    trouble: Trouble,
    message: str,
    at: float,
    *,
    partial: Result | None = None,
    pause: float = 0.0,
) -> Ask:
    """Take the next rung of the ladder, or end the subtask with what there is.

    The attempt is over by now, its usage charged, and no call of it in doubt. With that of a crew ends what is inside.
    """
    ask = _cut(ask, _unsettled_inside(ask, work), f"the crew let go of it: {message}", at)
    asked = trouble == "ambiguous_input"
    work = replace(work, failures=work.failures if asked else (*work.failures, message), look=None)
    if partial is not None and work.best is None:
        work = replace(work, best=Candidate(partial.model_copy(update={"usage": Usage()}), partial=True))
    return step(ask, work, trouble, message, at, pause=pause)


def step(ask: Ask, work: Work, trouble: Trouble, message: str, at: float, *, pause: float = 0.0) -> Ask:
    """Take the next rung after a failure that is counted already, or end the subtask with what there is."""
    member = member_of(ask, work)
    following = after_trouble(
        trouble,
        Standing(
            specialist=work.specialist,
            tier=work.tier or "balanced",
            failures=len(work.failures),
            failed_calls=work.failed_calls,
            questions=work.questions,
            taken=work.rungs,
            fallback=member.fallback if member else "",
            critical=work.subtask.critical,
            left=seconds_left(ask, work),
            pause=pause,
            tiers=member.tiers if member else (),
            replans=replan.may_ask(ask),
            fallback_tier=_tier_of_the_fallback(ask, work, member),
        ),
    )
    ask = decided(ask, at, work.subtask.id, following.rung, f"{RUNGS[following.rung].what}: {message}")
    if following.rung == "without":
        return ended(ask, work, message, at)
    work = replace(work, rungs=(*work.rungs, following.rung))
    if following.rung == "ask":
        return _asked(ask, work, trouble, message, at)
    if following.rung == "replan":
        upset = Upset(work.subtask.id, message[: replan.LONGEST], "failure", work.within)
        return replan.with_upset(with_work(ask, replace(work, state="pending", trouble=trouble)), upset)
    if following.rung == "refine":
        return with_work(ask, replace(work, state="pending", refining=message, trouble=trouble))
    return with_work(ask, _again(work, following, at))


def _tier_of_the_fallback(ask: Ask, work: Work, member: Member | None) -> Tier | None:
    """Its own, which may be another model: the one that failed is perhaps down. The plan's word comes first."""
    stand_in = members_of(ask, work.within).get(member.fallback) if member else None
    return stand_in.tier if stand_in and work.subtask.tier is None else None


def _again(work: Work, following: Next, at: float) -> Work:
    """Ready for another attempt. The seconds that it has to wait are taken from its deadline."""
    return replace(
        work,
        state="pending",
        specialist=following.specialist,
        tier=following.tier,
        not_before=at + following.delay if following.delay else 0.0,
        spent=work.spent + following.delay,
    )


def _asked(ask: Ask, work: Work, trouble: Trouble, message: str, at: float) -> Ask:
    question = work.question
    if trouble != "ambiguous_input" or question is None:
        number = work.questions + work.doubts + 1
        text = f"{work.subtask.title} cannot be done as it is: {message} What now?"
        question = Question(number, text, (ONCE_MORE, WITHOUT), at)
    return with_work(ask, replace(work, state="input_required", question=question, questions=work.questions + 1))


def wants_without(question: Question, text: str) -> bool:
    """Whether a person said to go on without the subtask, where that was offered."""
    return WITHOUT in question.options and text.strip().casefold() == WITHOUT.casefold()


def ended(ask: Ask, work: Work, message: str, at: float) -> Ask:
    """End the subtask with the best that there is, the gap named, or in error."""
    if work.best is None:
        return failed(ask, work, message, at)
    return complete(ask, work, with_gaps(work.best, message), at)


def with_gaps(candidate: Candidate, *more: str) -> Result:
    """The result with what is wrong with it named among its gaps."""
    result = candidate.result
    named = (*result.gaps, *(f"not mended: {fault}" for fault in candidate.faults))
    named += (*(f"in doubt: {doubt}" for doubt in candidate.doubts), *more)
    return result.model_copy(update={"gaps": tuple(dict.fromkeys(named))})


# ---------------------------------------------------------------- a look at a result


def returned(ask: Ask, work: Work, event: ev.ResultReturned) -> Ask:
    """A result is accepted where the free checks say nothing and its subtask is not critical; else it is looked at."""
    ask, work = charged(ask, attempt_over(work, event.took), event.result.usage)
    if not event.faults and not event.doubts and not work.subtask.critical:
        return complete(ask, work, event.result, event.at)
    found = _stood_by(Candidate(event.result, event.faults, event.doubts), work.wanting)
    return with_work(ask, replace(work, look=found))


def _stood_by(found: Candidate, before: Candidate | None) -> Candidate:
    """What a free check finds again, word for word, is for the judge: the check may be what is wrong."""
    again = tuple(fault for fault in found.faults if before is not None and fault in before.faults)
    faults = tuple(fault for fault in found.faults if fault not in again)
    return Candidate(found.result, faults, (*again, *found.doubts), found.partial)


def judged(ask: Ask, event: ev.ResultJudged) -> Ask:
    """Accept, send back with what is wrong, or take the best as it is."""
    work = ask.work.get(event.subtask)
    look = work.look if work is not None else None
    if ask.failure is not None or work is None or look is None or work.attempt != event.attempt:
        return ask
    ask, work = charged(packed(ask, event.at, event.subtask, event.pack), work, event.usage)
    rounds = work.rounds + (event.verdict == "revise")
    verdict = after_look(event.verdict, rounds=rounds, left=seconds_left(ask, work))
    nobody = event.verdict == "best_effort"  # there was no judge to be had: its doubts stand
    found = Candidate(look.result, () if nobody else event.faults, event.faults if nobody else ())
    who = "the judge" if event.by == "model" else "the free checks"
    why = f"{who}: {' '.join(event.faults) or 'nothing is wrong with it'}"
    if verdict == "best_effort" and event.verdict == "revise":
        why += f" (after {rounds} rounds; the best of them is taken)"
    ask = decided(ask, event.at, event.subtask, verdict.replace("_", " "), why)
    if verdict == "accepted":
        return complete(ask, work, found.result, event.at)
    best = _better(work.best, found)
    work = replace(work, look=None, rounds=rounds, best=best)
    if verdict == "best_effort":
        return complete(ask, work, with_gaps(best), event.at)
    return with_work(ask, replace(work, state="pending", wanting=found, not_before=0.0))


def _better(best: Candidate | None, found: Candidate) -> Candidate:
    """The one with fewer faults, the later of equals; what was handed in only in part gives way."""
    if best is None or best.partial or len(found.faults) <= len(best.faults):
        return found
    return best


# ---------------------------------------------------------------- rewriting a brief


def refined(ask: Ask, event: ev.BriefRefined) -> Ask:
    """Try again with the new brief; without one, the next rung follows."""
    work = ask.work.get(event.subtask)
    if ask.failure is not None or work is None or not work.refining or work.attempt != event.attempt:
        return ask
    ask, work = charged(packed(ask, event.at, event.subtask, event.pack), work, event.usage)
    message, trouble = work.refining, work.trouble
    work = replace(work, refining="", trouble=None)
    if event.intent.strip():
        ask = decided(ask, event.at, event.subtask, "brief rewritten", event.intent)
        return with_work(ask, replace(work, brief=event.intent))
    ask = decided(ask, event.at, event.subtask, "brief kept", event.fault or "the refiner gave no other")
    return step(ask, work, trouble or "bad_reply", message, event.at)


# ---------------------------------------------------------------- deadlines


def deadline(ask: Ask, event: ev.DeadlineReached) -> Ask:
    """End the subtask, or all that are not over, with what there is."""
    if ask.failure is not None or ask.answer is not None or ask.plan is None:
        return ask
    if event.subtask:
        work = ask.work.get(event.subtask)
        limit, words = seconds_for(ask, work) if work is not None else 0.0, "for this part"
        late = [work] if work is not None and work.state not in SETTLED else []
    else:
        limit, words = ask.terms.job_seconds, "for the whole request"
        work, late = None, [one for one in ask.own if one.state not in SETTLED]
    text = f"the time {words} ({limit:g} s) ran out"
    if late:
        ask = decided(ask, event.at, event.subtask, "deadline", text)
    names = [one.subtask.id for one in late]
    cut = [one for name in names for one in (ask.work[name], *all_inside(ask, name))]
    ask = charged_so_far(ask, (one for one in cut if one.state not in SETTLED))
    ask = _cut(ask, [ask.work[name] for name in names], text, event.at)
    return settle(ask, event.at, work.within if work is not None else "") if late else ask


def _cut(ask: Ask, late: list[Work], text: str, at: float) -> Ask:
    """End all of them at once, so that none is skipped for another. Of a crew, what it has by then is taken."""
    for work in late:
        over, best = attempt_over(work), work.look or work.best
        if is_open(work):
            ask = _cut(ask, _unsettled_inside(ask, work), text, at)
            there = gathered(below(ask, work.subtask.id))
            best = best if there is None else Candidate(there, partial=True)
        if best is not None:
            ask, result = only_sure(ask, work, with_gaps(best, text), at)
            over = replace(over, state="complete", result=result, ended=at)
        else:
            never = work.attempt == 0
            over = replace(over, state="skipped" if never else "error", reason=text, ended=at)
        ask = with_work(ask, replace(over, look=None, refining="", question=None))
    return ask


def _unsettled_inside(ask: Ask, work: Work) -> list[Work]:
    if work.level is None:
        return []
    return [one for one in inside(ask, work.subtask.id) if one.state not in SETTLED]


def ended_before(ask: Ask, at: float) -> Ask:
    """A request whose end people have seen, whatever today's policy makes of its log: an earlier release ended it."""
    late = [one for one in ask.own if one.state not in SETTLED]
    ask = settle(_cut(ask, late, BEFORE, at), at) if ask.own else ask
    if ask.answer is not None or ask.failure is not None:
        return ask
    return replace(ask, failure=Failure("the job", BEFORE), written=at)
