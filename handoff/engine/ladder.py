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
from handoff.engine.subtask import end_subtasks, end_with_best_result, list_unsettled_subtasks
from handoff.state.job_state import RequestState, SubtaskState, replace
from handoff.state.state_values import Candidate, FailureCause, RecoveryStep, ReplanTrigger

MAX_FAILURES = 3
"""The number of failures, or of failed model calls, of a subtask after which it gets no more attempts."""
MAX_QUESTIONS = 3
"""The most questions to people about one subtask, asked by its specialists and by the ladder together."""
MAX_LOST_OWNERS = 3
"""The number of owners in a row that a job may bring down without progress. After that, an instance runs the job alone;
if it goes down too, the job is put into quarantine."""
RETRY_DELAY_SECONDS = (1.0, 4.0)
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

A subtask takes a step as often as the list has it. Two steps have other limits: `fallback` is taken while the last
specialist has an untried fallback, and `ask` at most `MAX_QUESTIONS` times.

A step is skipped if it cannot be taken: no fallback, no higher tier, no time or no revision is left. `ask` is taken
only if the specialist itself asks, or before a critical subtask is given up. After `MAX_FAILURES` failures only
`without` is left, and `ask` for a specialist's own question.
"""

_SELF_LIMITED_STEPS: frozenset[RecoveryStep] = frozenset({"ask", "fallback"})
"""Steps that are not limited by how often they are in the list."""
_HIGHER_TIER: Mapping[Tier, Tier] = MappingProxyType({"fast": "balanced", "balanced": "deep"})


@dataclass(frozen=True, slots=True)
class FailureSituation:
    """The situation of a subtask after a failure, on which the choice of the next recovery step depends."""

    specialist: str
    """The specialist that failed."""
    tier: Tier
    failure_count: int = 1
    """The number of failures, including the present one."""
    failed_calls: int = 0
    """The number of failed model calls."""
    question_count: int = 0
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
    """The recovery step to take.

    `specialist`, `tier` and `delay_seconds` (seconds) are those of the next attempt, if any.
    """

    step: RecoveryStep
    specialist: str
    tier: Tier
    delay_seconds: float = 0.0


def choose_recovery_step(cause: FailureCause, situation: FailureSituation) -> NextRecovery:
    """Choose the recovery step that follows a failure or an escalation of a subtask."""
    steps = LADDER[cause]
    for place, step in enumerate(steps):
        if step not in _SELF_LIMITED_STEPS and situation.steps_taken.count(step) >= steps[: place + 1].count(step):
            continue
        if recovery := _evaluate_step(step, cause, situation):
            return recovery
    return NextRecovery("without", situation.specialist, situation.tier)


def _evaluate_step(step: RecoveryStep, cause: FailureCause, situation: FailureSituation) -> NextRecovery | None:
    """Return a recovery step with the specialist, tier and delay of its attempt; None if it cannot be taken now."""
    if step == "ask":
        may_ask = cause == "ambiguous_input" or (situation.is_critical and not _has_failed_too_often(situation))
        return (
            NextRecovery(step, situation.specialist, situation.tier)
            if may_ask and situation.question_count < MAX_QUESTIONS
            else None
        )
    if step == "without" or _has_failed_too_often(situation) or situation.seconds_left < MIN_ATTEMPT_SECONDS:
        return None
    if step == "fallback":
        has_fallback = situation.fallback and situation.fallback not in (
            situation.specialist,
            *situation.tried_specialists,
        )
        # The fallback calls the same provider.
        delay = max(situation.pause_seconds, RETRY_DELAY_SECONDS[-1]) if cause == "passing" else 0.0
        return (
            NextRecovery(step, situation.fallback, situation.fallback_tier or situation.tier, delay)
            if has_fallback and delay < situation.seconds_left
            else None
        )
    if step == "replan":
        return NextRecovery(step, situation.specialist, situation.tier) if situation.may_replan else None
    if step == "stronger":
        tier = _find_higher_tier(situation)
        return NextRecovery(step, situation.specialist, tier) if tier else None
    if step == "retry":
        delay = max(
            situation.pause_seconds,
            RETRY_DELAY_SECONDS[min(situation.steps_taken.count("retry"), len(RETRY_DELAY_SECONDS) - 1)],
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
    return situation.failure_count >= MAX_FAILURES or situation.failed_calls >= MAX_FAILURES


# ---------------------------------------------------------------- the seconds of a subtask


def get_subtask_seconds(request: RequestState, subtask: SubtaskState) -> float:
    """Return the seconds for all attempts at a subtask: by the terms of its run, or of the crew that works on it."""
    member = request.find_member(subtask)
    if member is not None and member.crew is not None:
        return member.crew.job_seconds
    return request.find_enclosing_run(subtask).terms.subtask_seconds


def compute_seconds_left(request: RequestState, subtask: SubtaskState) -> float:
    """Return the seconds that a subtask has left after its earlier attempts, at least 0."""
    return max(0.0, get_subtask_seconds(request, subtask) - subtask.spent_seconds)


def compute_attempt_seconds(request: RequestState, subtask: SubtaskState) -> float:
    """Return the seconds for the next attempt: those that the subtask has left, but at least `MIN_ATTEMPT_SECONDS`."""
    return max(MIN_ATTEMPT_SECONDS, compute_seconds_left(request, subtask))


# ---------------------------------------------------------------- taking a recovery step


def recover_from_failure(
    request: RequestState,
    subtask: SubtaskState,
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
        request: The request.
        subtask: The subtask.
        cause: The cause of the failure. `ambiguous_input`, a specialist's question, does not count as a failure.
        message: The failure in words for people.
        at: The time of the failure.
        partial_result: The result so far, if there is one.
        pause: The seconds that the provider asks to wait.
    """
    if subtask.run is not None:
        request = end_subtasks(
            request, list_unsettled_subtasks(request, subtask), f"the crew let go of it: {message}", at
        )
    is_question = cause == "ambiguous_input"
    subtask = replace(subtask, failures=subtask.failures if is_question else (*subtask.failures, message))
    if partial_result is not None and subtask.best_candidate is None:
        subtask = replace(
            subtask, best_candidate=Candidate(partial_result.model_copy(update={"usage": Usage()}), is_partial=True)
        )
    return take_recovery_step(request, subtask, cause, message, at, pause=pause)


