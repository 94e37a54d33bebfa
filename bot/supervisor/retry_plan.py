"""The plan of a second try: that of the request that it takes up, as long as the crew still has who is to do it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from handoff.conversation.retry_words import RetryRef
from handoff.engine import retry
from handoff.engine.nested import is_gone
from handoff.state.job_state import SETTLED, RequestState, SubtaskState

IsMember = Callable[[str, str], bool]
"""Answers whether somebody (the second) is a member of a crew inside (the first; empty: of this crew)."""


@dataclass(frozen=True, slots=True)
class RetryPlan:
    """The fields of a `PlanProposed` by an earlier plan; none: the request is planned, and `anew` says why."""

    fields: Mapping[str, Any] | None = None
    anew: str = ""


def choose_retry_plan(ask: RequestState, is_member: IsMember) -> RetryPlan:
    """Return the plan that a second try goes by. One that was never made, or whose specialists are gone, is no plan."""
    before, again = ask.before, ask.again
    if before is None or again is None or before.run.plan is None:
        return RetryPlan()
    kept = retry.list_kept_subtasks(before, again)
    works = before.work.items()
    whose = {name: _choose_specialist(work, again) for name, work in works if _is_open(before, work, kept)}
    lost = sorted({who for name, who in whose.items() if not _is_there(before, before.work[name], who, is_member)})
    if lost:
        return RetryPlan(anew=f"Not in the crew any more: {', '.join(lost)}. So I planned this again.")
    made = tuple(member for member in before.run.members.values() if member.made)
    said = f"second try: {len(kept)} of {len(before.work)} parts are taken over"
    fields = {
        "plan": before.run.plan,
        "pipeline": before.run.fixed,
        "is_first": before.run.is_first,
        "members": made,
        "kept": kept,
    }
    return RetryPlan({**fields, "reasons": (said,)})


def _is_open(before: RequestState, work: SubtaskState, kept: tuple[str, ...]) -> bool:
    """Return True if somebody works, or may work, on a subtask once more."""
    return not is_gone(before, work) and (work.subtask.id not in kept or work.state not in SETTLED)


def _choose_specialist(work: SubtaskState, again: RetryRef) -> str:
    """Return who works on a subtask: where it begins afresh, whom the plan names."""
    return work.specialist if again.mode == "continue" else work.subtask.specialist


def _is_there(before: RequestState, work: SubtaskState, who: str, is_member: IsMember) -> bool:
    """Return True if who is to work on a subtask is in its crew, or was made for the plan."""
    member = before.run_around(work).members.get(who)
    if member is not None and member.made:
        return True
    outer = before.work.get(work.within)
    return is_member(outer.specialist if outer is not None else "", who)
