"""The ladder: what follows a failure or an escalation of a subtask. First the tables, then the climb.

Each trouble has its rungs (`LADDER`); `after_trouble` chooses the next one that can be taken, and `climb` takes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from handoff.contracts import Member, Result, Tier, Usage
from handoff.engine import replan
from handoff.engine.decisions import with_decision
from handoff.engine.nested import member_of, members_around
from handoff.engine.subtask import cut, ended, seconds_left, unsettled_inside
from handoff.state import Ask, Candidate, Question, ReplanTrigger, Rung, Trouble, Work, replace

MAX_FAILURES = 3
"""Failures of one subtask, of whatever kind, after which it ends; and calls that bring it nothing."""
MAX_QUESTIONS = 3
MAX_LOST_OWNERS = 3
"""Owners in a row that a job may bring down or stall without progress; then it is set aside."""
BACKOFF = (1.0, 4.0)
"""Seconds to wait before the first and the second retry after a passing fault."""
LEAST_SECONDS = 1.0
"""Seconds of its deadline that must be left to a subtask for another attempt to make sense."""
ONCE_MORE = "Try once more"
WITHOUT = "Go on without it"
"""The answers that people are offered when a critical subtask cannot be done as it is."""


@dataclass(frozen=True, slots=True)
class Step:
    """What a rung does, in words for people, and what it costs: model calls of its own, and whole attempts."""

    what: str
    calls: int
    attempts: int


RUNGS: Mapping[Rung, Step] = MappingProxyType(
    {
        "retry": Step("the same again, after a pause", 0, 1),
        "refine": Step("again with a brief rewritten from the error", 1, 1),
        "stronger": Step("again with a stronger model", 0, 1),
        "fallback": Step("another specialist steps in", 0, 1),
        "replan": Step("the part is planned anew", 1, 0),
        "ask": Step("a person is asked", 0, 1),
        "without": Step("the job goes on without it", 0, 0),
    }
)
LADDER: Mapping[Trouble, tuple[Rung, ...]] = MappingProxyType(
    {
        "passing": ("retry", "fallback", "retry", "ask", "without"),
        "lost": ("retry", "retry", "ask", "without"),
        "unavailable": ("fallback", "ask", "without"),
        "model": ("fallback", "ask", "without"),
        "crew": ("fallback", "replan", "ask", "without"),
        "tool": ("fallback", "replan", "ask", "without"),
        "timeout": ("fallback", "replan", "ask", "without"),
        "bad_reply": ("refine", "stronger", "fallback", "replan", "ask", "without"),
        "confidence_too_low": ("refine", "stronger", "fallback", "replan", "ask", "without"),
        "out_of_scope": ("fallback", "replan", "ask", "without"),
        "ambiguous_input": ("ask", "without"),
    }
)
"""For each trouble, the rungs to climb in order. A subtask climbs each once, or as often as it stands here.

A rung is passed over where it cannot be taken: no fallback, no stronger tier, no time, no revision left. People are
asked where the specialist itself asks (up to `MAX_QUESTIONS`), and of a critical subtask before it is given up. After
`MAX_FAILURES` only `without` is left.
"""

_STRONGER: Mapping[Tier, Tier] = MappingProxyType({"fast": "balanced", "balanced": "deep"})


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a subtask stands when something went wrong with it.

    `failures` counts the one at hand. `fallback` is the name of the specialist that may step in, or empty, and
    `fallback_tier` what it then works on (None: the same). `left` is the seconds of the subtask's deadline that are
    left, and `pause` those that the provider asks to wait. `tiers` are those that the specialist may work on (empty:
    all), `replans` whether the planner may be asked.
    """

    specialist: str
    tier: Tier
    failures: int = 1
    failed_calls: int = 0
    questions: int = 0
    taken: tuple[Rung, ...] = ()
    fallback: str = ""
    critical: bool = False
    left: float = 300.0
    pause: float = 0.0
    tiers: tuple[Tier, ...] = ()
    replans: bool = False
    fallback_tier: Tier | None = None


