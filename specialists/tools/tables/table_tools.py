"""The tools that describe an attached table and query all of them in SQL; a child process reads the files."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from handoff.contracts import Artifact
from handoff.evidence.grids import FILTER_WORD
from specialists.formats.table_detection import TABLE_TOOL_SUFFIXES
from specialists.sandbox.child_process import BUSY_MESSAGE, UNSANDBOXED_MESSAGE, ChildInputs, ChildLimits, run_child
from specialists.tools.tables.cells import format_cell, restore_cell
from specialists.tools.tables.profile import find_named_values
from specialists.tools.tables.table_cache import TableCache, find_cache_folder, make_entry_key
from specialists.tools.tool import Tool, ToolOutcome, Workbench

_PARQUET_ENDINGS = frozenset({".parquet", ".pq"})
_RESERVED_WORDS = (
    "all analyse analyze and any array as asc between by case cast check collate column constraint create cross "
    "default desc describe distinct do else end except false fetch filter for foreign from full grant group having "
    "in inner intersect into is join left like limit natural not null offset on only or order outer pivot placing "
    "primary qualify references returning right select show some summarize table then to true union unique unpivot "
    "using values when where window with"
)
_MAX_FILE_BYTES = 32 * 1024 * 1024
_CALL_SECONDS = 20.0
_LIMITS = ChildLimits(memory_mb=1500, cpu_seconds=10, file_mb=256)
_MAX_REPLY_BYTES = 16 * 1024 * 1024
_MAX_ROWS_SHOWN = 100
_MAX_TEXT_CHARS = 12_000
_MAX_COUNTED_ROWS = 100_000
_NEXT_STEP_HINT = (
    "\n\nThese figures are of whole columns. For any other, call query_table with one SELECT ... FROM {table} ..."
)
_FAILURE_MESSAGES = {
    "time": "That took longer than 20 s and was stopped. Filter or aggregate earlier.",
    "cpu": "That took too much processor time (10 s to read, 5 s to query) and was stopped. "
    "Attach fewer rows or columns; filter or aggregate earlier, avoid cross joins.",
    "crash": "Reading that ran out of memory or broke the reader. Try fewer rows or columns (in a workbook, "
    "delete stray cells far from the table), or save it as CSV.",
    "busy": BUSY_MESSAGE,
    "unwalled": UNSANDBOXED_MESSAGE,
    "too_much": "That gave more than can be passed on. Select fewer columns, or LIMIT the rows.",
}


class ProfileTableArguments(BaseModel):
    """The arguments of `profile_table`."""

    model_config = ConfigDict(extra="forbid")
    file: str = Field(description="Name of an attached file")


class QueryTableArguments(BaseModel):
    """The arguments of `query_table`."""

    model_config = ConfigDict(extra="forbid")
    sql: str = Field(description="One DuckDB SELECT")


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The result of a query.

    Attributes:
        columns: The names of the columns.
        types: DuckDB's names of the columns' types.
        rows: The rows. Cells are int, float, str, bool, date, datetime, Decimal or None.
        row_count: How many rows the query has; None if there are more than were counted (100,000).
        gaps: What looks wrong in the files, and which files could not be read.
        sources: The names of the files that the query read.
        notes: Notes on rows that are not counted, such as totals, on hidden rows, and on guesses.
        rows_before_limit: How many rows there are without the query's own LIMIT; None if that cuts none.
        filters: The conditions of the query, each with how many rows meet it.
    """

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    row_count: int | None
    gaps: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    rows_before_limit: int | None = None
    filters: tuple[str, ...] = ()


class QueryFailed(Exception):
    """A query failed. The message says why and what to do."""


def tools() -> tuple[Tool, ...]:
    """Return the table tools."""
    return (
        Tool(
            "profile_table",
            "read",
            ProfileTableArguments,
            profile_table,
            endings=TABLE_TOOL_SUFFIXES,
            previews=find_named_values,
        ),
        Tool("query_table", "read", QueryTableArguments, query_table, endings=TABLE_TOOL_SUFFIXES, query="sql"),
    )


