"""What a subtask is likely to take, before it runs: from its brief, its specialist, and what such work took so far."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from handoff.contracts import Estimate, Plan, Subtask, Tier, Usage

Price = Callable[[Tier, int, int], float | None]
"""Dollars of so many tokens in and out on a tier; None where no price is known."""

CHARACTERS = 4
"""Characters a token, as a rule of thumb."""
TURN_OUT = 120
"""Tokens that a turn with tool calls writes."""
TURN_BACK = 350
"""Tokens that the tools' replies add to the next prompt."""
RESULT_OUT = 450
"""Tokens of the result itself."""
DEPENDENCY = 300
"""Tokens that each direct dependency adds to the brief."""
SHARE_OF_TURNS = 4
"""A specialist with tools takes about one in so many of the turns it may take, and one more to end."""
TRUST = 0.5
"""Past attempts that weigh as much as the rule of thumb."""


@dataclass(frozen=True, slots=True)
class Worker:
    """What an estimate goes by. `prompt`: tokens of a specialist's own prompt and of its tools, sent with each turn."""

    tier: Tier
    prompt: int
    max_turns: int
    has_tools: bool


@dataclass(frozen=True, slots=True)
class Past:
    """What attempts of a specialist on a tier took on average. `seconds` an attempt, from start to end."""

    attempts: int
    calls: float
    tokens_in: float
    tokens_out: float
    seconds: float

    def and_then(self, usage: Usage, seconds: float, *, most: int) -> Past:
        """With one more attempt. The last `most` or so count: an older one fades."""
        share = 1 / (min(self.attempts, most - 1) + 1)
        return Past(
            self.attempts + 1,
            self.calls + (usage.calls - self.calls) * share,
            self.tokens_in + (usage.tokens_in - self.tokens_in) * share,
            self.tokens_out + (usage.tokens_out - self.tokens_out) * share,
            self.seconds + (seconds - self.seconds) * share,
        )


NO_PAST = Past(0, 0.0, 0.0, 0.0, 0.0)


def estimates(
    plan: Plan, workers: Mapping[str, Worker], past: Callable[[str, Tier], Past], price: Price
) -> tuple[Estimate, ...]:
    """One for each subtask of a sound plan, in its order.

    Args:
        plan: The plan.
        workers: Its specialists by name.
        past: What attempts of a specialist on a tier took; `NO_PAST` where there were none.
        price: What tokens cost.
    """
    made = []
    for subtask in plan.subtasks:
        worker = workers[subtask.specialist]
        tier = subtask.tier or worker.tier
        made.append(estimate(subtask, worker, past(subtask.specialist, tier), price))
    return tuple(made)


def estimate(subtask: Subtask, worker: Worker, past: Past, price: Price) -> Estimate:
    """One attempt without trouble: a retry or a stronger tier comes on top."""
    calls = min(worker.max_turns, 1 + math.ceil(worker.max_turns / SHARE_OF_TURNS)) if worker.has_tools else 1
    brief = (len(subtask.intent) + len(subtask.done_when)) // CHARACTERS + DEPENDENCY * len(subtask.after)
    tokens_in = calls * (worker.prompt + brief) + (TURN_OUT + TURN_BACK) * calls * (calls - 1) // 2
    tokens_out = TURN_OUT * (calls - 1) + RESULT_OUT
    trust = past.attempts / (past.attempts + TRUST)
    tokens_in = round(tokens_in + (past.tokens_in - tokens_in) * trust)
    tokens_out = round(tokens_out + (past.tokens_out - tokens_out) * trust)
    return Estimate(
        subtask=subtask.id,
        calls=max(1, round(calls + (past.calls - calls) * trust)),
        tokens=tokens_in + tokens_out,
        cost=price(subtask.tier or worker.tier, tokens_in, tokens_out),
    )
