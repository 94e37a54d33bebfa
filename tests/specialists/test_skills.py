"""Skills, read on demand and no further than their folders, and the house rules of a crew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bot.supervisor.prompts import call_of
from handoff.contracts import Terms
from specialists.crew import Crew
from specialists.registry import CrewError, load_crew
from specialists.tools.tool import Tool, ToolOutcome
from tests.specialists.test_registry import page

VOICE = """---
name: brand-voice
description: How we write: short, warm. Read it before any text for customers.
allowed-tools: Bash, Write
---
# Brand voice
Say "we".
"""


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def skilled(folder: Path) -> Crew:
    files = {
        "a.md": page("a", "skills: [brand-voice]"),
        "b.md": page("b"),
        "skills/brand-voice/SKILL.md": VOICE,
        "skills/brand-voice/words/good.md": "Use: glad.",
        "skills/secret.txt": "not for models",
    }
    return load_crew(write(folder, files), {})


async def read(tool: Tool, **arguments: Any) -> ToolOutcome:
    bench: Any = None
    return await tool.run(tool.arguments.model_validate(arguments), bench)


async def test_a_skill_is_a_line_in_the_prompt_and_read_on_demand(tmp_path: Path) -> None:
    crew = skilled(tmp_path)
    one = crew.specialists["a"]
    line = "- brand-voice: How we write: short, warm. Read it before any text for customers."
    assert "You work.\n\n# Skills\n\n" in one.system
    assert line in one.system
    assert 'Say "we".' not in one.system
    assert list(one.toolbox) == ["read_skill"], "a skill grants no tool, whatever its file says"
    assert not one.toolbox["read_skill"].public, "what the house says is private, unless the skill says otherwise"
    found = await read(one.toolbox["read_skill"], name="brand-voice")
    assert found.text == '# Brand voice\nSay "we".\n\n[Files of this skill: words/good.md]'
    assert (await read(one.toolbox["read_skill"], name="brand-voice", file="words/good.md")).text == "Use: glad."
    assert (crew.specialists["b"].tools, "Skills" in crew.specialists["b"].system) == ((), False)


async def test_nothing_outside_of_its_folder_is_read(tmp_path: Path) -> None:
    tool = skilled(tmp_path).specialists["a"].toolbox["read_skill"]
    folder = tmp_path / "skills" / "brand-voice"
    (folder / "link.txt").symlink_to(tmp_path / "skills" / "secret.txt")
    (folder / "loop").symlink_to(folder)
    (folder / "bytes.bin").write_bytes(b"\xff\xfe\x00")
    for name in ("../secret.txt", "link.txt", str(tmp_path / "skills" / "secret.txt"), "words", "no.md", "a\0b"):
        found = await read(tool, name="brand-voice", file=name)
        assert found.failed, name
        assert "not for models" not in found.text
    assert "cannot be read as text" in (await read(tool, name="brand-voice", file="bytes.bin")).text
    assert (await read(tool, name="other")).text == "There is no skill 'other'. Yours: brand-voice."


async def test_a_long_skill_is_read_part_by_part(tmp_path: Path) -> None:
    tool = skilled(tmp_path).specialists["a"].toolbox["read_skill"]
    write(tmp_path, {"skills/brand-voice/long.md": "x" * 9_999 + "END, and more"})
    found = await read(tool, name="brand-voice", file="long.md")
    assert found.text.endswith("xE\n[12 characters follow: start=10000]"), "what changed since the start is read"
    assert (await read(tool, name="brand-voice", file="long.md", start=10_000)).text == "ND, and more"


def test_skills_of_other_places_and_of_the_crew_around_are_there(tmp_path: Path) -> None:
    files = {
        ".agents/skills/brand-voice/SKILL.md": VOICE,
        ".claude/skills/dates/SKILL.md": "---\nname: dates\ndescription: Dates.\nmetadata: {public: true}\n---\nISO.\n",
        "a.md": page("a", "skills: dates"),
        "in/crew.yml": "description: Inside.\n",
        "in/b.md": page("b", "skills: [brand-voice, dates]"),
    }
    crew = load_crew(write(tmp_path, files), {})
    assert [one.name for one in crew.everyone["in/b"].skills] == ["brand-voice", "dates"]
    assert crew.specialists["a"].toolbox["read_skill"].public


def test_a_skill_that_cannot_be_used_is_named_and_costs_itself(tmp_path: Path) -> None:
    files = {
        "a.md": page("a"),
        "skills/one/SKILL.md": VOICE,
        "skills/two/SKILL.md": "---\nname: two\ndescription: Two.\n---\n",
        "skills/three/SKILL.md": "---\nname: three\n---\nThree.\n",
        "skills/four/SKILL.md": "No front matter.\n",
    }
    crew = load_crew(write(tmp_path, files), {})
    assert [str(one).removeprefix(f"{tmp_path}/skills/").partition(";")[0] for one in crew.warnings] == [
        "four/SKILL.md:1: there is no front matter",
        "one/SKILL.md:1: the skill's name 'brand-voice' is not that of its folder",
        "three/SKILL.md:1: the skill has no description",
        "two/SKILL.md:2: the skill is empty",
    ]
    (tmp_path / "a.md").write_text(page("a", "skills: [lost]"))
    (tmp_path / "SKILL.md").write_text(VOICE)
    (tmp_path / "loose").mkdir()
    (tmp_path / "loose" / "SKILL.md").write_text(VOICE)
    with pytest.raises(CrewError) as raised:
        load_crew(tmp_path, {})
    assert [str(one).removeprefix(f"{tmp_path}/").partition(";")[0] for one in raised.value.faults] == [
        "SKILL.md:1: skills lie in skills/NAME/SKILL.md",
        "a.md:6: there is no skill lost",
        "loose/SKILL.md:1: skills lie in skills/NAME/SKILL.md",
    ]


def test_house_rules_are_told_planner_and_synthesizer_once(tmp_path: Path) -> None:
    files = {
        "a.md": page("a"),
        "AGENTS.md": "# Rules\nPrices are net.\n",
        "CLAUDE.md": "@AGENTS.md",
        "README.md": "For people.",
        "in/crew.yml": "description: Inside.\n",
        "in/b.md": page("b"),
    }
    crew = load_crew(write(tmp_path, files), {})
    assert crew.house_rules == "# House rules (AGENTS.md)\n### Rules\nPrices are net."
    assert crew.crews["in"].house_rules == crew.house_rules, "those of the crew around it, where it has none"
    assert list(crew.everyone) == ["a", "in/b"]
    terms = Terms(crew_words=crew.words.for_roles)
    for role in ("planner", "replanner", "synthesizer"):
        system = call_of(role, "text", terms=terms, max_tokens=9).system
        assert system.count("Prices are net.") == 1
        assert system.index("What this crew asks for") < system.index("### House rules (AGENTS.md)")
    assert "Prices are net." not in call_of("verifier", "text", terms=terms, max_tokens=9).system
    (tmp_path / "in" / "CLAUDE.md").write_text("x" * 5_000)
    crew = load_crew(tmp_path, {})
    assert len(crew.crews["in"].house_rules) == 3_000 + len("# House rules (CLAUDE.md)\n")
    assert [one.text for one in crew.every_warning] == [
        "it has 5,000 characters, and only 3,000 of them are used; put what matters first"
    ]