async def profile_table(arguments: ProfileTableArguments, workbench: Workbench) -> ToolOutcome:
    """Describe an attached CSV, TSV, XLS(X), ODS, Parquet or JSON file: table name, columns, types, ranges, samples.

    Do this once per file before querying it.
    """
    tables = name_tables(workbench.artifacts)
    artifact = _find_table(arguments.file, tables)
    if artifact is None:
        return ToolOutcome(_explain_missing_file(arguments.file, workbench.artifacts, tables), failed=True)
    try:
        answer = await _ask_table_child([artifact], tables, workbench, sql=None, most=0)
    except QueryFailed as failure:
        return ToolOutcome(str(failure), gaps=(f"Not read: {failure}",), sources=(artifact.name,), failed=True)
    gaps = tuple(answer["faults"])
    table = next(name for name, each in tables.items() if each is artifact)
    text = answer["text"] + _render_gaps(gaps) + _NEXT_STEP_HINT.format(table=table)
    return ToolOutcome(text, gaps=gaps, sources=(artifact.name,), notes=tuple(answer["apart"]))


async def query_table(arguments: QueryTableArguments, workbench: Workbench) -> ToolOutcome:
    """Run one read-only DuckDB SELECT over the attached tables (sales.csv is table sales).

    Aggregate in SQL: at most 100 rows come back. Never work out numbers yourself.
    """
    try:
        result = await run_query(arguments.sql, workbench, most=_MAX_ROWS_SHOWN)
    except QueryFailed as failure:
        return ToolOutcome(str(failure), failed=True)
    text = _render_rows(result) + _render_gaps(result.gaps)
    return ToolOutcome(text, gaps=result.gaps, sources=result.sources, notes=result.notes)


async def run_query(sql: str, workbench: Workbench, *, most: int = 5000) -> QueryResult:
    """Run one SELECT over the tables of the workbench, and return at most `most` rows.

    Raises:
        QueryFailed: the SQL is wrong, a file cannot be read, or a limit was reached.
    """
    tables = name_tables(workbench.artifacts)
    if not tables:
        raise QueryFailed("No table is attached (CSV, TSV, XLSX, Parquet or JSON).")
    text = sql.casefold()
    queried_files = [artifact for name, artifact in tables.items() if name in text] or list(tables.values())
    answer = await _ask_table_child(queried_files, tables, workbench, sql=sql, most=most)
    types = answer["types"]
    rows = tuple(
        tuple(restore_cell(cell, kind) for cell, kind in zip(row, types, strict=True)) for row in answer["rows"]
    )
    gaps = tuple(answer["faults"]) + tuple(f"Not read: {line}" for line in answer["refused"])
    sources = tuple(dict.fromkeys(answer["read"]))
    return QueryResult(
        tuple(answer["columns"]),
        tuple(types),
        rows,
        answer["total"],
        gaps,
        sources,
        tuple(answer["apart"]),
        answer["cut_from"],
        tuple(answer["filters"]),
    )


def name_tables(artifacts: tuple[Artifact, ...]) -> dict[str, Artifact]:
    """Return the files that may be tables, by the name that each has in SQL."""
    names: dict[str, Artifact] = {}
    seen_files: set[tuple[str, str]] = set()
    for artifact in artifacts:
        path = Path(artifact.name)
        if path.suffix.lower() not in TABLE_TOOL_SUFFIXES or (artifact.id, artifact.name) in seen_files:
            continue
        seen_files.add((artifact.id, artifact.name))
        stem = re.sub(r"\W+", "_", path.stem.casefold()).strip("_") or "data"
        if stem[0].isdigit() or stem in _RESERVED_WORDS.split():
            stem = f"t_{stem}"
        name, number = stem, 1
        while name in names:
            number += 1
            name = f"{stem}_{number}"
        names[name] = artifact
    return names


def _find_table(file: str, tables: dict[str, Artifact]) -> Artifact | None:
    name = file.strip().strip("'\"").casefold()
    for artifact in tables.values():
        if artifact.name.casefold() == name:
            return artifact
    return tables.get(name)


def _explain_missing_file(file: str, artifacts: tuple[Artifact, ...], tables: dict[str, Artifact]) -> str:
    names = ", ".join(dict.fromkeys(artifact.name for artifact in tables.values()))
    if any(artifact.name == file for artifact in artifacts):
        return f"{file} is no table (CSV, TSV, XLSX, Parquet or JSON). Tables attached: {names or 'none'}."
    return f"No file named {file!r}. Tables attached: {names or 'none'}."


