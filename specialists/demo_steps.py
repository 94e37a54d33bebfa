"""Holds the replies of a demo against its crew, so that a step that nobody can take is told before anything runs."""

from __future__ import annotations

from collections.abc import Sequence

from specialists.crew import Crew
from specialists.files.frontmatter import CrewFault, did_you_mean
from specialists.loading.demo_file import Demo, DemoStep
from specialists.turns.finish_tools import ESCALATE, HAND_OVER, RETURN

ALWAYS = frozenset({"read_material", "search_material", RETURN, ESCALATE, HAND_OVER})
"""Tools that no file lists: a specialist has them where there is material, and to end its work."""


def faults(demo: Demo, crew: Crew) -> list[CrewFault]:
    """Name the specialists and the tools in a demo's steps that the crew does not have, each at its line."""
    found: list[CrewFault] = []
    everyone = crew.everyone
    for name, steps in demo.replies.steps.items() if demo.replies else ():
        one = everyone.get(name)
        if one is None:
            text = f"there is no specialist {name}{did_you_mean(name, everyone)}; there are {', '.join(everyone)}"
            found += [CrewFault(demo.path, step.line, text) for step in steps[:1]]
            continue
        mine = {*one.toolbox, *ALWAYS}
        found += [
            CrewFault(demo.path, step.line, f"{name} has no tool {tool}{did_you_mean(tool, mine)}")
            for step in steps
            for tool, _ in step.calls
            if tool not in mine
        ]
        if not _ends_attempt(steps):
            text = f"the last step of {name} has to be {RETURN}: {{content: ..., confidence: 90}}"
            found += [CrewFault(demo.path, step.line, text) for step in steps[-1:]]
    return found


def _ends_attempt(steps: Sequence[DemoStep]) -> bool:
    return any(tool in {RETURN, HAND_OVER} for step in steps[-1:] for tool, _ in step.calls)
