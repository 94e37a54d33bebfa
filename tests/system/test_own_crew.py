"""A crew of one's own, as docs/crews.md shows it: three files, `leadhand check`, and a thread."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.app import load_crew_of_settings
from bot.command_line.check import run_checks
from bot.settings import read_settings
from tests.specialists.test_readme_example import files_of_the_page
from tests.system.brains import after_calls, plan, played_by, subtask, tool_call
from tests.system.scene import Scene

AGENT = """---
name: proof-reader
description: Reads proofs.
tools: WebSearch, Write
model: haiku
---
You read proofs.
"""


TRANSLATOR = after_calls(
    tool_call("look_up_term", term="gateway"),
    tool_call("look_up_term", term="proxy"),
    tool_call("add_term", term="proxy", german="Vermittler"),
)
"""Looks two words up, and adds the one that is missing."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return files_of_the_page(tmp_path)


async def test_the_crew_of_the_page_is_listed_with_its_tools(folder: Path) -> None:
    (folder / "proof-reader.md").write_text(AGENT)
    lines: list[str] = []
    settings = read_settings({"LEADHAND_CREW": str(folder)})
    async for verdict in run_checks(settings):
        lines += str(verdict).splitlines()
        if verdict.subject == "tools":
            break
    read_as = "model haiku: tier fast; WebSearch is web_search"
    assert lines[0].startswith("ok    crew: ")
    assert lines[0].endswith(f"{folder.name}: proof-reader, translator")
    assert lines[1:4] == [
        f"ok    proof-reader, an agent of Claude Code: {read_as}; the planner is told: Reads proofs.",
        f"warn  crew: {folder}/proof-reader.md:4: there is no tool Write here; the agent works without",
        "ok    tools: 3 held, 1 of them writes",
    ]
    assert lines[-3:] == [
        "      toolkits/glossary.py",
        "        look_up_term  read         translator",
        "        add_term      write, asks  translator",
    ]


async def test_its_tools_work_in_a_thread_and_what_they_write_is_approved(folder: Path, scene: Scene) -> None:
    crew = load_crew_of_settings(read_settings({"LEADHAND_CREW": str(folder)}))
    async with played_by(scene, crew, planner=lambda _: plan(subtask("words", "translator")), translator=TRANSLATOR):
        talk = await scene.ask("Translate our words, and note those that are missing")
        await talk.wait_for_question()
        assert "wants to make a change" in talk.join_bot_texts()
        await talk.press("Approve")
        await talk.over()
    assert (folder / "toolkits" / "glossary.csv").read_text().splitlines() == ["gateway,Zugang", "proxy,Vermittler"]
    assert "Said: Zugang / proxy is not in the glossary. / Done." in talk.join_bot_texts()
    trace = await talk.timeline()
    assert "words: asks for approval: add_term(term='proxy', german='Vermittler')" in trace
    assert "words: begins add_term(term='proxy', german='Vermittler') (approved by" in trace
