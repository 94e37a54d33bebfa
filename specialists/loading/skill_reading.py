"""Reads the skills that a specialist names, and the files beside them: none that lies outside of their folders."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from specialists.loading.skill_folders import FILE, Skill
from specialists.tools.tool import Tool, ToolOutcome, Workbench

PART = 10_000
"""Characters that are given at a time."""
BYTES = 1_000_000
"""Bytes of a file that are read at most."""
FILES = 50
"""Files of a skill that are listed."""
ORIGIN = "skills"


class ReadSkill(BaseModel):
    """The arguments of `read_skill`."""

    model_config = ConfigDict(extra="forbid")
    name: str
    file: str = ""
    start: int = Field(default=0, ge=0)


def reader_of(skills: Sequence[Skill]) -> Tool:
    """Make the tool that reads these skills."""
    public = all(skill.public for skill in skills)
    return Tool("read_skill", "read", ReadSkill, _Shelf(tuple(skills)).read_skill, public=public, origin=ORIGIN)


@dataclass(frozen=True, slots=True)
class _Shelf:
    skills: tuple[Skill, ...]

    async def read_skill(self, arguments: ReadSkill, _workbench: Workbench) -> ToolOutcome:
        """Read a skill, or a file that it names; start: the character to go on from."""
        skill = next((one for one in self.skills if one.name == arguments.name), None)
        if skill is None:
            return ToolOutcome(f"There is no skill {arguments.name!r}. Yours: {self._join_names()}.", failed=True)
        return await asyncio.to_thread(_read, skill, arguments.file or FILE, arguments.start)

    def _join_names(self) -> str:
        return ", ".join(one.name for one in self.skills)


def _read(skill: Skill, name: str, start: int) -> ToolOutcome:
    folder = skill.folder.resolve()
    try:
        path = (folder / name).resolve()
        if not path.is_relative_to(folder) or not path.is_file():
            there = ", ".join(_list_files(folder)) or FILE
            return ToolOutcome(f"The skill {skill.name} has no file {name!r}. It has: {there}.", failed=True)
        with path.open("rb") as file:
            data = file.read(BYTES)
        text = data.decode("utf-8-sig", "strict" if len(data) < BYTES else "ignore")
    except (OSError, ValueError, RuntimeError) as error:
        return ToolOutcome(f"{name} of {skill.name} cannot be read as text ({type(error).__name__}).", failed=True)
    if name == FILE:
        text = text.partition("\n---")[2].partition("\n")[2].lstrip()
    part = text[start : start + PART]
    left = len(text) - start - len(part)
    more = f"\n[{left:,} characters follow: start={start + len(part)}]" if left > 0 else ""
    others = [one for one in _list_files(folder) if one != FILE] if name == FILE and not start else []
    beside = f"\n[Files of this skill: {', '.join(others)}]" if others else ""
    return ToolOutcome(f"{part}{more}{beside}")


def _list_files(folder: Path) -> list[str]:
    """List the files of a skill by their paths inside it, as far as they are listed."""
    found = []
    for path in _walk_files(folder):
        found.append(path.relative_to(folder).as_posix())
        if len(found) == FILES:
            break
    return found


def _walk_files(folder: Path, depth: int = 3) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.is_symlink():
            continue
        if path.is_dir() and depth:
            yield from _walk_files(path, depth - 1)
        elif path.is_file():
            yield path
