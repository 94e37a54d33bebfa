"""Database sessions: finds the rights of a user that go beyond tables, and makes a session read-only."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator

from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError

from specialists.tools.databases.named_databases import Kind
from specialists.tools.databases.read_only_sql import read_allowed_functions

# ---------------------------------------------------------------- rights

_POSTGRESQL_RIGHTS_SQL = """
WITH mine AS (SELECT oid, rolname, rolsuper FROM pg_roles
  WHERE pg_has_role(session_user, oid, 'MEMBER') OR pg_has_role(current_user, oid, 'MEMBER'))
SELECT 1, 'superuser' FROM mine WHERE rolsuper
UNION SELECT 2, 'the role ' || rolname FROM mine
  WHERE rolname IN ('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program')
UNION SELECT 3, 'the attribute REPLICATION' FROM pg_roles
  WHERE rolreplication AND rolname IN (session_user, current_user)
UNION SELECT 4, 'the function ' || proname FROM pg_proc
  WHERE pronamespace = 'pg_catalog'::regnamespace AND has_function_privilege(oid, 'EXECUTE') AND proname IN
    ('pg_read_file', 'pg_read_binary_file', 'pg_ls_dir', 'pg_stat_file', 'lo_import', 'lo_export', 'pg_reload_conf')
ORDER BY 1, 2"""
_GLOBAL_GRANT = re.compile(r"GRANT (.+?) ON \*\.\* TO ")
_HARMLESS_RIGHTS = frozenset(
    """USAGE|SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|REFERENCES|INDEX|ALTER|SHOW DATABASES|CREATE TEMPORARY TABLES|
    LOCK TABLES|EXECUTE|CREATE VIEW|SHOW VIEW|CREATE ROUTINE|ALTER ROUTINE|SHOW CREATE ROUTINE|SHOW_ROUTINE|EVENT|
    TRIGGER|PROCESS|DELETE HISTORY|REPLICATION CLIENT|BINLOG MONITOR|SLAVE MONITOR""".replace("\n    ", "").split("|")
)
"""The global rights of MySQL and MariaDB that concern tables, or that only show what the server does."""


def find_excess_rights(connection: Connection, kind: Kind) -> tuple[str, ...]:
    """Return the rights of the session's user that reach beyond tables, to the server and its files; () if none.

    A superuser of PostgreSQL gives ("superuser",) alone. Raises DBAPIError if the server refuses to list the rights.
    """
    if kind == "sqlite":  # it is opened read-only, and has no users
        return ()
    if kind == "postgresql":
        excess_rights = tuple(str(row[1]) for row in connection.exec_driver_sql(_POSTGRESQL_RIGHTS_SQL))
        connection.rollback()
        return excess_rights[:1] if excess_rights[:1] == ("superuser",) else excess_rights
    granted_rights = {right.strip() for line in _iterate_global_grants(connection) for right in line.split(",")}
    return tuple(sorted(granted_rights - _HARMLESS_RIGHTS))


def _iterate_global_grants(connection: Connection) -> Iterator[str]:
    """Yield the global grants of the user and of its active role, such as `SELECT, FILE`."""
    lines = [str(row[0]) for row in connection.exec_driver_sql("SHOW GRANTS")]
    if not getattr(connection.dialect, "is_mariadb", False):  # MariaDB includes the grants of the role
        role = _query_first_cell(connection, "SELECT CURRENT_ROLE()")
        if role not in ("", "NONE"):
            rows = connection.exec_driver_sql(f"SHOW GRANTS FOR CURRENT_USER() USING {role}")
            lines += [str(row[0]) for row in rows]
    for line in lines:
        if match := _GLOBAL_GRANT.match(line):
            yield match[1]


def _query_first_cell(connection: Connection, query: str) -> str:
    """Return the first cell of a query's result as text; "" if the server rejects the query."""
    try:
        return str(connection.exec_driver_sql(query).scalar() or "")
    except DBAPIError:
        connection.rollback()
        return ""


# ---------------------------------------------------------------- read-only sessions

_HARMLESS_SQL_MODES = frozenset(
    """ONLY_FULL_GROUP_BY STRICT_TRANS_TABLES STRICT_ALL_TABLES NO_ZERO_IN_DATE NO_ZERO_DATE
    ERROR_FOR_DIVISION_BY_ZERO NO_ENGINE_SUBSTITUTION NO_AUTO_CREATE_USER NO_UNSIGNED_SUBTRACTION
    PAD_CHAR_TO_FULL_LENGTH TIME_TRUNCATE_FRACTIONAL TIME_ROUND_FRACTIONAL ALLOW_INVALID_DATES""".split()  # noqa: SIM905 - shorter
)
"""The modes of MySQL and MariaDB that do not change how a statement is read. Others are switched off."""


