"""The list of tools that `leadhand check` prints, and how toolkits are proved."""

from __future__ import annotations

import argparse
import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from bot.command_line import check, tool_list
from bot.command_line.check import CheckResult
from bot.settings import read_settings
from specialists.crew_set import CrewSet
from specialists.registry import load_crew
from specialists.tools.tool import Tool
from specialists.tools.toolkit import Toolkit
from tests.specialists.crew_files import page, write_crew
from tests.specialists.scripted_model import Looker


def tools(*names: str, origin: str = "", writes: bool = False) -> tuple[Tool, ...]:
    access = "write" if writes else "read"
    return tuple(replace(Looker().tool(name), origin=origin, access=access) for name in names)


FEW = (
    Toolkit("", tools("search", "sum")),
    Toolkit("notes.py", (*tools("read_note", origin="notes.py"), *tools("note", origin="notes.py", writes=True))),
)


def test_five_tools_are_told_by_origin_access_and_holder(tmp_path: Path) -> None:
    files = {"crew": "make: {tools: [search]}\n", "in/crew": "description: Works inside.\n"}
    files["a"] = page("a", tools="[search, note]", approve="{note: always}")
    write_crew(tmp_path, b=page("b", tools="[search]"), **files, **{"in/c": page("c", tools="[read_note]")})
    note, lines = tool_list.summarize_and_list_tools(load_crew(tmp_path, {}, further_toolkits=FEW))
    assert str(CheckResult("tools", note, details=tuple(lines))).splitlines() == [
        "ok    tools: 3 held, 1 of them writes",
        "      Leadhand",
        "        search     read                a, b, those made for a job",
        "        held by nobody: sum",
        "      notes.py",
        "        read_note  read                in/c",
        "        note       write, always asks  a",
    ]


def test_a_tool_of_ones_own_that_nobody_holds_is_named_with_where_to_write_it(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(page("a", tools="[search]"))
    own = Toolkit("toolkits/prices.py", tools("quote", "discount", origin="toolkits/prices.py"))
    desk = Toolkit(".mcp.json: desk", tools("mcp__desk__find", "mcp__desk__list", origin=".mcp.json: desk"))
    crew = load_crew(tmp_path, {}, further_toolkits=(*FEW, own, desk))
    held = "of a specialist, such as in a.md"
    assert tool_list.describe_unused_tools(crew) == [
        f"nobody holds quote, discount of toolkits/prices.py, so no job can use them: add them to `tools` {held}",
        f"nobody holds a tool of .mcp.json: desk, so no job can use them: add those that it needs to `tools` {held}",
    ]
    (tmp_path / "a.md").write_text(page("a", tools="[search, quote, mcp__desk__find]"))
    assert tool_list.describe_unused_tools(load_crew(tmp_path, {}, further_toolkits=(*FEW, own, desk))) == [
        f"nobody holds discount of toolkits/prices.py, so no job can use it: add it to `tools` {held}"
    ], "a server may offer more than a crew needs, and none of Leadhand's own tools is missed"


def test_fifty_tools_of_a_server_take_a_line_each_only_where_they_are_held(tmp_path: Path) -> None:
    names = [f"mcp__desk__tool_{number:02}" for number in range(50)]
    kit = Toolkit(".mcp.json: desk", tools(*names, origin=".mcp.json: desk", writes=True))
    (tmp_path / "a.md").write_text(page("a", tools=f"[{', '.join(names[:3])}]"))
    note, lines = tool_list.summarize_and_list_tools(load_crew(tmp_path, {}, further_toolkits=(kit,)))
    assert note == "3 held, 3 of them write"
    assert lines[1] == "  mcp__desk__tool_00  write, asks  a"
    assert len(lines) < 20
    assert max(map(len, lines)) <= 110
    assert all(name in "\n".join(lines) for name in names)


async def test_toolkits_are_proved_side_by_side_in_bounded_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool_list, "PROOF_TIMEOUT_SECONDS", 0.05)
    closed = []

    async def fine() -> tuple[str, ...]:
        return ()

    async def away() -> tuple[str, ...]:
        return ("the server is away; start it",)

    async def hangs() -> tuple[str, ...]:
        await asyncio.Event().wait()
        return ()

    async def breaks() -> tuple[str, ...]:
        raise LookupError("odd")

    async def close() -> None:
        closed.append(True)
        raise OSError("gone")

    (tmp_path / "a.md").write_text(page("a"))
    proved = {one.__name__: Toolkit(one.__name__, prove=one, close=close) for one in (fine, away, hangs, breaks)}
    crew = load_crew(tmp_path, {}, further_toolkits=tuple(proved.values()))
    done: set[tuple[str, Path | None]] = {("known", None)}
    assert {origin: faults async for origin, faults in tool_list.prove_toolkits(crew, done)} == {
        "fine": (),
        "away": ("the server is away; start it",),
        "hangs": ("gave no answer within 0.05 s; see if what it reaches is up, or take it away",),
        "breaks": ("its proof broke with LookupError (odd); tell whoever made it",),
    }
    assert [one async for one in tool_list.prove_toolkits(crew, done)] == [], "each is proved once"
    await crew.close()
    assert len(closed) == 4, "one that cannot be closed does not keep the others open"


async def test_what_a_crew_holds_open_is_closed_also_if_nobody_takes_the_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said, closed = [], []

    async def close() -> None:
        await asyncio.sleep(0)
        closed.append(True)

    def say(line: str) -> None:
        said.append(line)
        raise BrokenPipeError

    (tmp_path / "a.md").write_text(page("a"))
    crew = load_crew(tmp_path, {}, further_toolkits=(Toolkit("held", close=close),))
    monkeypatch.setattr(check, "say", say)
    monkeypatch.setattr(check, "load_crews", lambda _: CrewSet.from_crews([crew]))
    with pytest.raises(BrokenPipeError):
        await check.run_check(argparse.Namespace(crew=None), read_settings({}))
    assert (len(said), closed) == (1, [True])
