"""Chooses who gets a request, or a part of one, without a model: first by rules, then by the load of equals."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from handoff.contracts import Plan, Subtask
from handoff.planning.plan_brief import PlanBrief

LONGEST = 1_000
"""Characters of a request that rules look at. A longer request hardly needs one skill only: the planner reads it."""
TITLE_WORDS = 8

Files = Literal["any", "none", "some"] | tuple[str, ...]
"""The files that a request must have attached: any or none, none, some, or only files with these endings."""


@dataclass(frozen=True, slots=True)
class RoutingRule:
    """A routing rule of a crew's file.

    `to` are equals, one of which gets the request; `when` and `unless` are safe patterns.
    """

    name: str
    to: tuple[str, ...]
    when: tuple[re.Pattern[str], ...]
    unless: tuple[re.Pattern[str], ...] = ()
    files: Files = "any"
    done_when: str = ""

    def fits(self, text: str, files: Sequence[str]) -> bool:
        """Return True if the rule takes a request of that text, with files of those names attached."""
        if not self._takes_files(files):
            return False
        return not any(pattern.search(text) for pattern in self.unless) and any(
            pattern.search(text) for pattern in self.when
        )

    def _takes_files(self, files: Sequence[str]) -> bool:
        if isinstance(self.files, tuple):
            endings = tuple(f".{ending.lower()}" for ending in self.files)
            return bool(files) and all(name.lower().endswith(endings) for name in files)
        return self.files == "any" or bool(files) == (self.files == "some")


@dataclass(frozen=True, slots=True)
class KnownLoad:
    """The known load of a specialist.

    `waiting` is the number of attempts under way, `seconds` what one attempt takes (None: not known yet), and `out` is
    True if its breaker is open.
    """

    waiting: int = 0
    seconds: float | None = None
    out: bool = False


Loads = Callable[[str], KnownLoad]


@dataclass(frozen=True, slots=True)
class RoutedPlan:
    """A plan that no model made, with its reasons."""

    plan: Plan
    rule: str
    reasons: tuple[str, ...]


def route(brief: PlanBrief, rules: Sequence[RoutingRule], loads: Loads) -> RoutedPlan | None:
    """Return a plan of one subtask; None if the planner has to decide.

    The planner decides if no rule fits, if several fit that lead to different specialists (that is more than one
    skill), if the request is long, and if it may refer to what was said earlier in the thread.
    """
    text = " ".join(brief.text.split())
    if not text or len(text) > LONGEST or brief.file_faults or brief.earlier:
        return None
    files = [file.name for file in brief.files]
    fit = [rule for rule in rules if rule.fits(text, files)]
    if not fit or any(set(rule.to) != set(fit[0].to) for rule in fit):
        return None
    rule = fit[0]
    name, why = choose_lightest(rule.to, loads)
    reason = f"rule {rule.name}: {name} alone, without asking the planner"
    return RoutedPlan(make_single_plan(brief.text, name, rule.done_when), rule.name, (reason, *([why] if why else [])))


FIRST = "first_responder"
"""The id of the subtask of a first responder: it stays beside the plan that the planner makes after it."""


def make_single_plan(text: str, name: str, done_when: str = "", *, subtask: str = "request") -> Plan:
    """Return a plan of one subtask: one specialist gets the text as it stands, with a title made from it."""
    words = text.split()
    title = " ".join(words[:TITLE_WORDS]) + ("…" if len(words) > TITLE_WORDS else "")
    part = Subtask(
        id=subtask,
        title=title[:1].upper() + title[1:] or "Answer the request",
        intent=text.strip(),
        specialist=name,
        done_when=done_when or "It answers the task as it is worded.",
    )
    return Plan(goal=" ".join(words), subtasks=(part,))


def spread_load(plan: Plan, equals: Sequence[tuple[str, ...]], loads: Loads) -> tuple[Plan, tuple[str, ...]]:
    """Give each subtask of a specialist that has equals to the one with the least load.

    Return the plan and the reasons.

    Subtasks that this plan hands out count as load too, so that parts side by side go to different specialists.
    """
    group = {name: names for names in equals for name in names}
    given: Counter[str] = Counter()

    def load(name: str) -> KnownLoad:
        known = loads(name)
        return KnownLoad(known.waiting + given[name], known.seconds, known.out)

    subtasks, reasons = [], []
    for subtask in plan.subtasks:
        name, why = choose_lightest(group.get(subtask.specialist, (subtask.specialist,)), load)
        given[name] += 1
        subtasks.append(subtask.model_copy(update={"specialist": name}))
        if why:
            reasons.append(f"{subtask.id}: {why}")
    return plan.model_copy(update={"subtasks": tuple(subtasks)}), tuple(reasons)


def choose_lightest(names: Sequence[str], loads: Loads) -> tuple[str, str]:
    """Return which of the equals would be done first, and why in a few words (empty if there is no choice).

    A specialist whose breaker is open comes last. A tie goes to the one named first.
    """
    if len(names) == 1:
        return names[0], ""
    known: Mapping[str, KnownLoad] = {name: loads(name) for name in names}
    times = [load.seconds for load in known.values() if load.seconds is not None]
    usual = sum(times) / len(times) if times else 1.0

    def rank(name: str) -> tuple[bool, float]:
        load = known[name]
        return load.out, (load.waiting + 1) * (usual if load.seconds is None else load.seconds)

    chosen = min(names, key=rank)
    return chosen, f"{chosen} of {_describe_loads(known)}"


def _describe_loads(known: Mapping[str, KnownLoad]) -> str:
    told = []
    for name, load in known.items():
        seconds = "" if load.seconds is None else f", {load.seconds:.1f} s each"
        told.append(f"{name} ({load.waiting} under way{seconds}{', breaker open' if load.out else ''})")
    return ", ".join(told)
