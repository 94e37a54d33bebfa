"""Reads what the planner wants to change in a plan under way, and builds the plan that follows. Pure.

The model says only what changes, each with its reason. The plan is put together here, so that nothing else can change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from handoff.contracts import SLASH, Material, Plan, PlanChange, Subtask
from handoff.engine.nested import AGAIN, count_subtasks_left
from handoff.engine.replan import list_changeable
from handoff.planning import needs, plan_check
from handoff.planning.plan_repair import mend
from handoff.state.job_state import SETTLED, PlanRun, RequestState
from handoff.state.state_values import ReplanTrigger
from handoff.text.reply_text import json_in

MAX_ADDED = 6
"""Subtasks that one revision may add."""
MAX_WHY = 200
MAX_FAULTS = 6
NOTHING = "The planner sees nothing to change"


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
    """The planner's reply: what is to change. Models write the fields in this order, the reason of it all first."""

    why: str = ""
    add: tuple[_Addition, ...] = ()
    drop: tuple[_Drop, ...] = ()
    reassign: tuple[_Move, ...] = ()
    rebrief: tuple[_Brief, ...] = ()


@dataclass(frozen=True, slots=True)
class Revision:
    """The outcome of a revision: the new plan with its changes, or the faults that keep the old one."""

    plan: Plan | None = None
    changes: tuple[PlanChange, ...] = ()
    faults: tuple[str, ...] = ()


def read_revision(
    text: str, ask: RequestState, run: PlanRun, trigger: ReplanTrigger, there: Sequence[Material] = ()
) -> Revision:
    """Build the plan that follows from the planner's reply. Never raises for anything that a model says.

    Args:
        text: JSON with `add`, `drop`, `reassign` and `rebrief`; it may be fenced or surrounded by prose.
        ask: The request.
        run: The run whose plan is revised. It must have one.
        trigger: What the planner was asked about.
        there: The material that parts may need.
    """
    try:
        reply = RevisionReply.model_validate_json(json_in(text))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the reply"
        return Revision(faults=(f"The planner gave no usable reply ({place}: {first['msg']}).",))
    if run.plan is None:
        return Revision(faults=("There is no plan to change.",))
    draft = _Draft(ask, run, run.plan, trigger, list_changeable(ask, trigger), there)
    plan = draft.plan(reply)
    if draft.faults:
        return Revision(faults=_cap_faults(draft.faults))
    if not draft.changes:
        return Revision(faults=(f"{NOTHING}{f': {why}' if (why := _limit_line(reply.why)) else ''}.",))
    plan, mended = mend(plan)
    faults = _find_new_faults(run, run.plan, plan)
    return (
        Revision(faults=_cap_faults(faults)) if faults else Revision(plan, _add_mending_reasons(draft.changes, mended))
    )


def _add_mending_reasons(changes: Sequence[PlanChange], mended: Sequence[str]) -> tuple[PlanChange, ...]:
    """Add what was mended to the reason of the first change, so that people can read it."""
    first, *rest = changes
    why = "; ".join((first.why, *(f"mended: {one}" for one in mended)))
    return (first.model_copy(update={"why": why}), *rest)


def _find_new_faults(run: PlanRun, old: Plan, plan: Plan) -> list[str]:
    """Return the new plan's faults without those of the old plan, some of which may have been let pass.

    Specialists that were made for the old plan are members by now, and a revision has no others made.
    """
    before, after = (one.model_copy(update={"made": ()}) for one in (old, plan))
    if faults := plan_check.check(after, run.members, mended=True):
        return list(faults)
    known = plan_check.check(before, run.members)
    return [fault for fault in plan_check.check(after, run.members) if fault not in known]


