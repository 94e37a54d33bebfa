"""Calls before they run: SQL that was given to another tool, and names that no tool lists or that hide something."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from handoff.contracts import Turn
from specialists.mcp.safe_schema import make_argument_model
from specialists.tools.charts.charts import tools as chart_tools
from specialists.tools.tables.calculate_tools import tools as calculate_tools
from specialists.tools.tables.table_tools import tools as table_tools
from specialists.tools.tool import Tool
from specialists.turns.argument_names import find_name_fault
from specialists.turns.text_calls import extract_query, redirect_queries
from tests.specialists.far_side import NoteArguments
from tests.specialists.scripted_model import Looker, calling

SQL = "SELECT region, sum(revenue) FROM sales GROUP BY region"


def toolbox(*tools: Tool) -> dict[str, Tool]:
    return {tool.name: tool for tool in (*tools, *calculate_tools(), *chart_tools())}


def redirected_calls(turn: Turn, *tools: Tool) -> list[tuple[str, dict[str, object]]]:
    return [(call.name, call.arguments) for call in redirect_queries(turn, toolbox(*tools)).calls]


@pytest.mark.parametrize(
    "code",
    [
        SQL,
        f"\n  {SQL.lower()}\n",
        f'print(query_table("{SQL}"))',
        f'rows = query_table(sql="""\n{SQL}\n""")\nfor row in rows:\n    print(row)',
        f'import pandas as pd\npd.read_sql("{SQL}", con)',
        f"a = duckdb.sql('{SQL}')\nb = duckdb.sql('{SQL}')",
    ],
)
def test_the_one_query_of_some_code_is_run_as_a_query(code: str) -> None:
    ((name, arguments),) = redirected_calls(calling(("calculate", {"code": code})), *table_tools())
    assert name == "query_table"
    assert str(arguments["sql"]).casefold() == SQL.casefold()


@pytest.mark.parametrize(
    "code",
    [
        "sum([1, 2, 3])",
        "print('select a number')\n'with love'",
        "select = 3\nselect * 4",
        "SELECT 3 * 4",
        "a = 'SELECT a FROM x'\nb = 'SELECT b FROM x'",
        "'SELECT a FROM x",
        "lager['Bestand'].min()",
    ],
)
def test_other_code_stays(code: str) -> None:
    assert extract_query(code) == ""
    assert redirected_calls(calling(("calculate", {"code": code})), *table_tools()) == [("calculate", {"code": code})]


def test_calls_of_tools_that_take_queries_have_more_arguments_or_write_stay() -> None:
    turn = calling(("draw_chart", {"sql": SQL}), ("query_table", {"sql": SQL}), ("calculate", {"code": SQL, "at": "x"}))
    assert redirect_queries(turn, toolbox(*table_tools())) is turn
    writes = replace(Looker().tool(), access="write")
    turn = calling((writes.name, {"at": SQL}), ("nobody", {"code": SQL}))
    assert redirect_queries(turn, toolbox(*table_tools(), writes)) is turn


def test_without_one_tool_for_queries_or_with_thoughts_it_stays() -> None:
    turn = calling(("calculate", {"code": SQL}))
    assert redirect_queries(turn, toolbox()) is turn
    thought = turn.model_copy(update={"thoughts": ({"type": "thinking", "thinking": "SQL", "signature": "s"},)})
    assert redirect_queries(thought, toolbox(*table_tools())) is thought
    mark = {"provider": "home-server", "model": "m"}
    for bound, changes in (({"c0": {"call": {"extra_content": "s"}, "function": {}}}, False), ({}, True)):
        fields = {"type": "reply", "fields": {"reasoning": "SQL"}, "calls": bound}
        thought = turn.model_copy(update={"thoughts": (mark, fields)})
        assert (redirect_queries(thought, toolbox(*table_tools())).calls != turn.calls) == changes


def test_the_id_of_the_call_stays() -> None:
    turn = calling(("calculate", {"code": SQL}), ids=["c7"])
    (call,) = redirect_queries(turn, toolbox(*table_tools())).calls
    assert (call.id, call.name) == ("c7", "query_table")


class Person(BaseModel):
    name: str
    tags: dict[str, str] = {}


class Invitation(BaseModel):
    model_config = ConfigDict(extra="allow")
    people: list[Person]
    chief: Person | None = None


def make_schema_model(**schema: Any) -> type[BaseModel]:
    return make_argument_model({"type": "object", "properties": {"amount": {"type": "string"}}, **schema})


NESTED_PROPERTIES = {"line": {"anyOf": [{"$ref": "#/$defs/Line"}, {"type": "null"}]}, "any": {"type": "object"}}
DEFS = {"Line": {"type": "object", "properties": {"text": {"type": "string"}, "next": {"$ref": "#/$defs/Line"}}}}


@pytest.mark.parametrize(
    ("arguments", "call_arguments", "word"),
    [
        (NoteArguments, {"text": "a", "to": "mallory"}, "no 'to'"),
        (NoteArguments, {"text": "a", "te\u200bxt": "b"}, "cannot see: 'te[U+200B]xt'"),
        (Invitation, {"people": [{"name": "a", "role": "b"}]}, "no 'role' in people; the names there are: name, tags"),
        (Invitation, {"people": [], "chief": {"name": "a", "x": 1}}, "no 'x' in chief"),
        (Invitation, {"people": [{"name": "a", "tags": {"k\u202e": "v"}}]}, "cannot see: 'k[U+202E]'"),
        (make_schema_model(), {"amount": "5", "to": "mallory"}, "no 'to'; the names there are: amount"),
        (make_schema_model(), {"am\u200bount": "5", "amount": "1000000"}, "cannot see"),
        (make_schema_model(), {"amount:\n10 EUR\nto": "mallory"}, "cannot see"),
        (make_schema_model(), {"note\u202eX": 1}, "cannot see"),
        (make_schema_model(additionalProperties=True), {"a\u200b": 1}, "cannot see"),
        (make_schema_model(additionalProperties=True), {"a ": 1}, "cannot see"),
        (make_argument_model({"type": "object"}), {"a": 1}, "the names there are: none"),
        (
            make_schema_model(properties=NESTED_PROPERTIES, **{"$defs": DEFS}),
            {"line": {"text": "a", "txt": "b"}},
            "no 'txt' in line",
        ),
        (
            make_schema_model(properties=NESTED_PROPERTIES, **{"$defs": DEFS}),
            {"line": {"next": {"next": {"x": 1}}}},
            "in line.next.next",
        ),
        (make_schema_model(properties=NESTED_PROPERTIES), {"any": [{"b": {"c\u2066": 1}}]}, "cannot see: 'c[U+2066]'"),
    ],
)
def test_what_is_not_listed_or_hides_is_named(
    arguments: type[BaseModel], call_arguments: dict[str, Any], word: str
) -> None:
    assert word in find_name_fault(arguments, call_arguments)


@pytest.mark.parametrize(
    ("arguments", "call_arguments"),
    [
        (NoteArguments, {"text": "any\u200bthing"}),
        (Invitation, {"people": [{"name": "a", "tags": {"any key": "v"}}], "chief": None}),
        (make_schema_model(), {"amount": {"its": "schema says no more"}}),
        (make_schema_model(additionalProperties=True), {"to": {"b": 1}}),
        (make_schema_model(additionalProperties={"type": "string"}), {"to": "b"}),
        (make_schema_model(allOf=[{"properties": {"to": {}}}]), {"to": "b", "amount": "5"}),
        (
            make_schema_model(properties=NESTED_PROPERTIES, **{"$defs": DEFS}),
            {"line": {"next": {"text": "a"}}, "any": {"b": {"c": [{}]}}},
        ),
    ],
)
def test_what_is_listed_may_be_given(arguments: type[BaseModel], call_arguments: dict[str, Any]) -> None:
    assert find_name_fault(arguments, call_arguments) == ""


def test_a_schema_that_leads_in_circles_ends() -> None:
    circle = {"$ref": "#/$defs/A"}
    looped = make_schema_model(properties={"a": circle}, **{"$defs": {"A": {"anyOf": [circle, {"items": circle}]}}})
    deep: Any = "end"
    for _ in range(50_000):
        deep = [deep]
    assert find_name_fault(looped, {"a": [["x"]]}) == ""
    assert "nested too deep" in find_name_fault(looped, {"a": deep})
