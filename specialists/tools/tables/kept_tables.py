"""Tables in a folder, as Parquet: written once they are read from a file, and loaded instead of it from then on."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from specialists.tools.tables.database import LoadedTable
from specialists.tools.tables.naming import quote_name

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_LIST = "tables.json"


class EntryBroken(Exception):
    """What is in the folder cannot be read; the file itself has to be."""


def write_tables(connection: DuckDBPyConnection, tables: Sequence[LoadedTable], folder: Path) -> None:
    """Write the tables of one file. What cannot be written leaves the folder without its list, and so of no use."""
    import duckdb  # noqa: PLC0415

    try:
        for number, table in enumerate(tables):
            path = str(folder / f"{number}.parquet")
            connection.execute(f"COPY {quote_name(table.name)} TO ? (FORMAT parquet, COMPRESSION zstd)", [path])
        told = [
            [
                table.sheet,
                table.ending,
                table.facts,
                table.faults,
                table.apart,
                _file_checksum(folder / f"{number}.parquet"),
            ]
            for number, table in enumerate(tables)
        ]
        (folder / _LIST).write_text(json.dumps(told))
    except (duckdb.Error, OSError):
        for file in folder.iterdir():
            file.unlink()


def read_list(folder: Path, name: str) -> list[LoadedTable]:
    """List the tables in the folder, not named yet. `name` is the file's. Raises `EntryBroken`."""
    try:
        listed = json.loads((folder / _LIST).read_text())
        tables = [
            LoadedTable("", name, str(sheet), str(ending), [*facts], [*faults], [*apart])
            for sheet, ending, facts, faults, apart, _ in listed
        ]
        sums = [each[-1] for each in listed]
        if sums != [_file_checksum(folder / f"{number}.parquet") for number in range(len(sums))]:
            raise EntryBroken
    except (OSError, ValueError, TypeError) as error:
        raise EntryBroken from error
    return tables


def open_kept_tables(connection: DuckDBPyConnection, tables: Sequence[LoadedTable], folder: str) -> list[str]:
    """Make a view of each table, which has its name by now; gives the files that queries then read.

    Raises `EntryBroken`.
    """
    import duckdb  # noqa: PLC0415

    files = [f"{folder}/{number}.parquet" for number in range(len(tables))]
    for table, file in zip(tables, files, strict=True):
        try:
            connection.execute(f"CREATE VIEW {quote_name(table.name)} AS SELECT * FROM read_parquet('{file}')")  # noqa: S608 - quoted
        except duckdb.OutOfMemoryException:
            raise
        except duckdb.Error as error:
            raise EntryBroken from error
    return files


def _file_checksum(file: Path) -> int:
    return zlib.crc32(file.read_bytes())
