"""The tools that list and query the operator's databases, read-only; a child process runs the queries."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from specialists.sandbox.child_process import BUSY_MESSAGE, UNSANDBOXED_MESSAGE, ChildInputs, ChildLimits, run_child
from specialists.tools.databases.named_databases import ANY_USER_SETTING, DATABASES_SETTING, Database, read_databases
from specialists.tools.extras import describe_unavailable_tool
from specialists.tools.tables.cells import format_cell
from specialists.tools.tool import Tool, ToolOutcome, Workbench
from specialists.tools.toolkit import Toolkit, ToolSettings

NO_DATABASE_MESSAGE = (
    "No database is set up here. Whoever runs the bot can name some in LEADHAND_DATABASES, such as "
    "orders=postgresql://reader:password@host/orders."
)
STATEMENT_SECONDS = 15
"""Seconds that a statement may take in the server. `CALL_SECONDS` is wall-clock time here and includes connecting."""
CALL_SECONDS = 25.0
MAX_ROWS, MAX_TEXT_CHARS, MAX_TABLES = 100, 12_000, 60
_CHILD = "specialists.tools.databases.database_child"
_LIMITS = ChildLimits(memory_mb=1000, cpu_seconds=15)
_MAX_REPLY_BYTES = 4 * 1024 * 1024
_UNREACHABLE_MESSAGE = (
    "The database {name} cannot be reached ({reason}). Try it again in a while; whoever runs the bot can look at it "
    "with leadhand check."
)
_REFUSED_MESSAGE = (
    "The database {name} is not queried: its user has {rights}, more than reading tables needs. Whoever runs the "
    "bot can give it a user that may only read (docs/documents.md), or allow this one with {setting}={name}."
)
_FAILURE_MESSAGES = {
    "time": f"That took longer than {CALL_SECONDS:g} s and was stopped. Filter or aggregate earlier, or ask for less.",
    "cpu": "That gave more than can be read. Select fewer columns, or LIMIT the rows.",
    "crash": "That gave more than fits into memory. Select fewer columns, or LIMIT the rows.",
    "too_much": "That gave more than can be passed on. Select fewer columns, or LIMIT the rows.",
    "busy": BUSY_MESSAGE,
    "unwalled": UNSANDBOXED_MESSAGE,
}

log = logging.getLogger(__name__)


class ListTablesArguments(BaseModel):
    """The arguments of `list_tables`."""

    model_config = ConfigDict(extra="forbid")
    database: str = Field(default="", max_length=100)
    words: str = Field(default="", max_length=200)


class QueryDatabaseArguments(BaseModel):
    """The arguments of `query_database`."""

    model_config = ConfigDict(extra="forbid")
    sql: str = Field(min_length=1, max_length=20_000)
    database: str = Field(default="", max_length=100)


def make_database_toolkit(settings: ToolSettings) -> Toolkit:
    """Make the toolkit of the databases that the operator names; if there are none, its tools say what to set up."""
    text = settings.env.get(DATABASES_SETTING, "")
    any_user = settings.env.get(ANY_USER_SETTING, "")
    databases, faults = read_databases(text, any_user) if text.strip() else ({}, ())
    calls = _DatabaseCalls(databases, faults)
    tools = (
        Tool("list_tables", "read", ListTablesArguments, calls.list_tables),
        Tool("query_database", "read", QueryDatabaseArguments, calls.query_database, query="sql"),
    )
    return (
        Toolkit(DATABASES_SETTING, tools, calls.check_databases, calls.close, calls.log_refused_databases)
        if text.strip()
        else Toolkit("", tools)
    )


class _DatabaseCalls:
    """Carries out the calls of the database tools."""

    def __init__(self, databases: Mapping[str, Database], faults: tuple[str, ...]) -> None:
        self._databases = databases
        self._faults = faults
        self._stop_tasks: set[asyncio.Task[Any]] = set()

    async def list_tables(self, arguments: ListTablesArguments, _workbench: Workbench) -> ToolOutcome:
        """List the databases, their tables and columns; of many, those whose names hold the words."""
        chosen_databases = [self._databases[arguments.database]] if arguments.database in self._databases else []
        if arguments.database and not chosen_databases:
            return self._make_missing_database_outcome(arguments.database)
        if problem := self._describe_unavailability():
            return ToolOutcome(problem, failed=True)
        databases = chosen_databases or list(self._databases.values())
        answers = await asyncio.gather(*(self._ask_database(one, {"task": "tables"}) for one in databases))
        lines = [_render_outline(one, answer, arguments.words) for one, answer in zip(databases, answers, strict=True)]
        has_failed = all(isinstance(answer, str) for answer in answers)
        return ToolOutcome("\n\n".join(lines), failed=has_failed, sources=tuple(one.name for one in databases))

    async def query_database(self, arguments: QueryDatabaseArguments, _workbench: Workbench) -> ToolOutcome:
        """Run one read-only SELECT in the database's SQL, without comments. Aggregate there: at most 100 rows come."""
        name = arguments.database or (next(iter(self._databases)) if len(self._databases) == 1 else "")
        if name not in self._databases:
            return self._make_missing_database_outcome(name)
        if problem := self._describe_unavailability():
            return ToolOutcome(problem, failed=True)
        task = {"task": "query", "sql": arguments.sql, "most": MAX_ROWS, "seconds": STATEMENT_SECONDS}
        answer = await self._ask_database(self._databases[name], task)
        if isinstance(answer, str):
            return ToolOutcome(answer, failed=True)
        return ToolOutcome(_render_table(answer), sources=(f"database {name}",))

    async def check_databases(self) -> tuple[str, ...]:
        """Return one line for each database that cannot be queried, and for each fault of the settings."""
        problem = self._describe_unavailability()
        if not self._databases or problem:
            return (*self._faults, problem) if problem else self._faults
        databases = list(self._databases.values())
        answers = await asyncio.gather(*(self._ask_database(one, {"task": "tables"}) for one in databases))
        return (*self._faults, *(answer for answer in answers if isinstance(answer, str)))

    async def log_refused_databases(self) -> None:
        """Log the databases that are not queried because their user has too many rights; called once, at the start."""
        if self._describe_unavailability():
            return
        answers = await asyncio.gather(*(self._run_task(one, {"task": "rights"}) for one in self._databases.values()))
        for database, answer in zip(self._databases.values(), answers, strict=True):
            if isinstance(answer, dict) and "refused" in answer:
                log.warning("%s", unwrap_answer(database, answer))

    async def close(self) -> None:
        """Wait until the statements of calls that were cancelled or took too long have stopped."""
        await asyncio.gather(*self._stop_tasks, return_exceptions=True)

    def _describe_unavailability(self) -> str:
        return (
            describe_unavailable_tool("databases", "sqlalchemy", "sqlglot", "psycopg", "pymysql")
            if self._databases
            else NO_DATABASE_MESSAGE
        )

    def _make_missing_database_outcome(self, name: str) -> ToolOutcome:
        if not self._databases:
            return ToolOutcome(NO_DATABASE_MESSAGE, failed=True)
        problem = f"There is no database {name!r}" if name else "Say which database"
        return ToolOutcome(f"{problem}; there are: {', '.join(self._databases)}.", failed=True)

    async def _ask_database(self, database: Database, task: Mapping[str, Any]) -> dict[str, Any] | str:
        """Send a task to the child. Return the database's answer, or a line that says why there is none."""
        answer = await self._run_task(database, task)
        return answer if isinstance(answer, str) else unwrap_answer(database, answer)

    async def _run_task(self, database: Database, task: Mapping[str, Any]) -> dict[str, Any] | str:
        """Return the child's answer, or a line that says how the child failed.

        If the child failed or the call was cancelled, the statement is stopped in the server.
        """
        tag = f"leadhand {secrets.token_hex(8)}"
        connection_fields = {
            "url": database.url,
            "kind": database.kind,
            "any_user": database.allows_any_user,
            "tag": tag,
        }
        try:
            reply = await _run_database_child({**connection_fields, **task})
        except asyncio.CancelledError:
            self._start_stop_task(database, connection_fields)
            raise
        if reply.failure:
            self._start_stop_task(database, connection_fields)
            return _FAILURE_MESSAGES[reply.failure]
        answer: dict[str, Any] = json.loads(reply.output)
        return answer

    def _start_stop_task(self, database: Database, connection_fields: Mapping[str, Any]) -> None:
        if database.kind != "mysql":  # other servers notice that the child is gone
            return
        task = asyncio.create_task(_run_database_child({**connection_fields, "task": "stop"}))
        self._stop_tasks.add(task)
        task.add_done_callback(self._stop_tasks.discard)


