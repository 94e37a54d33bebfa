"""The ladder: what follows a failure or an escalation of a subtask. First the tables, then the functions that use them.

`LADDER` lists the rungs for each kind of trouble. `choose_next_rung` chooses the next rung that can be taken, and
`climb` takes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from handoff.contracts import Member, Result, Tier, Usage
from handoff.engine import replan
from handoff.engine.questions import WITHOUT, question_of
from handoff.engine.subtask import end_subtask, end_subtasks, list_unsettled_subtasks
from handoff.state.job_state import RequestState, SubtaskState, replace
from handoff.state.state_values import Candidate, FailureCause, RecoveryStep, ReplanTrigger

MAX_FAILURES = 3
"""Failures of one subtask, of any kind, after which it ends. The same number of model calls may bring it nothing."""
MAX_QUESTIONS = 3
MAX_LOST_OWNERS = 3
"""Owners in a row that a job may stop or stall without progress; then it is tried by itself, and set aside if it stops
that owner too."""
BACKOFF = (1.0, 4.0)
"""Seconds to wait before the first and the second retry after a passing fault."""
LEAST_SECONDS = 1.0
"""Seconds that must be left to a subtask for another attempt to make sense."""
ONCE_MORE = "Try once more"
"""The answer that people are offered beside `WITHOUT` when a critical subtask cannot be done as it is."""


@dataclass(frozen=True, slots=True)
class RecoveryStepInfo:
    """The meaning of a rung, in words for people, and its cost: model calls of its own, and whole attempts."""

    what: str
    calls: int
    attempts: int


RUNGS: Mapping[RecoveryStep, RecoveryStepInfo] = MappingProxyType(
    {
        "retry": RecoveryStepInfo("the same again, after a pause", 0, 1),
        "refine": RecoveryStepInfo("again with a brief rewritten from the error", 1, 1),
        "stronger": RecoveryStepInfo("again with a stronger model", 0, 1),
        "fallback": RecoveryStepInfo("another specialist steps in", 0, 1),
        "replan": RecoveryStepInfo("the part is planned again", 1, 0),
        "ask": RecoveryStepInfo("a person is asked", 0, 1),
        "without": RecoveryStepInfo("the job goes on without it", 0, 0),
    }
)
LADDER: Mapping[FailureCause, tuple[RecoveryStep, ...]] = MappingProxyType(
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
        "hand_over": ("fallback", "replan", "ask", "without"),
        "ambiguous_input": ("ask", "without"),
    }
)
"""For each kind of trouble, the rungs to take in order. A subtask takes a rung as often as it stands in the list; the
rung `fallback` as long as whoever failed last has a fallback that was not tried.

