"""Decisions: what the engine decided about a subtask or a run, and why. They are kept for the trace."""

from __future__ import annotations

from handoff.contracts import Packed
from handoff.state import Ask, Decision, replace


def with_decision(ask: Ask, at: float, subtask: str, what: str, why: str) -> Ask:
    """Add a decision to the request. `subtask` is empty if the decision is about the whole request."""
    return replace(ask, decisions=(*ask.decisions, Decision(at, subtask, what, why)))


def with_pack(ask: Ask, at: float, subtask: str, pack: Packed) -> Ask:
    """Add a decision to the request if something was left out of a call to fit its budget."""
    if not pack.left_out:
        return ask
    why = f"{pack.tokens:,} of {pack.budget:,} tokens; left out: " + "; ".join(pack.left_out)
    return with_decision(ask, at, subtask, "pack", why)
