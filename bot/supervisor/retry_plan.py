"""Chooses the plan of a retry: the plan of the request it repeats, if the crew still has all its specialists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from handoff.conversation.retry_words import RetryRef
from handoff.engine import retry
from handoff.engine.nested import has_left_plan
from handoff.state.job_state import SETTLED_STATES, RequestState, SubtaskState

IsMember = Callable[[str, str], bool]
"""Takes the path of an inner crew (empty: this crew) and a name; returns whether that crew has such a member."""


@dataclass(frozen=True, slots=True)
class RetryPlan:
    """The plan of a retry."""

    fields: Mapping[str, Any] | None = None
    """Fields for a `PlanProposed` with the earlier plan; None: the request has to be planned anew."""
    replanning_reason: str = ""
    """Why the request is planned anew, for people; may be empty."""


def choose_retry_plan(ask: RequestState, is_member: IsMember) -> RetryPlan:
    """Return the plan for a retry; without `fields` if the first try had no plan, or if its specialists are gone."""
    before, again = ask.before, ask.again
    if before is None or again is None or before.run.plan is None:
        return RetryPlan()
    kept = retry.list_reused_subtasks(before, again)
    works = before.work.items()
    whose = {name: _choose_specialist(work, again) for name, work in works if _needs_work(before, work, kept)}
    lost = sorted({who for name, who in whose.items() if not _is_available(before, before.work[name], who, is_member)})
    if lost:
        return RetryPlan(replanning_reason=f"Not in the crew any more: {', '.join(lost)}. So I planned this again.")
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


def _needs_work(before: RequestState, work: SubtaskState, kept_subtasks: tuple[str, ...]) -> bool:
    """Return True if a specialist has to continue a subtask or start it again."""
    return not has_left_plan(before, work) and (
        work.subtask.id not in kept_subtasks or work.state not in SETTLED_STATES
    )


def _choose_specialist(work: SubtaskState, again: RetryRef) -> str:
    """Return the specialist for a subtask: the last one if the retry continues the work, otherwise the planned one."""
    return work.specialist if again.mode == "continue" else work.subtask.specialist


def _is_available(before: RequestState, work: SubtaskState, specialist: str, is_member: IsMember) -> bool:
    """Return True if the specialist `specialist` is in the crew of a subtask, or was made for the plan."""
    member = before.find_enclosing_run(work).members.get(specialist)
    if member is not None and member.made:
        return True
    outer = before.work.get(work.within)
    return is_member(outer.specialist if outer is not None else "", specialist)
