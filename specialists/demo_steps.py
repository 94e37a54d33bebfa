"""Holds the steps of a demo against its crew, so that a step that nobody can take is told before anything runs."""

from __future__ import annotations

from specialists.crew import Crew
from specialists.files.frontmatter import CrewFault, did_you_mean
from specialists.loading.demo_file import Demo

ALWAYS = frozenset({"read_material", "search_material"})
"""Tools that no file lists: a specialist has them where there is material."""


def faults(demo: Demo, crew: Crew) -> list[CrewFault]:
    """Name the specialists and the tools in a demo's steps that the crew does not have, each at its line."""
    found: list[CrewFault] = []
    everyone = crew.everyone
    for name, steps in demo.rehearsal.steps.items() if demo.rehearsal else ():
        one = everyone.get(name)
        for step in steps:
            if one is None:
                text = f"there is no specialist {name}{did_you_mean(name, everyone)}; there are {', '.join(everyone)}"
                found.append(CrewFault(demo.path, step.line, text))
                break
            mine = {*one.toolbox, *ALWAYS}
            found += [
                CrewFault(demo.path, step.line, f"{name} has no tool {tool}{did_you_mean(tool, mine)}")
                for tool, _ in step.calls
                if tool not in mine
            ]
    return found
