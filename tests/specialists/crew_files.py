"""Crews in files: pages of specialists, folders of them, and the faults that loading names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from specialists.crew import Crew
from specialists.registry import CrewError, load_crew
from specialists.tools.tool import Tool, ToolOutcome
from tests.specialists.scripted_model import LookArguments, Looker


async def _post(_arguments: LookArguments, _workbench: object) -> ToolOutcome:
    """Post."""
    return ToolOutcome("posted")


TOOLS = {name: Looker().tool(name) for name in ("look", "listen", "taste")} | {
    "post": Tool("post", "write", LookArguments, _post)
}


def page(_name: str, *lines: str, body: str = "You work.", **values: str) -> str:
    """A specialist's file. Keys stand from line 2 in a fixed order, then `lines`; an empty value leaves a key out."""
    keys = {"name": _name, "description": "Works.", "tools": "[]", "model": "fast", **values}
    front = [f"{key}: {value}" for key, value in keys.items() if value] + list(lines)
    return "\n".join(("---", *front, "---", body, ""))


def write_crew(folder: Path, /, **files: str | bytes) -> Path:
    """Write files by their paths below a folder; without an ending, `crew` is crew.yml and others are .md files."""
    for name, text in files.items():
        path = folder / name
        if not path.suffix:
            path = path.with_suffix(".yml" if path.name == "crew" else ".md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def load_files(folder: Path, tools: Mapping[str, Tool], /, **files: str | bytes) -> Crew:
    return load_crew(write_crew(folder, **files), tools)


def list_faults(folder: Path, tools: Mapping[str, Tool], /, **files: str | bytes) -> list[str]:
    """The faults of a crew as `file:line: text`, the folder left out."""
    with pytest.raises(CrewError) as raised:
        load_files(folder, tools, **files)
    lines = [str(fault) for fault in raised.value.faults]
    assert all(line in str(raised.value) for line in lines)
    return [line.removeprefix(f"{folder}/") for line in lines]


def make_pair(crew: str, tools: str = "[]") -> dict[str, str]:
    """The files of a crew of a, which has these tools, and b."""
    return {"a": page("a", tools=tools), "b": page("b"), "crew": crew}


def load_two(folder: Path, crew: str, tools: Mapping[str, Tool] | None = None) -> Crew:
    """Load a crew of a and b with that crew file; a has the tool look if there are tools."""
    return load_files(folder, tools or {}, **make_pair(crew, "[look]" if tools else "[]"))
