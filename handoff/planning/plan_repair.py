"""Repairs two kinds of faults of a plan without a model: impossible dependencies, and an unsuitable strategy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations

from handoff.contracts import Plan, Subtask

MIN_WORD_OVERLAP = 0.5
"""The least share of the shorter brief's words that two briefs must share to be about the same question."""
_WORD = re.compile(r"[^\W_]{4,}")


def repair_plan(plan: Plan) -> tuple[Plan, tuple[str, ...]]:
    """Return the plan without impossible dependencies, and without a strategy that would discard results.

    The second value has one reason per change. Faults with more than one possible repair are left to `plan_check`.
    """
    plan, reasons = repair_dependencies(plan)
    if plan.strategy == "merge" or not plan.subtasks:
        return plan, reasons
    why = _explain_merge(plan)
    if why:
        reasons = (*reasons, f"merged instead of {plan.strategy}: {why}")
        plan = plan.model_copy(update={"strategy": "merge"})
    return plan, reasons


def repair_dependencies(plan: Plan) -> tuple[Plan, tuple[str, ...]]:
    """Remove dependencies on unknown subtasks, on the subtask itself and in a cycle. Return the plan and the reasons.

    In a cycle, the dependency on a subtask that the plan lists later is removed.
    """
    ids = [subtask.id for subtask in plan.subtasks]
    if len(set(ids)) < len(ids):  # dependencies on a duplicate id are ambiguous
        return plan, ()
    after: dict[str, list[str]] = {name: [] for name in ids}
    reasons: list[str] = []
    for name, other in _yield_ordered_dependencies(plan, ids):
        if other not in after or other == name:
            what = "itself" if other == name else repr(other) if other.strip() else "nothing"
            reasons.append(f"{name} no longer waits for {what}" + ("" if other == name else ", which is not there"))
        elif _depends_on(after, other, name):
            reasons.append(f"{name} no longer waits for {other}, which waits for {name}")
        else:
            after[name].append(other)
    subtasks = tuple(_keep_dependencies(one, after[one.id]) for one in plan.subtasks)
    return plan.model_copy(update={"subtasks": subtasks}), tuple(reasons)


def _yield_ordered_dependencies(plan: Plan, ids: list[str]) -> Iterator[tuple[str, str]]:
    """Yield each dependency once, as (subtask, dependency): first those on earlier subtasks, which form no cycle."""
    place = {name: index for index, name in enumerate(ids)}
    pairs = list(dict.fromkeys((one.id, other) for one in plan.subtasks for other in one.after))
    yield from sorted(pairs, key=lambda pair: place.get(pair[1], -1) > place[pair[0]])


def _depends_on(dependencies: dict[str, list[str]], name: str, other: str) -> bool:
    """Return True if the subtask `name` waits for `other`, directly or through other subtasks."""
    pending_ids, seen_ids = [name], set[str]()
    while pending_ids:
        one = pending_ids.pop()
        if one == other:
            return True
        pending_ids += [each for each in dependencies[one] if each not in seen_ids]
        seen_ids.update(dependencies[one])
    return False


def _keep_dependencies(subtask: Subtask, dependencies: list[str]) -> Subtask:
    ordered_ids = tuple(other for other in dict.fromkeys(subtask.after) if other in dependencies)
    return subtask if ordered_ids == subtask.after else subtask.model_copy(update={"after": ordered_ids})


def _explain_merge(plan: Plan) -> str:
    """Return the reason why the results must be merged; empty if the plan may keep its strategy."""
    if len(plan.subtasks) == 1:
        return "there is one part"
    if plan.strategy != "select":
        return ""
    needed_ids = {other for subtask in plan.subtasks for other in subtask.after}
    last = [subtask for subtask in plan.subtasks if subtask.id not in needed_ids]
    if len(last) < 2:
        return "only one part has a result that nothing builds on"
    if any(not _have_same_question(one, other) for one, other in combinations(last, 2)):
        return f"{', '.join(one.id for one in last)} do not answer the same question"
    return ""


def _have_same_question(subtask: Subtask, other: Subtask) -> bool:
    """Return True if the briefs of two subtasks share enough words to ask the same question."""
    mine, theirs = (set(_WORD.findall(f"{each.title} {each.intent}".casefold())) for each in (subtask, other))
    return bool(mine and theirs) and len(mine & theirs) >= MIN_WORD_OVERLAP * min(len(mine), len(theirs))
