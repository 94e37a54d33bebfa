"""Puts the estimated and the actual tokens and cost of subtasks into words."""

from __future__ import annotations

from collections.abc import Iterable

from bot.slack.views.answer_message import list_usage_words
from handoff.contracts import Estimate, Usage
from handoff.state.job_state import SubtaskState


def describe_estimates(estimates: Iterable[Estimate]) -> str:
    """Return the sums of estimated tokens and cost in words; "" for no estimates. Without the cost if one lacks it."""
    estimate_list = list(estimates)
    if not estimate_list:
        return ""
    costs = [one.cost for one in estimate_list if one.cost is not None]
    cost = sum(costs) if len(costs) == len(estimate_list) else None
    tokens = _round_tokens(sum(one.tokens for one in estimate_list))
    return "about " + ", ".join(list_usage_words(Usage(tokens_in=tokens, cost=cost)))


def describe_subtask_cost(subtask: SubtaskState) -> str:
    """Return a subtask's estimate in words or, once it has ended, its actual usage with the estimate in brackets."""
    expected = describe_estimates([subtask.estimate] if subtask.estimate else [])
    actual_usage = ", ".join(list_usage_words(subtask.usage)) if subtask.ended_at is not None else ""
    if not actual_usage:
        return expected if subtask.ended_at is None else ""
    return f"{actual_usage} ({expected} expected)" if expected else actual_usage


def _round_tokens(tokens: int) -> int:
    """Round to the precision of an estimate: to hundreds (at least 100), or from 10,000 on to thousands."""
    step = 100 if tokens < 10_000 else 1_000
    return max(step, round(tokens / step) * step)
