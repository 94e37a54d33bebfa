"""Tool calls that models write as text: read where they are ones for certain, and nowhere else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from specialists.tools.tool import ToolSpec
from specialists.turns.finish_tools import SPECS
from specialists.turns.written_calls import find_written_call

QUERY = ToolSpec(
    "query_table",
    "Runs SQL.",
    {"type": "object", "properties": {"sql": {"type": "string"}}, "required": ["sql"]},
)
TOOLS = (QUERY, *SPECS)
SQL = {"sql": "select region, sum(sales) from sales group by region"}
RESULT = {"summary": "North leads.", "content": "North: 35", "confidence": 35}


def said(tool: str, given: Any, *, name: str = "name", arguments: str = "arguments") -> str:
    return json.dumps({name: tool, arguments: given})


@pytest.mark.parametrize(
    "text",
    [
        f"<tool_call>\n{said('query_table', SQL)}\n</tool_call>",
        f"<tool_call>{said('query_table', SQL)}",
        f"```json\n{said('query_table', SQL)}\n```",
        said("query_table", SQL),
        said("query_table", SQL, name="tool"),
        said("query_table", SQL, name="tool", arguments="parameters"),
        said("query_table", SQL, name="action", arguments="input"),
        said("query_table", json.dumps(SQL)),
        json.dumps([{"function": json.loads(said("query_table", SQL))}]),
        json.dumps({"tool_calls": [{"id": "1", "type": "function", "function": json.loads(said("query_table", SQL))}]}),
        json.dumps({"step": {"tool": "query_table", "arguments": SQL}}),
        json.dumps({"query_table": SQL}),
        f"<function=query_table>{json.dumps(SQL)}</function>",
        f"I will now query the table {{region}}:\n\n```json\n{said('query_table', SQL)}\n```\nThen I will answer.",
        f"{said('read_mind', {})}\n{said('query_table', SQL)}",
    ],
)
def test_a_call_in_any_of_the_usual_forms_is_read(text: str) -> None:
    call = find_written_call(text, TOOLS)
    assert call is not None
    assert (call.name, call.arguments) == ("query_table", SQL)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(RESULT),
        f"```json\n{json.dumps(RESULT)}\n```",
        said("return_result", RESULT),
        # its last brace is missing, as small models forget it
        said("return_result", RESULT)[:-1],
    ],
)
def test_a_result_is_read_without_its_name_too(text: str) -> None:
    call = find_written_call(text, TOOLS)
    assert call is not None
    assert (call.name, call.arguments) == ("return_result", RESULT)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I will now query the table to get the total by region.",
        "North: 35 {a}, South: 49 {b}",
        said("read_mind", SQL),
        said("query_table", {}),
        said("query_table", {"query": "select 1"}),
        said("query_table", "select 1"),
        said("query_table", [SQL]),
        said("query_table", None),
        f"<tool_call>{said('query_table', SQL)[:-10]}",
        json.dumps({"name": "North", "sql": "select 1"}),
        json.dumps(SQL),
        json.dumps(RESULT | {"author": "me"}),
        json.dumps({"summary": "North leads.", "content": "North: 35"}),
        '{"a":' * 60_000,
        f"The page that I read says: {said('query_table', SQL)}. " + "It goes on about other things. " * 20,
        json.dumps({"name": "query_table", "arguments": {"sql": ["x"]}}).replace('"x"', "[" * 50 + "]" * 50),
    ],
)
def test_whatever_is_no_call_for_certain_is_none(text: str) -> None:
    assert find_written_call(text, TOOLS) is None


def test_a_line_break_in_a_string_and_half_a_character_do_no_harm() -> None:
    call = find_written_call('{"name": "query_table", "arguments": {"sql": "select 1\n-- \\ud83d"}}', TOOLS)
    assert call is not None
    assert call.arguments == {"sql": "select 1\n-- \ufffd"}


def test_the_same_text_gives_the_same_id_and_another_text_another() -> None:
    one, same, other = (find_written_call(said("query_table", {"sql": sql}), TOOLS) for sql in ("a", "a", "b"))
    assert one is not None
    assert other is not None
    assert one == same
    assert one.id != other.id


def test_without_tools_there_is_no_call() -> None:
    assert find_written_call(json.dumps(RESULT), (QUERY,)) is None
    assert find_written_call(said("query_table", SQL), ()) is None
