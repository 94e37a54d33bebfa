"""Reads a query in SQL that a model gave to another tool as the call of the tool that runs queries.

Small models put SQL into a calculator's code, alone or in the Python that they were trained on
(`pd.read_sql("SELECT ...")`). Told so, they make the right call, and the wrong one again after it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from handoff.contracts import ToolCall, Turn
from specialists.tools.tool import SQL, Tool

_SELECT = re.compile(r"\s*(?:select|with)\b.*\bfrom\b", re.IGNORECASE | re.DOTALL)
_QUOTED = re.compile(
    r"(?P<mark>\"{3}|'{3}|[\"'])(?P<sql>\s*(?:select|with)\b(?:(?!(?P=mark))[^\\])*)(?P=mark)", re.IGNORECASE
)


def redirect_queries(turn: Turn, toolbox: Mapping[str, Tool]) -> Turn:
    """Return the turn with each query in SQL as a call of the tool for queries, if there is one such tool.

    A turn with thoughts stays as it is, unless these belong to none of its calls: providers check that they come back
    with the very calls that followed them.
    """
    runs = [tool for tool in toolbox.values() if tool.only_queries]
    if len(runs) != 1 or any(one.get("calls", "type" in one) for one in turn.thoughts) or not turn.calls:
        return turn
    calls = tuple(_redirect_query(call, toolbox, runs[0]) for call in turn.calls)
    return turn if calls == turn.calls else turn.model_copy(update={"calls": calls})


def _redirect_query(call: ToolCall, toolbox: Mapping[str, Tool], runs: Tool) -> ToolCall:
    """Return the call, or that of the tool `runs` if its only argument holds one query. Calls that write stay."""
    tool = toolbox.get(call.name)
    values = list(call.arguments.values())
    if tool is None or tool.access == "write" or tool.query or len(values) != 1 or not isinstance(values[0], str):
        return call
    sql = query_in(values[0])
    return call.model_copy(update={"name": runs.name, "arguments": {SQL: sql}}) if sql else call


def query_in(text: str) -> str:
    """Return the query that a text is, or the only one that it holds in quotes; empty if there is none."""
    if _SELECT.match(text):
        return text.strip()
    found = {one["sql"].strip() for one in _QUOTED.finditer(text) if _SELECT.match(one["sql"])}
    return found.pop() if len(found) == 1 else ""
