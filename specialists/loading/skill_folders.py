"""Reads the skills of a crew: folders with a `SKILL.md`, read on demand by the specialists that name them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from specialists.files import frontmatter
from specialists.files.frontmatter import CrewFault, MarkdownPage, did_you_mean, form_of
from specialists.files.plain_keys import read_plainly, shorten_description

FILE = "SKILL.md"
PLACES = ("skills", ".agents/skills", ".claude/skills")
"""Where they lie in a crew's folder; of two of one name the first counts."""
LINE_LIMIT = 300
"""Characters of a description that stand in a prompt: every call of the specialist carries them."""
MOST = 100
"""Skills of a crew."""


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill: its specialist's prompt carries its name and description, its body is read with `read_skill`.

    A skill grants no tool, whatever its file says. `public` says that it holds no secrets: `metadata: {public: true}`.
    """

    name: str
    description: str
    folder: Path
    public: bool = False


def read(folder: Path) -> tuple[dict[str, Skill], tuple[CrewFault, ...]]:
    """Read the skills of a crew's folder by name, and what is wrong with those that cannot be used."""
    skills: dict[str, Skill] = {}
    warnings: list[CrewFault] = []
    for place in PLACES:
        if not (folder / place).is_dir():
            continue
        for path in sorted((folder / place).iterdir())[:MOST]:
            if path.name not in skills and (path / FILE).is_file():
                page = frontmatter.read(path / FILE)
                skill = _make_skill(page, path)
                warnings += page.faults
                skills |= {skill.name: skill} if skill is not None else {}
    return skills, tuple(warnings)


def _make_skill(page: MarkdownPage, folder: Path) -> Skill | None:
    if page.unclear:
        page.faults.clear()
        page.values = read_plainly(
            page, ("name", "description", "license", "allowed-tools", "metadata", "compatibility")
        )
    if page.faults:
        return None
    name, description = page.values.get("name"), page.values.get("description")
    if name != folder.name:
        page.fault(f"the skill's name {name!r} is not that of its folder; call both the same", key="name")
    if not isinstance(description, str) or not description.strip():
        page.fault("the skill has no description; say in a line what it is for, and when to read it", key="description")
    if not page.body:
        page.fault("the skill is empty; write it below the front matter", key="name")
    if page.faults:
        return None
    metadata = page.values.get("metadata")
    public = isinstance(metadata, dict) and metadata.get("public") is True
    return Skill(folder.name, shorten_description(str(description), LINE_LIMIT), folder, public)


def find_named_skills(page: MarkdownPage, skills: Mapping[str, Skill]) -> tuple[Skill, ...]:
    """Return the skills that a specialist's page names under `skills`. What is wrong is added to its faults."""
    value = page.values.get("skills", [])
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        text = "skills must be a list of names of skills, such as [brand-voice]"
        page.fault(f"{text}: this is {form_of(value)}", key="skills")
        return ()
    for name in names:
        if name not in skills:
            there = ", ".join(sorted(skills)) or "none"
            text = f"there is no skill {name}{did_you_mean(name, skills)}; there are {there}, in {', '.join(PLACES)}"
            page.fault(text, key="skills")
    return tuple(skills[name] for name in dict.fromkeys(names) if name in skills)
