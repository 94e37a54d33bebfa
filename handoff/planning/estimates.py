"""Estimates the usage of a subtask before it runs, from its brief, its specialist, and the usage of past attempts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from handoff.contracts import Estimate, Plan, Subtask, Tier, Usage

TokenPricer = Callable[..., float | None]
"""Returns the US dollars for tokens, or None if no price is known.

The arguments are (tier, tokens in, tokens out), and the name of a model in place of the tier's if there is one.
"""

CHARACTERS_PER_TOKEN = 4
"""The characters of a token, as a rule of thumb."""
TURN_OUTPUT_TOKENS = 120
"""The tokens that a model writes in a turn with tool calls."""
TURN_REPLY_TOKENS = 350
"""The tokens that the tool replies of one turn add to the next prompt."""
RESULT_TOKENS = 450
"""The tokens of a result."""
DEPENDENCY_TOKENS = 300
"""The tokens that each direct dependency adds to the brief."""
TURNS_DIVISOR = 4
"""A specialist with tools is estimated at `max_turns` divided by this number, and one more turn for the result."""
PRIOR_WEIGHT = 0.5
"""The number of past attempts at which their average has the same weight as the rule of thumb."""


@dataclass(frozen=True, slots=True)
class SpecialistProfile:
    """The properties of a specialist that an estimate depends on."""

    tier: Tier
    prompt_tokens: int
    """The tokens of its prompt and its tools, which are sent with each turn."""
    max_turns: int
    has_tools: bool
    model: str = ""
    """The model that the specialist's file names in place of its tier's; empty: none."""


@dataclass(frozen=True, slots=True)
class PastUsage:
    """The averages of a specialist's past attempts on a tier. `seconds` is the duration of an attempt."""

    attempts: int
    calls: float
    tokens_in: float
    tokens_out: float
    seconds: float

    def with_attempt(self, usage: Usage, seconds: float, *, window: int) -> PastUsage:
        """Return the averages with one more attempt. They cover about the last `window` attempts."""
        share = 1 / (min(self.attempts, window - 1) + 1)
        return PastUsage(
            self.attempts + 1,
            self.calls + (usage.calls - self.calls) * share,
            self.tokens_in + (usage.tokens_in - self.tokens_in) * share,
            self.tokens_out + (usage.tokens_out - self.tokens_out) * share,
            self.seconds + (seconds - self.seconds) * share,
        )


NO_PAST_USAGE = PastUsage(0, 0.0, 0.0, 0.0, 0.0)


def estimate_plan(
    plan: Plan,
    workers: Mapping[str, SpecialistProfile],
    get_past_usage: Callable[[str, Tier], PastUsage],
    price: TokenPricer,
) -> tuple[Estimate, ...]:
    """Estimate each subtask of a checked plan, in the plan's order.

    Args:
        plan: The plan.
        workers: Its specialists by name.
        get_past_usage: Returns the averages of a specialist's past attempts on a tier; `NO_PAST_USAGE` if there were
            none.
        price: Returns the price of tokens, as described at `TokenPricer`.
    """
    estimates = []
    for subtask in plan.subtasks:
        worker = workers[subtask.specialist]
        tier = subtask.tier or worker.tier
        estimates.append(estimate_subtask(subtask, worker, get_past_usage(subtask.specialist, tier), price))
    return tuple(estimates)


def estimate_subtask(subtask: Subtask, worker: SpecialistProfile, past: PastUsage, price: TokenPricer) -> Estimate:
    """Estimate one successful attempt at a subtask. A retry or a higher tier costs more."""
    calls = min(worker.max_turns, 1 + math.ceil(worker.max_turns / TURNS_DIVISOR)) if worker.has_tools else 1
    brief = (len(subtask.intent) + len(subtask.done_when)) // CHARACTERS_PER_TOKEN + DEPENDENCY_TOKENS * len(
        subtask.after
    )
    tokens_in = (
        calls * (worker.prompt_tokens + brief) + (TURN_OUTPUT_TOKENS + TURN_REPLY_TOKENS) * calls * (calls - 1) // 2
    )
    tokens_out = TURN_OUTPUT_TOKENS * (calls - 1) + RESULT_TOKENS
    trust = past.attempts / (past.attempts + PRIOR_WEIGHT)
    tokens_in = round(tokens_in + (past.tokens_in - tokens_in) * trust)
    tokens_out = round(tokens_out + (past.tokens_out - tokens_out) * trust)
    model_names = (worker.model,) if worker.model else ()
    return Estimate(
        subtask=subtask.id,
        calls=max(1, round(calls + (past.calls - calls) * trust)),
        tokens=tokens_in + tokens_out,
        cost=price(subtask.tier or worker.tier, tokens_in, tokens_out, *model_names),
    )


def sum_estimates(subtask: str, parts: Sequence[Estimate]) -> Estimate:
    """Return the estimate of a subtask from those of its parts. The cost is None if a part's cost is None."""
    costs = [one.cost for one in parts if one.cost is not None]
    return Estimate(
        subtask=subtask,
        calls=sum(one.calls for one in parts),
        tokens=sum(one.tokens for one in parts),
        cost=sum(costs) if len(costs) == len(parts) else None,
    )
