"""Chooses the plan of a retry: the plan of the request it repeats, if the crew still has all its specialists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from handoff.conversation.retry_words import RetryRef
from handoff.engine import retry
from handoff.engine.crew_runs import has_left_plan
from handoff.state.job_state import SETTLED_STATES, RequestState, SubtaskState

IsMember = Callable[[str, str], bool]
"""Takes the path of an inner crew (empty: this crew) and a name; returns whether that crew has such a member."""


@dataclass(frozen=True, slots=True)
class RetryPlan:
    """The plan of a retry, if the earlier plan can be used again."""

    fields: Mapping[str, Any] | None = None
    """Fields for a `PlanProposed` with the earlier plan; None: the request has to be planned anew."""
    replanning_reason: str = ""
    """Why the request is planned anew, for people; may be empty."""


def choose_retry_plan(request: RequestState, is_member: IsMember) -> RetryPlan:
    """Return the plan of a retry; without `fields` if the earlier try had no plan, or if its specialists are gone."""
    before, again = request.earlier_try, request.retry_ref
    if before is None or again is None or before.run.plan is None:
        return RetryPlan()
    reused_ids = retry.list_reused_subtasks(before, again)
    works = before.subtasks.items()
    specialist_by_subtask = {
        name: _choose_specialist(subtask, again) for name, subtask in works if _needs_work(before, subtask, reused_ids)
    }
    missing_specialists = sorted(
        {
            who
            for name, who in specialist_by_subtask.items()
            if not _is_available(before, before.subtasks[name], who, is_member)
        }
    )
    if missing_specialists:
        return RetryPlan(
            replanning_reason=f"Not in the crew any more: {', '.join(missing_specialists)}. So I planned this again."
        )
    adhoc_members = tuple(member for member in before.run.members.values() if member.made)
    reason = f"second try: {len(reused_ids)} of {len(before.subtasks)} parts are taken over"
    fields = {
        "plan": before.run.plan,
        "pipeline": before.run.is_pipeline,
        "is_first": before.run.is_first_responder,
        "members": adhoc_members,
        "kept": reused_ids,
    }
    return RetryPlan({**fields, "reasons": (reason,)})


def _needs_work(before: RequestState, subtask: SubtaskState, kept_subtasks: tuple[str, ...]) -> bool:
    """Return True if a specialist has to continue a subtask or start it again."""
    return not has_left_plan(before, subtask) and (
        subtask.spec.id not in kept_subtasks or subtask.state not in SETTLED_STATES
    )


def _choose_specialist(subtask: SubtaskState, again: RetryRef) -> str:
    """Return the specialist for a subtask: the last one if the retry continues the work, otherwise the planned one."""
    return subtask.specialist if again.mode == "continue" else subtask.spec.specialist


def _is_available(before: RequestState, subtask: SubtaskState, specialist: str, is_member: IsMember) -> bool:
    """Return True if the specialist `specialist` is in the crew of a subtask, or was made for the plan."""
    member = before.find_enclosing_run(subtask).members.get(specialist)
    if member is not None and member.made:
        return True
    outer = before.subtasks.get(subtask.within)
    return is_member(outer.specialist if outer is not None else "", specialist)