A rung is passed over if it cannot be taken: no fallback, no stronger tier, no time or no revision is left. A person is
asked if the specialist itself asks, and before a critical subtask is given up: the rung `ask` may be taken up to
`MAX_QUESTIONS` times. After `MAX_FAILURES` only `without` is left.
"""

_UNCOUNTED: frozenset[RecoveryStep] = frozenset({"ask", "fallback"})
"""Rungs that have bounds of their own."""
_STRONGER: Mapping[Tier, Tier] = MappingProxyType({"fast": "balanced", "balanced": "deep"})


@dataclass(frozen=True, slots=True)
class FailureSituation:
    """The position of a subtask when something went wrong with it: all that the choice of the next rung depends on.

    `failures` includes the present one. `fallback` is the specialist that may step in for the present one (empty:
    none), `fallback_tier` the tier that it then works on (None: the present one), and `tried` are those who had the
    subtask before. `left` is the seconds that are left to the subtask, and `pause` the seconds that the provider asks
    to wait. `tiers` are those that the specialist may work on (empty: all). `replans` is True if the planner may be
    asked once more.
    """

    specialist: str
    tier: Tier
    failures: int = 1
    failed_calls: int = 0
    questions: int = 0
    taken: tuple[RecoveryStep, ...] = ()
    fallback: str = ""
    tried: tuple[str, ...] = ()
    critical: bool = False
    left: float = 300.0
    pause: float = 0.0
    tiers: tuple[Tier, ...] = ()
    replans: bool = False
    fallback_tier: Tier | None = None


@dataclass(frozen=True, slots=True)
class NextRecovery:
    """The rung to take, with the specialist, the tier and the seconds to wait if it leads to another attempt."""

    rung: RecoveryStep
    specialist: str
    tier: Tier
    delay: float = 0.0


def choose_next_rung(trouble: FailureCause, now: FailureSituation) -> NextRecovery:
    """Choose the rung that follows a failure or an escalation of a subtask."""
    rungs = LADDER[trouble]
    for place, rung in enumerate(rungs):
        if rung not in _UNCOUNTED and now.taken.count(rung) >= rungs[: place + 1].count(rung):
            continue
        if found := _evaluate_rung(rung, trouble, now):
            return found
    return NextRecovery("without", now.specialist, now.tier)


def _evaluate_rung(rung: RecoveryStep, trouble: FailureCause, now: FailureSituation) -> NextRecovery | None:
    """Return the rung as it would be taken; None if it cannot be taken."""
    if rung == "ask":
        asked = trouble == "ambiguous_input" or (now.critical and not _has_failed_too_often(now))
        return NextRecovery(rung, now.specialist, now.tier) if asked and now.questions < MAX_QUESTIONS else None
    if rung == "without" or _has_failed_too_often(now) or now.left < LEAST_SECONDS:
        return None
    if rung == "fallback":
        steps_in = now.fallback and now.fallback not in (now.specialist, *now.tried)
        delay = max(now.pause, BACKOFF[-1]) if trouble == "passing" else 0.0  # the fallback asks the same provider
        return (
            NextRecovery(rung, now.fallback, now.fallback_tier or now.tier, delay)
            if steps_in and delay < now.left
            else None
        )
    if rung == "replan":
        return NextRecovery(rung, now.specialist, now.tier) if now.replans else None
    if rung == "stronger":
        tier = _find_higher_tier(now)
        return NextRecovery(rung, now.specialist, tier) if tier else None
    if rung == "retry":
        delay = max(now.pause, BACKOFF[min(now.taken.count("retry"), len(BACKOFF) - 1)])
        return NextRecovery(rung, now.specialist, now.tier, delay) if delay < now.left else None
    return NextRecovery(rung, now.specialist, now.tier)


def _find_higher_tier(now: FailureSituation) -> Tier | None:
    """Return the next higher tier that the specialist may work on; None if there is none."""
    tier: Tier | None = _STRONGER.get(now.tier)
    while tier is not None and now.tiers and tier not in now.tiers:
        tier = _STRONGER.get(tier)
    return tier


def _has_failed_too_often(now: FailureSituation) -> bool:
    return now.failures >= MAX_FAILURES or now.failed_calls >= MAX_FAILURES


# ---------------------------------------------------------------- the seconds of a subtask


def seconds_for(ask: RequestState, work: SubtaskState) -> float:
    """Return the seconds for all attempts at a subtask: by the terms of its run, or of the crew that it is given to."""
    member = ask.member_of(work)
    if member is not None and member.crew is not None:
        return member.crew.job_seconds
    return ask.find_enclosing_run(work).terms.subtask_seconds


def seconds_left(ask: RequestState, work: SubtaskState) -> float:
    """Return the seconds that earlier attempts have left to the subtask."""
    return max(0.0, seconds_for(ask, work) - work.spent)


def attempt_seconds(ask: RequestState, work: SubtaskState) -> float:
    """Return the seconds that an attempt gets: what is left of the deadline, no less than makes sense."""
    return max(LEAST_SECONDS, seconds_left(ask, work))


# ---------------------------------------------------------------- the climb


def climb(
    ask: RequestState,
    work: SubtaskState,
    trouble: FailureCause,
    message: str,
    at: float,
    *,
    partial: Result | None = None,
    pause: float = 0.0,
) -> RequestState:
    """Take the next rung of the ladder, or end the subtask with the best result so far.

    The attempt has ended, its usage is charged, and no call of it is in doubt. If a crew worked on the subtask, the
    subtasks inside that have not ended are ended with it.
    """
    if work.run is not None:
        ask = end_subtasks(ask, list_unsettled_subtasks(ask, work), f"the crew let go of it: {message}", at)
    asked = trouble == "ambiguous_input"
    work = replace(work, failures=work.failures if asked else (*work.failures, message))
    if partial is not None and work.best is None:
        work = replace(work, best=Candidate(partial.model_copy(update={"usage": Usage()}), partial=True))
    return take_next_rung(ask, work, trouble, message, at, pause=pause)


def take_next_rung(
    ask: RequestState, work: SubtaskState, trouble: FailureCause, message: str, at: float, *, pause: float = 0.0
) -> RequestState:
    """Take the next rung after a failure that is counted already, or end the subtask with the best result so far."""
    member = ask.member_of(work)
    following = choose_next_rung(
        trouble,
        FailureSituation(
            specialist=work.specialist,
            tier=work.tier or "balanced",
            failures=len(work.failures),
            failed_calls=work.failed_calls,
            questions=work.questions,
            taken=work.rungs,
            fallback=member.fallback if member else "",
            tried=work.tried,
            critical=work.subtask.critical,
            left=seconds_left(ask, work),
            pause=pause,
            tiers=member.tiers if member else (),
            replans="replan" in LADDER[trouble] and replan.may_ask(ask),
            fallback_tier=_tier_of_the_fallback(ask, work, member),
        ),
    )
    ask = ask.with_decision(at, work.subtask.id, following.rung, f"{RUNGS[following.rung].what}: {message}")
    if following.rung == "without":
        return end_subtask(ask, replace(work, trouble=trouble), message, at)
    work = replace(work, rungs=(*work.rungs, following.rung))
    if following.rung == "ask":
        return _ask_people(ask, work, trouble, message, at)
    if following.rung == "replan":
        trigger = ReplanTrigger(work.subtask.id, message[: replan.LONGEST], "failure", work.within)
        return replan.add_trigger(ask.with_work(replace(work, state="pending", trouble=trouble)), trigger)
    if following.rung == "refine":
        return ask.with_work(replace(work, state="pending", refining=message, trouble=trouble))
    return ask.with_work(_reset_for_attempt(work, following, at))


def _tier_of_the_fallback(ask: RequestState, work: SubtaskState, member: Member | None) -> Tier | None:
    """Return the fallback's own tier, as the present model may be down; None if the plan names a tier."""
    stand_in = ask.find_enclosing_run(work).members.get(member.fallback) if member else None
    return stand_in.tier if stand_in and work.subtask.tier is None else None


def _reset_for_attempt(work: SubtaskState, following: NextRecovery, at: float) -> SubtaskState:
    """Make the subtask ready for another attempt. The seconds that it has to wait count as spent."""
    passed_on = following.specialist != work.specialist
    return replace(
        work,
        tried=(*work.tried, work.specialist) if passed_on else work.tried,
        state="pending",
        specialist=following.specialist,
        tier=following.tier,
        not_before=at + following.delay if following.delay else 0.0,
        spent=work.spent + following.delay,
    )


def _ask_people(ask: RequestState, work: SubtaskState, trouble: FailureCause, message: str, at: float) -> RequestState:
    question = work.question
    if trouble != "ambiguous_input" or question is None:
        text = f"{work.subtask.title} cannot be done as it is: {message} What now?"
        question = question_of(ask, work, at, text, (ONCE_MORE, WITHOUT), assumption=WITHOUT)
    return ask.with_work(replace(work, state="input_required", question=question, questions=work.questions + 1))
