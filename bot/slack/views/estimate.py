"""Puts the estimated and the actual tokens and cost of subtasks into words."""

from __future__ import annotations

from collections.abc import Iterable

from bot.slack.views.answer_message import list_usage_words
from handoff.contracts import Estimate, Usage
from handoff.state.job_state import SubtaskState


def describe_estimates(estimates: Iterable[Estimate]) -> str:
    """Return the sums of estimated tokens and cost in words; "" for no estimates. Without the cost if one lacks it."""
    known = list(estimates)
    if not known:
        return ""
    costs = [one.cost for one in known if one.cost is not None]
    cost = sum(costs) if len(costs) == len(known) else None
    tokens = _round_tokens(sum(one.tokens for one in known))
    return "about " + ", ".join(list_usage_words(Usage(tokens_in=tokens, cost=cost)))


def describe_subtask_cost(subtask: SubtaskState) -> str:
    """Return a subtask's estimate in words or, once it has ended, its actual usage with the estimate in brackets."""
    expected = describe_estimates([subtask.estimate] if subtask.estimate else [])
    taken = ", ".join(list_usage_words(subtask.usage)) if subtask.ended is not None else ""
    if not taken:
        return expected if subtask.ended is None else ""
    return f"{taken} ({expected} expected)" if expected else taken


def _round_tokens(tokens: int) -> int:
    """Round to the precision of an estimate: to hundreds (at least 100), or from 10,000 on to thousands."""
    step = 100 if tokens < 10_000 else 1_000
    return max(step, round(tokens / step) * step)
