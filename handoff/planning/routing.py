"""Chooses the specialist of a request or subtask without a model: by routing rules, and by load among equals."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from handoff.contracts import Plan, Subtask
from handoff.planning.plan_brief import PlanBrief
from handoff.text.capitalization import capitalize_first

MAX_ROUTED_LENGTH = 1_000
"""The most characters of a request that rules may route. A longer one probably needs more than one skill."""
MAX_TITLE_WORDS = 8
"""The most words of a title that is made from a request."""

FilesCondition = Literal["any", "none", "some"] | tuple[str, ...]
"""The condition on attached files: `any` (with or without files), `none`, `some`, or only files with these endings."""


@dataclass(frozen=True, slots=True)
class RoutingRule:
    """A routing rule of a crew's file."""

    name: str
    to: tuple[str, ...]
    """The specialists for the request. The one with the least load gets it."""
    when: tuple[re.Pattern[str], ...]
    """The patterns of which at least one must match the request. None of them can take long to match."""
    unless: tuple[re.Pattern[str], ...] = ()
    """The patterns of which none may match the request."""
    files: FilesCondition = "any"
    done_when: str = ""
    """The acceptance criterion; empty: a general one."""

    def fits(self, text: str, files: Sequence[str]) -> bool:
        """Return True if the rule applies to a request with that text and with attached files of those names."""
        if not self._accepts_files(files):
            return False
        return not any(pattern.search(text) for pattern in self.unless) and any(
            pattern.search(text) for pattern in self.when
        )

    def _accepts_files(self, files: Sequence[str]) -> bool:
        if isinstance(self.files, tuple):
            endings = tuple(f".{ending.lower()}" for ending in self.files)
            return bool(files) and all(name.lower().endswith(endings) for name in files)
        return self.files == "any" or bool(files) == (self.files == "some")


@dataclass(frozen=True, slots=True)
class KnownLoad:
    """The load of a specialist, as far as it is known."""

    running_attempts: int = 0
    """The number of running attempts."""
    attempt_seconds: float | None = None
    """The average seconds of one attempt; None: not known yet."""
    has_open_breaker: bool = False
    """True if its breaker is open."""


LoadReader = Callable[[str], KnownLoad]
"""Returns the load of the specialist with that name."""


@dataclass(frozen=True, slots=True)
class RoutedPlan:
    """The plan that the routing rule `rule` made, with the reasons for the trace."""

    plan: Plan
    rule: str
    reasons: tuple[str, ...]


def route_request(brief: PlanBrief, rules: Sequence[RoutingRule], get_load: LoadReader) -> RoutedPlan | None:
    """Route a request by rules: return a plan of one subtask, or None if the planner has to decide.

    The planner decides if no rule fits, if several rules with different specialists fit, if the request is empty or
    long, if a file could not be read, or if the thread has earlier requests, to which the request may refer.
    """
    text = " ".join(brief.text.split())
    if not text or len(text) > MAX_ROUTED_LENGTH or brief.file_faults or brief.earlier_requests:
        return None
    files = [file.name for file in brief.files]
    matching_rules = [rule for rule in rules if rule.fits(text, files)]
    if not matching_rules or any(set(rule.to) != set(matching_rules[0].to) for rule in matching_rules):
        return None
    rule = matching_rules[0]
    name, why = choose_least_loaded(rule.to, get_load)
    reason = f"rule {rule.name}: {name} alone, without asking the planner"
    return RoutedPlan(make_single_plan(brief.text, name, rule.done_when), rule.name, (reason, *([why] if why else [])))


FIRST_RESPONDER_ID = "first_responder"
"""The id of a first responder's subtask, which stays in the state beside the planner's later plan."""


def make_single_plan(text: str, name: str, done_when: str = "", *, subtask: str = "request") -> Plan:
    """Return a plan of one subtask in which the specialist `name` gets the text unchanged."""
    words = text.split()
    title = " ".join(words[:MAX_TITLE_WORDS]) + ("…" if len(words) > MAX_TITLE_WORDS else "")
    part = Subtask(
        id=subtask,
        title=capitalize_first(title) or "Answer the request",
        intent=text.strip(),
        specialist=name,
        done_when=done_when or "It answers the task as it is worded.",
    )
    return Plan(goal=" ".join(words), subtasks=(part,))


def spread_load(plan: Plan, equals: Sequence[tuple[str, ...]], get_load: LoadReader) -> tuple[Plan, tuple[str, ...]]:
    """Give each subtask to the least loaded specialist among its specialist's equals. Return the plan and the reasons.

    The subtasks of this plan count as load, too, so parallel subtasks go to different specialists.
    """
    group = {name: names for names in equals for name in names}
    assigned_counts: Counter[str] = Counter()

    def get_current_load(name: str) -> KnownLoad:
        load = get_load(name)
        return KnownLoad(load.running_attempts + assigned_counts[name], load.attempt_seconds, load.has_open_breaker)

    subtasks, reasons = [], []
    for subtask in plan.subtasks:
        name, why = choose_least_loaded(group.get(subtask.specialist, (subtask.specialist,)), get_current_load)
        assigned_counts[name] += 1
        subtasks.append(subtask.model_copy(update={"specialist": name}))
        if why:
            reasons.append(f"{subtask.id}: {why}")
    return plan.model_copy(update={"subtasks": tuple(subtasks)}), tuple(reasons)


def choose_least_loaded(names: Sequence[str], get_load: LoadReader) -> tuple[str, str]:
    """Return the specialist likely to finish first, and the reason in a few words (empty if there is only one).

    A specialist with an open breaker comes last. A tie goes to the one named first.
    """
    if len(names) == 1:
        return names[0], ""
    loads: Mapping[str, KnownLoad] = {name: get_load(name) for name in names}
    times = [load.attempt_seconds for load in loads.values() if load.attempt_seconds is not None]
    usual = sum(times) / len(times) if times else 1.0

    def rank_specialist(name: str) -> tuple[bool, float]:
        load = loads[name]
        return load.has_open_breaker, (load.running_attempts + 1) * (
            usual if load.attempt_seconds is None else load.attempt_seconds
        )

    chosen_name = min(names, key=rank_specialist)
    return chosen_name, f"{chosen_name} of {_describe_loads(loads)}"


def _describe_loads(loads: Mapping[str, KnownLoad]) -> str:
    descriptions = []
    for name, load in loads.items():
        seconds = "" if load.attempt_seconds is None else f", {load.attempt_seconds:.1f} s each"
        descriptions.append(
            f"{name} ({load.running_attempts} under way{seconds}{', breaker open' if load.has_open_breaker else ''})"
        )
    return ", ".join(descriptions)
