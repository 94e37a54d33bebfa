"""Describes a loaded table in a few lines: its size, its columns with their values, and its first rows."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Any

from handoff.checking.numerals import is_unit_or_scale
from specialists.tools.tables.cells import format_cell, to_json_value
from specialists.tools.tables.duckdb_database import LoadedTable
from specialists.tools.tables.sql_names import quote_name

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MAX_COLUMNS = 40
_MAX_SAMPLE_ROWS = 3
_MAX_TOP_VALUES = 5
_MAX_CELL_CHARS = 60
COLUMN_LINE = re.compile(r'- (?P<name>"(?:[^"]|"")+"|\S+) (?P<type>[A-Z].*?): (?P<about>.*)')
"""Matches the line of a profile about a column."""
COUNTED_VALUES = re.compile(r"(?:, |distinct: )([^,()]+) \([\d,]+\)")
"""Matches one value with its count in such a line, such as `, paid (6)`."""
_DISTINCT_PHRASE = "distinct, such as"
_NUMERIC_TYPE = re.compile(r"(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DOUBLE|FLOAT|DECIMAL\(\d+,\d+\))$")


def profile_table(connection: DuckDBPyConnection, table: LoadedTable) -> str:
    """Describe a table: numbers of rows and columns, a line for each column, and the first three rows."""
    columns = connection.execute(f"DESCRIBE {quote_name(table.name)}").fetchall()
    total = _fetch_row(connection, f"SELECT count(*) FROM {quote_name(table.name)}")[0]  # noqa: S608 - quoted
    remarks = [*table.facts, *table.notes]
    facts = f" ({'; '.join(remarks)})" if remarks else ""
    size = f"{_format_count(total, 'row')}, {_format_count(len(columns), 'column')}"
    lines = [f"{table.title} is table {table.name}: {size}{facts}"]
    lines += [_describe_column(connection, table.name, name, kind, total) for name, kind, *_ in columns[:_MAX_COLUMNS]]
    if len(columns) > _MAX_COLUMNS:
        rest = ", ".join(name for name, *_ in columns[_MAX_COLUMNS:])
        lines.append(f"- and {len(columns) - _MAX_COLUMNS} more: {textwrap.shorten(rest, 1000, placeholder=' ...')}")
    elif total:
        lines.append(f"First rows ({' | '.join(name for name, *_ in columns)}):")
        rows = connection.execute(f"SELECT * FROM {quote_name(table.name)} LIMIT {_MAX_SAMPLE_ROWS}").fetchall()  # noqa: S608
        lines += [" | ".join(_format_short_cell(cell) for cell in row) for row in rows]
    return "\n".join(lines)


def find_named_values(text: str) -> tuple[str, ...]:
    """Return the names in a profile that a question may mention: its columns, and the values that it lists with counts.

    A column with a different value in each row is left out, since it only identifies rows. Units, such as `month`,
    are left out too, since requests use such words for any table.
    """
    lines = filter(None, (COLUMN_LINE.fullmatch(line) for line in text.splitlines()))
    described_lines = (line for line in lines if _DISTINCT_PHRASE not in line["about"])
    values: list[str] = []
    for line in described_lines:
        values += [
            line["name"].strip('"'),
            *(one for one in COUNTED_VALUES.findall(line["about"]) if not is_unit_or_scale(one)),
        ]
    return tuple(dict.fromkeys(values))


def _describe_column(connection: DuckDBPyConnection, table: str, name: str, kind: str, total: int) -> str:
    title = name if name.isidentifier() else quote_name(name)
    column, source = quote_name(name), f"FROM {quote_name(table)}"
    filled_count, distinct = _fetch_row(connection, f"SELECT count({column}), count(DISTINCT {column}) {source}")
    parts = [f"{total - filled_count:,} empty"] if filled_count < total else []
    if filled_count and _NUMERIC_TYPE.match(kind):
        low, high, mean, whole = _fetch_row(
            connection, f"SELECT min({column}), max({column}), avg({column}), sum({column}) {source}"
        )
        parts.append(
            f"{_format_short_cell(low)} to {_format_short_cell(high)}, mean {_format_mean(mean)}, sum "
            f"{_format_short_cell(whole)}, "
            f"{distinct:,} distinct"
        )
    elif filled_count and kind.startswith(("DATE", "TIME")):
        low, high = _fetch_row(connection, f"SELECT min({column}), max({column}) {source}")
        parts.append(f"{_format_short_cell(low)} to {_format_short_cell(high)}, {distinct:,} distinct")
    elif filled_count:
        parts.append(_describe_values(connection, column, source, distinct, filled_count))
    return f"- {title} {kind[:40]}: {'; '.join(parts) or 'no values'}"


def _describe_values(connection: DuckDBPyConnection, column: str, source: str, distinct: int, filled_count: int) -> str:
    """List the most frequent values with their counts, or examples if every value occurs once."""
    if distinct == filled_count:
        rows = connection.execute(f"SELECT {column} {source} WHERE {column} IS NOT NULL LIMIT 3").fetchall()
        return f"{distinct:,} {_DISTINCT_PHRASE} {', '.join(_format_short_cell(row[0]) for row in rows)}"
    rows = connection.execute(
        f"SELECT {column}, count(*) AS times {source} WHERE {column} IS NOT NULL "
        f"GROUP BY 1 ORDER BY times DESC, {column}::VARCHAR LIMIT {_MAX_TOP_VALUES}"
    ).fetchall()
    top = ", ".join(f"{_format_short_cell(value)} ({times:,})" for value, times in rows)
    return f"{distinct:,} distinct: {top}" + (" ..." if distinct > _MAX_TOP_VALUES else "")


def _format_count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _fetch_row(connection: DuckDBPyConnection, sql: str) -> tuple[Any, ...]:
    row = connection.execute(sql).fetchone()
    if row is None:
        raise RuntimeError("an aggregate gave no row")
    return tuple(row)


def _format_mean(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else _format_short_cell(value)


def _format_short_cell(value: Any) -> str:
    text = format_cell(to_json_value(value))
    return text if len(text) <= _MAX_CELL_CHARS else text[: _MAX_CELL_CHARS - 1] + "…"