async def _ask_table_child(
    artifacts: list[Artifact], tables: dict[str, Artifact], workbench: Workbench, *, sql: str | None, most: int
) -> dict[str, Any]:
    """Return the child's answer, from cached tables if there are any, else from the files. Raises `QueryFailed`."""
    cache = TableCache(find_cache_folder())
    artifacts_by_name = {name: artifact for name, artifact in tables.items() if artifact in artifacts}
    cache_entries = {
        name: cache.find_entry(make_entry_key(artifact.id, artifact.name))
        for name, artifact in artifacts_by_name.items()
    }
    child_request = {"taken": list(tables), "sql": sql, "most": most}
    answer = await _run_table_child(cache, artifacts_by_name, cache_entries, workbench, child_request)
    if "broken" in answer:
        for entry in filter(None, cache_entries.values()):
            await asyncio.to_thread(cache.remove_entry, entry)
        answer = await _run_table_child(cache, artifacts_by_name, {}, workbench, child_request)
    if "error" in answer:
        raise QueryFailed(answer["error"])
    return answer


async def _run_table_child(
    cache: TableCache,
    artifacts: Mapping[str, Artifact],
    cache_entries: Mapping[str, Path | None],
    workbench: Workbench,
    child_request: Mapping[str, Any],
) -> dict[str, Any]:
    """Run the child on the files, or on their cache entries in `cache_entries`, and cache the tables that it read."""
    files: list[dict[str, str | bool]] = []
    child_files: dict[str, Path | bytes] = {}
    entry_folders: list[tuple[str, Path]] = []
    try:
        for number, (name, artifact) in enumerate(artifacts.items()):
            entry = cache_entries.get(name)
            # Files are numbered, as their names are people's and not safe as paths.
            child_files[str(number)] = entry or await _fetch_if_small(artifact, workbench)
            key = "" if entry else make_entry_key(artifact.id, artifact.name)
            entry_folder = cache.make_entry_folder(key)
            if entry_folder:
                entry_folders.append((key, entry_folder))
            files.append(
                {
                    "file": str(number),
                    "name": artifact.name,
                    "table": name,
                    "kept": entry is not None,
                    "keep": str(entry_folder or ""),
                }
            )
        reply = await run_child(
            "specialists.tools.tables.table_child",
            {"files": files, **child_request},
            limits=_LIMITS,
            timeout_seconds=_CALL_SECONDS,
            max_reply_bytes=_MAX_REPLY_BYTES,
            inputs=ChildInputs(files=child_files, writable_paths=[entry_folder for _, entry_folder in entry_folders]),
        )
        if reply.failure:
            raise QueryFailed(_FAILURE_MESSAGES[reply.failure])
        for key, entry_folder in entry_folders:
            await asyncio.to_thread(cache.add_entry, key, entry_folder)
        answer: dict[str, Any] = json.loads(reply.output)
        return answer
    finally:
        for _, entry_folder in entry_folders:
            shutil.rmtree(entry_folder, ignore_errors=True)


async def _fetch_if_small(artifact: Artifact, workbench: Workbench) -> Path:
    """Return the path of a file. Raises `QueryFailed` if it is too large to be read."""
    path = await workbench.path(artifact)
    size = path.stat().st_size
    if size > _MAX_FILE_BYTES:
        hint = "" if path.suffix.lower() in _PARQUET_ENDINGS else ", or save it as Parquet"
        raise QueryFailed(
            f"{artifact.name} has {size / 2**20:.0f} MB; the limit is {_MAX_FILE_BYTES // 2**20} MB. "
            f"Attach fewer rows or columns{hint}."
        )
    return path


def _render_rows(result: QueryResult) -> str:
    lines = [" | ".join(result.columns)]
    length = 0
    for row in result.rows:
        line = " | ".join(format_cell(cell) for cell in row)
        length += len(line)
        if length > _MAX_TEXT_CHARS:
            break
        lines.append(line)
    filter_texts = (f"{FILTER_WORD} {one}" for one in result.filters)
    lines.append(f"({'; '.join((_describe_row_count(len(lines) - 1, result), *filter_texts, *result.notes))})")
    return "\n".join(lines)


def _describe_row_count(shown_rows: int, result: QueryResult) -> str:
    if result.rows_before_limit is not None:
        row_count = (
            f"{result.rows_before_limit:,}"
            if result.rows_before_limit <= _MAX_COUNTED_ROWS
            else f"more than {_MAX_COUNTED_ROWS:,}"
        )
        return f"{shown_rows} of {row_count} rows: the LIMIT cut the others, so say that there are more"
    total = f"{result.row_count:,}" if result.row_count is not None else f"more than {_MAX_COUNTED_ROWS:,}"
    if shown_rows == result.row_count:
        return f"{total} row{'' if shown_rows == 1 else 's'}"
    return f"the first {shown_rows} of {total} rows; aggregate or LIMIT to see what matters"


def _render_gaps(gaps: tuple[str, ...]) -> str:
    return "\n\nParse report:\n" + "\n".join(f"- {gap}" for gap in gaps) if gaps else ""
