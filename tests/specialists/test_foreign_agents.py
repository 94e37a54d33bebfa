"""Agents of Claude Code in a crew: what they become, and what is named of them that has no equal here."""

from __future__ import annotations

from pathlib import Path

import pytest

from specialists.crew import Crew
from specialists.registry import CrewError, load_crew
from tests.specialists.scripted_model import Looker
from tests.specialists.test_registry import page

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


def load(folder: Path, **files: str) -> Crew:
    for name, text in files.items():
        (folder / f"{name}.md").write_text(text)
    return load_crew(folder, TOOLS)


def warnings(crew: Crew, folder: Path) -> list[str]:
    return [str(one).removeprefix(f"{folder}/") for one in crew.warnings]


def test_an_agent_becomes_a_specialist_with_its_tier_and_the_tools_that_have_an_equal(tmp_path: Path) -> None:
    crew = load(tmp_path, reviewer=REVIEWER, ours=page("ours", fallback="code-reviewer"))
    one = crew.specialists["code-reviewer"]
    assert (one.tier, one.prompt) == ("balanced", "You are a senior code reviewer.")
    assert one.description.startswith("Expert code review specialist. Reviews code for quality and security.")
    assert list(one.toolbox) == ["read_code", "search_code", "web_search", "mcp__git__log"]
    assert one.read_as == "model sonnet: tier balanced; Read is read_code, Grep is search_code, WebSearch is web_search"
    assert warnings(crew, tmp_path) == [
        (
            "reviewer.md:4: there is no tool Glob (it would be list_files, which is not there), Bash here; "
            "the agent works without"
        )
    ]
    assert crew.specialists["ours"].read_as == ""


def test_what_yaml_refuses_and_its_own_reader_takes_is_read(tmp_path: Path) -> None:
    crew = load(tmp_path, auditor=COLON)
    one = crew.specialists["security-auditor"]
    assert (one.tier, one.description, list(one.toolbox)) == ("deep", "Use this agent to audit code.", ["read_code"])
    assert [line.partition(":")[2].partition(": ")[2] for line in warnings(crew, tmp_path)] == [
        "there is no tool Write here; the agent works without",
        "these keys of an agent do nothing here: permissionMode, hooks",
    ]


def test_a_file_with_neither_tools_nor_model_is_one_of_theirs(tmp_path: Path) -> None:
    crew = load(tmp_path, helper=BARE)
    assert (crew.specialists["helper"].tier, crew.specialists["helper"].tools) == ("balanced", ())
    assert warnings(crew, tmp_path) == [
        "helper.md:1: it names no tools, which means all of them in Claude Code and none here; name those it needs"
    ]


@pytest.mark.parametrize(
    ("model", "tier"), [("haiku", "fast"), ("sonnet", "balanced"), ("opus", "deep"), ("inherit", "balanced")]
)
def test_their_models_are_tiers(tmp_path: Path, model: str, tier: str) -> None:
    assert (
        load(tmp_path, helper=BARE.replace("\n---\nYou", f"\nmodel: {model}\n---\nYou")).specialists["helper"].tier
        == tier
    )


def test_skills_and_servers_that_are_not_there_are_named(tmp_path: Path) -> None:
    more = "skills: [voice, tone]\nmcpServers:\n  - desk\nmaxTurns: 99\nmodel: haiku"
    crew = load(tmp_path, helper=BARE.replace("description", f"{more}\ndescription"))
    assert (crew.specialists["helper"].max_turns, crew.specialists["helper"].skills) == (50, ())
    assert [line.partition(": ")[2] for line in warnings(crew, tmp_path)][1:] == [
        "there is no skill voice, tone here; the agent works without",
        "there is no MCP server desk here; the agent works without",
    ]


def test_a_name_that_is_too_long_gives_way_to_the_files(tmp_path: Path) -> None:
    assert list(load(tmp_path, helper=BARE.replace("name: helper", f"name: {'plugin-' * 6}helper")).specialists) == [
        "helper"
    ]


def test_its_description_may_be_as_long_as_it_likes(tmp_path: Path) -> None:
    crew = load(tmp_path, helper=BARE.replace("Helps.", "Helps with all kinds of things. " * 20))
    assert (
        crew.specialists["helper"].description
        == "Helps with all kinds of things. " * 5 + "Helps with all kinds of things."
    )


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
    with pytest.raises(CrewError) as raised:
        load(tmp_path, a=text, b=page("b"))
    assert any(expected in fault.text for fault in raised.value.faults)
