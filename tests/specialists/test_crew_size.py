"""From when on crews inside a crew are suggested."""

from __future__ import annotations

from pathlib import Path

import pytest

from specialists.crew import Crew
from specialists.crew_size import FLAT, suggest_inner_crews
from specialists.registry import load_crew
from specialists.several_crews import Crews


def crew_of(folder: Path, size: int, text: str = "") -> Crew:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(size):
        page = f"---\nname: s{number}\ndescription: Works.\ntools: []\nmodel: fast\n---\nYou work.\n"
        (folder / f"s{number}.md").write_text(page)
    (folder / "crew.yml").write_text(text)
    return load_crew(folder, {})


def test_many_side_by_side_are_told_to_be_put_into_crews(tmp_path: Path) -> None:
    assert suggest_inner_crews(crew_of(tmp_path / "few", FLAT - 1)) == ""
    assert suggest_inner_crews(crew_of(tmp_path / "many", FLAT)).startswith("8 specialists are in one crew")
    fixed = "pipeline:\n- {specialist: s0, title: One, brief: Find the bugs of it.}\n"
    assert suggest_inner_crews(crew_of(tmp_path / "fixed", FLAT, fixed)) == "", "no planner chooses among them"
    crew_of(tmp_path / "outer" / "law", FLAT, "description: Knows the law.\n")
    assert "in law, 8 specialists" in suggest_inner_crews(crew_of(tmp_path / "outer", 1))


def test_several_crews_have_different_names(tmp_path: Path) -> None:
    one, other = crew_of(tmp_path / "a" / "desk", 1), crew_of(tmp_path / "b" / "desk", 1)
    with pytest.raises(ValueError, match="two crews are called desk"):
        Crews.of([one, other])
    with pytest.raises(ValueError, match="there is no crew"):
        Crews.of([])
    alone = Crews.of([one])
    assert (alone.names, alone.find(""), alone.find("desk"), alone.find("law")) == ((), one, one, None)
