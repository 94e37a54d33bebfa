"""Parses the planner's changes to a plan under way, and builds the new plan. Pure.

The model only names the changes, each with its reason. Code builds the new plan, so that nothing else changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from handoff.contracts import PATH_SEPARATOR, Material, Plan, PlanChange, Subtask
from handoff.engine.crew_runs import ATTEMPT_MARK, count_addable_subtasks
from handoff.engine.replan import list_changeable_ids
from handoff.planning import needs, plan_check
from handoff.planning.plan_repair import repair_plan
from handoff.state.job_state import SETTLED_STATES, PlanRun, RequestState
from handoff.state.state_values import ReplanTrigger
from handoff.text.reply_text import extract_json

MAX_ADDED_SUBTASKS = 6
"""The most subtasks that one revision may add."""
MAX_WHY_LENGTH = 200
MAX_REVISION_FAULTS = 6
NOTHING_TO_CHANGE = "The planner sees nothing to change"


class _Addition(BaseModel):
    id: str = Field(min_length=1, max_length=60)
    title: str = ""
    intent: str
    specialist: str
    after: tuple[str, ...] = ()
    needs: tuple[str, ...] | None = None
    needed_by: tuple[str, ...] = ()
    instead_of: str = ""
    done_when: str = ""
    why: str = ""


class _Drop(BaseModel):
    id: str
    needless: bool = True
    why: str = ""


class _Move(BaseModel):
    id: str
    specialist: str
    why: str = ""


class _Brief(BaseModel):
    id: str
    intent: str
    done_when: str = ""
    why: str = ""


class RevisionReply(BaseModel):
    """The planner's reply with its changes. Models write the fields in this order, the overall reason first."""

    why: str = ""
    add: tuple[_Addition, ...] = ()
    drop: tuple[_Drop, ...] = ()
    reassign: tuple[_Move, ...] = ()
    rebrief: tuple[_Brief, ...] = ()


@dataclass(frozen=True, slots=True)
class Revision:
    """The outcome of a revision: the new plan with its changes, or the reasons (`faults`) to keep the old plan."""

    plan: Plan | None = None
    changes: tuple[PlanChange, ...] = ()
    faults: tuple[str, ...] = ()


def parse_revision(
    text: str, request: RequestState, run: PlanRun, trigger: ReplanTrigger, materials: Sequence[Material] = ()
) -> Revision:
    """Parse the planner's reply and build the new plan. An unusable reply gives `faults`; nothing is raised.

    Args:
        text: JSON with `add`, `drop`, `reassign` and `rebrief`; it may be fenced or surrounded by prose.
        request: The request.
        run: The run whose plan is revised.
        trigger: The trigger about which the planner was asked.
        materials: The material that added subtasks may need.
    """
    try:
        reply = RevisionReply.model_validate_json(extract_json(text))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the reply"
        return Revision(faults=(f"The planner gave no usable reply ({place}: {first['msg']}).",))
    if run.plan is None:
        return Revision(faults=("There is no plan to change.",))
    draft = _RevisedPlanDraft(request, run, run.plan, trigger, list_changeable_ids(request, trigger), materials)
    plan = draft.build_plan(reply)
    if draft.faults:
        return Revision(faults=_cap_faults(draft.faults))
    if not draft.changes:
        return Revision(faults=(f"{NOTHING_TO_CHANGE}{f': {why}' if (why := _limit_line(reply.why)) else ''}.",))
    plan, repair_reasons = repair_plan(plan)
    faults = _find_new_faults(run, run.plan, plan)
    return (
        Revision(faults=_cap_faults(faults))
        if faults
        else Revision(plan, _add_repair_reasons(draft.changes, repair_reasons))
    )


def _add_repair_reasons(changes: Sequence[PlanChange], repairs: Sequence[str]) -> tuple[PlanChange, ...]:
    """Add the repairs of the plan to the reason of the first change, so that people see them."""
    first, *rest = changes
    why = "; ".join((first.why, *(f"mended: {one}" for one in repairs)))
    return (first.model_copy(update={"why": why}), *rest)


def _find_new_faults(run: PlanRun, old_plan: Plan, new_plan: Plan) -> list[str]:
    """Return the faults of the new plan that the old plan did not have, and all faults that no plan may have.

    `made` is left out of the check: the old plan's ad-hoc specialists are members by now, and a revision adds none.
    """
    before, after = (one.model_copy(update={"made": ()}) for one in (old_plan, new_plan))
    if faults := plan_check.find_plan_faults(after, run.members, is_second_try=True):
        return list(faults)
    known_faults = plan_check.find_plan_faults(before, run.members)
    return [fault for fault in plan_check.find_plan_faults(after, run.members) if fault not in known_faults]


