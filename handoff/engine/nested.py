"""Crews inside crews: a subtask whose member is itself a crew has a plan, work and an end of its own. Pure.

What such a crew is at is a request in miniature. `below` shows it as one, so that all that is written for a request
(planning, cascade, contradictions, synthesis, critic) serves on every level; `put_back` takes the outcome in again.
Its subtasks lie flat in `Ask.work` beside all others, each with `within`, the id of the subtask that it is inside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType

from handoff.contracts import Member, Plan, Terms
from handoff.state import Ask, Level, Work, Written, replace

SLASH = "/"
"""Between the id of a subtask and those inside it, and between the name of a crew and those of its members."""
AGAIN = "~"
"""Before the number of the attempt, in the ids of what is inside any but the first: no message is taken for another."""

MAX_IN_ALL = 60
"""Subtasks of a request on all levels together: plans inside plans would multiply without it."""

_FIELDS = tuple(field.name for field in fields(Level))


def inside(ask: Ask, within: str) -> tuple[Work, ...]:
    """The subtasks directly inside that one; those of the request's own plan for an empty id."""
    return tuple(work for work in ask.work.values() if work.within == within)


def all_inside(ask: Ask, within: str) -> tuple[Work, ...]:
    """The subtasks inside that one on whatever level, what is outside before what is in it."""
    found: tuple[Work, ...] = ()
    for work in inside(ask, within):
        found += (work, *(all_inside(ask, work.subtask.id) if work.level is not None else ()))
    return found


def plan_of(ask: Ask, within: str) -> Plan | None:
    """The plan of a level, its ids as they stand in `Ask.work`; None where there is none (yet)."""
    work = ask.work.get(within)
    return ask.plan if not within else work.plan if work is not None else None


def crew_at(ask: Ask, within: str) -> str:
    """The path of the crew whose level it is, see `specialists.registry.Crew`; empty for the outermost."""
    return ask.work[within].specialist if within else ""


def terms_of(ask: Ask, within: str) -> Terms:
    """What the subtasks of a level are worked on under."""
    work = ask.work.get(within)
    return ask.terms if work is None or work.level is None else work.level.terms


def members_of(ask: Ask, within: str) -> Mapping[str, Member]:
    """The members of the crew whose level it is, by name, as they stood when it was planned."""
    work = ask.work.get(within)
    return ask.members if work is None or work.level is None else work.level.members


def is_open(work: Work) -> bool:
    """Whether a crew is at it now: it waits for people only where all that is inside does, with no question its own."""
    under_way = work.state in {"in_progress", "input_required"} and work.look is None and work.question is None
    return work.level is not None and under_way


def member_of(ask: Ask, work: Work) -> Member | None:
    """Who a subtask is given to, as its own crew sees it; None where the plan was made without members."""
    return members_of(ask, work.within).get(work.specialist)


def seconds_for(ask: Ask, work: Work) -> float:
    """Seconds for all attempts at a subtask: what its crew's terms say, or a crew that is at it takes for a request."""
    member = member_of(ask, work)
    if member is not None and member.crew is not None:
        return member.crew.job_seconds
    return terms_of(ask, work.within).subtask_seconds


def writes_before(ask: Ask, work: Work) -> tuple[Written, ...]:
    """What earlier attempts at a subtask wrote, or may have written, and those at the ones that it is inside.

    With them those at the one that it replaces, and at what was inside that.
    """
    outer, replaced = ask.work.get(work.within), ask.work.get(work.instead_of)
    found = work.writes if replaced is None else (*work.writes, *writes_before(ask, replaced))
    for one in all_inside(ask, replaced.subtask.id) if replaced is not None else ():
        found += one.writes
    return tuple(dict.fromkeys(found if outer is None else (*found, *writes_before(ask, outer))))


def inner_plan(outer: Work, plan: Plan) -> Plan:
    """A plan for what is inside a subtask, its own ids made those in `Ask.work`."""
    again = f"{AGAIN}{outer.attempt}" if outer.attempt > 1 else ""

    def name(short: str) -> str:
        return f"{outer.subtask.id}{SLASH}{short}{again}"

    subtasks = tuple(
        one.model_copy(update={"id": name(one.id), "after": tuple(name(other) for other in one.after)})
        for one in plan.subtasks
    )
    return plan.model_copy(update={"subtasks": subtasks})


def room_left(ask: Ask) -> int:
    """How many subtasks more a request may have, on all levels together."""
    return max(0, MAX_IN_ALL - len(ask.work))


def below(ask: Ask, within: str) -> Ask:
    """What is inside a subtask as a request of its own; the request itself for an empty id.

    Its text is the subtask's brief. It shares `work`, `posted`, `decisions` and `usage` with the whole.
    Raises KeyError where there is no such subtask, ValueError where nobody has begun to plan it.
    """
    if within == ask.within:
        return ask
    work = ask.work[within]
    if work.level is None:
        raise ValueError(f"subtask {within} is not at a crew")
    return replace(
        ask,
        within=within,
        request=ask.request.model_copy(update={"text": work.brief or work.subtask.intent}),
        file_faults=(),
        written=None,
        **{name: getattr(work.level, name) for name in _FIELDS},
    )


def put_back(ask: Ask, view: Ask) -> Ask:
    """The request with what became of the `view` that `below` gave."""
    if view.within == ask.within:
        return view
    level = Level(**{name: getattr(view, name) for name in _FIELDS})
    outer = view.work[view.within]
    work = MappingProxyType({**view.work, view.within: replace(outer, level=level)})
    return replace(ask, work=work, decisions=view.decisions, usage=view.usage)
