"""What a subtask is likely to take, and what it then took, in words."""

from __future__ import annotations

from collections.abc import Iterable

from bot.slack.views.answer_message import usage_words
from handoff.contracts import Estimate, Usage
from handoff.state.job_state import SubtaskState


def estimate_words(estimates: Iterable[Estimate]) -> str:
    """Say about how many tokens and what cost they add up to; empty for none. No cost if one has no price."""
    known = list(estimates)
    if not known:
        return ""
    costs = [one.cost for one in known if one.cost is not None]
    cost = sum(costs) if len(costs) == len(known) else None
    tokens = _round_tokens(sum(one.tokens for one in known))
    return "about " + ", ".join(usage_words(Usage(tokens_in=tokens, cost=cost)))


def work_words(work: SubtaskState) -> str:
    """Say what a subtask is likely to take; once it ended, what it took, beside that."""
    expected = estimate_words([work.estimate] if work.estimate else [])
    taken = ", ".join(usage_words(work.usage)) if work.ended is not None else ""
    if not taken:
        return expected if work.ended is None else ""
    return f"{taken} ({expected} expected)" if expected else taken


def _round_tokens(tokens: int) -> int:
    """Round to what an estimate can claim to know: hundreds, or thousands for many."""
    step = 100 if tokens < 10_000 else 1_000
    return max(step, round(tokens / step) * step)
