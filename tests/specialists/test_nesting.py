"""Crews inside a crew and crews that build on another: what they are called, what comes along, what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from specialists.crew import Crew, find_specialist
from specialists.registry import CREWS_FOLDER, CrewError, load_crew
from specialists.tools.tool import Tool
from tests.own_tools import all_tools
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
    crew = load_crew(tree(tmp_path, **files), TOOLS)
    assert [tool.name for one in crew.all_specialists.values() for tool in one.tools] == ["post", "post"]
    tree(tmp_path, **{"in/c": page("c", tools="[post]")})
    assert len(faults(tmp_path)) == 1


def test_a_crew_of_crews_alone_is_a_crew(tmp_path: Path) -> None:
    crew = load_crew(tree(tmp_path, **{"in/crew": ABOUT, "in/b": page("b")}), TOOLS)
    assert (crew.specialists, list(crew.all_specialists)) == ({}, ["in/b"])


def test_what_a_crew_says_of_itself_means_nothing_where_none_is_around_it(tmp_path: Path) -> None:
    crew = load_crew(tree(tmp_path, a=page("a"), crew=f"{ABOUT}fallback: nobody\n"), TOOLS)
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


PAGE = (
    "---\nname: {name}\ndescription: Does {name} work{more}.\ntools: [{tools}]\n"
    "model: fast\n{keys}---\nYou are {name}.\n"
)
TOOL = 'def {name}(word: str) -> str:\n    """Says a word."""\n    return "{said}"\n'
BASE = "default: ann\nconfidence: 40\nrules:\n  - {name: hi, to: bob, when: ['^hi']}\n"


def put_page(folder: Path, name: str, more: str = "", keys: str = "", tools: str = "") -> None:
    folder.mkdir(exist_ok=True, parents=True)
    (folder / f"{name}.md").write_text(PAGE.format(name=name, more=more, keys=keys, tools=tools))


def crews(there: Path, text: str, base: str = BASE) -> Path:
    """A crew `base` of Ann and Bob, and a folder `own` with that file."""
    put_page(there / "base", "ann")
    put_page(there / "base", "bob")
    (there / "base/crew.yml").write_text(base)
    (there / "own").mkdir()
    (there / "own/crew.yml").write_text(text)
    return there / "own"


def faults_of(folder: Path) -> list[str]:
    with pytest.raises(CrewError) as error:
        load_crew(folder, all_tools())
    return [str(one) for one in error.value.faults]


def test_specialists_rules_and_keys_come_along_and_what_is_written_above_wins(tmp_path: Path) -> None:
    own = crews(tmp_path, "extends: ../base\nconfidence: 70\nanswer: In German.")
    put_page(own, "ann", " in German")
    put_page(own, "eve")
    crew = load_crew(own, {})
    assert list(crew.specialists) == ["ann", "bob", "eve"]
    assert crew.specialists["ann"].description == "Does ann work in German."
    assert crew.name == "own"
    assert [rule.name for rule in crew.rules] == ["hi"]
    assert (crew.default, crew.terms["confidence"], crew.prompts.answer) == ("ann", 70, "In German.")


def test_a_shipped_crew_by_its_name_without_one_of_its_specialists(tmp_path: Path) -> None:
    (tmp_path / "crew.yml").write_text("extends: general\nwithout: [reviewer]\n")
    put_page(tmp_path, "writer", keys="fallback: analyst\n")
    crew = load_crew(tmp_path, all_tools())
    assert list(crew.specialists) == ["analyst", "assistant", "researcher", "writer"]
    assert crew.specialists["analyst"].path == CREWS_FOLDER / "general/analyst.md"
    assert len(crew.rules) == 2


def test_crews_inside_come_along_and_a_chain_may_bring_back_what_was_left_out(tmp_path: Path) -> None:
    own = crews(tmp_path, "extends: ../base\nwithout: [ann]\ndefault: bob")
    inner = tmp_path / "base/law"
    put_page(inner, "clerk")
    (inner / "crew.yml").write_text("description: Reads contracts.")
    top = tmp_path / "top"
    put_page(top, "ann", " again")
    (top / "crew.yml").write_text("extends: ../own\n")
    crew = load_crew(top, {})
    assert sorted(crew.all_specialists) == ["ann", "bob", "law/clerk"]
    assert crew.default == "bob"
    assert "ann" not in load_crew(own, {}).specialists


def test_toolkits_come_along_and_a_file_of_the_same_name_replaces_one(tmp_path: Path) -> None:
    own = crews(tmp_path, "extends: ../base\n")
    for folder, said in ((tmp_path / "base", "base"), (own, "own")):
        (folder / "toolkits").mkdir()
        (folder / "toolkits/words.py").write_text(TOOL.format(name="speak", said=said))
    (tmp_path / "base/toolkits/more.py").write_text(TOOL.format(name="shout", said="loud"))
    put_page(own, "eve", tools="speak, shout")
    crew: Crew = load_crew(own, {})
    places = {tool.name: toolkit.path for toolkit in crew.toolkits for tool in toolkit.tools}
    assert places == {"speak": own / "toolkits/words.py", "shout": tmp_path / "base/toolkits/more.py"}


def test_a_crew_may_build_on_the_one_inside_it_and_plan_without_its_pipeline(tmp_path: Path) -> None:
    put_page(tmp_path / "all", "ann")
    steps = "pipeline:\n  - {specialist: ann, title: Look, brief: Look at it.}\n"
    (tmp_path / "all/crew.yml").write_text(f"description: All of it.\nconfidence: 80\n{steps}")
    put_page(tmp_path, "eve")
    (tmp_path / "crew.yml").write_text("extends: ./all\npipeline: none\ndefault: all\n")
    crew = load_crew(tmp_path, {})
    assert sorted(crew.all_specialists) == ["all/ann", "ann", "eve"]
    assert (crew.pipeline, crew.default, crew.terms["confidence"]) == (None, "all", 80)
    inner = crew.crews["all"].pipeline
    assert inner is not None
    assert [step.specialist for step in inner.steps] == ["all/ann"]


def test_skills_and_house_rules_come_along(tmp_path: Path) -> None:
    own = crews(tmp_path, "extends: ../base\n")
    for name in ("tone", "units"):
        (tmp_path / f"base/skills/{name}").mkdir(parents=True)
        (tmp_path / f"base/skills/{name}/SKILL.md").write_text(
            f"---\nname: {name}\ndescription: Of {name}.\n---\nBase."
        )
    (own / "skills/tone").mkdir(parents=True)
    (own / "skills/tone/SKILL.md").write_text("---\nname: tone\ndescription: Our own tone.\n---\nOwn.")
    (tmp_path / "base/AGENTS.md").write_text("Name the day of each figure.")
    put_page(own, "eve", keys="skills: [tone, units]\n")
    crew = load_crew(own, {})
    assert [one.folder for one in crew.specialists["eve"].skills] == [
        own / "skills/tone",
        tmp_path / "base/skills/units",
    ]
    assert "Name the day of each figure." in crew.house_rules
    (own / "CLAUDE.md").write_text("Write in German.")
    assert "Name the day" not in load_crew(own, {}).house_rules


def test_faults_name_the_file_that_they_stand_in(tmp_path: Path) -> None:
    own = crews(tmp_path, "extends: ../base\nwithout: [bob]\n")
    [said] = faults_of(own)
    assert said.startswith(
        f"{tmp_path}/base/crew.yml:4: there is no specialist bob; there are ann; it comes from a crew"
    )
    assert f"it comes from a crew that {own}/crew.yml:1 extends: override it there" in said
    (own / "crew.yml").write_text("extends: ../base\nwithout: [bob]\nrules:\n  - {name: hi, to: ann, when: ['^hi']}\n")
    assert list(load_crew(own, {}).specialists) == ["ann"]
    (tmp_path / "base/crew.yml").write_text(f"{BASE}quorum: none\ncolour: red\n")
    quorum, colour = faults_of(own)
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
    own = crews(tmp_path, text)
    put_page(own, "eve")
    found = faults_of(own)
    assert len(found) == 1
    assert fault_words in found[0]


def test_circles_and_long_chains_are_faults(tmp_path: Path) -> None:
    own = crews(tmp_path, "extends: ../base\n", base="extends: ../own\n")
    [said] = faults_of(own)
    assert "base/crew.yml:1: extends goes in a circle: own -> base -> own" in said
    for number in range(5):
        put_page(tmp_path / f"n{number}", f"a{number}")
        (tmp_path / f"n{number}/crew.yml").write_text(f"extends: ../n{number - 1}\n" if number else "")
    assert len(load_crew(tmp_path / "n3", {}).specialists) == 4
    [said] = faults_of(tmp_path / "n4")
    assert "n1/crew.yml:1: more than 3 crews lie below n4" in said
