"""Describes which rows a query used: each of its conditions, and how many rows of the table meet it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MAX_CONDITIONS = 4
"""Most conditions that are described."""
_MAX_CONDITION_CHARS = 120
"""Most characters of a described condition."""
_OPERATOR = re.compile(r"\s*(<=|>=|<>|!=|(?<![<>!=])=|<(?![=>])|(?<!<)>(?!=))\s*")


@dataclass(frozen=True, slots=True)
class _Condition:
    """A condition of a query as SQL, and the one table that it is about, as in the FROM; "" if there are several."""

    sql: str
    table: str


def describe_filters(connection: DuckDBPyConnection, sql: str, tree: Any, *, counts_rows: bool = True) -> list[str]:
    """Describe the conditions of a query, such as `status = paid: 6 of 10 rows`, except those that exclude no row.

    Args:
        connection: The database with the tables.
        sql: The query.
        tree: The query as DuckDB's `json_serialize_sql` parses it.
        counts_rows: Whether there is time to count rows.
    """
    conditions = list(dict.fromkeys(_iterate_conditions(tree, sql.encode(), "")))
    words = (_describe_condition(connection, one, counts_rows=counts_rows) for one in conditions)
    return [one for one in words if one][:_MAX_CONDITIONS]


def _iterate_conditions(node: Any, sql: bytes, table: str) -> Iterator[_Condition]:
    """Yield the conditions of WHERE, HAVING, QUALIFY and FILTER, and of CASE, from the outside in.

    A CASE with an ELSE only sorts rows and excludes none, so its conditions are left out unless the ELSE is NULL or 0.
    """
    if isinstance(node, list):
        for each in node:
            yield from _iterate_conditions(each, sql, table)
    if not isinstance(node, dict):
        return
    if node.get("type") == "SELECT_NODE":
        source = node.get("from_table") or {}
        names = [source.get("table_name"), source.get("alias")] if source.get("type") == "BASE_TABLE" else []
        table = " AS ".join(_quote_name(name) for name in names if name)
    case_checks = node.get("case_checks", ()) if _is_null_or_zero(node.get("else_expr")) else ()
    for condition in (node.get("where_clause"), node.get("filter"), *(check.get("when_expr") for check in case_checks)):
        if isinstance(condition, dict):
            yield from _iterate_condition_texts(condition, sql, table)
    for name in ("having", "qualify"):
        if isinstance(condition := node.get(name), dict):
            yield from _iterate_condition_texts(condition, sql, "")
    for each in node.values():
        yield from _iterate_conditions(each, sql, table)


def _iterate_condition_texts(condition: dict[str, Any], sql: bytes, table: str) -> Iterator[_Condition]:
    """Yield a condition with the query's own text, unless it names no column."""
    if not _names_column(condition):
        return
    sides = [condition] if _has_location(condition) else [condition.get("left"), condition.get("right")]
    # CASE column WHEN value has no operator.
    if text := " = ".join(filter(None, (_read_condition_text(side, sql) for side in sides))):
        yield _Condition(text, table)


def _read_condition_text(node: Any, sql: bytes) -> str:
    spans = list(_iterate_spans(node))
    if not spans:
        return ""
    start, end = min(first for first, _ in spans), max(last for _, last in spans)
    return " ".join(sql[start:end].decode(errors="replace").split())


def _is_null_or_zero(node: Any) -> bool:
    """Return True for NULL, 0 and a missing ELSE (None), which add nothing to a sum or count."""
    if not isinstance(node, dict) or not isinstance(literal := node.get("literal"), dict):
        return node is None
    return literal.get("kind") == "NULL_LITERAL" or re.fullmatch(r"0+(\.0*)?", str(literal.get("text"))) is not None


def _has_location(node: Any) -> bool:
    """Return True if DuckDB gives a node's place in the query; nodes that DuckDB itself added have a length of 0."""
    return bool(node.get("query_location_length"))


def _iterate_spans(node: Any) -> Iterator[tuple[int, int]]:
    """Yield start and end, in the query's bytes, of each part of a condition whose place DuckDB gives."""
    if isinstance(node, dict):
        start, length = node.get("query_location"), node.get("query_location_length")
        if isinstance(start, int) and isinstance(length, int) and length:
            yield start, start + length
    for each in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _iterate_spans(each)


def _names_column(node: Any) -> bool:
    if isinstance(node, dict):
        return node.get("type") == "COLUMN_REF" or any(map(_names_column, node.values()))
    return isinstance(node, list) and any(map(_names_column, node))


def _quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _describe_condition(connection: DuckDBPyConnection, condition: _Condition, *, counts_rows: bool) -> str:
    import duckdb  # noqa: PLC0415

    words = _OPERATOR.sub(r" \1 ", condition.sql.replace("'", "").replace('"', ""))
    words = words if len(words) <= _MAX_CONDITION_CHARS else f"{words[: _MAX_CONDITION_CHARS - 1]}…"
    if not condition.table or not counts_rows:
        return words
    try:
        counts = connection.execute(
            f"SELECT count(*) FILTER (WHERE {condition.sql}), count(*) FROM {condition.table}"  # noqa: S608 - read-only, walled in
        ).fetchone()
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error:
        return words
    matching_rows, all_rows = counts or (0, 0)
    return f"{words}: {matching_rows:,} of {all_rows:,} rows" if matching_rows < all_rows else ""
