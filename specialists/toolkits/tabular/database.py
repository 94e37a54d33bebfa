"""The database in the child: tables go in, then the doors are shut for good."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from specialists.toolkits.tabular import column_types
from specialists.toolkits.tabular.sheet import Sheet, TableRefused

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SAMPLE = 200
_EXAMPLES = 3
_BUFFER = 8 * 1024 * 1024
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
    """A table as loaded, from a file or a sheet of it. `facts` and `faults` as in `Sheet`."""

    name: str
    file: str
    sheet: str = ""
    facts: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The name that people know it by."""
        return f"{self.file} [{self.sheet}]" if self.sheet else self.file


@dataclass(frozen=True, slots=True)
class _Habits:
    """Habits of a file: decimals with a comma, cells apart with a semicolon (as if the comma has another use)."""

    commas: bool
    semicolons: bool


def opened() -> DuckDBPyConnection:
    """Open a database in memory that loads no extension by itself."""
    import duckdb  # noqa: PLC0415 - heavy, and a clear message is given where it is missing

    connection = duckdb.connect(":memory:", config=_SETTINGS)
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET enable_progress_bar = false")
    return connection


def shut(connection: DuckDBPyConnection) -> None:
    """Shut off files, network and extensions, and any way to change that."""
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
            f"{quoted(name)}::TIMESTAMP AS {quoted(name)}" if kind == "TIMESTAMP WITH TIME ZONE" else quoted(name)
            for name, kind in columns
        )
        relation.project(picked).create(table.name)
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error as error:
        raise TableRefused(f"is a broken Parquet file ({str(error).splitlines()[0][:120]})") from None


def load_sheet(connection: DuckDBPyConnection, table: LoadedTable, sheet: Sheet, scratch: Path) -> None:
    """Load the rows as text, then give every column the type that all of its values have."""
    table.facts += sheet.facts
    table.faults += sheet.faults
    plain = [f"c{index}" for index in range(len(sheet.names))]
    samples = [_sample(sheet.rows, index) for index in range(len(plain))]
    longest = _write(sheet, scratch)
    columns = ", ".join(f"{name}: 'VARCHAR'" for name in plain)
    options = f"max_line_size={longest}, buffer_size={max(_BUFFER, 2 * longest)}, parallel=false, auto_detect=false"
    connection.execute(
        f"CREATE TABLE raw_rows AS SELECT * FROM read_csv(?, columns={{{columns}}}, header=false, delim=',', "  # noqa: S608 - our own names
        f"quote='\"', escape='\"', {options})",
        [str(scratch)],
    )
    scratch.unlink()
    habits = _Habits(column_types.writes_decimal_commas(samples), sheet.separator == ";")
    picked = [
        f"{_typed(connection, table, name, column, sample, habits)} AS {quoted(name)}"
        for name, column, sample in zip(sheet.names, plain, samples, strict=True)
    ]
    connection.execute(f"CREATE TABLE {quoted(table.name)} AS SELECT {', '.join(picked)} FROM raw_rows")  # noqa: S608 - quoted
    connection.execute("DROP TABLE raw_rows")


def _write(sheet: Sheet, scratch: Path) -> int:
    """Write the rows as plain CSV and let go of them; gives a bound for the longest line, in bytes."""
    with scratch.open("w", newline="", encoding="utf-8", errors="replace") as file:
        csv.writer(file, lineterminator="\n").writerows(sheet.rows)
    # A letter takes up to four bytes, a cell two quotation marks and a comma, a quotation mark one more.
    longest = max((sum(map(len, row)) for row in sheet.rows), default=0) * 4 + 3 * len(sheet.names) + 16
    sheet.rows = []
    return max(longest, 1024)


def quoted(name: str) -> str:
    """Quote a name as SQL needs it."""
    return '"' + name.replace('"', '""') + '"'