@dataclass
class _Draft:
    """A plan while it is put together from a reply. `free` are the ids of the subtasks that may be changed."""

    ask: RequestState
    run: PlanRun
    old: Plan
    trigger: ReplanTrigger
    free: frozenset[str]
    there: Sequence[Material] = ()
    changes: list[PlanChange] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def plan(self, reply: RevisionReply) -> Plan:
        """Return the plan that follows. Faults of the reply are collected in `faults`."""
        most = min(MAX_ADDED, count_subtasks_left(self.ask))
        if len(reply.add) > most:
            self.faults.append(f"The reply adds {len(reply.add)} subtasks; at most {most} are allowed.")
            return self.old
        names = {one.id: self._make_subtask_id(one.id) for one in reply.add}
        if len(set(names.values())) < len(reply.add):
            self.faults.append("Two new subtasks have one id; ids must differ.")
        instead = self._resolve_replacements(reply, names)
        gone = self._drop_subtasks(reply, instead)
        subtasks = {one.id: one for one in self.old.subtasks}
        self._reassign_and_rebrief(reply, subtasks, gone)
        after = {name: self._rewire_dependencies(one.after, instead, gone) for name, one in subtasks.items()}
        added = [self._add_subtask(one, names, instead, gone) for one in reply.add]
        for one in reply.add:
            for other in one.needed_by:
                name = names.get(other, other)
                if name in self.free and name in after and name not in gone:
                    after[name] = (*after[name], names[one.id])
                elif name in after:
                    self.faults.append(f"{name} cannot wait for {names[one.id]}: it has started or is dropped.")
        kept = [
            one.model_copy(update={"after": tuple(dict.fromkeys(after[name]))}) if name in self.free else one
            for name, one in subtasks.items()
            if name not in gone
        ]
        return self.old.model_copy(update={"subtasks": _order_subtasks(kept, added, instead, self.old)})

    def _make_subtask_id(self, short: str) -> str:
        """Return the id of an added subtask as it stands in the job: inside a subtask it carries that subtask's id."""
        outer = self.ask.work.get(self.run.within)
        name = short.strip()
        if outer is not None and not name.startswith(f"{self.run.within}{SLASH}"):
            name = f"{self.run.within}{SLASH}{name}" + (f"{AGAIN}{outer.attempt}" if outer.attempt > 1 else "")
        if name in self.ask.work:
            self.faults.append(f"There is a subtask {name!r} already; a new one needs another id.")
        return name

    def _resolve_replacements(self, reply: RevisionReply, names: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
        """Return the ids that are replaced, each with the ids of its replacements."""
        found: dict[str, tuple[str, ...]] = {}
        for one in reply.add:
            name = one.instead_of.strip()
            if name and self._may_change(name, "replaced"):
                found[name] = (*found.get(name, ()), names[one.id])
        for name, by in found.items():
            why = next(one.why for one in reply.add if one.instead_of.strip() == name)
            self.changes.append(PlanChange(kind="replaced", subtask=name, why=self._require_reason(name, why), by=by))
        return found

    def _drop_subtasks(self, reply: RevisionReply, instead: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
        """Return the ids that leave the plan: replaced or needless ones.

        What is given up stays, and is named as a gap.
        """
        gone = set(instead)
        for one in reply.drop:
            given_up = not one.needless and self.trigger.cause == "failure" and one.id == self.trigger.subtask
            if one.id in gone or given_up:  # only the ladder gives up a failed subtask
                continue
            if self._may_change(one.id, "dropped"):
                self.changes.append(
                    PlanChange(kind="dropped", subtask=one.id, why=self._require_reason(one.id, one.why))
                )
                gone |= {one.id} if one.needless else set()
        return frozenset(gone)

    def _reassign_and_rebrief(self, reply: RevisionReply, subtasks: dict[str, Subtask], gone: Iterable[str]) -> None:
        """Apply reassignments and new briefs to `subtasks`."""
        whys: dict[str, str] = {}
        given: tuple[_Move | _Brief, ...] = (*reply.reassign, *reply.rebrief)
        for one in given:
            if one.id in gone or any(change.subtask == one.id for change in self.changes):
                self.faults.append(f"{one.id} is dropped and changed at once.")
            elif self._may_change(one.id, "changed"):
                whys[one.id] = "; ".join(
                    dict.fromkeys(why for why in (whys.get(one.id, ""), _limit_line(one.why)) if why)
                )
        for brief in reply.rebrief:
            if brief.id in whys:
                update = {"intent": brief.intent.strip(), "done_when": brief.done_when.strip()}
                subtasks[brief.id] = subtasks[brief.id].model_copy(update={k: v for k, v in update.items() if v})
        moved = {one.id: one.specialist for one in reply.reassign if one.id in whys}
        for name, specialist in moved.items():
            if specialist == self.ask.work[name].specialist:
                self.faults.append(f"{name} is {specialist}'s as it is.")
            member, tier = self.run.members.get(specialist), subtasks[name].tier
            may_have = member is None or not member.tiers or tier in member.tiers
            theirs: dict[str, Any] = {"specialist": specialist, "tier": tier if may_have else None}
            subtasks[name] = subtasks[name].model_copy(update=theirs)
        for name, why in whys.items():
            told = f"to {moved[name]}: {why}" if name in moved else why
            kind = "reassigned" if name in moved else "rebriefed"
            self.changes.append(
                PlanChange.model_validate({"kind": kind, "subtask": name, "why": self._require_reason(name, told)})
            )

    def _add_subtask(
        self, one: _Addition, names: Mapping[str, str], instead: Mapping[str, tuple[str, ...]], gone: frozenset[str]
    ) -> Subtask:
        name = names[one.id]
        mine = one.instead_of.strip()
        after = tuple(names.get(other, other) for other in one.after if other != mine)
        if mine in instead and not after:
            after = self.ask.work[mine].subtask.after
        after = self._rewire_dependencies(after, instead, gone)
        self.faults += [
            f"{name} cannot wait for {other}, which brought nothing."
            for other in after
            if (work := self.ask.work.get(other)) and work.state in SETTLED and work.result is None
        ]
        self.changes.append(PlanChange(kind="added", subtask=name, why=self._require_reason(name, one.why)))
        return Subtask(
            id=name,
            title=one.title.strip() or name,
            intent=one.intent.strip(),
            specialist=one.specialist,
            after=after,
            needs=self._resolve_needs(one, mine if mine in instead else ""),
            done_when=one.done_when.strip(),
        )

    def _resolve_needs(self, one: _Addition, replaced: str) -> tuple[str, ...] | None:
        """Return the needs of an added subtask; if it names none, those of the subtask that it replaces."""
        if one.needs is not None and self.there:
            return needs.match_materials(one.needs, self.there)
        return self.ask.work[replaced].subtask.needs if replaced else None

    def _rewire_dependencies(
        self, after: Iterable[str], instead: Mapping[str, tuple[str, ...]], gone: frozenset[str]
    ) -> tuple[str, ...]:
        """Return the new dependencies: replacements for replaced ones, and a needless one's own dependencies."""
        found: list[str] = []
        for name in after:
            if name in instead:
                found += instead[name]
            elif name in gone:
                found += self._rewire_dependencies(self.ask.work[name].subtask.after, instead, gone)
            else:
                found.append(name)
        return tuple(dict.fromkeys(found))

    def _may_change(self, name: str, what: str) -> bool:
        if name in self.free:
            return True
        known = name in self.ask.work
        self.faults.append(f"{name} cannot be {what}: {'it has started' if known else 'there is none'}.")
        return False

    def _require_reason(self, name: str, why: str) -> str:
        line = _limit_line(why)
        if not line:
            self.faults.append(f"The change of {name} has no reason.")
        return line


def _order_subtasks(
    kept: list[Subtask], added: list[Subtask], instead: Mapping[str, tuple[str, ...]], old: Plan
) -> tuple[Subtask, ...]:
    """Order the subtasks: replacements stand where the replaced one stood, other new ones at the end."""
    there = {one.id: one for one in kept}
    fresh = {one.id: one for one in added}
    ordered: list[Subtask] = []
    for one in old.subtasks:
        ordered += [fresh.pop(name) for name in instead.get(one.id, ()) if name in fresh]
        ordered += [there[one.id]] if one.id in there else []
    return (*ordered, *fresh.values())


def _limit_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_WHY else line[: MAX_WHY - 1] + "…"


def _cap_faults(faults: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(faults))[:MAX_FAULTS]
