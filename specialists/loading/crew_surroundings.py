"""What a crew is read with: tools, skills and house rules, those around it and its own; and its specialists' pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from specialists.files import frontmatter
from specialists.files.frontmatter import CrewFault, MarkdownPage
from specialists.loading import crew_folders, foreign_agents, house_rules, skill_folders
from specialists.loading.skill_folders import Skill
from specialists.tools.tool import Tool
from specialists.tools.toolkit import Toolkit, ToolSettings

DEPTH_LIMIT = 3


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a crew is read with: what is there for it, and where it lies.

    `names` are those of the folders that lead to it from the outermost crew's.
    """

    tools: Mapping[str, Tool]
    settings: ToolSettings
    names: tuple[str, ...] = ()
    skills: Mapping[str, Skill] = field(default_factory=dict)
    house_rules: str = ""

    def inside(self, folder: Path) -> Surroundings:
        """Return those of a crew inside this one."""
        return replace(self, names=(*self.names, folder.name))


def add_own_parts(
    folder: Path, around: Surroundings, toolkits: tuple[Toolkit, ...]
) -> tuple[Surroundings, list[CrewFault]]:
    """Add what lies in a crew's folder for it and the crews inside it; what is odd about that is a warning."""
    skills, odd_skills = skill_folders.read(folder)
    rules, odd_rules = house_rules.read(folder)
    tools = {**around.tools, **{tool.name: tool for toolkit in toolkits for tool in toolkit.tools}}
    more = replace(around, tools=tools, skills={**around.skills, **skills}, house_rules=rules or around.house_rules)
    return more, [*odd_skills, *odd_rules]


def read_pages(folder: Path, crews: list[Path], around: Surroundings, faults: list[CrewFault]) -> list[MarkdownPage]:
    """Read the files of a crew's specialists; what lies in the wrong place is added to `faults`."""
    faults.extend(crew_folders.faults(folder))
    files = crew_folders.pages(folder, crews)
    faults.extend(
        CrewFault(one, 1, f"the file lies more than {DEPTH_LIMIT} levels deep; move it up")
        for one in files
        if _folder_depth(folder, one) > DEPTH_LIMIT
    )
    read = (frontmatter.read(one) for one in files if _folder_depth(folder, one) <= DEPTH_LIMIT)
    return [foreign_agents.translate_foreign_agent(page, around.tools, around.skills) for page in read]


def _folder_depth(folder: Path, path: Path) -> int:
    return len(path.relative_to(folder).parts)
