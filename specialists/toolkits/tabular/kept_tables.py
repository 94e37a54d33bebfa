"""Tables in a folder, as Parquet: written once they are read from a file, and loaded instead of it from then on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from specialists.toolkits.tabular.database import LoadedTable, quoted

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
            connection.execute(f"COPY {quoted(table.name)} TO ? (FORMAT parquet, COMPRESSION zstd)", [path])
        told = [[table.sheet, table.ending, table.facts, table.faults, table.apart] for table in tables]
        (folder / _LIST).write_text(json.dumps(told))
    except (duckdb.Error, OSError):
        for file in folder.iterdir():
            file.unlink()


def read_list(folder: Path, name: str) -> list[LoadedTable]:
    """List the tables in the folder, not named yet. `name` is the file's. Raises `EntryBroken`."""
    try:
        return [
            LoadedTable("", name, str(sheet), str(ending), [*facts], [*faults], [*apart])
            for sheet, ending, facts, faults, apart in json.loads((folder / _LIST).read_text())
        ]
    except (OSError, ValueError, TypeError) as error:
        raise EntryBroken from error


def load_kept(connection: DuckDBPyConnection, tables: Sequence[LoadedTable], folder: Path) -> None:
    """Load the tables, which have their names by now. Raises `EntryBroken`."""
    import duckdb  # noqa: PLC0415

    for number, table in enumerate(tables):
        try:
            connection.execute(
                f"CREATE TABLE {quoted(table.name)} AS SELECT * FROM read_parquet(?)",  # noqa: S608 - quoted
                [str(folder / f"{number}.parquet")],
            )
        except duckdb.OutOfMemoryException:
            raise
        except duckdb.Error as error:
            raise EntryBroken from error
