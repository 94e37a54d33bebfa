"""Checks a plan before anything runs: each fault is said exactly, so that the planner can mend it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from pydantic import ValidationError

from handoff.contracts import Member, Plan

MAX_SUBTASKS = 20
MAX_DEPTH = 8
MAX_FAULTS = 12
MIN_INTENT_WORDS = 4
MAX_LENGTH = 60_000
"""Characters of a whole plan as JSON: it is kept in the job's log."""
MAX_FAULT_LENGTH = 300


def read_plan(text: str, members: Mapping[str, Member]) -> tuple[Plan | None, tuple[str, ...]]:
    """The plan in a planner's reply, or the faults that keep it from being one.

    Takes JSON, also when fenced or surrounded by prose. Never raises for what a model may say.
    """
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return None, ("The reply holds no JSON object; answer with the plan as one JSON object.",)
    try:
        plan = Plan.model_validate_json(text[start : end + 1])
    except ValidationError as error:
        faults = [
            f"{'.'.join(str(part) for part in fault['loc']) or 'plan'}: {fault['msg']}"
            for fault in error.errors(include_url=False, include_input=False)
        ]
        return None, _capped(faults)
    wrong = check(plan, members)
    return (None, wrong) if wrong else (plan, ())


def check(plan: Plan, members: Mapping[str, Member]) -> tuple[str, ...]:
    """Everything wrong with a plan, in words that say what to change; empty if it may run."""
    if not plan.subtasks:
        return ("The plan has no subtasks; it needs at least one.",)
    if len(plan.subtasks) > MAX_SUBTASKS:
        return (f"The plan has {len(plan.subtasks):,} subtasks; at most {MAX_SUBTASKS} are allowed.",)
    if (length := len(plan.model_dump_json())) > MAX_LENGTH:
        return (f"The plan is {length:,} characters long; at most {MAX_LENGTH:,} are allowed.",)
    faults = [*_naming(plan), *_people(plan, members), *_wording(plan), *_dependencies(plan)]
    if not faults:
        depth = _depth(plan)
        if depth == 0:
            faults.append(f"The dependencies form a cycle among {_cycle(plan)}; remove one `after`.")
        elif depth > MAX_DEPTH:
            faults.append(f"The plan is {depth} steps deep; at most {MAX_DEPTH} are allowed.")
    return _capped(faults)


def _naming(plan: Plan) -> list[str]:
    counts = Counter(subtask.id for subtask in plan.subtasks)
    faults = [f"Two subtasks are called {name!r}; ids must differ." for name, n in counts.items() if n > 1]
    return faults + ["A subtask has an empty id." for name in counts if not name.strip()]


def _people(plan: Plan, members: Mapping[str, Member]) -> list[str]:
    known = ", ".join(sorted(members))
    return [
        f"Subtask {subtask.id!r} names the unknown specialist {subtask.specialist!r}; there are: {known}."
        for subtask in plan.subtasks
        if subtask.specialist not in members
    ]


def _wording(plan: Plan) -> list[str]:
    faults = []
    for subtask in plan.subtasks:
        if len(subtask.intent.split()) < MIN_INTENT_WORDS:
            faults.append(f"Subtask {subtask.id!r} is too vague ({subtask.intent!r}); say what, of what, how.")
        if not subtask.title.strip():
            faults.append(f"Subtask {subtask.id!r} has no title.")
    return faults


def _dependencies(plan: Plan) -> list[str]:
    ids = {subtask.id for subtask in plan.subtasks}
    faults = []
    for subtask in plan.subtasks:
        for other in subtask.after:
            if other == subtask.id:
                faults.append(f"Subtask {subtask.id!r} waits for itself.")
            elif other not in ids:
                faults.append(f"Subtask {subtask.id!r} waits for {other!r}, which is not in the plan.")
    return faults


def _layers(plan: Plan) -> tuple[int, set[str]]:
    """How many layers could be peeled off, and the ids left over, which lie on or behind a cycle."""
    left = {subtask.id: set(subtask.after) for subtask in plan.subtasks}
    layers = 0
    while ready := [name for name, after in left.items() if not after]:
        layers += 1
        for name in ready:
            del left[name]
        for after in left.values():
            after.difference_update(ready)
    return layers, set(left)


def _depth(plan: Plan) -> int:
    layers, left = _layers(plan)
    return 0 if left else layers


def _cycle(plan: Plan) -> str:
    return ", ".join(sorted(_layers(plan)[1]))


def _capped(faults: list[str]) -> tuple[str, ...]:
    more = len(faults) - MAX_FAULTS
    faults = [fault if len(fault) <= MAX_FAULT_LENGTH else fault[:MAX_FAULT_LENGTH] + "…" for fault in faults]
    return (*faults[:MAX_FAULTS], *([f"... and {more} more faults of this kind."] if more > 0 else []))
