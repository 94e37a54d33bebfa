"""What follows a failure or an escalation: one table, and the pure function that reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from handoff.contracts import EscalationReason, Tier
from handoff.events import FailureKind

MAX_FAILURES = 3
"""Failures of one subtask, of whatever kind, after which it ends."""
MAX_QUESTIONS = 3
MAX_REJECTED_PLANS = 2
"""A plan may be mended once: the second rejection ends the request."""
MAX_LOST_OWNERS = 3
"""Owners in a row that a job may bring down or stall without progress; then it is set aside."""
BACKOFF = (1.0, 4.0)
"""Seconds to wait before the second and third attempt after a passing fault."""

Trouble = FailureKind | EscalationReason | Literal["passing"]
"""What went wrong with an attempt. `passing`: a fault of the provider's that is likely to go away."""
Rung = Literal["retry", "stronger", "fallback", "ask"]

LADDER: dict[Trouble, tuple[Rung, ...]] = {
    "passing": ("retry", "retry"),
    "lost": ("retry", "retry"),
    "model": ("fallback",),
    "tool": ("fallback",),
    "timeout": ("fallback",),
    "bad_reply": ("stronger", "fallback"),
    "out_of_scope": ("fallback",),
    "confidence_too_low": ("stronger", "fallback"),
    "ambiguous_input": ("ask",),
}
"""For each trouble, the rungs to climb in order; the n-th failure of a subtask takes the n-th rung.

Where a rung cannot be taken (no fallback, no stronger tier), the next one is;
where none is left, the subtask ends with its partial result, or in error.
"""

_STRONGER: dict[Tier, Tier] = {"fast": "balanced", "balanced": "deep"}


@dataclass(frozen=True, slots=True)
class Again:
    """Try again, `delay` seconds from now, with this specialist and tier."""

    specialist: str
    tier: Tier
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class AskPeople:
    """Put the question to the thread."""


@dataclass(frozen=True, slots=True)
class GiveUp:
    """End the subtask with what there is."""


Next = Again | AskPeople | GiveUp


def after_trouble(
    trouble: Trouble, *, failures: int, questions: int, specialist: str, fallback: str, tier: Tier
) -> Next:
    """What follows the `failures`-th failure (counted from 1) of a subtask.

    `fallback` is the name of the specialist that may step in, or empty. An ambiguity is no failure:
    only `questions`, the number asked so far, limits it.
    """
    rungs = LADDER[trouble]
    if "ask" in rungs:
        return AskPeople() if questions < MAX_QUESTIONS else GiveUp()
    if failures >= MAX_FAILURES:
        return GiveUp()
    for rung in rungs[failures - 1 :]:
        if rung == "retry":
            return Again(specialist, tier, BACKOFF[min(failures, len(BACKOFF)) - 1])
        if rung == "stronger" and tier in _STRONGER:
            return Again(specialist, _STRONGER[tier])
        if rung == "fallback" and fallback and fallback != specialist:
            return Again(fallback, tier)
    return GiveUp()
