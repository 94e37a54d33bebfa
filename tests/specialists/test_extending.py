"""A crew that builds on another: what comes along, what is replaced, and which file a fault is told of."""

from __future__ import annotations

from pathlib import Path

import pytest

from specialists.crew import Crew
from specialists.registry import CREWS, CrewError, load_crew
from tests.own_tools import all_tools

PAGE = (
    "---\nname: {name}\ndescription: Does {name} work{more}.\ntools: [{tools}]\n"
    "model: fast\n{keys}---\nYou are {name}.\n"
)
TOOL = 'def {name}(word: str) -> str:\n    """Says a word."""\n    return "{said}"\n'
BASE = "default: ann\nconfidence: 40\nrules:\n  - {name: hi, to: bob, when: ['^hi']}\n"


def page(folder: Path, name: str, more: str = "", keys: str = "", tools: str = "") -> None:
    folder.mkdir(exist_ok=True, parents=True)
    (folder / f"{name}.md").write_text(PAGE.format(name=name, more=more, keys=keys, tools=tools))


def crews(there: Path, text: str, base: str = BASE) -> Path:
    """A crew `base` of Ann and Bob, and a folder `own` with that file."""
    page(there / "base", "ann")
    page(there / "base", "bob")
    (there / "base/crew.yml").write_text(base)
    (there / "own").mkdir()
    (there / "own/crew.yml").write_text(text)
    return there / "own"


def faults(folder: Path) -> list[str]:
    with pytest.raises(CrewError) as error:
        load_crew(folder, all_tools())
    return [str(one) for one in error.value.faults]


def test_specialists_rules_and_keys_come_along_and_what_is_written_above_wins(tmp_path: Path) -> None:
    own = crews(tmp_path, "extends: ../base\nconfidence: 70\nanswer: In German.")
    page(own, "ann", " in German")
    page(own, "eve")
    crew = load_crew(own, {})
    assert list(crew.specialists) == ["ann", "bob", "eve"]
    assert crew.specialists["ann"].description == "Does ann work in German."
    assert crew.name == "own"
    assert [rule.name for rule in crew.rules] == ["hi"]
    assert (crew.default, crew.terms["confidence"], crew.words.answer) == ("ann", 70, "In German.")


def test_a_shipped_crew_by_its_name_without_one_of_its_specialists(tmp_path: Path) -> None:
    (tmp_path / "crew.yml").write_text("extends: general\nwithout: [reviewer]\n")
    page(tmp_path, "writer", keys="fallback: analyst\n")
    crew = load_crew(tmp_path, all_tools())
    assert list(crew.specialists) == ["analyst", "assistant", "researcher", "writer"]
    assert crew.specialists["analyst"].path == CREWS / "general/analyst.md"
    assert len(crew.rules) == 2


def test_crews_inside_come_along_and_a_chain_may_bring_back_what_was_left_out(tmp_path: Path) -> None:
    own = crews(tmp_path, "extends: ../base\nwithout: [ann]\ndefault: bob")
    inner = tmp_path / "base/law"
    page(inner, "clerk")
    (inner / "crew.yml").write_text("description: Reads contracts.")
    top = tmp_path / "top"
    page(top, "ann", " again")
    (top / "crew.yml").write_text("extends: ../own\n")
    crew = load_crew(top, {})
    assert sorted(crew.everyone) == ["ann", "bob", "law/clerk"]
    assert crew.default == "bob"
    assert "ann" not in load_crew(own, {}).specialists


def test_toolkits_come_along_and_a_file_of_the_same_name_replaces_one(tmp_path: Path) -> None:
    own = crews(tmp_path, "extends: ../base\n")
    for folder, said in ((tmp_path / "base", "base"), (own, "own")):
        (folder / "toolkits").mkdir()
        (folder / "toolkits/words.py").write_text(TOOL.format(name="speak", said=said))
    (tmp_path / "base/toolkits/more.py").write_text(TOOL.format(name="shout", said="loud"))
    page(own, "eve", tools="speak, shout")
    crew: Crew = load_crew(own, {})
    places = {tool.name: toolkit.path for toolkit in crew.toolkits for tool in toolkit.tools}
    assert places == {"speak": own / "toolkits/words.py", "shout": tmp_path / "base/toolkits/more.py"}


def test_a_crew_may_build_on_the_one_inside_it_and_plan_without_its_pipeline(tmp_path: Path) -> None:
    page(tmp_path / "all", "ann")
    steps = "pipeline:\n  - {specialist: ann, title: Look, brief: Look at it.}\n"
    (tmp_path / "all/crew.yml").write_text(f"description: All of it.\nconfidence: 80\n{steps}")
    page(tmp_path, "eve")
    (tmp_path / "crew.yml").write_text("extends: ./all\npipeline: none\ndefault: all\n")
    crew = load_crew(tmp_path, {})
    assert sorted(crew.everyone) == ["all/ann", "ann", "eve"]
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
    page(own, "eve", keys="skills: [tone, units]\n")
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
    [said] = faults(own)
    assert said.startswith(
        f"{tmp_path}/base/crew.yml:4: there is no specialist bob; there are ann; it comes from a crew"
    )
    assert f"it comes from a crew that {own}/crew.yml:1 extends: override it there" in said
    (own / "crew.yml").write_text("extends: ../base\nwithout: [bob]\nrules:\n  - {name: hi, to: ann, when: ['^hi']}\n")
    assert list(load_crew(own, {}).specialists) == ["ann"]
    (tmp_path / "base/crew.yml").write_text(f"{BASE}quorum: none\ncolour: red\n")
    quorum, colour = faults(own)
    assert "base/crew.yml:5: quorum must be" in quorum
    assert "base/crew.yml:6: unknown key colour" in colour


@pytest.mark.parametrize(
    ("text", "said"),
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
def test_what_cannot_be_extended_is_a_fault(tmp_path: Path, text: str, said: str) -> None:
    own = crews(tmp_path, text)
    page(own, "eve")
    found = faults(own)
    assert len(found) == 1
    assert said in found[0]


def test_circles_and_long_chains_are_faults(tmp_path: Path) -> None:
    own = crews(tmp_path, "extends: ../base\n", base="extends: ../own\n")
    [said] = faults(own)
    assert "base/crew.yml:1: extends goes in a circle: own -> base -> own" in said
    for number in range(5):
        page(tmp_path / f"n{number}", f"a{number}")
        (tmp_path / f"n{number}/crew.yml").write_text(f"extends: ../n{number - 1}\n" if number else "")
    assert len(load_crew(tmp_path / "n3", {}).specialists) == 4
    [said] = faults(tmp_path / "n4")
    assert "n1/crew.yml:1: more than 3 crews lie below n4" in said
