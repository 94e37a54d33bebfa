"""What a plan, or one that was not accepted, changes in a request: the same for a crew inside the crew."""

from __future__ import annotations

from types import MappingProxyType

from handoff import events as ev
from handoff.contracts import Estimate, Member, Plan
from handoff.engine.nested import room_left
from handoff.engine.policy import MAX_REJECTED_PLANS
from handoff.engine.subtask import decided, packed
from handoff.state import Ask, Failure, Work, replace


def proposed(ask: Ask, event: ev.PlanProposed) -> Ask:
    """There is a plan: its subtasks lie beside all others, inside the one that `ask` is a view of, if it is one."""
    if ask.plan is not None:
        return ask
    if ask.within and (fault := _no_place(ask, event.plan)):
        ask = decided(ask, event.at, ask.within, "plan rejected", fault)
        of = {"at": event.at, "request": event.request, "within": event.within}
        return rejected(ask, ev.PlanRejected.model_validate({**of, "faults": (fault,), "usage": event.usage}))
    members = {member.name: member for member in event.members}
    work = work_of(event.plan, members, {estimate.subtask: estimate for estimate in event.estimates}, ask.within)
    ask = packed(ask, event.at, ask.within, event.pack)
    for reason in event.reasons:
        ask = decided(ask, event.at, ask.within, "planned", reason)
    return replace(
        ask,
        plan=event.plan,
        planned=ask.planned if ask.within else event.at,  # the time and terms of a crew inside run since it began
        terms=ask.terms if ask.within else event.terms,
        members=MappingProxyType(members),
        work=MappingProxyType({**ask.work, **work}),
        usage=ask.usage + event.usage,
    )


def _no_place(ask: Ask, plan: Plan) -> str:
    """Why a plan cannot lie beside what there is, which may have come since the planner was asked; empty if it can."""
    if len(plan.subtasks) > (room := room_left(ask)):
        return f"The plan has {len(plan.subtasks)} subtasks, and only {room} are left for all of this request."
    taken = [subtask.id for subtask in plan.subtasks if subtask.id in ask.work]
    return f"The ids {', '.join(taken)} are taken; choose others." if taken else ""


def work_of(
    plan: Plan, members: dict[str, Member], estimates: dict[str, Estimate], within: str = ""
) -> dict[str, Work]:
    """The subtasks of a plan as nobody has begun them, by id. `within`: the subtask that they are inside."""
    return {
        subtask.id: Work(
            subtask=subtask,
            specialist=subtask.specialist,
            within=within,
            tier=subtask.tier or members[subtask.specialist].tier,
            estimate=estimates.get(subtask.id),
        )
        for subtask in plan.subtasks
    }


def rejected(ask: Ask, event: ev.PlanRejected) -> Ask:
    """The planner's answer did not pass: it may try once more."""
    if ask.within and ask.plan is not None:
        return ask
    ask = packed(ask, event.at, ask.within, event.pack)
    ask = replace(ask, rejections=(*ask.rejections, event.faults), usage=ask.usage + event.usage)
    if len(ask.rejections) < MAX_REJECTED_PLANS:
        return ask
    return replace(
        ask,
        written=event.at,
        failure=Failure(
            "planning",
            "the planner returned no usable plan: " + " ".join(event.faults[:3]),
            "Say it in other words, or in smaller steps, and mention me again.",
        ),
    )
