"""The tools that list and query the operator's databases, read-only; a child process runs the queries."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from specialists.sandbox.child_process import BUSY, NO_WALLS, ChildInputs, ChildLimits, run_child
from specialists.tools.databases.named_databases import ANY_USER, SETTING, Database, read
from specialists.tools.extras import describe_missing
from specialists.tools.tables.cells import format_cell
from specialists.tools.tool import Tool, ToolOutcome, Workbench
from specialists.tools.toolkit import Toolkit, ToolSettings

NOT_SET_UP = (
    "No database is set up here. Whoever runs the bot can name some in LEADHAND_DATABASES, such as "
    "orders=postgresql://reader:password@host/orders."
)
SECONDS = 15
"""Seconds that a statement may take in the server. `DEADLINE` is wall-clock time here and includes connecting."""
DEADLINE = 25.0
ROWS, TEXT, TABLES = 100, 12_000, 60
_CHILD = "specialists.tools.databases.database_child"
_LIMITS = ChildLimits(memory_mb=1000, cpu_seconds=15)
_LARGEST_REPLY = 4 * 1024 * 1024
_AWAY = (
    "The database {name} cannot be reached ({reason}). Try it again in a while; whoever runs the bot can look at it "
    "with leadhand check."
)
_REFUSED = (
    "The database {name} is not queried: its user has {rights}, more than reading tables needs. Whoever runs the "
    "bot can give it a user that may only read (docs/documents.md), or allow this one with {setting}={name}."
)
_FAILURES = {
    "time": f"That took longer than {DEADLINE:g} s and was stopped. Filter or aggregate earlier, or ask for less.",
    "cpu": "That gave more than can be read. Select fewer columns, or LIMIT the rows.",
    "crash": "That gave more than fits into memory. Select fewer columns, or LIMIT the rows.",
    "too_much": "That gave more than can be passed on. Select fewer columns, or LIMIT the rows.",
    "busy": BUSY,
    "unwalled": NO_WALLS,
}

log = logging.getLogger(__name__)


class ListTables(BaseModel):
    """The arguments of `list_tables`."""

    model_config = ConfigDict(extra="forbid")
    database: str = Field(default="", max_length=100)
    words: str = Field(default="", max_length=200)


class QueryDatabase(BaseModel):
    """The arguments of `query_database`."""

    model_config = ConfigDict(extra="forbid")
    sql: str = Field(min_length=1, max_length=20_000)
    database: str = Field(default="", max_length=100)


def make_database_toolkit(settings: ToolSettings) -> Toolkit:
    """Make the toolkit of the databases that the operator names; if there are none, its tools say what to set up."""
    text = settings.env.get(SETTING, "")
    any_user = settings.env.get(ANY_USER, "")
    databases, faults = read(text, any_user) if text.strip() else ({}, ())
    desk = _DatabaseCalls(databases, faults)
    tools = (
        Tool("list_tables", "read", ListTables, desk.list_tables),
        Tool("query_database", "read", QueryDatabase, desk.query_database, query="sql"),
    )
    return Toolkit(SETTING, tools, desk.prove, desk.close, desk.report_refused) if text.strip() else Toolkit("", tools)


class _DatabaseCalls:
    """Carries out the calls of the database tools."""

    def __init__(self, databases: Mapping[str, Database], faults: tuple[str, ...]) -> None:
        self._databases = databases
        self._faults = faults
        self._stopping: set[asyncio.Task[Any]] = set()

    async def list_tables(self, arguments: ListTables, _workbench: Workbench) -> ToolOutcome:
        """List the databases, their tables and columns; of many, those whose names hold the words."""
        chosen = [self._databases[arguments.database]] if arguments.database in self._databases else []
        if arguments.database and not chosen:
            return self._refuse_database(arguments.database)
        if absent := self._find_missing_package():
            return ToolOutcome(absent, failed=True)
        databases = chosen or list(self._databases.values())
        answers = await asyncio.gather(*(self._ask_child(one, {"task": "tables"}) for one in databases))
        lines = [_render_outline(one, answer, arguments.words) for one, answer in zip(databases, answers, strict=True)]
        failed = all(isinstance(answer, str) for answer in answers)
        return ToolOutcome("\n\n".join(lines), failed=failed, sources=tuple(one.name for one in databases))

    async def query_database(self, arguments: QueryDatabase, _workbench: Workbench) -> ToolOutcome:
        """Run one read-only SELECT in the database's SQL, without comments. Aggregate there: at most 100 rows come."""
        name = arguments.database or (next(iter(self._databases)) if len(self._databases) == 1 else "")
        if name not in self._databases:
            return self._refuse_database(name)
        if absent := self._find_missing_package():
            return ToolOutcome(absent, failed=True)
        question = {"task": "query", "sql": arguments.sql, "most": ROWS, "seconds": SECONDS}
        answer = await self._ask_child(self._databases[name], question)
        if isinstance(answer, str):
            return ToolOutcome(answer, failed=True)
        return ToolOutcome(_render_table(answer), sources=(f"database {name}",))

    async def prove(self) -> tuple[str, ...]:
        """Return one line for each database that cannot be queried, and for each fault of the settings."""
        absent = self._find_missing_package()
        if not self._databases or absent:
            return (*self._faults, absent) if absent else self._faults
        names = list(self._databases.values())
        answers = await asyncio.gather(*(self._ask_child(one, {"task": "tables"}) for one in names))
        return (*self._faults, *(answer for answer in answers if isinstance(answer, str)))

    async def report_refused(self) -> None:
        """Log the databases that are not queried because their user has too many rights; called once, at the start."""
        if self._find_missing_package():
            return
        answers = await asyncio.gather(
            *(self._find_answer_or_fault(one, {"task": "rights"}) for one in self._databases.values())
        )
        for database, answer in zip(self._databases.values(), answers, strict=True):
            if isinstance(answer, dict) and "refused" in answer:
                log.warning("%s", unwrap_answer(database, answer))

    async def close(self) -> None:
        """Wait until the statements of calls that were cancelled or took too long have stopped."""
        await asyncio.gather(*self._stopping, return_exceptions=True)

    def _find_missing_package(self) -> str:
        return (
            describe_missing("databases", "sqlalchemy", "sqlglot", "psycopg", "pymysql")
            if self._databases
            else NOT_SET_UP
        )

    def _refuse_database(self, name: str) -> ToolOutcome:
        if not self._databases:
            return ToolOutcome(NOT_SET_UP, failed=True)
        said = f"There is no database {name!r}" if name else "Say which database"
        return ToolOutcome(f"{said}; there are: {', '.join(self._databases)}.", failed=True)

    async def _ask_child(self, database: Database, question: Mapping[str, Any]) -> dict[str, Any] | str:
        """Send a task to the child. Return the database's answer, or a line that says why there is none."""
        answer = await self._find_answer_or_fault(database, question)
        return answer if isinstance(answer, str) else unwrap_answer(database, answer)

    async def _find_answer_or_fault(self, database: Database, question: Mapping[str, Any]) -> dict[str, Any] | str:
        """Return the child's answer, or a line if the child failed. Its statement is then stopped in the server."""
        tag = f"leadhand {secrets.token_hex(8)}"
        where = {"url": database.url, "kind": database.kind, "any_user": database.any_user, "tag": tag}
        try:
            reply = await _run_database_child({**where, **question})
        except asyncio.CancelledError:
            self._stop(database, where)
            raise
        if reply.failure:
            self._stop(database, where)
            return _FAILURES[reply.failure]
        answer: dict[str, Any] = json.loads(reply.output)
        return answer

    def _stop(self, database: Database, where: Mapping[str, Any]) -> None:
        if database.kind != "mysql":  # other servers notice that the child is gone
            return
        task = asyncio.create_task(_run_database_child({**where, "task": "stop"}))
        self._stopping.add(task)
        task.add_done_callback(self._stopping.discard)


