"""Finds two subtasks that run side by side and each decide the same thing ("define the schema").

The check is modest: both must say that they define it, in the same words, about the same object.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import combinations

from handoff.contracts import Plan

_DECIDING = r"define|design|choose|decide(?:\s+on)?|agree(?:\s+on)?|specify|establish|settle(?:\s+on)?|draw\s+up|pick"
_DECIDED = (
    r"schema|data\s+model|api|interface|contract|protocol|file\s+format|format|naming\s+scheme|naming|terminology|"
    r"glossary|taxonomy|categories|metrics?|scoring|scale|criteria|template|outline|style\s+guide|colou?r\s+palette"
)
_WORD = r"[\w.'\u2019-]+"
_DECISION = re.compile(
    rf"\b(?:{_DECIDING})\s+(?P<before>(?:{_WORD}\s+){{0,4}}?)(?P<what>{_DECIDED})\b"
    rf"(?P<after>(?:\s+(?:for|of|between|in)(?:\s+{_WORD}){{1,4}})?)",
    re.IGNORECASE,
)
_LITTLE = re.compile(
    r"(a|an|the|this|that|its|their|our|own|one|common|shared|for|of|between|in|and|or|both|new|tables?|files?|data)",
    re.IGNORECASE,
)


def faults_of(plan: Plan) -> Iterator[str]:
    """Yield one fault for each pair. The plan's dependencies must be valid and without a cycle.

    Under the strategy `select` nothing is a fault: rivals are supposed to decide the same.
    """
    if plan.strategy == "select":
        return
    behind = {subtask.id: _dependencies_of(plan, subtask.id) for subtask in plan.subtasks}
    decided = {subtask.id: _find_decisions(subtask.intent) for subtask in plan.subtasks}
    for one, other in combinations(decided, 2):
        if one in behind[other] or other in behind[one]:
            continue
        before = [decided[name] for name in behind[one] & behind[other]]
        for what in decided[one].keys() & decided[other].keys():
            if _share_subject(decided[one][what], decided[other][what]) and not any(
                what in earlier for earlier in before
            ):
                yield (
                    f"Subtasks {one!r} and {other!r} run side by side and each define the {what}; "
                    "let one subtask define it first, and both wait for that."
                )


def _find_decisions(intent: str) -> dict[str, frozenset[str]]:
    """Return what a brief asks to define, each with the words that say of what."""
    return {
        " ".join(found["what"].lower().split()): frozenset(
            word.lower() for word in re.findall(_WORD, found["before"] + found["after"]) if not _LITTLE.fullmatch(word)
        )
        for found in _DECISION.finditer(intent)
    }


def _share_subject(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return True if both are about the same thing: they share a word, or neither has any."""
    return bool(one & other) or not (one or other)


def _dependencies_of(plan: Plan, name: str) -> frozenset[str]:
    """Return the ids of everything that a subtask waits for, directly or through others."""
    after: Mapping[str, tuple[str, ...]] = {subtask.id: subtask.after for subtask in plan.subtasks}
    found: set[str] = set()
    left = list(after[name])
    while left:
        other = left.pop()
        if other not in found:
            found.add(other)
            left += after[other]
    return frozenset(found)
