"""The DuckDB database of the child: loads tables with typed columns, then shuts off all other access for good."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from specialists.tools.tables.column_types import EMPTY_WORDS
from specialists.tools.tables.sheet import UNIT_SEPARATOR, Sheet
from specialists.tools.tables.sql_names import quote_name
from specialists.tools.tables.table_errors import TableRefused, describe_error
from specialists.tools.tables.typed_columns import write_column_sql

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


_DUCKDB_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "threads": "2",
    "memory_limit": "900MB",
    "temp_directory": "",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",  # a table name never means a variable of ours
}


@dataclass(slots=True)
class LoadedTable:
    """A loaded table, from a file or one of its sheets. `facts`, `faults` and `notes` are as in `Sheet`.

    `name_ending` is the end of the table's name, after the name of the file, that tells it from other sheets of the
    file.
    """

    name: str
    file: str
    sheet: str = ""
    name_ending: str = ""
    facts: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The name by which people know the table: the file, with the sheet if there is one."""
        return f"{self.file} [{self.sheet}]" if self.sheet else self.file


def open_duckdb() -> DuckDBPyConnection:
    """Open a database in memory that loads no extension by itself."""
    import duckdb  # noqa: PLC0415 - heavy, and a clear message is given where it is missing

    connection = duckdb.connect(":memory:", config=_DUCKDB_SETTINGS)
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET enable_progress_bar = false")
    return connection


def disable_external_access(connection: DuckDBPyConnection, files: Sequence[str] = ()) -> None:
    """Shut off files (except `files`, which views read), network and extensions, and lock these settings."""
    if files:
        connection.execute("SET allowed_paths = $1", [list(files)])
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def load_parquet(connection: DuckDBPyConnection, table: LoadedTable, path: Path) -> None:
    """Load a Parquet file as a table. Raises `TableRefused` if the file is broken."""
    import duckdb  # noqa: PLC0415

    try:
        relation = connection.read_parquet(str(path))
        columns = zip(relation.columns, map(str, relation.types), strict=True)
        # Python would need pytz for times with a zone, and everything here is UTC anyway.
        select_list = ", ".join(
            f"{quote_name(name)}::TIMESTAMP AS {quote_name(name)}"
            if kind == "TIMESTAMP WITH TIME ZONE"
            else quote_name(name)
            for name, kind in columns
        )
        relation.project(select_list).create(table.name)
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error as error:
        raise TableRefused(f"is a broken Parquet file ({describe_error(error, 120).splitlines()[0]})") from None


_SAMPLE_ROWS = 200
_BUFFER_BYTES = 8 * 1024 * 1024


def load_sheet(connection: DuckDBPyConnection, table: LoadedTable, sheet: Sheet, csv_file: Path) -> None:
    """Load the rows of a sheet as text, then give every column the type that all its values have."""
    table.facts += sheet.facts
    table.faults += sheet.faults
    table.notes += sheet.notes
    raw_names = [f"c{index}" for index in range(len(sheet.names))]
    samples = [_sample_column(sheet.rows, index) for index in range(len(raw_names))]
    max_line_bytes = _write_csv(sheet, csv_file)
    columns = ", ".join(f"{name}: 'VARCHAR'" for name in raw_names)
    options = (
        f"max_line_size={max_line_bytes}, buffer_size={max(_BUFFER_BYTES, 2 * max_line_bytes)}, "
        "parallel=false, auto_detect=false"
    )
    csv_format = (
        f"delim='{UNIT_SEPARATOR}', quote='', escape=''"
        if sheet.has_plain_cells
        else "delim=',', quote='\"', escape='\"'"
    )
    connection.execute(
        f"CREATE TABLE raw_rows AS SELECT * FROM read_csv(?, columns={{{columns}}}, header=false, "  # noqa: S608 - our own names
        f"{csv_format}, {options})",
        [str(csv_file)],
    )
    csv_file.unlink()
    samples_by_name = dict(zip(raw_names, zip(sheet.names, samples, strict=True), strict=True))
    expressions, notes = write_column_sql(connection, samples_by_name, semicolons=sheet.separator == ";")
    table.facts += notes.facts
    table.faults += notes.faults
    select_list = [
        f"{expression} AS {quote_name(name)}" for expression, name in zip(expressions, sheet.names, strict=True)
    ]
    connection.execute(f"CREATE TABLE {quote_name(table.name)} AS SELECT {', '.join(select_list)} FROM raw_rows")  # noqa: S608 - quoted
    connection.execute("DROP TABLE raw_rows")


def _write_csv(sheet: Sheet, csv_file: Path) -> int:
    """Write the rows as plain CSV and free their memory. Return an upper bound for the longest line, in bytes."""
    with csv_file.open("w", newline="", encoding="utf-8", errors="replace") as file:
        if sheet.has_plain_cells:
            file.write("\n".join(map(UNIT_SEPARATOR.join, sheet.rows)) + "\n")
        else:
            csv.writer(file, lineterminator="\n").writerows(sheet.rows)
    # A letter takes up to four bytes, a cell two quotation marks and a comma, a quotation mark one more.
    longest = max((sum(map(len, row)) for row in sheet.rows), default=0) * 4 + 3 * len(sheet.names) + 16
    sheet.rows = []
    return max(longest, 1024)


def _sample_column(rows: list[list[str]], index: int) -> list[str]:
    """Pick up to 200 filled cells from the whole length of the column."""
    step = max(1, len(rows) // _SAMPLE_ROWS)
    cells = (row[index].strip() for row in rows[::step])
    return [cell for cell in cells if cell and cell.lower() not in EMPTY_WORDS][:_SAMPLE_ROWS]