def unwrap_answer(database: Database, answer: dict[str, Any]) -> dict[str, Any] | str:
    """Return the child's answer, or a line that says why the database gave none."""
    if "away" in answer:
        return _AWAY.format(name=database.name, reason=database.without_password(answer["away"]))
    if "refused" in answer:
        return _REFUSED.format(name=database.name, rights=", ".join(answer["refused"])[:300], setting=ANY_USER)
    if "error" in answer:
        return f"{database.name}: {database.without_password(answer['error'])}"
    return answer


async def _run_database_child(request: Mapping[str, Any]) -> Any:
    given = ChildInputs(network=True)
    return await run_child(
        _CHILD, request, limits=_LIMITS, deadline=DEADLINE, largest_reply=_LARGEST_REPLY, given=given
    )


def _render_outline(database: Database, answer: dict[str, Any] | str, words: str) -> str:
    if isinstance(answer, str):
        return answer
    tables: dict[str, list[str]] = answer["tables"]
    wanted = words.casefold().split()
    held = {
        name: columns
        for name, columns in tables.items()
        if not wanted or any(word in f"{name} {' '.join(columns)}".casefold() for word in wanted)
    }
    lines = [f"# {database.name} ({database.kind}): {len(tables):,} tables and views"]
    lines += [f"{name}({', '.join(columns)})"[:2000] for name, columns in list(held.items())[:TABLES]]
    if len(held) > TABLES:
        lines.append(f"({TABLES} of {len(held):,}; name words to see others)")
    elif wanted and len(held) < len(tables):
        lines.append(f"({len(held):,} of {len(tables):,} hold these words)")
    return "\n".join(lines)[:TEXT]


def _render_table(answer: dict[str, Any]) -> str:
    lines = [" | ".join(answer["columns"])]
    length, cut = 0, bool(answer["more"])
    for row in answer["rows"]:
        line = " | ".join(format_cell(cell) for cell in row)
        length += len(line)
        if length > TEXT:
            cut = True
            break
        lines.append(line)
    given = len(lines) - 1
    rows = f"{given} row{'' if given == 1 else 's'}"
    lines.append(f"(the first {rows}; there are more: aggregate or LIMIT)" if cut else f"({rows})")
    return "\n".join(lines)
