"""Skills, read on demand and no further than their folders; house rules; and agents of Claude Code in a crew."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.supervisor.prompts import make_role_call
from handoff.contracts import Terms
from specialists.crew import Crew
from specialists.registry import load_crew
from tests.specialists.crew_files import list_faults, load_files, page, write_crew
from tests.specialists.scripted_model import Looker, call_tool

VOICE = """---
name: brand-voice
description: How we write: short, warm. Read it before any text for customers.
allowed-tools: Bash, Write
---
# Brand voice
Say "we".
"""


def load_skilled_crew(folder: Path) -> Crew:
    files = {
        "a.md": page("a", "skills: [brand-voice]"),
        "b.md": page("b"),
        "skills/brand-voice/SKILL.md": VOICE,
        "skills/brand-voice/words/good.md": "Use: glad.",
        "skills/secret.txt": "not for models",
    }
    return load_files(folder, {}, **files)


async def test_a_skill_is_a_line_in_the_prompt_and_read_on_demand(tmp_path: Path) -> None:
    crew = load_skilled_crew(tmp_path)
    one = crew.specialists["a"]
    line = "- brand-voice: How we write: short, warm. Read it before any text for customers."
    assert "You work.\n\n# Skills\n\n" in one.system_prompt
    assert line in one.system_prompt
    assert 'Say "we".' not in one.system_prompt
    assert list(one.toolbox) == ["read_skill"], "a skill grants no tool, whatever its file says"
    assert not one.toolbox["read_skill"].public, "what the house says is private, unless the skill says otherwise"
    found = await call_tool(one.toolbox["read_skill"], name="brand-voice")
    assert found.text == '# Brand voice\nSay "we".\n\n[Files of this skill: words/good.md]'
    assert (await call_tool(one.toolbox["read_skill"], name="brand-voice", file="words/good.md")).text == "Use: glad."
    assert (crew.specialists["b"].tools, "Skills" in crew.specialists["b"].system_prompt) == ((), False)


async def test_nothing_outside_of_its_folder_is_read(tmp_path: Path) -> None:
    tool = load_skilled_crew(tmp_path).specialists["a"].toolbox["read_skill"]
    folder = tmp_path / "skills" / "brand-voice"
    (folder / "link.txt").symlink_to(tmp_path / "skills" / "secret.txt")
    (folder / "loop").symlink_to(folder)
    (folder / "bytes.bin").write_bytes(b"\xff\xfe\x00")
    for name in ("../secret.txt", "link.txt", str(tmp_path / "skills" / "secret.txt"), "words", "no.md", "a\0b"):
        found = await call_tool(tool, name="brand-voice", file=name)
        assert found.failed, name
        assert "not for models" not in found.text
    assert "cannot be read as text" in (await call_tool(tool, name="brand-voice", file="bytes.bin")).text
    assert (await call_tool(tool, name="other")).text == "There is no skill 'other'. Yours: brand-voice."


async def test_a_long_skill_is_read_part_by_part(tmp_path: Path) -> None:
    tool = load_skilled_crew(tmp_path).specialists["a"].toolbox["read_skill"]
    write_crew(tmp_path, **{"skills/brand-voice/long.md": "x" * 9_999 + "END, and more"})
    found = await call_tool(tool, name="brand-voice", file="long.md")
    assert found.text.endswith("xE\n[12 characters follow: start=10000]"), "what changed since the start is read"
    assert (await call_tool(tool, name="brand-voice", file="long.md", start=10_000)).text == "ND, and more"


def test_skills_of_other_places_and_of_the_crew_around_are_there(tmp_path: Path) -> None:
    files = {
        ".agents/skills/brand-voice/SKILL.md": VOICE,
        ".claude/skills/dates/SKILL.md": "---\nname: dates\ndescription: Dates.\nmetadata: {public: true}\n---\nISO.\n",
        "a.md": page("a", "skills: dates"),
        "in/crew.yml": "description: Inside.\n",
        "in/b.md": page("b", "skills: [brand-voice, dates]"),
    }
    crew = load_files(tmp_path, {}, **files)
    assert [one.name for one in crew.all_specialists["in/b"].skills] == ["brand-voice", "dates"]
    assert crew.specialists["a"].toolbox["read_skill"].public


def test_a_skill_that_cannot_be_used_is_named_and_costs_itself(tmp_path: Path) -> None:
    files = {
        "a.md": page("a"),
        "skills/one/SKILL.md": VOICE,
        "skills/two/SKILL.md": "---\nname: two\ndescription: Two.\n---\n",
        "skills/three/SKILL.md": "---\nname: three\n---\nThree.\n",
        "skills/four/SKILL.md": "No front matter.\n",
    }
    crew = load_files(tmp_path, {}, **files)
    assert [str(one).removeprefix(f"{tmp_path}/skills/").partition(";")[0] for one in crew.warnings] == [
        "four/SKILL.md:1: there is no front matter",
        "one/SKILL.md:1: the skill's name 'brand-voice' is not that of its folder",
        "three/SKILL.md:1: the skill has no description",
        "two/SKILL.md:2: the skill is empty",
    ]
    files = {"a": page("a", "skills: [lost]"), "SKILL": VOICE, "loose/SKILL": VOICE}
    assert [line.partition(";")[0] for line in list_faults(tmp_path, {}, **files)] == [
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
    crew = load_files(tmp_path, {}, **files)
    assert crew.house_rules == "# House rules (AGENTS.md)\n### Rules\nPrices are net."
    assert crew.crews["in"].house_rules == crew.house_rules, "those of the crew around it, where it has none"
    assert list(crew.all_specialists) == ["a", "in/b"]
    terms = Terms(crew_words=crew.prompts.texts_by_role)
    for role in ("planner", "replanner", "synthesizer"):
        system = make_role_call(role, "text", terms=terms, max_tokens=9).system
        assert system.count("Prices are net.") == 1
        assert system.index("What this crew asks for") < system.index("### House rules (AGENTS.md)")
    assert "Prices are net." not in make_role_call("verifier", "text", terms=terms, max_tokens=9).system
    (tmp_path / "in" / "CLAUDE.md").write_text("x" * 5_000)
    crew = load_crew(tmp_path, {})
    assert len(crew.crews["in"].house_rules) == 3_000 + len("# House rules (CLAUDE.md)\n")
    assert [one.text for one in crew.all_warnings] == [
        "it has 5,000 characters, and only 3,000 of them are used; put what matters first"
    ]


TOOLS = {name: Looker().tool(name) for name in ("web_search", "read_code", "search_code", "mcp__git__log")}
REVIEWER = """---
name: code-reviewer
description: Expert code review specialist. Reviews code for quality and security. Use PROACTIVELY after writing code.
tools: Read, Grep, Glob, Bash(git log:*, git diff:*), WebSearch, mcp__git__log
model: sonnet
color: purple
---
You are a senior code reviewer.
"""
COLON = """---
name: Security Auditor
description: Use this agent to audit code. Examples:\\n<example>Context: auth was changed. user: "Is it safe?"
  assistant: "I will look."</example>
