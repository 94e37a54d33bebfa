"""Chooses the plan of a second try: that of the request it repeats, as long as the crew still has its specialists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from handoff.conversation.retry_words import RetryRef
from handoff.engine import retry
from handoff.engine.nested import is_out_of_plan
from handoff.state.job_state import SETTLED, RequestState, SubtaskState

IsMember = Callable[[str, str], bool]
"""Takes the path of an inner crew (empty: this crew) and a name; returns whether that crew has such a member."""


@dataclass(frozen=True, slots=True)
class RetryPlan:
    """The `fields` of a `PlanProposed` from an earlier plan. None: the request is planned anew; `anew` may say why."""

    fields: Mapping[str, Any] | None = None
    anew: str = ""


def choose_retry_plan(ask: RequestState, is_member: IsMember) -> RetryPlan:
    """Return the plan for a second try; without `fields` if none was ever made, or some of its specialists are gone."""
    before, again = ask.before, ask.again
    if before is None or again is None or before.run.plan is None:
        return RetryPlan()
    kept = retry.list_kept_subtasks(before, again)
    works = before.work.items()
    whose = {name: _choose_specialist(work, again) for name, work in works if _is_open(before, work, kept)}
    lost = sorted({who for name, who in whose.items() if not _is_available(before, before.work[name], who, is_member)})
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
    """Return True if a specialist has to go on with a subtask, or begin it again."""
    return not is_out_of_plan(before, work) and (work.subtask.id not in kept or work.state not in SETTLED)


def _choose_specialist(work: SubtaskState, again: RetryRef) -> str:
    """Return the specialist for a subtask: the last one if the work continues, else the one that the plan names."""
    return work.specialist if again.mode == "continue" else work.subtask.specialist


def _is_available(before: RequestState, work: SubtaskState, who: str, is_member: IsMember) -> bool:
    """Return True if the specialist `who` is in the crew of a subtask, or was made for the plan."""
    member = before.find_enclosing_run(work).members.get(who)
    if member is not None and member.made:
        return True
    outer = before.work.get(work.within)
    return is_member(outer.specialist if outer is not None else "", who)
