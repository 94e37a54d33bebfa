"""The database in the child: tables go in, then the doors are shut for good."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from specialists.tools.tables.library_words import words_of
from specialists.tools.tables.naming import quote_name
from specialists.tools.tables.refused import TableRefused

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "threads": "2",
    "memory_limit": "900MB",
    "temp_directory": "",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",  # a table name never means a variable of ours
}


@dataclass(slots=True)
class LoadedTable:
    """A table as loaded, from a file or a sheet of it. `facts`, `faults` and `apart` as in `Sheet`.

    `ending` follows the name of the file in its name, to tell it from other sheets of the file.
    """

    name: str
    file: str
    sheet: str = ""
    ending: str = ""
    facts: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    apart: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The name that people know it by."""
        return f"{self.file} [{self.sheet}]" if self.sheet else self.file


def open_duckdb() -> DuckDBPyConnection:
    """Open a database in memory that loads no extension by itself."""
    import duckdb  # noqa: PLC0415 - heavy, and a clear message is given where it is missing

    connection = duckdb.connect(":memory:", config=_SETTINGS)
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET enable_progress_bar = false")
    return connection


def shut(connection: DuckDBPyConnection, files: Sequence[str] = ()) -> None:
    """Shut off files, network and extensions, and any way to change that; but for `files`, which views read."""
    if files:
        connection.execute("SET allowed_paths = $1", [list(files)])
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def load_parquet(connection: DuckDBPyConnection, table: LoadedTable, path: Path) -> None:
    """Load the file. Raises `TableRefused` if it is no whole Parquet file."""
    import duckdb  # noqa: PLC0415

    try:
        relation = connection.read_parquet(str(path))
        columns = zip(relation.columns, map(str, relation.types), strict=True)
        # Python would need pytz for times with a zone, and everything here is UTC anyway.
        picked = ", ".join(
            f"{quote_name(name)}::TIMESTAMP AS {quote_name(name)}"
            if kind == "TIMESTAMP WITH TIME ZONE"
            else quote_name(name)
            for name, kind in columns
        )
        relation.project(picked).create(table.name)
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error as error:
        raise TableRefused(f"is a broken Parquet file ({words_of(error, 120).splitlines()[0]})") from None
