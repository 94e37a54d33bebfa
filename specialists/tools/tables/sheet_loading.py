"""Puts a sheet into the database: as text first, then each column with the type that all of its values have."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

from specialists.tools.tables.column_types import NOTHINGS
from specialists.tools.tables.database import LoadedTable
from specialists.tools.tables.naming import quote_name
from specialists.tools.tables.sheet import BETWEEN, Sheet
from specialists.tools.tables.typed_columns import typed_columns

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SAMPLE = 200
_BUFFER = 8 * 1024 * 1024


def load_sheet(connection: DuckDBPyConnection, table: LoadedTable, sheet: Sheet, scratch: Path) -> None:
    """Load the rows as text, then give every column the type that all of its values have."""
    table.facts += sheet.facts
    table.faults += sheet.faults
    table.apart += sheet.apart
    plain = [f"c{index}" for index in range(len(sheet.names))]
    samples = [_sample_column(sheet.rows, index) for index in range(len(plain))]
    longest = _write(sheet, scratch)
    columns = ", ".join(f"{name}: 'VARCHAR'" for name in plain)
    options = f"max_line_size={longest}, buffer_size={max(_BUFFER, 2 * longest)}, parallel=false, auto_detect=false"
    form = f"delim='{BETWEEN}', quote='', escape=''" if sheet.plain else "delim=',', quote='\"', escape='\"'"
    connection.execute(
        f"CREATE TABLE raw_rows AS SELECT * FROM read_csv(?, columns={{{columns}}}, header=false, {form}, {options})",  # noqa: S608 - our own names
        [str(scratch)],
    )
    scratch.unlink()
    named = dict(zip(plain, zip(sheet.names, samples, strict=True), strict=True))
    typed, said = typed_columns(connection, named, semicolons=sheet.separator == ";")
    table.facts += said.facts
    table.faults += said.faults
    picked = [f"{expression} AS {quote_name(name)}" for expression, name in zip(typed, sheet.names, strict=True)]
    connection.execute(f"CREATE TABLE {quote_name(table.name)} AS SELECT {', '.join(picked)} FROM raw_rows")  # noqa: S608 - quoted
    connection.execute("DROP TABLE raw_rows")


def _write(sheet: Sheet, scratch: Path) -> int:
    """Write the rows as plain CSV and let go of them; gives a bound for the longest line, in bytes."""
    with scratch.open("w", newline="", encoding="utf-8", errors="replace") as file:
        if sheet.plain:
            file.write("\n".join(map(BETWEEN.join, sheet.rows)) + "\n")
        else:
            csv.writer(file, lineterminator="\n").writerows(sheet.rows)
    # A letter takes up to four bytes, a cell two quotation marks and a comma, a quotation mark one more.
    longest = max((sum(map(len, row)) for row in sheet.rows), default=0) * 4 + 3 * len(sheet.names) + 16
    sheet.rows = []
    return max(longest, 1024)


def _sample_column(rows: list[list[str]], index: int) -> list[str]:
    """Pick up to 200 filled cells from the whole length of the column."""
    step = max(1, len(rows) // _SAMPLE)
    cells = (row[index].strip() for row in rows[::step])
    return [cell for cell in cells if cell and cell.lower() not in NOTHINGS][:_SAMPLE]
