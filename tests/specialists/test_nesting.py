"""Crews inside a crew and crews that build on another: what they are called, what comes along, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from specialists.crew import find_specialist
from specialists.registry import CREWS_FOLDER, load_crew
from tests.own_tools import all_tools
from tests.specialists.crew_files import TOOLS, list_faults, load_files, page, write_crew

ABOUT = "description: Knows the law.\n"


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
    crew = load_files(tmp_path, TOOLS, **files)
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
    assert list(crew.all_specialists) == [
        "cook",
        "scout",
        "legal/reader",
        "legal/writer",
        "legal/contracts/clerk",
        "legal2/only",
    ]
    assert crew.find_crew("legal/contracts") is legal.crews["legal/contracts"]
    assert crew.find_crew("") is crew
    assert crew.find_crew("legal/writer") is None
    assert find_specialist(legal, None, "legal/reader", "fast") is legal.specialists["legal/reader"]
    assert find_specialist(crew, None, "legal/reader", "fast") is None, "nobody works for a crew that it is not in"


def test_a_tool_that_writes_belongs_to_one_specialist_of_each_crew(tmp_path: Path) -> None:
    files = {"a": page("a", tools="[post]"), "in/crew": ABOUT, "in/b": page("b", tools="[post]")}
    crew = load_files(tmp_path, TOOLS, **files)
    assert [tool.name for one in crew.all_specialists.values() for tool in one.tools] == ["post", "post"]
    assert len(list_faults(tmp_path, TOOLS, **{"in/c": page("c", tools="[post]")})) == 1


def test_a_crew_of_crews_alone_is_a_crew(tmp_path: Path) -> None:
    crew = load_files(tmp_path, TOOLS, **{"in/crew": ABOUT, "in/b": page("b")})
    assert (crew.specialists, list(crew.all_specialists)) == ({}, ["in/b"])


def test_what_a_crew_says_of_itself_means_nothing_where_none_is_around_it(tmp_path: Path) -> None:
    crew = load_files(tmp_path, TOOLS, a=page("a"), crew=f"{ABOUT}fallback: nobody\n")
    assert list(crew.specialists) == ["a"]


FAULTS = {
    "no description": ({"in/crew": "confidence: 10\n"}, "in/crew.yml:1: the key description is missing"),
    "long description": (
        {"in/crew": f"confidence: 1\ndescription: {'x' * 201}\n"},
        "in/crew.yml:2: the description has 201 characters",
    ),
    "fallback to nowhere": ({"in/crew": f"{ABOUT}fallback: bb\n"}, "in/crew.yml:2: there is no specialist bb"),
    "fallback a list": ({"in/crew": f"{ABOUT}fallback: [a]\n"}, "in/crew.yml:2: fallback must be the name"),
    "name taken": ({"in/crew": ABOUT, "north/in": page("in")}, "in/crew.yml:1: the folder's name in is that of a"),
    "bad name": ({"In It/crew": ABOUT, "In It/c": page("c")}, "In It/crew.yml:1: the folder's name 'In It' must be"),
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
    lines = list_faults(tmp_path, TOOLS, **{"a": page("a"), "in/b": page("b"), **files})
    assert len(lines) == 1, lines
    assert lines[0].startswith(expected), lines


def test_a_circle_of_fallbacks_is_named_at_both_ends(tmp_path: Path) -> None:
    files = {"a": page("a", fallback="in"), "in/crew": f"{ABOUT}fallback: a\n", "in/b": page("b")}
    assert list_faults(tmp_path, TOOLS, **files) == [
        "a.md:6: the fallbacks go in a circle: a -> in -> a; take one of them out",
        "in/crew.yml:2: the fallbacks go in a circle: in -> a -> in; take one of them out",
    ]


def test_what_lies_beside_specialists_is_not_looked_through_for_them(tmp_path: Path) -> None:
    beside = {f"{name}/deep/er/still/x": "no specialist" for name in ("demo", "evaluation", "knowledge")}
    crew = load_files(tmp_path, TOOLS, **{"a": page("a"), "README": "For people.", "north/README": "", **beside})
    assert list(crew.specialists) == ["a"]
    [fault] = list_faults(tmp_path, TOOLS, **{"knowledge/crew": ABOUT})
    assert fault.startswith("knowledge/crew.yml:1: folders called demo, evaluation, knowledge, skills, ")


def test_links_that_lead_round_in_a_circle_end(tmp_path: Path) -> None:
    write_crew(tmp_path, **{"a": page("a"), "north/b": page("b")})
    (tmp_path / "north" / "loop").symlink_to(tmp_path)
    assert list(load_crew(tmp_path, TOOLS).specialists) == ["a", "b"]
    assert "loop/crew.yml:1: crews are nested more than 3 deep" in list_faults(tmp_path, TOOLS, crew=ABOUT)[0]


TOOL = 'def {name}(word: str) -> str:\n    """Says a word."""\n    return "{said}"\n'
BASE = "default: ann\nconfidence: 40\nrules:\n  - {name: hi, to: bob, when: ['^hi']}\n"


def crews(there: Path, text: str, base: str = BASE) -> Path:
    """A crew `base` of Ann and Bob, and a folder `own` with that file."""
    pages = {f"base/{name}": page(name) for name in ("ann", "bob")}
    write_crew(there, **pages, **{"base/crew": base, "own/crew": text})
    return there / "own"


def test_specialists_rules_and_keys_come_along_and_what_is_written_above_wins(tmp_path: Path) -> None:
    own = crews(tmp_path, "extends: ../base\nconfidence: 70\nanswer: In German.")
    crew = load_files(own, {}, ann=page("ann", description="Works in German."), eve=page("eve"))
    assert list(crew.specialists) == ["ann", "bob", "eve"]
    assert crew.specialists["ann"].description == "Works in German."
    assert crew.name == "own"
    assert [rule.name for rule in crew.rules] == ["hi"]
    assert (crew.default, crew.terms["confidence"], crew.prompts.answer) == ("ann", 70, "In German.")


def test_a_shipped_crew_by_its_name_without_one_of_its_specialists(tmp_path: Path) -> None:
    writer = page("writer", fallback="analyst")
    crew = load_files(tmp_path, all_tools(), crew="extends: general\nwithout: [reviewer]\n", writer=writer)
    assert list(crew.specialists) == ["analyst", "assistant", "researcher", "writer"]
    assert crew.specialists["analyst"].path == CREWS_FOLDER / "general/analyst.md"
    assert len(crew.rules) == 2


def test_crews_inside_come_along_and_a_chain_may_bring_back_what_was_left_out(tmp_path: Path) -> None:
    own = crews(tmp_path, "extends: ../base\nwithout: [ann]\ndefault: bob")
    write_crew(tmp_path / "base/law", clerk=page("clerk"), crew="description: Reads contracts.")
    crew = load_files(tmp_path / "top", {}, ann=page("ann"), crew="extends: ../own\n")
    assert sorted(crew.all_specialists) == ["ann", "bob", "law/clerk"]
    assert crew.default == "bob"
    assert "ann" not in load_crew(own, {}).specialists


def test_toolkits_come_along_and_a_file_of_the_same_name_replaces_one(tmp_path: Path) -> None:
    own = crews(tmp_path, "extends: ../base\n")
    toolkits = {f"{name}/toolkits/words.py": TOOL.format(name="speak", said=name) for name in ("base", "own")}
    write_crew(tmp_path, **toolkits, **{"base/toolkits/more.py": TOOL.format(name="shout", said="loud")})
    crew = load_files(own, {}, eve=page("eve", tools="[speak, shout]"))
    places = {tool.name: toolkit.path for toolkit in crew.toolkits for tool in toolkit.tools}
    assert places == {"speak": own / "toolkits/words.py", "shout": tmp_path / "base/toolkits/more.py"}


def test_a_crew_may_build_on_the_one_inside_it_and_plan_without_its_pipeline(tmp_path: Path) -> None:
    steps = "pipeline:\n  - {specialist: ann, title: Look, brief: Look at it.}\n"
    inside = f"description: All of it.\nconfidence: 80\n{steps}"
    write_crew(tmp_path, **{"all/ann": page("ann"), "all/crew": inside})
    crew = load_files(tmp_path, {}, eve=page("eve"), crew="extends: ./all\npipeline: none\ndefault: all\n")
    assert sorted(crew.all_specialists) == ["all/ann", "ann", "eve"]
    assert (crew.pipeline, crew.default, crew.terms["confidence"]) == (None, "all", 80)
    inner = crew.crews["all"].pipeline
    assert [step.specialist for step in inner.steps] == ["all/ann"]


def test_skills_and_house_rules_come_along(tmp_path: Path) -> None:
    own = crews(tmp_path, "extends: ../base\n")
    for folder, name in (("base", "tone"), ("base", "units"), ("own", "tone")):
        skill = f"---\nname: {name}\ndescription: Of {name}.\n---\nBase."
        write_crew(tmp_path, **{f"{folder}/skills/{name}/SKILL": skill})
    write_crew(tmp_path, **{"base/AGENTS": "Name the day of each figure."})
    crew = load_files(own, {}, eve=page("eve", skills="[tone, units]"))
    assert [one.folder for one in crew.specialists["eve"].skills] == [
        own / "skills/tone",
        tmp_path / "base/skills/units",
    ]
    assert "Name the day of each figure." in crew.house_rules
    (own / "CLAUDE.md").write_text("Write in German.")
    assert "Name the day" not in load_crew(own, {}).house_rules


def test_faults_name_the_file_that_they_stand_in(tmp_path: Path) -> None:
    own = crews(tmp_path, "extends: ../base\nwithout: [bob]\n")
    [said] = list_faults(own, all_tools())
    assert said.startswith(
        f"{tmp_path}/base/crew.yml:4: there is no specialist bob; there are ann; it comes from a crew"
    )
    assert f"it comes from a crew that {own}/crew.yml:1 extends: override it there" in said
    (own / "crew.yml").write_text("extends: ../base\nwithout: [bob]\nrules:\n  - {name: hi, to: ann, when: ['^hi']}\n")
    assert list(load_crew(own, {}).specialists) == ["ann"]
    (tmp_path / "base/crew.yml").write_text(f"{BASE}quorum: none\ncolour: red\n")
    quorum, colour = list_faults(own, all_tools())
    assert "base/crew.yml:5: quorum must be" in quorum
    assert "base/crew.yml:6: unknown key colour" in colour


@pytest.mark.parametrize(
    ("text", "fault_words"),
    [
        ("extends: generl", "crew.yml:1: extends names generl, and there is no such crew (did you mean general?)"),
        ("\nextends: ../nowhere", "crew.yml:2: extends names ../nowhere, and there is no such crew: "),
        ("extends: [general]", "crew.yml:1: extends takes the name of a crew"),
        ("extends: ../own", "crew.yml:1: extends goes in a circle: own -> own"),
        ("extends: ./", "crew.yml:1: extends goes in a circle"),
        ("extends: ..", "crew.yml:1: extends names .., in which this crew lies"),
        ("without: [ann]", "crew.yml:1: without leaves out of what extends names; add it"),
        ("extends: ../base\nwithout: ann", "crew.yml:2: without takes a list of names"),
        ("extends: ../base\nwithout: [anna]", "crew.yml:2: without names anna (did you mean ann?)"),
    ],
)
def test_what_cannot_be_extended_is_a_fault(tmp_path: Path, text: str, fault_words: str) -> None:
    found = list_faults(crews(tmp_path, text), all_tools(), eve=page("eve"))
    assert len(found) == 1
    assert fault_words in found[0]


def test_circles_and_long_chains_are_faults(tmp_path: Path) -> None:
    own = crews(tmp_path, "extends: ../base\n", base="extends: ../own\n")
    [said] = list_faults(own, all_tools())
    assert "base/crew.yml:1: extends goes in a circle: own -> base -> own" in said
    for number in range(5):
        extends = f"extends: ../n{number - 1}\n" if number else ""
        write_crew(tmp_path / f"n{number}", crew=extends, **{f"a{number}": page(f"a{number}")})
    assert len(load_crew(tmp_path / "n3", {}).specialists) == 4
    [said] = list_faults(tmp_path / "n4", all_tools())
    assert "n1/crew.yml:1: more than 3 crews lie below n4" in said
