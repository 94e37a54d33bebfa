"""Who gets a request, or a part of one, where no model is needed to say: rules first, then the load of equals."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from handoff.contracts import Plan, Subtask
from handoff.planning.plan_brief import PlanBrief

LONGEST = 1_000
"""Characters of a request that rules look at. A longer one is no request of one skill: the planner reads it."""
TITLE_WORDS = 8

Files = Literal["any", "none", "some"] | tuple[str, ...]
"""What a request must have attached: whatever, nothing, something, or only files whose names end so."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of a crew's file. `to` are equals of which one gets the request; `when` and `unless` are safe patterns."""

    name: str
    to: tuple[str, ...]
    when: tuple[re.Pattern[str], ...]
    unless: tuple[re.Pattern[str], ...] = ()
    files: Files = "any"
    done_when: str = ""

    def fits(self, text: str, files: Sequence[str]) -> bool:
        """Whether it takes a request of that text, with files of those names attached."""
        if not self._takes(files):
            return False
        return not any(pattern.search(text) for pattern in self.unless) and any(
            pattern.search(text) for pattern in self.when
        )

    def _takes(self, files: Sequence[str]) -> bool:
        if isinstance(self.files, tuple):
            endings = tuple(f".{ending.lower()}" for ending in self.files)
            return bool(files) and all(name.lower().endswith(endings) for name in files)
        return self.files == "any" or bool(files) == (self.files == "some")


@dataclass(frozen=True, slots=True)
class Load:
    """What is known of a specialist's load.

    `waiting` are attempts under way, `seconds` what one takes (None: not known yet), `out`: its breaker is open.
    """

    waiting: int = 0
    seconds: float | None = None
    out: bool = False


Loads = Callable[[str], Load]


@dataclass(frozen=True, slots=True)
class Routed:
    """A plan that no model made, and why it is this one."""

    plan: Plan
    rule: str
    reasons: tuple[str, ...]


def route(brief: PlanBrief, rules: Sequence[Rule], loads: Loads) -> Routed | None:
    """A plan of one subtask, or None where the planner has to decide.

    It does where no rule fits, where several fit that lead to different specialists (that is more than one
    skill), where the request is long, and where it may refer to what was said earlier in the thread.
    """
    text = " ".join(brief.text.split())
    if not text or len(text) > LONGEST or brief.file_faults or brief.earlier:
        return None
    files = [file.name for file in brief.files]
    fit = [rule for rule in rules if rule.fits(text, files)]
    if not fit or any(set(rule.to) != set(fit[0].to) for rule in fit):
        return None
    rule = fit[0]
    name, why = lightest(rule.to, loads)
    reason = f"rule {rule.name}: {name} alone, without asking the planner"
    words = text.split()
    title = " ".join(words[:TITLE_WORDS]) + ("…" if len(words) > TITLE_WORDS else "")
    subtask = Subtask(
        id="request",
        title=title[:1].upper() + title[1:],
        intent=brief.text.strip(),
        specialist=name,
        done_when=rule.done_when or "It answers the task as it is worded.",
    )
    return Routed(Plan(goal=text, subtasks=(subtask,)), rule.name, (reason, *([why] if why else [])))


def spread(plan: Plan, equals: Sequence[tuple[str, ...]], loads: Loads) -> tuple[Plan, tuple[str, ...]]:
    """The plan with each part of a specialist that has equals given to the lightest of them, and why.

    What this plan itself gives out counts as load too, so that parts side by side go to different ones.
    """
    group = {name: names for names in equals for name in names}
    given: Counter[str] = Counter()

    def load(name: str) -> Load:
        known = loads(name)
        return Load(known.waiting + given[name], known.seconds, known.out)

    subtasks, reasons = [], []
    for subtask in plan.subtasks:
        name, why = lightest(group.get(subtask.specialist, (subtask.specialist,)), load)
        given[name] += 1
        subtasks.append(subtask.model_copy(update={"specialist": name}))
        if why:
            reasons.append(f"{subtask.id}: {why}")
    return plan.model_copy(update={"subtasks": tuple(subtasks)}), tuple(reasons)


def lightest(names: Sequence[str], loads: Loads) -> tuple[str, str]:
    """Who of equals would be done first, and why in a few words (empty where there is no choice).

    One whose breaker is open comes last. A tie goes to the one named first.
    """
    if len(names) == 1:
        return names[0], ""
    known: Mapping[str, Load] = {name: loads(name) for name in names}
    times = [load.seconds for load in known.values() if load.seconds is not None]
    usual = sum(times) / len(times) if times else 1.0

    def rank(name: str) -> tuple[bool, float]:
        load = known[name]
        return load.out, (load.waiting + 1) * (usual if load.seconds is None else load.seconds)

    chosen = min(names, key=rank)
    return chosen, f"{chosen} of {_told(known)}"


def _told(known: Mapping[str, Load]) -> str:
    told = []
    for name, load in known.items():
        seconds = "" if load.seconds is None else f", {load.seconds:.1f} s each"
        told.append(f"{name} ({load.waiting} under way{seconds}{', breaker open' if load.out else ''})")
    return ", ".join(told)
