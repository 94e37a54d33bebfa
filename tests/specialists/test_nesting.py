"""Crews inside a crew: which folders are one, what they are called, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from specialists.crew import specialist_for
from specialists.registry import CrewError, load_crew
from specialists.tools.tool import Tool
from tests.specialists.scripted_model import Looker
from tests.specialists.test_registry import page

TOOLS: dict[str, Tool] = {name: Looker().tool(name) for name in ("look", "listen")}
TOOLS["post"] = replace(Looker().tool("post"), access="write")
ABOUT = "description: Knows the law.\n"


def tree(folder: Path, **files: str) -> Path:
    """Files by their paths below a folder; `.yml` where the name is `crew`, else `.md`."""
    for name, text in files.items():
        path = folder / name
        path = path.with_name(path.name + (".yml" if path.name == "crew" else ".md"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def faults(folder: Path) -> list[str]:
    with pytest.raises(CrewError) as raised:
        load_crew(folder, TOOLS)
    return [str(fault).removeprefix(f"{folder}/") for fault in raised.value.faults]


def test_a_folder_with_a_crew_file_is_a_crew_and_others_are_order(tmp_path: Path) -> None:
    rules = "rules:\n- {name: read, to: [writer], when: [read]}\nequals: [[reader, writer]]\nconfidence: 60\n"
    about = f"{ABOUT}cannot: [sue anybody]\nfallback: cook\n{rules}"
    files = {
        "cook": page("cook"),
        "north/scout": page("scout", fallback="legal"),
        "legal/crew": about,
        "legal/writer": page("writer", fallback="contracts"),
        "legal/far/reader": page("reader"),
        "teams/legal2/crew": ABOUT,
        "teams/legal2/only": page("only"),
        "legal/contracts/crew": ABOUT,
        "legal/contracts/clerk": page("clerk"),
    }
    crew = load_crew(tree(tmp_path, **files), TOOLS)
    assert list(crew.specialists) == ["cook", "scout"]
    assert list(crew.crews) == ["legal", "legal2"]
    assert crew.specialists["scout"].fallback == "legal"
    legal = crew.crews["legal"]
    assert (legal.about.description, legal.about.cannot, legal.about.fallback) == (
        "Knows the law.",
        ("sue anybody",),
        "cook",
    )
    assert list(legal.specialists) == ["legal/reader", "legal/writer"]
    assert legal.specialists["legal/writer"].name == "legal/writer"
    assert legal.specialists["legal/writer"].fallback == "legal/contracts"
    assert legal.rules[0].to == ("legal/writer",)
    assert legal.equals == (("legal/reader", "legal/writer"),)
    assert legal.terms == {"confidence": 60}
    assert list(legal.crews) == ["legal/contracts"]
    assert list(crew.everyone) == [
        "cook",
        "scout",
        "legal/reader",
        "legal/writer",
        "legal/contracts/clerk",
        "legal2/only",
    ]
    assert crew.within("legal/contracts") is legal.crews["legal/contracts"]
    assert crew.within("") is crew
    assert crew.within("legal/writer") is None
    assert specialist_for(legal, None, "legal/reader", "fast") is legal.specialists["legal/reader"]
    assert specialist_for(crew, None, "legal/reader", "fast") is None, "nobody works for a crew that it is not in"


def test_a_tool_that_writes_belongs_to_one_specialist_of_each_crew(tmp_path: Path) -> None:
    files = {"a": page("a", tools="[post]"), "in/crew": ABOUT, "in/b": page("b", tools="[post]")}
    crew = load_crew(tree(tmp_path, **files), TOOLS)
    assert [tool.name for one in crew.everyone.values() for tool in one.tools] == ["post", "post"]
    tree(tmp_path, **{"in/c": page("c", tools="[post]")})
    assert len(faults(tmp_path)) == 1


def test_a_crew_of_crews_alone_is_a_crew(tmp_path: Path) -> None:
    crew = load_crew(tree(tmp_path, **{"in/crew": ABOUT, "in/b": page("b")}), TOOLS)
    assert (crew.specialists, list(crew.everyone)) == ({}, ["in/b"])


def test_what_a_crew_says_of_itself_means_nothing_where_none_is_around_it(tmp_path: Path) -> None:
    crew = load_crew(tree(tmp_path, a=page("a"), crew=f"{ABOUT}fallback: nobody\n"), TOOLS)
    assert list(crew.specialists) == ["a"]


FAULTS = {
    "no description": ({"in/crew": "confidence: 10\n"}, "in/crew.yml:1: the key description is missing"),
    "long description": (
        {"in/crew": f"confidence: 1\ndescription: {'x' * 201}\n"},
        "in/crew.yml:2: the description has 201 characters",
    ),
    "no list": ({"in/crew": f"{ABOUT}cannot: sue\n"}, "in/crew.yml:2: cannot must be a list"),
    "fallback to nowhere": ({"in/crew": f"{ABOUT}fallback: bb\n"}, "in/crew.yml:2: there is no specialist bb"),
    "fallback inside": ({"in/crew": f"{ABOUT}fallback: b\n"}, "in/crew.yml:2: there is no specialist b to fall back"),
    "fallback a list": ({"in/crew": f"{ABOUT}fallback: [a]\n"}, "in/crew.yml:2: fallback must be the name"),
    "name taken": ({"in/crew": ABOUT, "north/in": page("in")}, "in/crew.yml:1: the folder's name in is that of a"),
    "bad name": ({"In It/crew": ABOUT, "In It/c": page("c")}, "In It/crew.yml:1: the folder's name 'In It' must be"),
    "rule to one inside": (
        {"in/crew": ABOUT, "crew": "rules:\n- {name: r, to: [in/b], when: [x]}\n"},
        "crew.yml:2: there is no specialist in/b (did you mean in?); there are a, in",
    ),
    "empty": ({"in/crew": ABOUT, "none/crew": ABOUT}, "none:1: the crew is empty; add a specialist"),
    "a fault inside": ({"in/crew": ABOUT, "in/b": page("b", model="gpt")}, "in/b.md:5: model must be a tier"),
    "too deep": (
        {
            "in/crew": ABOUT,
            "in/two/crew": ABOUT,
            "in/two/c": page("c"),
            "in/two/three/crew": ABOUT,
            "in/two/three/d": page("d"),
        },
        "in/two/three/crew.yml:1: crews are nested more than 3 deep; move this one up, or take its crew.yml out",
    ),
}


@pytest.mark.parametrize(("files", "expected"), FAULTS.values(), ids=FAULTS)
def test_faults_are_named_with_their_lines(tmp_path: Path, files: dict[str, str], expected: str) -> None:
    lines = faults(tree(tmp_path, **{"a": page("a"), "in/b": page("b"), **files}))
    assert len(lines) == 1, lines
    assert lines[0].startswith(expected), lines


def test_a_circle_of_fallbacks_is_named_at_both_ends(tmp_path: Path) -> None:
    files = {"a": page("a", fallback="in"), "in/crew": f"{ABOUT}fallback: a\n", "in/b": page("b")}
    assert faults(tree(tmp_path, **files)) == [
        "a.md:6: the fallbacks go in a circle: a -> in -> a; take one of them out",
        "in/crew.yml:2: the fallbacks go in a circle: in -> a -> in; take one of them out",
    ]


def test_what_lies_beside_specialists_is_not_looked_through_for_them(tmp_path: Path) -> None:
    beside = {f"{name}/deep/er/still/x": "no specialist" for name in ("demo", "evaluation", "knowledge")}
    crew = load_crew(tree(tmp_path, **{"a": page("a"), "README": "For people.", "north/README": "", **beside}), TOOLS)
    assert list(crew.specialists) == ["a"]
    tree(tmp_path, **{"knowledge/crew": ABOUT})
    assert faults(tmp_path)[0].startswith("knowledge/crew.yml:1: folders called demo, evaluation, knowledge, skills, ")


def test_links_that_lead_round_in_a_circle_end(tmp_path: Path) -> None:
    tree(tmp_path, **{"a": page("a"), "north/b": page("b")})
    (tmp_path / "north" / "loop").symlink_to(tmp_path)
    assert list(load_crew(tmp_path, TOOLS).specialists) == ["a", "b"]
    tree(tmp_path, crew=ABOUT)
    assert "loop/crew.yml:1: crews are nested more than 3 deep" in faults(tmp_path)[0]
