"""A crew of two, a and b, with a crew file to try."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from specialists.crew import Crew
from specialists.registry import CrewError, load_crew
from specialists.tools.tool import Tool


def load(folder: Path, text: str, tools: Mapping[str, Tool] | None = None) -> Crew:
    """The crew with that crew file. Where there are `tools`, a has the tool look; b has none."""
    for name in ("a", "b"):
        own = "[look]" if tools and name == "a" else "[]"
        page = f"---\nname: {name}\ndescription: Works.\ntools: {own}\nmodel: fast\n---\nYou work.\n"
        (folder / f"{name}.md").write_text(page)
    (folder / "crew.yml").write_text(text)
    return load_crew(folder, tools or {})


def faults(folder: Path, text: str, tools: Mapping[str, Tool] | None = None) -> list[str]:
    """What is wrong with that crew file: a line each, after the file's name."""
    with pytest.raises(CrewError) as raised:
        load(folder, text, tools)
    return [str(fault).removeprefix(f"{folder}/crew.yml:") for fault in raised.value.faults]
