"""The child process that queries a database: an answer that is too large or hostile harms only this process.

Input: JSON with `url`, `kind`, `any_user` and one of these tasks. `most` is the most rows, and `seconds` the time limit
of the statement. `tag` is a comment in the statement, by which another connection can find and end it. Output: JSON.

- `{"task": "query", "sql", "most", "seconds", "tag"}` -> `{"columns", "rows", "more"}`
- `{"task": "tables"}` -> `{"tables"}`
- `{"task": "rights"}` -> `{}`
- `{"task": "stop", "tag"}` -> `{"stopped"}`, the number of statements

If a task fails: `{"away"}` (no connection) or `{"error"}`, each with a message; or `{"refused"}` with the excess rights
of the user, which are not checked if `any_user` is true.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from sqlalchemy import create_engine, inspect, text
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.engine.reflection import Inspector, ObjectKind
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from specialists.sandbox.confine import claim_stdout
from specialists.tools.databases.database_session import find_excess_rights, install_sqlite_authorizer, make_read_only
from specialists.tools.databases.read_only_sql import NotReadOnly, make_read_only_statement
from specialists.tools.tables.cells import to_json_value

_CONNECT_SECONDS = 5
_SYSTEM_SCHEMAS = frozenset({"information_schema", "pg_catalog", "pg_toast", "mysql", "performance_schema", "sys"})
_MAX_SCHEMAS = 20
_MAX_CHARACTERS = 200_000
"""Characters of all cells together after which no more rows are read."""


def main() -> None:
    """Read a request from stdin, carry it out and write the reply to stdout."""
    request = json.load(sys.stdin)
    reply = claim_stdout()
    sys.setrecursionlimit(2000)
    reply_fields = _answer_request(request)
    with reply:
        reply.write(json.dumps(reply_fields).encode())


def _answer_request(request: dict[str, Any]) -> dict[str, Any]:
    try:
        if request["task"] == "query":
            request = {**request, "sql": make_read_only_statement(request["sql"], request["kind"])}
    except NotReadOnly as fault:
        return {"error": str(fault)}
    try:
        engine = _make_engine(request["url"], request["kind"])
        connection = engine.connect()
    except (SQLAlchemyError, OSError, ValueError) as error:
        return {"away": _read_driver_message(error)}
    tasks = {"query": _run_query, "tables": _describe_tables, "rights": lambda *_: {}, "stop": _stop_statement}
    try:
        with connection:
            if request["task"] != "stop" and (rights := _list_excess_rights(connection, request)):
                return {"refused": rights}
            return tasks[request["task"]](connection, request)
    except (SQLAlchemyError, OSError) as error:
        return {"error": _read_driver_message(error)}


def _make_engine(url: str, kind: str) -> Engine:
    connect_options: dict[str, Any] = (
        {"timeout": _CONNECT_SECONDS} if kind == "sqlite" else {"connect_timeout": _CONNECT_SECONDS}
    )
    if kind == "mysql":
        connect_options |= {"charset": "utf8mb4", "local_infile": False}
    return create_engine(url, poolclass=NullPool, connect_args=connect_options)


def _list_excess_rights(connection: Connection, request: dict[str, Any]) -> list[str]:
    if request["any_user"]:
        return []
    try:
        return list(find_excess_rights(connection, request["kind"]))
    except DBAPIError as error:
        return [f"rights that it does not tell ({_read_driver_message(error)})"]


def _run_query(connection: Connection, request: dict[str, Any]) -> dict[str, Any]:
    """Run a statement in a read-only session, and return at most `most` rows; `more` is True if there are others."""
    make_read_only(connection, request["kind"], int(request["seconds"]))
    refused_names = install_sqlite_authorizer(connection) if request["kind"] == "sqlite" else []
    if request["kind"] == "postgresql":  # for its administrators, who see only a FETCH of a statement that streams
        connection.exec_driver_sql(f"SET application_name = '{request['tag']}'")
    options = {"stream_results": True, "max_row_buffer": 20, "no_parameters": True}
    try:
        result = connection.execution_options(**options).exec_driver_sql(f"/* {request['tag']} */ {request['sql']}")
    except DBAPIError:
        if refused_names:
            return {"error": f"{refused_names[0][:80]} is SQLite's own, and is not read or called here."}
        raise
    rows: list[list[Any]] = []
    character_count, has_more = 0, False
    for row in result:
        if len(rows) == request["most"] or character_count > _MAX_CHARACTERS:
            has_more = True
            break
        rows.append([to_json_value(cell) for cell in row])
        character_count += sum(len(str(cell)) for cell in rows[-1])
    return {"columns": [str(key) for key in result.keys()], "rows": rows, "more": has_more}  # noqa: SIM118 - it is no dict


def _describe_tables(connection: Connection, request: dict[str, Any]) -> dict[str, Any]:
    """Describe each table and view: its columns with their types, primary keys and foreign keys."""
    inspector = inspect(connection)
    default_schema = inspector.default_schema_name
    schemas = (
        [None] if request["kind"] != "postgresql" else [default_schema, *_list_other_schemas(inspector, default_schema)]
    )
    tables: dict[str, list[str]] = {}
    for schema in schemas:
        keys = inspector.get_multi_pk_constraint(schema=schema)
        foreign_keys = _list_foreign_keys(inspector, schema)
        for table, columns in inspector.get_multi_columns(schema=schema, kind=ObjectKind.ANY).items():
            name = table[1] if schema in (None, default_schema) else f"{schema}.{table[1]}"
            key = keys.get(table)
            primary_columns = set(key["constrained_columns"]) if key else set()
            column_texts = [
                f"{one['name']} {str(one['type']).lower()[:40]}"
                f"{' key' if one['name'] in primary_columns else ''}{foreign_keys.get((*table, one['name']), '')}"
                for one in columns
            ]
            tables[name] = column_texts
    return {"tables": tables}


def _list_other_schemas(inspector: Inspector, default_schema: str | None) -> list[str]:
    schemas = [one for one in inspector.get_schema_names() if one != default_schema and one not in _SYSTEM_SCHEMAS]
    return [one for one in schemas if not one.startswith("pg_")][:_MAX_SCHEMAS]


def _list_foreign_keys(inspector: Inspector, schema: str | None) -> dict[tuple[Any, ...], str]:
    references = {}
    for table, keys in inspector.get_multi_foreign_keys(schema=schema).items():
        for key in keys:
            for column, other in zip(key["constrained_columns"], key["referred_columns"], strict=False):
                references[(*table, column)] = f" -> {key['referred_table']}.{other}"
    return references


def _stop_statement(connection: Connection, request: dict[str, Any]) -> dict[str, Any]:
    """End the statements with this tag that other connections of the same user run. MySQL only."""
    ask = "SELECT id FROM information_schema.processlist WHERE info LIKE :tag AND id <> connection_id()"
    ids = [int(row[0]) for row in connection.execute(text(ask), {"tag": f"%/* {request['tag']} */%"})]
    for one in ids:
        connection.exec_driver_sql(f"KILL QUERY {one}")
    return {"stopped": len(ids)}


def _read_driver_message(error: Exception) -> str:
    """Return the driver's message, at most 400 characters, without the statement that SQLAlchemy adds."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    # PostgreSQL's, without the statement.
    postgres_message = getattr(getattr(cause, "diag", None), "message_primary", None)
    parts = (
        [str(postgres_message)]
        if postgres_message
        else [str(one) for one in getattr(cause, "args", ())] or [str(cause)]
    )
    return " ".join(" ".join(parts).split())[:400]
