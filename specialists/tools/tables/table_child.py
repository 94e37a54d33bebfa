"""The child process that reads and queries attached tables: it loads the files, then gives up all other access.

Input: `{"files": [{"file", "name", "table", "kept", "keep"}], "taken": [...], "sql": str | null, "most": int}`.

- `file`: the input file or, if `kept` is true, the folder with its tables from the cache.
- `name`, `table`: the file's name, and the name of its table in SQL.
- `keep`: the path of a folder to write the tables to, for the cache; "" for none.
- `taken`: the names in SQL of all attached tables. `sql`: null for a profile.

Output: `{"error"}`, or `{"broken"}` (a `kept` folder cannot be read), or an answer: a query's result (see `query`) or
the `text` of a profile, each with `read` (the names of the files that it is from), `faults` (what looked wrong in
them), `apart` (notes on rows that are not counted) and `refused` (the files that could not be read).
"""

from __future__ import annotations

import gc
import json
import sys
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specialists.sandbox.confine import claim_stdout, forbid_file_writes, limit_remaining_cpu, make_input_path
from specialists.tools.extras import explain_install
from specialists.tools.tables.duckdb_database import LoadedTable
from specialists.tools.tables.sql_names import quote_name

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


OUT_OF_MEMORY_MESSAGE = (
    "That needs more memory than one query may use. Aggregate, filter or LIMIT earlier; "
    "a file this large is better cut to the columns and rows that matter."
)
_PARQUET_START = b"PAR1"


def main() -> None:
    """Read a request from stdin, carry it out and write the reply to stdout."""
    reply = claim_stdout()
    gc.disable()  # rows are many lists without cycles, and collecting garbage among them takes longer than reading
    request = json.load(sys.stdin)
    try:
        answer = _answer_request(request)
    except MemoryError:
        answer = {"error": OUT_OF_MEMORY_MESSAGE}
    except ModuleNotFoundError as error:
        answer = {"error": f"Tables cannot be read here: {error.name} is missing. {explain_install('tables')}"}
    with reply:
        reply.write(json.dumps(answer).encode())


def _answer_request(request: dict[str, Any]) -> dict[str, Any]:
    import duckdb  # noqa: PLC0415

    from specialists.tools.tables.duckdb_database import disable_external_access, open_duckdb  # noqa: PLC0415
    from specialists.tools.tables.profile import profile_table  # noqa: PLC0415
    from specialists.tools.tables.query_execution import execute_query  # noqa: PLC0415
    from specialists.tools.tables.table_errors import TableRefused  # noqa: PLC0415

    try:
        connection = open_duckdb()
        tables, refusals, files = _load_tables(connection, request)
        disable_external_access(connection, files)
        forbid_file_writes()
        limit_remaining_cpu(5)
        if not tables:
            return {"error": " ".join(refusals)}
        if request["sql"] is None:
            answer: dict[str, Any] = {"text": "\n\n".join(profile_table(connection, table) for table in tables)}
        else:
            answer = execute_query(connection, request["sql"], request["most"])
    except TableRefused as refusal:
        return {"error": " ".join([str(refusal), *refusals])}
    except BrokenEntry:
        return {"broken": True}
    except duckdb.OutOfMemoryException:
        return {"error": OUT_OF_MEMORY_MESSAGE}
    used_names = answer.pop("used", None)
    read_tables = [table for table in tables if used_names is None or table.name.casefold() in used_names]
    faults = [f"{table.title}: {fault}" for table in read_tables for fault in table.faults]
    notes = [f"{table.title}: {note}" for table in read_tables for note in table.notes]
    return answer | {
        "read": [table.file for table in read_tables],
        "faults": faults,
        "apart": notes,
        "refused": refusals,
    }


def _load_tables(
    connection: DuckDBPyConnection, request: dict[str, Any]
) -> tuple[list[LoadedTable], list[str], list[str]]:
    """Return the tables, the faults of files that could not be read, and the files that queries will read."""
    from specialists.tools.tables.sql_names import make_names_unique  # noqa: PLC0415
    from specialists.tools.tables.table_errors import TableRefused  # noqa: PLC0415

    tables: list[LoadedTable] = []
    refusals, files = [], []
    for file in request["files"]:
        others = ({*request["taken"]} - {file["table"]}) | {table.name for table in tables}

        def set_table_names(
            file_tables: list[LoadedTable], file: dict[str, Any] = file, used_names: set[str] = others
        ) -> None:
            names = make_names_unique([file["table"] + table.name_ending for table in file_tables], used_names)
            for table, name in zip(file_tables, names, strict=True):
                table.name = name

        try:
            if file["kept"]:
                loaded_tables = read_cached_tables(Path(make_input_path(file["file"])), file["name"])
                set_table_names(loaded_tables)
                files += open_cached_tables(connection, loaded_tables, make_input_path(file["file"]))
            else:
                loaded_tables = _load_file(connection, file, set_table_names)
                if file["keep"]:
                    write_cached_tables(connection, loaded_tables, Path(file["keep"]))
            tables += loaded_tables
        except TableRefused as refusal:
            refusals.append(f"{file['name']} {refusal}.")
    return tables, refusals, files