def make_read_only(connection: Connection, kind: Kind, seconds: int) -> None:
    """Make the server refuse any change in this session, and end statements that take longer than `seconds`.

    SQLite has no such time limit. In the other servers, modes are set in which they read strings and names as the
    parser of `read_only` does.
    """
    if kind == "sqlite":
        connection.exec_driver_sql("PRAGMA trusted_schema = OFF")
        connection.exec_driver_sql("PRAGMA query_only = ON")
    elif kind == "postgresql":
        _run_and_commit(
            connection,
            "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
            "SET standard_conforming_strings = on",
            "SET client_encoding = 'UTF8'",
            f"SET statement_timeout = {seconds}000",
        )
        # From PostgreSQL 14 on: the statement ends when this process does.
        _try_and_commit(connection, "SET client_connection_check_interval = 1000")
        connection.exec_driver_sql("SET TRANSACTION READ ONLY")
    else:
        modes = _query_first_cell(connection, "SELECT @@SESSION.sql_mode").split(",")
        _run_and_commit(
            connection,
            f"SET SESSION sql_mode = '{','.join(one for one in modes if one in _HARMLESS_SQL_MODES)}'",
            "SET SESSION TRANSACTION READ ONLY",
        )
        _try_and_commit(connection, f"SET SESSION max_execution_time = {seconds}000")  # MySQL
        _try_and_commit(connection, f"SET SESSION max_statement_time = {seconds}")  # MariaDB
        connection.rollback()
        connection.exec_driver_sql("START TRANSACTION READ ONLY")


def _run_and_commit(connection: Connection, *statements: str) -> None:
    for one in statements:
        connection.exec_driver_sql(one)
    connection.commit()


def _try_and_commit(connection: Connection, statement: str) -> None:
    try:
        _run_and_commit(connection, statement)
    except DBAPIError:
        connection.rollback()


# ---------------------------------------------------------------- SQLite's authorizer

_READING_ACTIONS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE, sqlite3.SQLITE_TRANSACTION}
_READABLE_SYSTEM_TABLES = frozenset(
    """sqlite_master sqlite_schema sqlite_temp_master sqlite_temp_schema sqlite_sequence sqlite_stat1 sqlite_stat4
    json_each json_tree jsonb_each jsonb_tree generate_series""".split()  # noqa: SIM905 - shorter
)
_ALLOWED_OPERATORS = frozenset({"->", "->>"})
_ALLOWED_PRAGMAS = frozenset({"data_version", "page_size"})
"""Pragmas that SQLite's full-text and R-tree tables read themselves."""


def install_sqlite_authorizer(connection: Connection) -> list[str]:
    """Let SQLite only read the tables and views of the file, and call only allowed functions.

    Returns a list that grows later, by the name of each table, function or pragma that SQLite refuses to a statement.
    """
    rows = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master").all()
    tables = {str(name).lower() for name, _ in rows}
    virtual_tables = [str(name) for name, sql in rows if str(sql).upper().startswith("CREATE VIRTUAL TABLE")]
    for name in ("json_each", "json_tree", *virtual_tables):  # its first use counts as making a table
        _try_and_commit(connection, "SELECT * FROM `{}` LIMIT 0".format(name.replace("`", "``")))  # noqa: S608 - in quotes
    readable_tables, callable_functions = (
        tables | _READABLE_SYSTEM_TABLES,
        read_allowed_functions("sqlite") | _ALLOWED_OPERATORS,
    )
    refused_names: list[str] = []

    def authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
        if action in _READING_ACTIONS or (action == sqlite3.SQLITE_READ and str(first).lower() in readable_tables):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION and str(second).lower() in callable_functions:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_PRAGMA and first in _ALLOWED_PRAGMAS and second is None:
            return sqlite3.SQLITE_OK
        refused_names.append(str((second if action == sqlite3.SQLITE_FUNCTION else first) or "that"))
        return sqlite3.SQLITE_DENY

    set_authorizer: Callable[[Callable[..., int]], None] = connection.connection.driver_connection.set_authorizer  # type: ignore[union-attr]
    set_authorizer(authorize)
    return refused_names
