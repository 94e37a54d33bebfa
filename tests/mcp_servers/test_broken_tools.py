"""A server with tools that are not as the protocol has them: each is left out by name, and the others work."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specialists.mcp.server_tools import list_left_out_reasons, make_connection, make_toolkit
from specialists.mcp.tool_list_filter import ToolListFilter
from specialists.mcp.tool_lock import ToolLock, make_locked_tool, read_lock, write_lock
from specialists.tools.tool import FolderWorkbench
from tests.mcp_servers.harbour import Harbour, make_tool_entry, tool
from tests.specialists.scripted_model import call_tool

GOOD = make_tool_entry("look")
BROKEN_TOOLS: dict[str, Any] = {
    "schema without a type": make_tool_entry("bare") | {"inputSchema": {}},
    "schema of a list": make_tool_entry("listed") | {"inputSchema": {"type": "array"}},
    "schema that is a text": make_tool_entry("texted") | {"inputSchema": "object"},
    "no schema": {"name": "none", "description": "Takes what?"},
    "no name": {"description": "Who?", "inputSchema": {"type": "object"}},
    "name that is a number": make_tool_entry("x") | {"name": 7},
    "empty name": make_tool_entry("") | {"description": "Who?"},
    "description that is a list": make_tool_entry("described") | {"description": ["a", "b"]},
    "annotations that are a text": make_tool_entry("noted") | {"annotations": "readOnly"},
    "output schema that is a text": make_tool_entry("outspoken") | {"outputSchema": "text"},
    "properties that are a list": make_tool_entry("proper") | {"inputSchema": {"type": "object", "properties": []}},
    "no tool at all": "look, a text",
    "null": None,
}
NAMELESS = {"no name", "name that is a number", "empty name", "no tool at all", "null"}


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


@pytest.fixture
def harbour(tmp_path: Path) -> Harbour:
    return Harbour(tmp_path)


async def list_left_out_tools(harbour: Harbour, *tools: Any, pages: int = 1) -> dict[str, str]:
    """Have the server say this, and give the tools that are left out with the reasons; the good one is called."""
    harbour.pages(pages, *tools)
    (server,) = harbour.servers()
    connection = make_connection(server, harbour.settings, "crew")
    try:
        live = await connection.list_tools()
    finally:
        await connection.close()
    path = harbour.folder / "mcp.lock"
    write_lock(path, ToolLock().with_server("port", live))
    kept = read_lock(path).servers["port"]
    assert {one.name: one.digest for one in kept} == {one.name: one.digest for one in live}
    kit = make_toolkit(server, kept, harbour.settings, "crew")
    assert kit.close is not None
    try:
        outcome = await call_tool(tool(kit, "look"), FolderWorkbench.make_in_memory((), harbour.folder))
    finally:
        await kit.close()
    assert outcome.text.endswith("High water at noon."), outcome.text
    assert not any(name in list_left_out_reasons("port", kept) for name in ("look",))
    return dict(kit.unusable_tools)


async def test_each_broken_tool_costs_itself_alone(harbour: Harbour, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    out = await list_left_out_tools(harbour, *BROKEN_TOOLS.values(), GOOD, make_tool_entry("note"))
    assert len(out) == len(BROKEN_TOOLS)
    assert all(out.values())
    for place, (kind, one) in enumerate(BROKEN_TOOLS.items(), start=1):
        name = f"(number {place} of its list, without a name)" if kind in NAMELESS else one["name"]
        assert kind == "empty name" or name in out
        unsaid = kind in {"empty name", "properties that are a list"}
        assert unsaid or f"the MCP server port: {name} is left out" in caplog.text


async def test_what_is_broken_in_other_ways_has_its_reason(harbour: Harbour) -> None:
    out = await list_left_out_tools(
        harbour,
        make_tool_entry("deep", deep(30)),
        make_tool_entry("abyss", deep(400)),
        GOOD,
        make_tool_entry("look", description="Another look."),
        make_tool_entry("a/b"),
        make_tool_entry("a b"),
        make_tool_entry("x" * 200),
        make_tool_entry("away", {"type": "object", "properties": {"a": {"$ref": "https://evil.example/s"}}}),
    )
    assert out["deep"] == "its schema is nested more than 24 deep"
    assert out["abyss"] == "its schema is nested more than 24 deep"
    assert out["look (again)"] == "its name is taken: the first of that name counts"
    assert out["a/b"] == "specialists would call it mcp__port__a_b, which is 'a b'"
    assert out["x" * 60] == "its name has more than 128 characters"
    assert "points to another place" in out["away"]
    assert len(out) == 6


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"tools": "none"}, "it cannot be read"),
        ({"error": "boom"}, "it cannot be read: boom"),
        ({}, "it cannot be read"),
    ],
)
async def test_a_second_page_that_cannot_be_read_leaves_the_first(
    harbour: Harbour, answer: dict[str, Any], why: str
) -> None:
    out = await list_left_out_tools(harbour, GOOD, make_tool_entry("note"), {"page": answer}, pages=2)
    assert out["(page 2 of its list)"].startswith(why)


async def test_a_page_with_an_odd_cursor_is_the_last(harbour: Harbour) -> None:
    assert (
        await list_left_out_tools(
            harbour, GOOD, {"page": {"tools": [make_tool_entry("note")], "nextCursor": 5}}, pages=2
        )
        == {}
    )


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(["name", "title", "description", "inputSchema", "outputSchema", "annotations", "icons", "_meta"])


@settings(max_examples=120, deadline=None)
@given(
    protocol=st.sampled_from(["2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"]),
    odd=st.lists(st.dictionaries(KEYS, ANYTHING, max_size=4) | ANYTHING, max_size=4),
    at=st.integers(0, 4),
)
def test_whatever_stands_beside_it_a_good_tool_is_kept_and_what_is_kept_is_valid(
    protocol: str, odd: list[Any], at: int
) -> None:
    import mcp_types  # noqa: PLC0415 - as the product does

    sieve = ToolListFilter()
    sieve.protocol_version = protocol
    rest = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    page: dict[str, Any] = {"tools": [*odd[:at], GOOD, *odd[at:]], "nextCursor": 5, **rest}
    kept = sieve.filter_page(page)["tools"]
    assert GOOD in kept
    assert len(kept) + len(sieve.broken_entries) == len(odd) + 1
    mcp_types.ListToolsResult.model_validate({"tools": kept}, by_name=False)
    assert all(make_locked_tool(one).name for one in kept if one.get("name"))