tools:
  - Read
  - Write
model: claude-opus-5-5
permissionMode: bypassPermissions
hooks:
  PreToolUse: []
---
You audit.
"""
BARE = "---\nname: helper\ndescription: Helps.\n---\nYou help.\n"


def warnings(crew: Crew, folder: Path) -> list[str]:
    return [str(one).removeprefix(f"{folder}/") for one in crew.warnings]


def test_an_agent_becomes_a_specialist_with_its_tier_and_the_tools_that_have_an_equal(tmp_path: Path) -> None:
    crew = load_files(tmp_path, TOOLS, reviewer=REVIEWER, ours=page("ours", fallback="code-reviewer"))
    one = crew.specialists["code-reviewer"]
    assert (one.tier, one.prompt) == ("balanced", "You are a senior code reviewer.")
    assert one.description.startswith("Expert code review specialist. Reviews code for quality and security.")
    assert list(one.toolbox) == ["read_code", "search_code", "web_search", "mcp__git__log"]
    assert (
        one.translation_note
        == "model sonnet: tier balanced; Read is read_code, Grep is search_code, WebSearch is web_search"
    )
    assert warnings(crew, tmp_path) == [
        (
            "reviewer.md:4: there is no tool Glob (it would be list_files, which is not there), Bash here; "
            "the agent works without"
        )
    ]
    assert crew.specialists["ours"].translation_note == ""


def test_what_yaml_refuses_and_its_own_reader_takes_is_read(tmp_path: Path) -> None:
    crew = load_files(tmp_path, TOOLS, auditor=COLON)
    one = crew.specialists["security-auditor"]
    assert (one.tier, one.description, list(one.toolbox)) == ("deep", "Use this agent to audit code.", ["read_code"])
    assert [line.partition(":")[2].partition(": ")[2] for line in warnings(crew, tmp_path)] == [
        "there is no tool Write here; the agent works without",
        "these keys of an agent do nothing here: permissionMode, hooks",
    ]


def test_a_file_with_neither_tools_nor_model_is_one_of_theirs(tmp_path: Path) -> None:
    crew = load_files(tmp_path, TOOLS, helper=BARE)
    assert (crew.specialists["helper"].tier, crew.specialists["helper"].tools) == ("balanced", ())
    assert warnings(crew, tmp_path) == [
        "helper.md:1: it names no tools, which means all of them in Claude Code and none here; name those it needs"
    ]


def test_skills_and_servers_that_are_not_there_are_named(tmp_path: Path) -> None:
    more = "skills: [voice, tone]\nmcpServers:\n  - desk\nmaxTurns: 99\nmodel: haiku"
    crew = load_files(tmp_path, TOOLS, helper=BARE.replace("description", f"{more}\ndescription"))
    one = crew.specialists["helper"]
    assert (one.tier, one.max_turns, one.skills) == ("fast", 50, ())
    assert [line.partition(": ")[2] for line in warnings(crew, tmp_path)][1:] == [
        "there is no skill voice, tone here; the agent works without",
        "there is no MCP server desk here; the agent works without",
    ]


def test_a_name_that_is_too_long_gives_way_to_the_files(tmp_path: Path) -> None:
    text = BARE.replace("name: helper", f"name: {'plugin-' * 6}helper\nmodel: inherit")
    (one,) = load_files(tmp_path, TOOLS, helper=text).specialists.values()
    assert (one.name, one.tier) == ("helper", "balanced")


def test_its_description_may_be_as_long_as_it_likes(tmp_path: Path) -> None:
    sentence = "Helps with all kinds of things."
    text = BARE.replace("Helps.", f"{f'{sentence} ' * 20}\nmodel: opus")
    one = load_files(tmp_path, TOOLS, helper=text).specialists["helper"]
    assert (one.tier, one.description) == ("deep", " ".join([sentence] * 6))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (page("a", tools="[Red]", model="fast", body=""), "the prompt is empty"),
        (page("a", model="sonnet", body=""), "the prompt is empty"),
        (BARE.replace("Helps.", "' '"), "description must be one line"),
        (BARE.replace("Helps.", "Does: this: that"), "the front matter is not valid YAML"),
        (BARE.replace("description", "fallback: b\ndescription"), "the key tools is missing"),
    ],
    ids=["a capital", "a model", "no description", "YAML that tells nothing", "a key of ours"],
)
def test_what_stops_a_crew_does_so_in_their_files_too(tmp_path: Path, text: str, expected: str) -> None:
    assert any(expected in fault for fault in list_faults(tmp_path, TOOLS, a=text, b=page("b")))
