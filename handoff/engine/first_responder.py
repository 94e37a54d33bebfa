"""The first responder: a specialist that gets a request before any planner, and may hand it over to one."""

from __future__ import annotations

from types import MappingProxyType

from handoff.contracts import EscalationReason
from handoff.state.job_state import Ask, Run, Work, replace

HANDED_OVER: frozenset[EscalationReason] = frozenset({"hand_over", "out_of_scope", "confidence_too_low"})
"""The escalations of a first responder that bring in the planner: it says so, or it cannot do it."""
DECISION = "hand over"


def hand_over(ask: Ask, run: Run, work: Work, why: str, at: float) -> Ask:
    """Take the first responder's work off the plan, and have the planner asked, who is told why.

    The subtask stays, as one that is no longer needed: what it read counts for what may leave the house. What people
    answered it is known to all who work on.
    """
    words = " ".join(why.split())
    over = replace(
        work, state="skipped", dropped=True, handed_over=True, ended=at, reason=f"handed over: {words}", question=None
    )
    answered = tuple(one for one in work.answered if one.question.approval is None)
    ask = replace(ask.with_work(over), answered=(*ask.answered, *answered))
    run = replace(run, plan=None, members=MappingProxyType({}), is_first=False, handed_over=words)
    return ask.with_run(run).with_decision(at, work.subtask.id, DECISION, f"{work.specialist} hands it over: {words}")