def _sample(rows: list[list[str]], index: int) -> list[str]:
    """Pick up to 200 filled cells from the whole length of the column."""
    step = max(1, len(rows) // _SAMPLE)
    cells = (row[index].strip() for row in rows[::step])
    return [cell for cell in cells if cell and cell.lower() not in column_types.NOTHINGS][:_SAMPLE]


def _typed(
    connection: DuckDBPyConnection, table: LoadedTable, name: str, column: str, sample: list[str], habits: _Habits
) -> str:
    """Write the expression for a column. A kind counts only if it holds for every row."""
    text = f"nullif({column}, '')"
    tried = column_types.candidates(sample, commas=habits.commas) if sample else []
    dress = column_types.dress_of(sample) if tried else column_types.Dress()
    fitting, misfits = [], {}
    for kind in tried:
        expression = _conversion(kind, column, dress)
        misfits[kind.name] = _misfits(connection, column, expression)
        if not misfits[kind.name][0]:
            fitting.append((kind, expression))
            if kind.name not in column_types.TWINS:
                break
    if not fitting:
        if tried:
            nearest = min(tried, key=lambda kind: misfits[kind.name][0])
            table.faults.append(_unfit(name, nearest, *misfits[nearest.name]))
        return text
    kind, expression = fitting[0]
    _tell(table, name, [kind for kind, _ in fitting], dress, misfits[kind.name][1])
    either = column_types.either_way(kind, [dress.off(value) for value in sample])
    if either and habits.semicolons and not habits.commas:
        table.faults.append(f"column {name}: {either}")
    return expression


def _conversion(kind: column_types.Kind, column: str, dress: column_types.Dress) -> str:
    value = f"trim({column})"
    if kind.name in column_types.NUMERIC:
        value = dress.sql(value)
    fits = f"regexp_full_match({value}, '{kind.pattern}')"
    return f"CASE WHEN {fits} THEN {kind.sql.format(x=value)} END"


def _misfits(connection: DuckDBPyConnection, column: str, expression: str) -> tuple[int, int, list[str]]:
    """Count the filled cells that the kind does not fit and the others that mean "nothing", and give examples."""
    nothings = ", ".join(f"'{word}'" for word in column_types.NOTHINGS)
    left = f"FROM raw_rows WHERE trim({column}) <> '' AND ({expression}) IS NULL"
    nothing = f"lower(trim({column})) IN ({nothings})"
    counted = connection.execute(
        f"SELECT count(*) FILTER (NOT {nothing}), count(*) FILTER ({nothing}) {left}"
    ).fetchone()
    bad, empty = counted or (0, 0)
    if not bad:
        return 0, empty, []
    examples = connection.execute(
        f"SELECT DISTINCT trim({column})[:40] {left} AND NOT {nothing} ORDER BY 1 LIMIT {_EXAMPLES}"
    ).fetchall()
    return bad, empty, [example for (example,) in examples]


def _unfit(name: str, kind: column_types.Kind, bad: int, _empty: int, examples: list[str]) -> str:
    shown = ", ".join(f"'{example}'" for example in examples)
    values = f"{bad:,} value" + ("" if bad == 1 else "s")
    return f"column {name}: {values} not {kind.words} like the rest ({shown}), so it was kept as text"


def _tell(
    table: LoadedTable, name: str, fitting: list[column_types.Kind], dress: column_types.Dress, empty: int
) -> None:
    kind = fitting[0]
    if kind.name in column_types.TWINS and column_types.TWINS[kind.name] in {other.name for other in fitting}:
        table.faults.append(f"column {name}: day and month cannot be told apart; {kind.fact}")
    elif kind.fact:
        table.facts.append(f"{name}: {kind.fact}")
    if kind.name in column_types.NUMERIC:
        table.facts.extend(f"{name}: {fact}" for fact in dress.facts)
    if empty:
        table.facts.append(f"{name}: {empty:,} cells such as 'n/a' read as empty")
