"""Reads the skills of a crew: folders with a `SKILL.md`, which the specialists that name them read on demand."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from specialists.files import frontmatter
from specialists.files.frontmatter import (
    CrewFault,
    MarkdownPage,
    describe_value,
    read_invalid_keys,
    shorten_description,
    suggest_name,
)
from specialists.tools.tool import Tool, ToolOutcome, Workbench

FILE_NAME = "SKILL.md"
SKILLS_FOLDERS = ("skills", ".agents/skills", ".claude/skills")
"""The folders with skills inside a crew's folder. A usable skill hides those of its name in later folders."""
LONGEST_DESCRIPTION = 300
"""Most characters of a description in a prompt: every call of the specialist carries them."""
MAX_SKILLS = 100
"""Most entries of each of these folders that are looked at, in order of name."""


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill. A specialist's prompt has its name and description; `read_skill` reads its body.

    A skill grants no tools, whatever its file says. `is_public` is True if it holds no secrets: `metadata: {public:
    true}`.
    """

    name: str
    description: str
    folder: Path
    is_public: bool = False


def read_skills(folder: Path) -> tuple[dict[str, Skill], tuple[CrewFault, ...]]:
    """Return a crew's usable skills by name, and the faults of the others."""
    skills: dict[str, Skill] = {}
    warnings: list[CrewFault] = []
    for place in SKILLS_FOLDERS:
        if not (folder / place).is_dir():
            continue
        for path in sorted((folder / place).iterdir())[:MAX_SKILLS]:
            if path.name not in skills and (path / FILE_NAME).is_file():
                page = frontmatter.read_page(path / FILE_NAME)
                skill = _make_skill(page, path)
                warnings += page.faults
                skills |= {skill.name: skill} if skill is not None else {}
    return skills, tuple(warnings)


def _make_skill(page: MarkdownPage, folder: Path) -> Skill | None:
    if page.is_invalid_yaml:
        page.faults.clear()
        page.values = read_invalid_keys(
            page, ("name", "description", "license", "allowed-tools", "metadata", "compatibility")
        )
    if page.faults:
        return None
    name, description = page.values.get("name"), page.values.get("description")
    if name != folder.name:
        page.add_fault(f"the skill's name {name!r} is not that of its folder; call both the same", key="name")
    if not isinstance(description, str) or not description.strip():
        page.add_fault(
            "the skill has no description; say in a line what it is for, and when to read it", key="description"
        )
    if not page.body:
        page.add_fault("the skill is empty; write it below the front matter", key="name")
    if page.faults:
        return None
    metadata = page.values.get("metadata")
    is_public = isinstance(metadata, dict) and metadata.get("public") is True
    return Skill(folder.name, shorten_description(str(description), LONGEST_DESCRIPTION), folder, is_public)


def find_named_skills(page: MarkdownPage, skills: Mapping[str, Skill]) -> tuple[Skill, ...]:
    """Return the skills that a specialist's page names under `skills`. Faults are added to the page."""
    value = page.values.get("skills", [])
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        text = "skills must be a list of names of skills, such as [brand-voice]"
        page.add_fault(f"{text}: this is {describe_value(value)}", key="skills")
        return ()
    for name in names:
        if name not in skills:
            known_names = ", ".join(sorted(skills)) or "none"
            text = (
                f"there is no skill {name}{suggest_name(name, skills)}; there are {known_names}, in "
                f"{', '.join(SKILLS_FOLDERS)}"
            )
            page.add_fault(text, key="skills")
    return tuple(skills[name] for name in dict.fromkeys(names) if name in skills)


LONGEST_PART = 10_000
"""Most characters that one call returns."""
MAX_BYTES = 1_000_000
"""Most bytes of a file that are read."""
MAX_FILES = 50
"""Most files of a skill that are listed."""
SKILLS_ORIGIN = "skills"


class ReadSkillArguments(BaseModel):
    """The arguments of `read_skill`."""

    model_config = ConfigDict(extra="forbid")
    name: str
    file: str = ""
    start: int = Field(default=0, ge=0)


def make_read_skill_tool(skills: Sequence[Skill]) -> Tool:
    """Make the tool `read_skill` for these skills."""
    are_public = all(skill.is_public for skill in skills)
    return Tool(
        "read_skill",
        "read",
        ReadSkillArguments,
        _SkillReader(tuple(skills)).read_skill,
        public=are_public,
        origin=SKILLS_ORIGIN,
    )


@dataclass(frozen=True, slots=True)
class _SkillReader:
    skills: tuple[Skill, ...]

    async def read_skill(self, arguments: ReadSkillArguments, _workbench: Workbench) -> ToolOutcome:
        """Read a skill, or a file that it names; start: the character to go on from."""
        skill = next((one for one in self.skills if one.name == arguments.name), None)
        if skill is None:
            return ToolOutcome(f"There is no skill {arguments.name!r}. Yours: {self._join_names()}.", failed=True)
        return await asyncio.to_thread(_read_part, skill, arguments.file or FILE_NAME, arguments.start)

    def _join_names(self) -> str:
        return ", ".join(one.name for one in self.skills)


def _read_part(skill: Skill, name: str, start: int) -> ToolOutcome:
    folder = skill.folder.resolve()
    try:
        path = (folder / name).resolve()
        if not path.is_relative_to(folder) or not path.is_file():
            file_names = ", ".join(_list_files(folder)) or FILE_NAME
            return ToolOutcome(f"The skill {skill.name} has no file {name!r}. It has: {file_names}.", failed=True)
        with path.open("rb") as file:
            data = file.read(MAX_BYTES)
        text = data.decode("utf-8-sig", "strict" if len(data) < MAX_BYTES else "ignore")
    except (OSError, ValueError, RuntimeError) as error:
        return ToolOutcome(f"{name} of {skill.name} cannot be read as text ({type(error).__name__}).", failed=True)
    if name == FILE_NAME:
        text = text.partition("\n---")[2].partition("\n")[2].lstrip()
    part = text[start : start + LONGEST_PART]
    characters_left = len(text) - start - len(part)
    more = f"\n[{characters_left:,} characters follow: start={start + len(part)}]" if characters_left > 0 else ""
    others = [one for one in _list_files(folder) if one != FILE_NAME] if name == FILE_NAME and not start else []
    files_note = f"\n[Files of this skill: {', '.join(others)}]" if others else ""
    return ToolOutcome(f"{part}{more}{files_note}")


def _list_files(folder: Path) -> list[str]:
    """List the paths of a skill's files, relative to its folder; at most `MAX_FILES` of them."""
    paths = []
    for path in _walk_files(folder):
        paths.append(path.relative_to(folder).as_posix())
        if len(paths) == MAX_FILES:
            break
    return paths


def _walk_files(folder: Path, depth: int = 3) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.is_symlink():
            continue
        if path.is_dir() and depth:
            yield from _walk_files(path, depth - 1)
        elif path.is_file():
            yield path