def unwrap_answer(database: Database, answer: dict[str, Any]) -> dict[str, Any] | str:
    """Return the child's answer, or a line that says why the database gave none."""
    if "away" in answer:
        return _UNREACHABLE_MESSAGE.format(name=database.name, reason=database.redact_secrets(answer["away"]))
    if "refused" in answer:
        return _REFUSED_MESSAGE.format(
            name=database.name, rights=", ".join(answer["refused"])[:300], setting=ANY_USER_SETTING
        )
    if "error" in answer:
        return f"{database.name}: {database.redact_secrets(answer['error'])}"
    return answer


async def _run_database_child(request: Mapping[str, Any]) -> Any:
    inputs = ChildInputs(has_network=True)
    return await run_child(
        _CHILD, request, limits=_LIMITS, timeout_seconds=CALL_SECONDS, max_reply_bytes=_MAX_REPLY_BYTES, inputs=inputs
    )


def _render_outline(database: Database, answer: dict[str, Any] | str, words: str) -> str:
    if isinstance(answer, str):
        return answer
    tables: dict[str, list[str]] = answer["tables"]
    search_words = words.casefold().split()
    matching_tables = {
        name: columns
        for name, columns in tables.items()
        if not search_words or any(word in f"{name} {' '.join(columns)}".casefold() for word in search_words)
    }
    lines = [f"# {database.name} ({database.kind}): {len(tables):,} tables and views"]
    lines += [f"{name}({', '.join(columns)})"[:2000] for name, columns in list(matching_tables.items())[:MAX_TABLES]]
    if len(matching_tables) > MAX_TABLES:
        lines.append(f"({MAX_TABLES} of {len(matching_tables):,}; name words to see others)")
    elif search_words and len(matching_tables) < len(tables):
        lines.append(f"({len(matching_tables):,} of {len(tables):,} hold these words)")
    return "\n".join(lines)[:MAX_TEXT_CHARS]


def _render_table(answer: dict[str, Any]) -> str:
    lines = [" | ".join(answer["columns"])]
    length, is_cut = 0, bool(answer["more"])
    for row in answer["rows"]:
        line = " | ".join(format_cell(cell) for cell in row)
        length += len(line)
        if length > MAX_TEXT_CHARS:
            is_cut = True
            break
        lines.append(line)
    row_count = len(lines) - 1
    rows = f"{row_count} row{'' if row_count == 1 else 's'}"
    lines.append(f"(the first {rows}; there are more: aggregate or LIMIT)" if is_cut else f"({rows})")
    return "\n".join(lines)
