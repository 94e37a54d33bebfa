"""The surroundings in which a crew's files are read; readers of its house rules and its specialists' pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from handoff.text.headings import demote_headings
from specialists.files import frontmatter
from specialists.files.frontmatter import CrewFault, MarkdownPage
from specialists.loading import claude_agents, crew_folders, skill_folders
from specialists.loading.skill_folders import Skill
from specialists.tools.tool import Tool
from specialists.tools.toolkit import Toolkit, ToolSettings

MAX_FOLDER_DEPTH = 3


@dataclass(frozen=True, slots=True)
class CrewContext:
    """What is available to a crew when its files are read: tools, settings, skills and house rules.

    `folder_names` are the names of the folders from the outermost crew's down to this crew's; the outermost is left
    out.
    """

    tools: Mapping[str, Tool]
    settings: ToolSettings
    folder_names: tuple[str, ...] = ()
    skills: Mapping[str, Skill] = field(default_factory=dict)
    house_rules: str = ""

    def make_for_inner_crew(self, folder: Path) -> CrewContext:
        """Return the surroundings of the crew in `folder`, which lies inside this one."""
        return replace(self, folder_names=(*self.folder_names, folder.name))


def add_crew_parts(
    folder: Path, surroundings: CrewContext, toolkits: tuple[Toolkit, ...]
) -> tuple[CrewContext, list[CrewFault]]:
    """Add the tools, skills and house rules in a crew's folder, for the crew and the crews inside it.

    Returns a pair of (surroundings, warnings).
    """
    skills, odd_skills = skill_folders.read_skills(folder)
    rules, odd_rules = read_house_rules(folder)
    tools = {**surroundings.tools, **{tool.name: tool for toolkit in toolkits for tool in toolkit.tools}}
    more = replace(
        surroundings,
        tools=tools,
        skills={**surroundings.skills, **skills},
        house_rules=rules or surroundings.house_rules,
    )
    return more, [*odd_skills, *odd_rules]


def read_pages(
    folder: Path, crews: list[Path], surroundings: CrewContext, faults: list[CrewFault]
) -> list[MarkdownPage]:
    """Read the pages of a crew's specialists. Files that are misplaced or too deep in folders become `faults`."""
    faults.extend(crew_folders.find_misplaced_files(folder))
    files = crew_folders.list_specialist_files(folder, crews)
    faults.extend(
        CrewFault(one, 1, f"the file lies more than {MAX_FOLDER_DEPTH} levels deep; move it up")
        for one in files
        if _count_folder_levels(folder, one) > MAX_FOLDER_DEPTH
    )
    pages = (frontmatter.read_page(one) for one in files if _count_folder_levels(folder, one) <= MAX_FOLDER_DEPTH)
    return [claude_agents.translate_foreign_agent(page, surroundings.tools, surroundings.skills) for page in pages]


def _count_folder_levels(folder: Path, path: Path) -> int:
    return len(path.relative_to(folder).parts)


HOUSE_RULE_FILES = ("AGENTS.md", "CLAUDE.md")
MAX_HOUSE_RULES_LENGTH = 3_000
"""The most characters of both files together, since many model calls contain them."""
MAX_HOUSE_RULES_BYTES = 200_000


def read_house_rules(folder: Path) -> tuple[str, tuple[CrewFault, ...]]:
    """Return a folder's house rules as one text, each file under its name ("" if there are none), and warnings.

    Warnings name files that are cut or cannot be read. A file that says the same as the one before it, or only points
    to it (`@AGENTS.md`), is left out.
    """
    texts: dict[str, str] = {}
    parts: list[str] = []
    warnings: list[CrewFault] = []
    room = MAX_HOUSE_RULES_LENGTH
    for path in (folder / name for name in HOUSE_RULE_FILES):
        if not path.is_file():
            continue
        try:
            with path.open("rb") as file:
                text = file.read(MAX_HOUSE_RULES_BYTES).decode("utf-8-sig", "ignore").strip()
        except OSError as error:
            text = f"the house rules cannot be read: {error.strerror}; check the permissions"
            warnings.append(CrewFault(path, 1, text))
            continue
        if not text or text in texts.values() or text in {f"@{one}" for one in texts}:
            continue
        texts[path.name] = text
        if len(text) > room:
            words = f"it has {len(text):,} characters, and only {room:,} of them are used; put what matters first"
            warnings.append(CrewFault(path, 1, words))
        if kept_text := demote_headings(text[:room]):
            parts.append(f"# House rules ({path.name})\n{kept_text}")
        room = max(0, room - len(text))
    return "\n\n".join(parts), tuple(warnings)