def take_recovery_step(
    request: RequestState, subtask: SubtaskState, cause: FailureCause, message: str, at: float, *, pause: float = 0.0
) -> RequestState:
    """Take the next recovery step after a recorded failure, or end the subtask with its best result so far."""
    member = request.find_member(subtask)
    following = choose_recovery_step(
        cause,
        FailureSituation(
            specialist=subtask.specialist,
            tier=subtask.tier or "balanced",
            failure_count=len(subtask.failures),
            failed_calls=subtask.failed_call_count,
            question_count=subtask.question_count,
            steps_taken=subtask.recovery_steps,
            fallback=member.fallback if member else "",
            tried_specialists=subtask.tried_specialists,
            is_critical=subtask.spec.critical,
            seconds_left=compute_seconds_left(request, subtask),
            pause_seconds=pause,
            tiers=member.tiers if member else (),
            may_replan="replan" in LADDER[cause] and replan.may_ask_planner(request),
            fallback_tier=_find_fallback_tier(request, subtask, member),
        ),
    )
    request = request.with_decision(
        at, subtask.spec.id, following.step, f"{RECOVERY_STEPS[following.step].meaning}: {message}"
    )
    if following.step == "without":
        return end_with_best_result(request, replace(subtask, failure_cause=cause), message, at)
    subtask = replace(subtask, recovery_steps=(*subtask.recovery_steps, following.step))
    if following.step == "ask":
        return _ask_people(request, subtask, cause, message, at)
    if following.step == "replan":
        trigger = ReplanTrigger(subtask.spec.id, message[: replan.MAX_TRIGGER_LENGTH], "failure", subtask.within)
        return replan.add_trigger(request.with_subtask(replace(subtask, state="pending", failure_cause=cause)), trigger)
    if following.step == "refine":
        return request.with_subtask(replace(subtask, state="pending", refining_error=message, failure_cause=cause))
    return request.with_subtask(_reset_for_attempt(subtask, following, at))


def _find_fallback_tier(request: RequestState, subtask: SubtaskState, member: Member | None) -> Tier | None:
    """Return the fallback's own tier, since the present tier's model may be down; None if the plan names a tier."""
    fallback = request.find_enclosing_run(subtask).members.get(member.fallback) if member else None
    return fallback.tier if fallback and subtask.spec.tier is None else None


def _reset_for_attempt(subtask: SubtaskState, next_recovery: NextRecovery, at: float) -> SubtaskState:
    """Return the subtask ready for another attempt. The delay before the attempt counts as spent time."""
    is_reassigned = next_recovery.specialist != subtask.specialist
    return replace(
        subtask,
        tried_specialists=(*subtask.tried_specialists, subtask.specialist)
        if is_reassigned
        else subtask.tried_specialists,
        state="pending",
        specialist=next_recovery.specialist,
        tier=next_recovery.tier,
        not_before=at + next_recovery.delay_seconds if next_recovery.delay_seconds else 0.0,
        spent_seconds=subtask.spent_seconds + next_recovery.delay_seconds,
    )


def _ask_people(
    request: RequestState, subtask: SubtaskState, cause: FailureCause, message: str, at: float
) -> RequestState:
    question = subtask.question
    if cause != "ambiguous_input" or question is None:
        text = f"{subtask.spec.title} cannot be done as it is: {message} What now?"
        question = make_subtask_question(
            request, subtask, at, text, (TRY_ONCE_MORE, GO_ON_WITHOUT), assumption=GO_ON_WITHOUT
        )
    return request.with_subtask(
        replace(subtask, state="input_required", question=question, question_count=subtask.question_count + 1)
    )
