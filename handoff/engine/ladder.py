"""The ladder: the recovery steps that follow a failure or an escalation of a subtask.

`LADDER` lists the steps for each cause of failure. `choose_recovery_step` chooses the next step that can be taken, and
`recover_from_failure` takes it. The tables come first, then the functions that use them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from handoff.contracts import Member, Result, Tier, Usage
from handoff.engine import replan
from handoff.engine.questions import GO_ON_WITHOUT, make_subtask_question
from handoff.engine.subtask import end_subtask, end_subtasks, list_unsettled_subtasks
from handoff.state.job_state import RequestState, SubtaskState, replace
from handoff.state.state_values import Candidate, FailureCause, RecoveryStep, ReplanTrigger

MAX_FAILURES = 3
"""The number of failures, or of failed model calls, after which a subtask gets no more attempts."""
MAX_QUESTIONS = 3
"""The most questions about one subtask, by its specialists and the ladder together."""
MAX_LOST_OWNERS = 3
"""The number of owners in a row that a job may bring down without progress. Then an instance tries the job alone, and
it goes into quarantine if it brings that owner down, too."""
RETRY_DELAYS = (1.0, 4.0)
"""Seconds to wait before the first and the second retry after a passing fault."""
MIN_ATTEMPT_SECONDS = 1.0
"""The least seconds that a subtask must have left for another attempt."""
TRY_ONCE_MORE = "Try once more"
"""The option beside `GO_ON_WITHOUT` in the question about a critical subtask that failed."""


@dataclass(frozen=True, slots=True)
class RecoveryStepInfo:
    """The meaning and the cost of a recovery step."""

    meaning: str
    """The meaning, in words for people."""
    model_calls: int
    """The number of model calls that the step itself makes."""
    attempts: int
    """The number of attempts that follow it."""


RECOVERY_STEPS: Mapping[RecoveryStep, RecoveryStepInfo] = MappingProxyType(
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
"""The recovery steps for each cause of failure, in the order in which they are taken.

A subtask takes a step as often as it is in the list, but `fallback` as long as the specialist that failed last has a
fallback that was not tried, and `ask` up to `MAX_QUESTIONS` times.

