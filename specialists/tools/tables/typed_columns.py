"""Gives each column of a table of text the type that all its values have, and notes how it was read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from specialists.tools.tables import column_types
from specialists.tools.tables.date_kinds import TWINS, find_ambiguous_date
from specialists.tools.tables.number_dress import (
    SHARES,
    NumberSigns,
    find_number_signs,
    holds_unseen,
    plain_digits,
    plain_digits_sql,
    units_of,
)
from specialists.tools.tables.value_kind import ValueKind

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_EXAMPLES = 3
_ORDERED = {**TWINS, **{second: first for first, second in TWINS.items()}}
_DAY_FIRST = {*TWINS.values(), "dashes"} - {"mdy dashes"}
_NOTHING = ", ".join(f"'{word}'" for word in column_types.NOTHINGS)


@dataclass(frozen=True, slots=True)
class Misfits:
    """How many filled cells a kind does not fit: `bad` ones, and `empty` ones that mean no value, such as n/a."""

    bad: int
    empty: int


@dataclass(slots=True)
class TypedColumn:
    """A column of text, and the kinds that its values may have.

    Attributes:
        name: Its name for people.
        column: Its name in `raw_rows`.
        sample: Some of its cells.
        dress: The signs around its numbers.
        left: The kinds that are still to be tried.
        tried: The kinds that were tried, by name, with the cells that they do not fit.
        fitting: The kinds that fit every row.
    """

    name: str
    column: str
    sample: Sequence[str]
    dress: NumberSigns
    left: list[ValueKind]
    tried: dict[str, tuple[ValueKind, Misfits]] = field(default_factory=dict)
    fitting: list[ValueKind] = field(default_factory=list)

    @property
    def has_foreign_digits(self) -> bool:
        """Whether it has full-width, Arabic or Indian digits, or invisible characters."""
        return any(plain_digits(value) != value for value in self.sample)

    def write_read_sql(self, kind: ValueKind) -> str:
        """Return the SQL that reads the column as this kind."""
        value = f"trim({self.column})"
        value = plain_digits_sql(value) if self.has_foreign_digits else value
        return kind.write_read_sql(self.dress.sql(value) if kind.name in column_types.NUMERIC else value)

    @property
    def chosen(self) -> ValueKind | None:
        """The kind that the column is read as; None if it stays text."""
        return self.fitting[0] if len(self.fitting) == 1 else None


@dataclass(slots=True)
class ColumnNotes:
    """The facts and faults of columns, as in `Sheet`."""

    facts: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def write_column_sql(
    connection: DuckDBPyConnection, samples: Mapping[str, tuple[str, Sequence[str]]], *, semicolons: bool
) -> tuple[list[str], ColumnNotes]:
    """Return the SQL expression that reads each column of `raw_rows`, and the notes. A kind has to fit every row.

    Args:
        connection: The database with `raw_rows`.
        samples: The name for people and a sample of cells of each column, by its name in `raw_rows`.
        semicolons: True if semicolons separate the cells; then a comma may mark decimals.
    """
    commas = column_types.writes_decimal_commas([sample for _, sample in samples.values()])
    columns = [_make_column(name, column, sample, commas=commas) for column, (name, sample) in samples.items()]
    while waiting := [column for column in columns if column.left]:
        _try_next(connection, waiting)
    _settle_orders(columns)
    said = ColumnNotes()
    for column in columns:
        _note_reading_of(connection, column, said)
        if semicolons and not commas and column.chosen is not None:
            either = column_types.either_way(
                column.chosen, [column.dress.strip_signs(value) for value in column.sample]
            )
            said.faults += [f"column {column.name}: {either}"] if either else []
    return [
        column.write_read_sql(column.chosen) if column.chosen else f"nullif({column.column}, '')" for column in columns
    ], said


def _make_column(name: str, column: str, sample: Sequence[str], *, commas: bool) -> TypedColumn:
    kinds = column_types.candidates(sample, commas=commas) if sample else []
    return TypedColumn(name, column, sample, find_number_signs(sample) if sample else NumberSigns(), kinds)


def _try_next(connection: DuckDBPyConnection, waiting: Sequence[TypedColumn]) -> None:
    """Try the next kind of each column, with one query of the table."""
    parts = []
    for column in waiting:
        cell = f"trim({column.column})"
        lost = f"{cell} <> '' AND ({column.write_read_sql(column.left[0])}) IS NULL"
        nothing = f"lower({cell}) IN ({_NOTHING})"
        parts += [f"count(*) FILTER ({lost} AND NOT {nothing})", f"count(*) FILTER ({lost} AND {nothing})"]
    counts = connection.execute(f"SELECT {', '.join(parts)} FROM raw_rows").fetchone() or (0,) * len(parts)  # noqa: S608 - our own SQL
    for index, column in enumerate(waiting):
        kind, found = column.left.pop(0), Misfits(*counts[2 * index : 2 * index + 2])
        column.tried[kind.name] = kind, found
        if not found.bad:
            column.fitting.append(kind)
            twin = _ORDERED.get(kind.name)
            column.left = [other for other in column.left if other.name == twin]


def _settle_orders(columns: Sequence[TypedColumn]) -> None:
    """Settle dates whose day and month may be swapped by the order that other columns of the table show."""
    shown = {
        kind.name in _DAY_FIRST for column in columns if (kind := column.chosen) is not None and kind.name in _ORDERED
    }
    if len(shown) != 1:
        return
    (day_first,) = shown
    for column in columns:
        if len(column.fitting) > 1:
            column.fitting = [kind for kind in column.fitting if (kind.name in _DAY_FIRST) == day_first]


def _note_reading_of(connection: DuckDBPyConnection, column: TypedColumn, said: ColumnNotes) -> None:
    """Note how the column is read, or why it stays text."""
    name, kind = column.name, column.chosen
    if kind is None:
        if why := _explain_text(connection, column):
            said.faults.append(f"column {name}: {why}")
        return
    if any(map(holds_unseen, column.sample)):
        said.facts.append(f"{name}: invisible characters left out")
    elif column.has_foreign_digits:
        said.facts.append(f"{name}: digits of another script, read as 0 to 9")
    if kind.fact:
        said.facts.append(f"{name}: {kind.fact}")
    if kind.name in column_types.NUMERIC:
        said.facts.extend(f"{name}: {fact}" for fact in column.dress.facts)
        if column.dress.symbol in SHARES:
            said.faults += _bare_shares(connection, column)
    if empty := column.tried[kind.name][1].empty:
        said.facts.append(f"{name}: {empty:,} cells such as 'n/a' read as empty")


def _explain_text(connection: DuckDBPyConnection, column: TypedColumn) -> str:
    """Return why a column that could be dates or numbers stays text; "" for a column of words."""
    if column.fitting:
        example = find_ambiguous_date(column.sample)
        return (
            f"day and month cannot be told apart ('{example}'), so it was kept as text; "
            "ask which comes first, then use strptime"
        )
    units = units_of(column.sample)
    if len(units) > 1 and _numbers_with(units, column.sample):
        listed = ", ".join(units[:_EXAMPLES])
        return f"numbers in different units ({listed}), so it was kept as text"
    if column.tried:
        nearest, found = min(column.tried.values(), key=lambda each: each[1].bad)
        return _describe_misfits(connection, column, nearest, found)
    if words := column_types.describe_look(column.sample):
        return f"looks like {words} ('{column.sample[0][:40]}') in a form that is not read, so it was kept as text"
    return ""


def _numbers_with(units: Sequence[str], sample: Sequence[str]) -> bool:
    bare = [next((NumberSigns(unit).strip_signs(value) for unit in units if unit in value), value) for value in sample]
    return sum(value[:1].isdigit() or value[:1] in "-(" for value in bare) >= 0.6 * len(bare)


def _bare_shares(connection: DuckDBPyConnection, column: TypedColumn) -> list[str]:
    """Return a fault if some numbers lack the percent sign of the others: 0.12 may mean the same as 12 %."""
    sign, cell = column.dress.symbol, f"trim({column.column})"
    found = connection.execute(
        f"SELECT count(*) FROM raw_rows WHERE {cell} <> '' AND NOT contains({cell}, '{sign}') "  # noqa: S608 - our own names
        f"AND lower({cell}) NOT IN ({_NOTHING})"
    ).fetchone()
    bare = found[0] if found else 0
    return (
        [f"column {column.name}: {_count_values(bare)} without the {sign} of the others, read as they are"]
        if bare
        else []
    )


def _describe_misfits(connection: DuckDBPyConnection, column: TypedColumn, kind: ValueKind, found: Misfits) -> str:
    cell = f"trim({column.column})"
    examples = connection.execute(
        f"SELECT DISTINCT {cell}[:40] FROM raw_rows WHERE {cell} <> '' AND ({column.write_read_sql(kind)}) IS NULL "  # noqa: S608 - our own SQL
        f"AND lower({cell}) NOT IN ({_NOTHING}) ORDER BY 1 LIMIT {_EXAMPLES}"
    ).fetchall()
    shown = ", ".join(f"'{example}'" for (example,) in examples)
    return f"{_count_values(found.bad)} not {kind.words} like the rest ({shown}), so it was kept as text"


def _count_values(number: int) -> str:
    return f"{number:,} value" + ("" if number == 1 else "s")
