"""SQL that a model gave to another tool is run by the tool that runs queries; nothing else is changed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from handoff.contracts import Turn
from specialists.tools.charts.charts import tools as chart_tools
from specialists.tools.tables.calculate import tools as calculate_tools
from specialists.tools.tables.tables import tools as table_tools
from specialists.tools.tool import Tool
from specialists.turns.misplaced_queries import query_in, redirect_queries
from tests.specialists.scripted_model import Looker, calling

SQL = "SELECT region, sum(revenue) FROM sales GROUP BY region"


def toolbox(*tools: Tool) -> dict[str, Tool]:
    return {tool.name: tool for tool in (*tools, *calculate_tools(), *chart_tools())}


def meant(turn: Turn, *tools: Tool) -> list[tuple[str, dict[str, object]]]:
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
    ((name, arguments),) = meant(calling(("calculate", {"code": code})), *table_tools())
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
    assert query_in(code) == ""
    assert meant(calling(("calculate", {"code": code})), *table_tools()) == [("calculate", {"code": code})]


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
