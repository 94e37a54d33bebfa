"""Checks the material needs of a plan's subtasks: clear errors are repaired, all others are faults. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from handoff.contracts import Material, Plan, Subtask

MAX_LISTED_NAMES = 12
"""The most names of material that a fault lists."""


@dataclass(slots=True)
class RepairedNeeds:
    """A plan with checked needs: the repairs with their `reasons`, and the `faults` that remain."""

    plan: Plan
    reasons: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def repair_needs(
    plan: Plan, materials: Sequence[Material], own_names: Collection[str], *, is_second_try: bool = False
) -> RepairedNeeds:
    """Check the needs of a plan, and repair them so that each need is the exact name of a material.

    A need that is the id of a subtask becomes a dependency on that subtask. Without material, all needs are removed.

    Args:
        plan: The plan.
        materials: The available material.
        own_names: The names of the material that came with the request. If no subtask needs one of them, it is given to
            the subtask that it plainly concerns; without such a subtask, a reason says that no part needs it.
        is_second_try: True for the planner's second try: an unknown need is then dropped with a reason, and is no
            fault.
    """
    if not materials:
        bare = (one if one.needs is None else one.model_copy(update={"needs": None}) for one in plan.subtasks)
        return RepairedNeeds(plan.model_copy(update={"subtasks": tuple(bare)}))
    repaired_needs = RepairedNeeds(plan)
    ids = {one.id for one in plan.subtasks}
    subtasks = [
        _repair_subtask_needs(one, materials, ids, repaired_needs, is_second_try=is_second_try) for one in plan.subtasks
    ]
    repaired_needs.plan = plan.model_copy(update={"subtasks": tuple(subtasks)})
    if not repaired_needs.faults:
        _assign_leftover_material(repaired_needs, [one for one in materials if one.name in own_names and not one.fault])
    return repaired_needs


def match_materials(needs: Iterable[str], materials: Sequence[Material]) -> tuple[str, ...]:
    """Return the names of the materials that `needs` certainly means, each once. Unknown names are left out."""
    return tuple(dict.fromkeys(name for one in needs if (name := _match_material(one, materials))))


def _repair_subtask_needs(
    subtask: Subtask,
    materials: Sequence[Material],
    ids: Collection[str],
    repaired_needs: RepairedNeeds,
    *,
    is_second_try: bool,
) -> Subtask:
    if subtask.needs is None:
        return subtask
    needs: list[str] = []
    after = list(subtask.after)
    for need in subtask.needs:
        if name := _match_material(need, materials):
            needs.append(name)
        elif need in ids:
            after += [need] if need != subtask.id else []
            repaired_needs.reasons.append(f"{subtask.id} waits for {need}, which it needs")
        elif need.strip() and is_second_try:
            repaired_needs.reasons.append(f"{subtask.id} no longer needs {need!r}, which is not there")
        elif need.strip():
            names = ", ".join(each.name for each in materials[:MAX_LISTED_NAMES])
            repaired_needs.faults.append(
                f"Subtask {subtask.id!r} needs {need!r}, which is not there; there are: {names}."
            )
    changes = {"needs": tuple(dict.fromkeys(needs)), "after": tuple(dict.fromkeys(after))}
    return subtask.model_copy(update=changes)


def _match_material(need: str, materials: Sequence[Material]) -> str:
    """Return the name of the material that `need` certainly means; empty if there is none.

    It is matched by its full name, its file name, or its file name without ending.
    """
    bare = " ".join(need.split()).strip("`'\"#").casefold()
    if not bare:
        return ""
    for names in (_get_full_name, _get_file_name, _get_file_stem):
        matching_names = [one.name for one in materials if names(one.name.casefold()) == bare]
        if len(matching_names) == 1 or (matching_names and names is _get_full_name):
            return matching_names[0]
    return ""


def _get_full_name(name: str) -> str:
    return name


def _get_file_name(name: str) -> str:
    return name.rpartition("/")[2]


def _get_file_stem(name: str) -> str:
    last = _get_file_name(name)
    return last.rpartition(".")[0] or last


def _assign_leftover_material(repaired_needs: RepairedNeeds, own_materials: Sequence[Material]) -> None:
    """Give material that no subtask needs to the subtasks that it plainly concerns, with a reason for each material."""
    subtasks = list(repaired_needs.plan.subtasks)
    if any(one.needs is None for one in subtasks):
        return
    needed_names = {name for one in subtasks for name in one.needs or ()}
    for material in own_materials:
        if material.name in needed_names:
            continue
        concerned_places = list(_find_concerned_subtasks(subtasks, material))
        for place in concerned_places:
            one = subtasks[place]
            subtasks[place] = one.model_copy(update={"needs": (*(one.needs or ()), material.name)})
        subtask_ids = ", ".join(subtasks[place].id for place in concerned_places)
        repaired_needs.reasons.append(
            f"{material.name}: given to {subtask_ids}" if subtask_ids else f"{material.name}: no part needs it"
        )
    repaired_needs.plan = repaired_needs.plan.model_copy(update={"subtasks": tuple(subtasks)})


def _find_concerned_subtasks(subtasks: Sequence[Subtask], material: Material) -> Iterator[int]:
    """Yield the indices of the subtasks whose briefs name the file; if none, of the only one without dependencies."""
    name = material.name.casefold()
    matching_places = [place for place, one in enumerate(subtasks) if material.file and name in one.intent.casefold()]
    first = [place for place, one in enumerate(subtasks) if not one.after]
    yield from matching_places or (first if len(first) == 1 else ())