A step is skipped if it cannot be taken: no fallback, no higher tier, no time or no revision is left. `ask` is taken
only if the specialist itself asks, or before a critical subtask is given up. After `MAX_FAILURES` failures only
`without` is left, and `ask` for a specialist's own question.
"""

_SELF_LIMITED_STEPS: frozenset[RecoveryStep] = frozenset({"ask", "fallback"})
"""Steps with limits of their own."""
_HIGHER_TIER: Mapping[Tier, Tier] = MappingProxyType({"fast": "balanced", "balanced": "deep"})


@dataclass(frozen=True, slots=True)
class FailureSituation:
    """The situation of a subtask after a failure, on which the choice of the next recovery step depends."""

    specialist: str
    """The specialist that failed."""
    tier: Tier
    failures: int = 1
    """The number of failures, including the present one."""
    failed_calls: int = 0
    """The number of failed model calls."""
    questions: int = 0
    """The number of questions about the subtask."""
    steps_taken: tuple[RecoveryStep, ...] = ()
    """The recovery steps that were taken before."""
    fallback: str = ""
    """The fallback of the specialist; empty: none."""
    tried_specialists: tuple[str, ...] = ()
    """The specialists that worked on the subtask before."""
    is_critical: bool = False
    seconds_left: float = 300.0
    """The seconds that the subtask has left."""
    pause_seconds: float = 0.0
    """The seconds that the provider asks to wait."""
    tiers: tuple[Tier, ...] = ()
    """The tiers that the specialist may work on; empty: all."""
    may_replan: bool = False
    """True if the planner may be asked for a revision."""
    fallback_tier: Tier | None = None
    """The tier that the fallback would work on; None: the present tier."""


@dataclass(frozen=True, slots=True)
class NextRecovery:
    """The recovery step to take. `specialist`, `tier` and `delay` (seconds) are those of the next attempt, if any."""

    step: RecoveryStep
    specialist: str
    tier: Tier
    delay: float = 0.0


def choose_recovery_step(cause: FailureCause, situation: FailureSituation) -> NextRecovery:
    """Choose the recovery step that follows a failure or an escalation of a subtask."""
    rungs = LADDER[cause]
    for place, rung in enumerate(rungs):
        if rung not in _SELF_LIMITED_STEPS and situation.steps_taken.count(rung) >= rungs[: place + 1].count(rung):
            continue
        if found := _evaluate_step(rung, cause, situation):
            return found
    return NextRecovery("without", situation.specialist, situation.tier)


def _evaluate_step(step: RecoveryStep, cause: FailureCause, situation: FailureSituation) -> NextRecovery | None:
    """Return a recovery step with its specialist, tier and delay; None if it cannot be taken now."""
    if step == "ask":
        asked = cause == "ambiguous_input" or (situation.is_critical and not _has_failed_too_often(situation))
        return (
            NextRecovery(step, situation.specialist, situation.tier)
            if asked and situation.questions < MAX_QUESTIONS
            else None
        )
    if step == "without" or _has_failed_too_often(situation) or situation.seconds_left < MIN_ATTEMPT_SECONDS:
        return None
    if step == "fallback":
        steps_in = situation.fallback and situation.fallback not in (situation.specialist, *situation.tried_specialists)
        delay = (
            max(situation.pause_seconds, RETRY_DELAYS[-1]) if cause == "passing" else 0.0
        )  # the fallback calls the same provider
        return (
            NextRecovery(step, situation.fallback, situation.fallback_tier or situation.tier, delay)
            if steps_in and delay < situation.seconds_left
            else None
        )
    if step == "replan":
        return NextRecovery(step, situation.specialist, situation.tier) if situation.may_replan else None
    if step == "stronger":
        tier = _find_higher_tier(situation)
        return NextRecovery(step, situation.specialist, tier) if tier else None
    if step == "retry":
        delay = max(
            situation.pause_seconds, RETRY_DELAYS[min(situation.steps_taken.count("retry"), len(RETRY_DELAYS) - 1)]
        )
        return (
            NextRecovery(step, situation.specialist, situation.tier, delay) if delay < situation.seconds_left else None
        )
    return NextRecovery(step, situation.specialist, situation.tier)


def _find_higher_tier(situation: FailureSituation) -> Tier | None:
    """Return the next higher tier that the specialist may work on; None if there is none."""
    tier: Tier | None = _HIGHER_TIER.get(situation.tier)
    while tier is not None and situation.tiers and tier not in situation.tiers:
        tier = _HIGHER_TIER.get(tier)
    return tier


def _has_failed_too_often(situation: FailureSituation) -> bool:
    return situation.failures >= MAX_FAILURES or situation.failed_calls >= MAX_FAILURES


# ---------------------------------------------------------------- the seconds of a subtask


def get_subtask_seconds(ask: RequestState, work: SubtaskState) -> float:
    """Return the seconds for all attempts at a subtask: by the terms of its run, or of the crew that works on it."""
    member = ask.find_member(work)
    if member is not None and member.crew is not None:
        return member.crew.job_seconds
    return ask.find_enclosing_run(work).terms.subtask_seconds


def compute_seconds_left(ask: RequestState, work: SubtaskState) -> float:
    """Return the seconds that earlier attempts at a subtask have left over."""
    return max(0.0, get_subtask_seconds(ask, work) - work.spent)


def compute_attempt_seconds(ask: RequestState, work: SubtaskState) -> float:
    """Return the seconds for the next attempt: those that the subtask has left, but at least `MIN_ATTEMPT_SECONDS`."""
    return max(MIN_ATTEMPT_SECONDS, compute_seconds_left(ask, work))


# ---------------------------------------------------------------- taking a recovery step


def recover_from_failure(
    ask: RequestState,
    work: SubtaskState,
    cause: FailureCause,
    message: str,
    at: float,
    *,
    partial_result: Result | None = None,
    pause: float = 0.0,
) -> RequestState:
    """Record the failure of an attempt, and take the next recovery step or end the subtask with its best result.

    The attempt must have ended, its usage must be charged, and none of its calls may be in doubt. If a crew worked on
    the subtask, the subtasks inside are ended as well.

    Args:
        ask: The request.
        work: The subtask.
        cause: The cause of the failure. `ambiguous_input`, a specialist's question, does not count as a failure.
        message: The failure in words for people.
        at: The time of the failure.
        partial_result: The result so far, if there is one.
        pause: The seconds that the provider asks to wait.
    """
    if work.run is not None:
        ask = end_subtasks(ask, list_unsettled_subtasks(ask, work), f"the crew let go of it: {message}", at)
    asked = cause == "ambiguous_input"
    work = replace(work, failures=work.failures if asked else (*work.failures, message))
    if partial_result is not None and work.best is None:
        work = replace(work, best=Candidate(partial_result.model_copy(update={"usage": Usage()}), partial=True))
    return take_recovery_step(ask, work, cause, message, at, pause=pause)


def take_recovery_step(
    ask: RequestState, work: SubtaskState, cause: FailureCause, message: str, at: float, *, pause: float = 0.0
) -> RequestState:
    """Take the next recovery step after a recorded failure, or end the subtask with its best result so far."""
    member = ask.find_member(work)
    following = choose_recovery_step(
        cause,
        FailureSituation(
            specialist=work.specialist,
            tier=work.tier or "balanced",
            failures=len(work.failures),
            failed_calls=work.failed_calls,
            questions=work.questions,
            steps_taken=work.rungs,
            fallback=member.fallback if member else "",
            tried_specialists=work.tried,
            is_critical=work.subtask.critical,
            seconds_left=compute_seconds_left(ask, work),
            pause_seconds=pause,
            tiers=member.tiers if member else (),
            may_replan="replan" in LADDER[cause] and replan.may_ask_planner(ask),
            fallback_tier=_find_fallback_tier(ask, work, member),
        ),
    )
    ask = ask.with_decision(at, work.subtask.id, following.step, f"{RECOVERY_STEPS[following.step].meaning}: {message}")
    if following.step == "without":
        return end_subtask(ask, replace(work, trouble=cause), message, at)
    work = replace(work, rungs=(*work.rungs, following.step))
    if following.step == "ask":
        return _ask_people(ask, work, cause, message, at)
    if following.step == "replan":
        trigger = ReplanTrigger(work.subtask.id, message[: replan.MAX_TRIGGER_LENGTH], "failure", work.within)
        return replan.add_trigger(ask.with_subtask(replace(work, state="pending", trouble=cause)), trigger)
    if following.step == "refine":
        return ask.with_subtask(replace(work, state="pending", refining=message, trouble=cause))
    return ask.with_subtask(_reset_for_attempt(work, following, at))


def _find_fallback_tier(ask: RequestState, work: SubtaskState, member: Member | None) -> Tier | None:
    """Return the tier of the fallback itself, since the present model may be down; None if the plan names a tier."""
    stand_in = ask.find_enclosing_run(work).members.get(member.fallback) if member else None
    return stand_in.tier if stand_in and work.subtask.tier is None else None


def _reset_for_attempt(work: SubtaskState, next_recovery: NextRecovery, at: float) -> SubtaskState:
    """Return the subtask ready for another attempt. The seconds that it has to wait count as spent."""
    passed_on = next_recovery.specialist != work.specialist
    return replace(
        work,
        tried=(*work.tried, work.specialist) if passed_on else work.tried,
        state="pending",
        specialist=next_recovery.specialist,
        tier=next_recovery.tier,
        not_before=at + next_recovery.delay if next_recovery.delay else 0.0,
        spent=work.spent + next_recovery.delay,
    )


def _ask_people(ask: RequestState, work: SubtaskState, cause: FailureCause, message: str, at: float) -> RequestState:
    question = work.question
    if cause != "ambiguous_input" or question is None:
        text = f"{work.subtask.title} cannot be done as it is: {message} What now?"
        question = make_subtask_question(ask, work, at, text, (TRY_ONCE_MORE, GO_ON_WITHOUT), assumption=GO_ON_WITHOUT)
    return ask.with_subtask(replace(work, state="input_required", question=question, questions=work.questions + 1))