@dataclass
class _RevisedPlanDraft:
    """A new plan while it is built from a reply.

    `old_plan` is the old plan, `changeable_ids` are the ids of the subtasks that may be changed, and `materials` is the
    available material. `changes` and `faults` are collected while the plan is built.
    """

    request: RequestState
    run: PlanRun
    old_plan: Plan
    trigger: ReplanTrigger
    changeable_ids: frozenset[str]
    materials: Sequence[Material] = ()
    changes: list[PlanChange] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def build_plan(self, reply: RevisionReply) -> Plan:
        """Build the new plan from a reply. Faults of the reply are added to `faults`."""
        most = min(MAX_ADDED_SUBTASKS, count_addable_subtasks(self.request))
        if len(reply.add) > most:
            self.faults.append(f"The reply adds {len(reply.add)} subtasks; at most {most} are allowed.")
            return self.old_plan
        names = {one.id: self._make_subtask_id(one.id) for one in reply.add}
        if len(set(names.values())) < len(reply.add):
            self.faults.append("Two new subtasks have one id; ids must differ.")
        replacements = self._resolve_replacements(reply, names)
        removed_ids = self._drop_subtasks(reply, replacements)
        subtasks = {one.id: one for one in self.old_plan.subtasks}
        self._reassign_and_rebrief(reply, subtasks, removed_ids)
        after = {
            name: self._rewire_dependencies(one.after, replacements, removed_ids) for name, one in subtasks.items()
        }
        added_subtasks = [self._add_subtask(one, names, replacements, removed_ids) for one in reply.add]
        for one in reply.add:
            for other in one.needed_by:
                name = names.get(other, other)
                if name in self.changeable_ids and name in after and name not in removed_ids:
                    after[name] = (*after[name], names[one.id])
                elif name in after:
                    self.faults.append(f"{name} cannot wait for {names[one.id]}: it has started or is dropped.")
        kept_subtasks = [
            one.model_copy(update={"after": tuple(dict.fromkeys(after[name]))}) if name in self.changeable_ids else one
            for name, one in subtasks.items()
            if name not in removed_ids
        ]
        return self.old_plan.model_copy(
            update={"subtasks": _order_subtasks(kept_subtasks, added_subtasks, replacements, self.old_plan)}
        )

    def _make_subtask_id(self, reply_id: str) -> str:
        """Return the full id of an added subtask, with the id of its enclosing subtask as a prefix if there is one."""
        outer = self.request.subtasks.get(self.run.within)
        name = reply_id.strip()
        if outer is not None and not name.startswith(f"{self.run.within}{PATH_SEPARATOR}"):
            name = f"{self.run.within}{PATH_SEPARATOR}{name}" + (
                f"{ATTEMPT_MARK}{outer.attempt}" if outer.attempt > 1 else ""
            )
        if name in self.request.subtasks:
            self.faults.append(f"There is a subtask {name!r} already; a new one needs another id.")
        return name

    def _resolve_replacements(self, reply: RevisionReply, names: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
        """Return the ids of the replaced subtasks, each with the ids of its replacements.

        `names` are the full ids of added subtasks, by the ids in the reply.
        """
        replacements: dict[str, tuple[str, ...]] = {}
        for one in reply.add:
            name = one.instead_of.strip()
            if name and self._require_changeable(name, "replaced"):
                replacements[name] = (*replacements.get(name, ()), names[one.id])
        for name, by in replacements.items():
            why = next(one.why for one in reply.add if one.instead_of.strip() == name)
            self.changes.append(PlanChange(kind="replaced", subtask=name, why=self._require_reason(name, why), by=by))
        return replacements

    def _drop_subtasks(self, reply: RevisionReply, replacements: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
        """Return the ids of the subtasks that leave the plan, because they are replaced or needless.

        A dropped subtask that is not needless stays in the plan, and becomes a gap of the answer.
        """
        removed_ids = set(replacements)
        for one in reply.drop:
            given_up = not one.needless and self.trigger.cause == "failure" and one.id == self.trigger.subtask
            if one.id in removed_ids or given_up:  # only the ladder gives up a failed subtask
                continue
            if self._require_changeable(one.id, "dropped"):
                self.changes.append(
                    PlanChange(kind="dropped", subtask=one.id, why=self._require_reason(one.id, one.why))
                )
                removed_ids |= {one.id} if one.needless else set()
        return frozenset(removed_ids)

    def _reassign_and_rebrief(
        self, reply: RevisionReply, subtasks: dict[str, Subtask], removed_ids: Iterable[str]
    ) -> None:
        """Apply the reassignments and new briefs of a reply to `subtasks`, in place."""
        whys: dict[str, str] = {}
        changes: tuple[_Move | _Brief, ...] = (*reply.reassign, *reply.rebrief)
        for one in changes:
            if one.id in removed_ids or any(change.subtask == one.id for change in self.changes):
                self.faults.append(f"{one.id} is dropped and changed at once.")
            elif self._require_changeable(one.id, "changed"):
                whys[one.id] = "; ".join(
                    dict.fromkeys(why for why in (whys.get(one.id, ""), _limit_line(one.why)) if why)
                )
        for brief in reply.rebrief:
            if brief.id in whys:
                update = {"intent": brief.intent.strip(), "done_when": brief.done_when.strip()}
                subtasks[brief.id] = subtasks[brief.id].model_copy(update={k: v for k, v in update.items() if v})
        new_specialists = {one.id: one.specialist for one in reply.reassign if one.id in whys}
        for name, specialist in new_specialists.items():
            if specialist == self.request.subtasks[name].specialist:
                self.faults.append(f"{name} is {specialist}'s as it is.")
            member, tier = self.run.members.get(specialist), subtasks[name].tier
            keeps_tier = member is None or not member.tiers or tier in member.tiers
            updates: dict[str, Any] = {"specialist": specialist, "tier": tier if keeps_tier else None}
            subtasks[name] = subtasks[name].model_copy(update=updates)
        for name, why in whys.items():
            reason = f"to {new_specialists[name]}: {why}" if name in new_specialists else why
            kind = "reassigned" if name in new_specialists else "rebriefed"
            self.changes.append(
                PlanChange.model_validate({"kind": kind, "subtask": name, "why": self._require_reason(name, reason)})
            )

    def _add_subtask(
        self,
        addition: _Addition,
        names: Mapping[str, str],
        replacements: Mapping[str, tuple[str, ...]],
        removed_ids: frozenset[str],
    ) -> Subtask:
        name = names[addition.id]
        replaced_id = addition.instead_of.strip()
        after = tuple(names.get(other, other) for other in addition.after if other != replaced_id)
        if replaced_id in replacements and not after:
            after = self.request.subtasks[replaced_id].spec.after
        after = self._rewire_dependencies(after, replacements, removed_ids)
        self.faults += [
            f"{name} cannot wait for {other}, which brought nothing."
            for other in after
            if (subtask := self.request.subtasks.get(other))
            and subtask.state in SETTLED_STATES
            and subtask.result is None
        ]
        self.changes.append(PlanChange(kind="added", subtask=name, why=self._require_reason(name, addition.why)))
        return Subtask(
            id=name,
            title=addition.title.strip() or name,
            intent=addition.intent.strip(),
            specialist=addition.specialist,
            after=after,
            needs=self._resolve_needs(addition, replaced_id if replaced_id in replacements else ""),
            done_when=addition.done_when.strip(),
        )

    def _resolve_needs(self, addition: _Addition, replaced_id: str) -> tuple[str, ...] | None:
        """Return the needs of an added subtask; if it names none, those of the subtask `replaced_id`, else None."""
        if addition.needs is not None and self.materials:
            return needs.match_materials(addition.needs, self.materials)
        return self.request.subtasks[replaced_id].spec.needs if replaced_id else None

    def _rewire_dependencies(
        self, after: Iterable[str], replacements: Mapping[str, tuple[str, ...]], removed_ids: frozenset[str]
    ) -> tuple[str, ...]:
        """Return the new dependencies of a subtask that waited for `after`.

        A replaced subtask becomes its replacements, and a needless one becomes its own dependencies.
        """
        dependencies: list[str] = []
        for name in after:
            if name in replacements:
                dependencies += replacements[name]
            elif name in removed_ids:
                dependencies += self._rewire_dependencies(
                    self.request.subtasks[name].spec.after, replacements, removed_ids
                )
            else:
                dependencies.append(name)
        return tuple(dict.fromkeys(dependencies))

    def _require_changeable(self, name: str, what: str) -> bool:
        if name in self.changeable_ids:
            return True
        is_known = name in self.request.subtasks
        self.faults.append(f"{name} cannot be {what}: {'it has started' if is_known else 'there is none'}.")
        return False

    def _require_reason(self, name: str, why: str) -> str:
        line = _limit_line(why)
        if not line:
            self.faults.append(f"The change of {name} has no reason.")
        return line


def _order_subtasks(
    remaining: list[Subtask], added_subtasks: list[Subtask], replacements: Mapping[str, tuple[str, ...]], old_plan: Plan
) -> tuple[Subtask, ...]:
    """Return the subtasks in order: replacements in the place of the replaced subtask, other added ones at the end."""
    there = {one.id: one for one in remaining}
    fresh = {one.id: one for one in added_subtasks}
    ordered_subtasks: list[Subtask] = []
    for one in old_plan.subtasks:
        ordered_subtasks += [fresh.pop(name) for name in replacements.get(one.id, ()) if name in fresh]
        ordered_subtasks += [there[one.id]] if one.id in there else []
    return (*ordered_subtasks, *fresh.values())


def _limit_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_WHY_LENGTH else line[: MAX_WHY_LENGTH - 1] + "…"


def _cap_faults(faults: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(faults))[:MAX_REVISION_FAULTS]
