"""Checks the material needs of a plan's subtasks: certain errors are repaired, all others are faults. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from handoff.contracts import Material, Plan, Subtask

NAMED = 12
"""The most names of material that a fault lists."""


@dataclass(slots=True)
class SettledNeeds:
    """A plan with checked needs: the repairs with their `reasons`, and the `faults` that remain."""

    plan: Plan
    reasons: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def settle(plan: Plan, there: Sequence[Material], own: Collection[str], *, mended: bool = False) -> SettledNeeds:
    """Check the needs of a plan, and repair them so that each need is the exact name of a material.

    A need that is the id of a subtask becomes a dependency on that subtask.

    Args:
        plan: The plan.
        there: The available material.
        own: The names of the material that came with the request. If no subtask needs one of them, it is given to the
            subtask that it plainly concerns; without such a subtask, a reason says that no part needs it.
        mended: True for the planner's second try: an unknown need is then dropped with a reason, and is no fault.
    """
    if not there:
        bare = (one if one.needs is None else one.model_copy(update={"needs": None}) for one in plan.subtasks)
        return SettledNeeds(plan.model_copy(update={"subtasks": tuple(bare)}))
    done = SettledNeeds(plan)
    ids = {one.id for one in plan.subtasks}
    subtasks = [_settle_needs(one, there, ids, done, mended=mended) for one in plan.subtasks]
    done.plan = plan.model_copy(update={"subtasks": tuple(subtasks)})
    if not done.faults:
        _assign_leftover_material(done, [one for one in there if one.name in own and not one.fault])
    return done


def match_materials(wanted: Iterable[str], there: Sequence[Material]) -> tuple[str, ...]:
    """Return the names of the materials that `wanted` certainly means, each once. Unknown names are left out."""
    return tuple(dict.fromkeys(found for one in wanted if (found := _match_material(one, there))))


def _settle_needs(
    one: Subtask, there: Sequence[Material], ids: Collection[str], done: SettledNeeds, *, mended: bool
) -> Subtask:
    if one.needs is None:
        return one
    needs: list[str] = []
    after = list(one.after)
    for wanted in one.needs:
        if found := _match_material(wanted, there):
            needs.append(found)
        elif wanted in ids:
            after += [wanted] if wanted != one.id else []
            done.reasons.append(f"{one.id} waits for {wanted}, which it needs")
        elif wanted.strip() and mended:
            done.reasons.append(f"{one.id} no longer needs {wanted!r}, which is not there")
        elif wanted.strip():
            names = ", ".join(each.name for each in there[:NAMED])
            done.faults.append(f"Subtask {one.id!r} needs {wanted!r}, which is not there; there are: {names}.")
    changed = {"needs": tuple(dict.fromkeys(needs)), "after": tuple(dict.fromkeys(after))}
    return one.model_copy(update=changed)


def _match_material(wanted: str, there: Sequence[Material]) -> str:
    """Return the name of the material that `wanted` certainly means; empty if there is none.

    It is matched by its full name, its file name, or its file name without ending.
    """
    bare = " ".join(wanted.split()).strip("`'\"#").casefold()
    if not bare:
        return ""
    for names in (_full_name, _file_name, _file_stem):
        alike = [one.name for one in there if names(one.name.casefold()) == bare]
        if len(alike) == 1 or (alike and names is _full_name):
            return alike[0]
    return ""


def _full_name(name: str) -> str:
    return name


def _file_name(name: str) -> str:
    return name.rpartition("/")[2]


def _file_stem(name: str) -> str:
    last = _file_name(name)
    return last.rpartition(".")[0] or last


def _assign_leftover_material(done: SettledNeeds, own: Sequence[Material]) -> None:
    """Give material that no subtask needs to the subtasks that it plainly concerns, with a reason for each material."""
    subtasks = list(done.plan.subtasks)
    if any(one.needs is None for one in subtasks):
        return
    needed = {name for one in subtasks for name in one.needs or ()}
    for material in own:
        if material.name in needed:
            continue
        concerned = list(_find_concerned_subtasks(subtasks, material))
        for place in concerned:
            one = subtasks[place]
            subtasks[place] = one.model_copy(update={"needs": (*(one.needs or ()), material.name)})
        told = ", ".join(subtasks[place].id for place in concerned)
        done.reasons.append(f"{material.name}: given to {told}" if told else f"{material.name}: no part needs it")
    done.plan = done.plan.model_copy(update={"subtasks": tuple(subtasks)})


def _find_concerned_subtasks(subtasks: Sequence[Subtask], material: Material) -> Iterator[int]:
    """Yield the indices of the subtasks whose briefs name a file, otherwise of the only one without dependencies."""
    name = material.name.casefold()
    named = [place for place, one in enumerate(subtasks) if material.file and name in one.intent.casefold()]
    first = [place for place, one in enumerate(subtasks) if not one.after]
    yield from named or (first if len(first) == 1 else ())
