"""Reads the skills of a crew: folders with a `SKILL.md`, read on demand by the specialists that name them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill: its specialist's prompt carries its name and description, its body is read with `read_skill`.

    A skill grants no tool, whatever its file says.
    """

    name: str
    description: str
    folder: Path