@dataclass(frozen=True, slots=True)
class Next:
    """The rung to take, with the specialist, the tier and the seconds to wait where it leads to another attempt."""

    rung: Rung
    specialist: str
    tier: Tier
    delay: float = 0.0


def after_trouble(trouble: Trouble, now: Standing) -> Next:
    """What follows a failure or an escalation of a subtask."""
    rungs = LADDER[trouble]
    for place, rung in enumerate(rungs):
        if rung != "ask" and now.taken.count(rung) >= rungs[: place + 1].count(rung):
            continue
        if found := _taken(rung, trouble, now):
            return found
    return Next("without", now.specialist, now.tier)


def _taken(rung: Rung, trouble: Trouble, now: Standing) -> Next | None:
    """The rung as it would be taken; None where it cannot be."""
    if rung == "ask":
        asked = trouble == "ambiguous_input" or (now.critical and not _spent(now))
        return Next(rung, now.specialist, now.tier) if asked and now.questions < MAX_QUESTIONS else None
    if rung == "without" or _spent(now) or now.left < LEAST_SECONDS:
        return None
    if rung == "fallback":
        steps_in = now.fallback and now.fallback != now.specialist
        delay = max(now.pause, BACKOFF[-1]) if trouble == "passing" else 0.0  # who steps in asks the same provider
        return Next(rung, now.fallback, now.fallback_tier or now.tier, delay) if steps_in and delay < now.left else None
    if rung == "replan":
        return Next(rung, now.specialist, now.tier) if now.replans else None
    if rung == "stronger":
        tier = _stronger(now)
        return Next(rung, now.specialist, tier) if tier else None
    if rung == "retry":
        delay = max(now.pause, BACKOFF[min(now.taken.count("retry"), len(BACKOFF) - 1)])
        return Next(rung, now.specialist, now.tier, delay) if delay < now.left else None
    return Next(rung, now.specialist, now.tier)


def _stronger(now: Standing) -> Tier | None:
    """The next tier above that the specialist may work on."""
    tier: Tier | None = _STRONGER.get(now.tier)
    while tier is not None and now.tiers and tier not in now.tiers:
        tier = _STRONGER.get(tier)
    return tier


def _spent(now: Standing) -> bool:
    return now.failures >= MAX_FAILURES or now.failed_calls >= MAX_FAILURES


# ---------------------------------------------------------------- the climb


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
    ask = cut(ask, unsettled_inside(ask, work), f"the crew let go of it: {message}", at)
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
    ask = with_decision(ask, at, work.subtask.id, following.rung, f"{RUNGS[following.rung].what}: {message}")
    if following.rung == "without":
        return ended(ask, work, message, at)
    work = replace(work, rungs=(*work.rungs, following.rung))
    if following.rung == "ask":
        return _asked(ask, work, trouble, message, at)
    if following.rung == "replan":
        trigger = ReplanTrigger(work.subtask.id, message[: replan.LONGEST], "failure", work.within)
        return replan.with_trigger(ask.with_work(replace(work, state="pending", trouble=trouble)), trigger)
    if following.rung == "refine":
        return ask.with_work(replace(work, state="pending", refining=message, trouble=trouble))
    return ask.with_work(_again(work, following, at))


def _tier_of_the_fallback(ask: Ask, work: Work, member: Member | None) -> Tier | None:
    """Its own, which may be another model: the one that failed is perhaps down. The plan's word comes first."""
    stand_in = members_around(ask, work).get(member.fallback) if member else None
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
        question = Question(number, text, (ONCE_MORE, WITHOUT), at, whom=(ask.request.user,))
    return ask.with_work(replace(work, state="input_required", question=question, questions=work.questions + 1))


def wants_without(question: Question, text: str) -> bool:
    """Whether a person said to go on without the subtask, where that was offered."""
    return WITHOUT in question.options and text.strip().casefold() == WITHOUT.casefold()
