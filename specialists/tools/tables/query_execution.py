"""Runs one SELECT on the loaded tables."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from specialists.tools.tables.cells import to_json_value
from specialists.tools.tables.row_filters import describe_filters
from specialists.tools.tables.table_errors import TableRefused, describe_error

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MAX_COUNTED_ROWS = 100_000
_BATCH_ROWS = 5_000
_QUICK_SECONDS = 0.5
"""Seconds. After a query that took longer, no further queries count the rows that its LIMIT or its conditions cut."""
_READING_STATEMENTS = {"SELECT", "MULTI", "EXPLAIN"}
"""DuckDB's types of statements that only read: SELECT, FROM, WITH, DESCRIBE and SHOW; PIVOT; EXPLAIN."""


def execute_query(connection: DuckDBPyConnection, sql: str, most: int) -> dict[str, Any]:
    """Run a query, and return a dictionary with the result.

    Its keys: `columns`, `types` and `rows` (up to `most`); `total`, the number of rows, or None if there are too many
    to count; `cut_from`, the number of rows without the query's own LIMIT, or None if that cuts none; `used`, the names
    of the tables that it reads, or None if unknown; and `filters`, a text for each of its conditions.

    Raises:
        TableRefused: the SQL is wrong, or more than one SELECT; the message says how to correct it.
    """
    import duckdb  # noqa: PLC0415

    try:
        statements = connection.extract_statements(sql)
        if len(statements) != 1 or statements[0].type.name not in _READING_STATEMENTS:
            raise TableRefused("Only one SELECT at a time: the tables can be read, not changed.")
        started_at = time.monotonic()
        connection.execute(statements[0])
        columns = [(str(name), str(kind)) for name, kind, *_ in connection.description or ()]
        rows = connection.fetchmany(most)
        total = len(rows)
        while total < _MAX_COUNTED_ROWS and (batch := connection.fetchmany(_BATCH_ROWS)):
            total += len(batch)
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error as error:
        raise TableRefused(_explain_error(connection, error)) from None
    is_quick = time.monotonic() - started_at < _QUICK_SECONDS
    tree = _parse_query(connection, sql)
    return {
        "columns": [name for name, _ in columns],
        "types": [kind for _, kind in columns],
        "rows": [[to_json_value(cell) for cell in row] for row in rows],
        "total": total if total < _MAX_COUNTED_ROWS else None,
        "cut_from": _count_without_limit(connection, tree, total) if is_quick and "limit" in sql.casefold() else None,
        "used": sorted(set(_iterate_tables(tree))) if tree else None,
        "filters": _find_filters(connection, sql, tree, counts=is_quick) if tree else [],
    }


def _parse_query(connection: DuckDBPyConnection, sql: str) -> Any:
    """Return DuckDB's syntax tree of a query; None if DuckDB gives none, as for PIVOT."""
    import duckdb  # noqa: PLC0415

    try:
        row = connection.execute("SELECT json_serialize_sql(?)", [sql]).fetchone()
    except duckdb.Error:
        return None
    tree = json.loads(row[0]) if row else {"error": True}
    return None if tree.get("error", True) else tree


@contextmanager
def _interrupt_slow_queries(connection: DuckDBPyConnection) -> Iterator[None]:
    """Interrupt queries inside this context `_QUICK_SECONDS` seconds after its start."""
    stop = threading.Timer(_QUICK_SECONDS, connection.interrupt)
    stop.start()
    try:
        yield
    finally:
        stop.cancel()
        stop.join()


def _find_filters(connection: DuckDBPyConnection, sql: str, tree: Any, *, counts: bool) -> list[str]:
    with _interrupt_slow_queries(connection):
        return describe_filters(connection, sql, tree, counts_rows=counts)


def _count_without_limit(connection: DuckDBPyConnection, tree: Any, total: int) -> int | None:
    """Count the rows of a query without the LIMIT at its end; None if it cuts none, or they cannot be counted."""
    import duckdb  # noqa: PLC0415

    statement = tree["statements"][0] if tree else {}
    node = statement.get("node", {})
    if not any(each["type"].startswith("LIMIT") for each in node.get("modifiers", ())):
        return None
    tree_without_limit = {**tree, "statements": [{**statement, "node": {**node, "modifiers": []}}]}
    try:
        with _interrupt_slow_queries(connection):  # without its LIMIT the query may never end
            sql_row = connection.execute("SELECT json_deserialize_sql(?)", [json.dumps(tree_without_limit)]).fetchone()
            if not sql_row:
                return None
            count_sql = f"SELECT count(*) FROM (SELECT * FROM ({sql_row[0]}) LIMIT {_MAX_COUNTED_ROWS + 1})"  # noqa: S608 - DuckDB's words
            count_row = connection.execute(count_sql).fetchone()
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error:
        return None
    return int(count_row[0]) if count_row and count_row[0] > total else None


def _iterate_tables(tree: Any) -> Iterator[str]:
    for each in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _iterate_tables(each)
    if isinstance(tree, dict) and tree.get("type") == "BASE_TABLE":
        yield str(tree["table_name"]).casefold()


def _explain_error(connection: DuckDBPyConnection, error: Exception) -> str:
    """Return DuckDB's message, which names the place of the error, and the tables with their columns."""
    text = describe_error(error, 500)
    if "pytz" in text:
        return "Times with a zone cannot be shown: cast them, as in now()::TIMESTAMP."
    if type(error).__name__ == "PermissionException":
        return f"SQL reads the attached tables only, no files and no network. {_describe_tables(connection)}"
    return f"{text}\n{_describe_tables(connection)}"


def _describe_tables(connection: DuckDBPyConnection) -> str:
    rows = connection.execute(
        "SELECT table_name, string_agg(CASE WHEN regexp_full_match(column_name, '[A-Za-z_]\\w*') THEN column_name "
        "ELSE '\"' || column_name || '\"' END || ' ' || data_type, ', ' ORDER BY column_index)[:600] "
        "FROM duckdb_columns() WHERE NOT internal GROUP BY 1 ORDER BY 1 LIMIT 10"
    ).fetchall()
    return "Tables: " + ("; ".join(f"{table}({columns})" for table, columns in rows) or "none")