def _load_file(
    connection: DuckDBPyConnection, file: dict[str, Any], name_tables: Callable[[list[LoadedTable]], None]
) -> list[LoadedTable]:
    """Load the tables of a file, which `name_tables` gives their names. Raises `TableRefused`."""
    from specialists.tools.tables.duckdb_database import (  # noqa: PLC0415
        LoadedTable,
        load_parquet,
        load_sheet,
    )
    from specialists.tools.tables.sheet_reading import read_sheets  # noqa: PLC0415
    from specialists.tools.tables.table_errors import TableRefused  # noqa: PLC0415

    path = Path(make_input_path(file["file"]))
    data = path.read_bytes()
    if not data:
        raise TableRefused("is empty (0 bytes)")
    if data.startswith(_PARQUET_START):
        tables = [LoadedTable("", file["name"])]
        name_tables(tables)
        load_parquet(connection, tables[0], path)
        return tables
    sheets = read_sheets(data, file["name"])
    has_several_sheets = len(sheets) > 1
    tables = [
        LoadedTable(
            "",
            file["name"],
            sheet.title if has_several_sheets else "",
            _make_name_ending(sheet.title) if has_several_sheets else "",
        )
        for sheet in sheets
    ]
    name_tables(tables)
    for sheet, table in zip(sheets, tables, strict=True):
        load_sheet(connection, table, sheet, Path("rows.csv"))
    return tables


def _make_name_ending(title: str) -> str:
    letters = "".join(letter if letter.isalnum() else "_" for letter in title.lower())
    return "".join(f"_{part}" for part in letters.split("_") if part)


_TABLE_LIST_FILE = "tables.json"


class BrokenEntry(Exception):
    """A folder of the cache cannot be read, so the file itself has to be read again."""


def write_cached_tables(connection: DuckDBPyConnection, tables: Sequence[LoadedTable], folder: Path) -> None:
    """Write the tables of one file into a folder, for the cache. If that fails, the folder is left empty."""
    import duckdb  # noqa: PLC0415

    try:
        for number, table in enumerate(tables):
            path = str(folder / f"{number}.parquet")
            connection.execute(f"COPY {quote_name(table.name)} TO ? (FORMAT parquet, COMPRESSION zstd)", [path])
        entry_fields = [
            [
                table.sheet,
                table.name_ending,
                table.facts,
                table.faults,
                table.notes,
                _compute_checksum(folder / f"{number}.parquet"),
            ]
            for number, table in enumerate(tables)
        ]
        (folder / _TABLE_LIST_FILE).write_text(json.dumps(entry_fields))
    except (duckdb.Error, OSError):
        for file in folder.iterdir():
            file.unlink()


def read_cached_tables(folder: Path, name: str) -> list[LoadedTable]:
    """Return the tables in a folder of the cache, not named yet. `name` is the file's. Raises `BrokenEntry`."""
    try:
        entry_fields = json.loads((folder / _TABLE_LIST_FILE).read_text())
        tables = [
            LoadedTable("", name, str(sheet), str(ending), [*facts], [*faults], [*apart])
            for sheet, ending, facts, faults, apart, _ in entry_fields
        ]
        checksums = [each[-1] for each in entry_fields]
        if checksums != [_compute_checksum(folder / f"{number}.parquet") for number in range(len(checksums))]:
            raise BrokenEntry
    except (OSError, ValueError, TypeError) as error:
        raise BrokenEntry from error
    return tables


def open_cached_tables(connection: DuckDBPyConnection, tables: Sequence[LoadedTable], folder: str) -> list[str]:
    """Make a view of each table, which must have its name already. Return the files that queries of the views read.

    Raises `BrokenEntry`.
    """
    import duckdb  # noqa: PLC0415

    files = [f"{folder}/{number}.parquet" for number in range(len(tables))]
    for table, file in zip(tables, files, strict=True):
        try:
            connection.execute(f"CREATE VIEW {quote_name(table.name)} AS SELECT * FROM read_parquet('{file}')")  # noqa: S608 - quoted
        except duckdb.OutOfMemoryException:
            raise
        except duckdb.Error as error:
            raise BrokenEntry from error
    return files


def _compute_checksum(file: Path) -> int:
    return zlib.crc32(file.read_bytes())
