"""Gives each column of a table of text the type that all its values have, and notes how it was read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from specialists.tools.tables import column_types
from specialists.tools.tables.date_kinds import AMBIGUOUS_PAIRS, find_ambiguous_date
from specialists.tools.tables.number_format import (
    SHARE_SIGNS,
    NumberFormat,
    detect_number_format,
    has_invisible_characters,
    list_units,
    to_ascii_digits,
    write_ascii_digits_sql,
)
from specialists.tools.tables.value_kind import ValueKind

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MAX_EXAMPLES = 3
_AMBIGUOUS_KINDS = {**AMBIGUOUS_PAIRS, **{second: first for first, second in AMBIGUOUS_PAIRS.items()}}
_DAY_FIRST_KINDS = {*AMBIGUOUS_PAIRS.values(), "dashes"} - {"mdy dashes"}
_EMPTY_WORDS_SQL = ", ".join(f"'{word}'" for word in column_types.EMPTY_WORDS)


@dataclass(frozen=True, slots=True)
class MisfitCounts:
    """How many filled cells a kind does not fit: `bad_count`, and `empty_count` that mean no value, such as n/a."""

    bad_count: int
    empty_count: int


@dataclass(slots=True)
class TypedColumn:
    """A column of text, and the kinds that its values may have.

    Attributes:
        name: Its name for people.
        raw_name: Its name in `raw_rows`.
        sample: Some of its cells.
        number_format: The signs around its numbers.
        untried_kinds: The kinds that are still to be tried.
        misfits_by_kind: The kinds that were tried, by name, with the cells that they do not fit.
        fitting_kinds: The kinds that fit every row.
    """

    name: str
    raw_name: str
    sample: Sequence[str]
    number_format: NumberFormat
    untried_kinds: list[ValueKind]
    misfits_by_kind: dict[str, tuple[ValueKind, MisfitCounts]] = field(default_factory=dict)
    fitting_kinds: list[ValueKind] = field(default_factory=list)

    @property
    def has_foreign_digits(self) -> bool:
        """Whether its sample has full-width, Arabic or Indian digits, or invisible characters."""
        return any(to_ascii_digits(value) != value for value in self.sample)

    def write_cast_sql(self, kind: ValueKind) -> str:
        """Return the SQL that reads the column as this kind."""
        value = f"trim({self.raw_name})"
        value = write_ascii_digits_sql(value) if self.has_foreign_digits else value
        return kind.write_cast_sql(
            self.number_format.write_strip_sql(value) if kind.name in column_types.NUMERIC_KIND_NAMES else value
        )

    @property
    def chosen_kind(self) -> ValueKind | None:
        """The kind that the column is read as; None if it stays text."""
        return self.fitting_kinds[0] if len(self.fitting_kinds) == 1 else None


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
    commas = column_types.has_decimal_commas([sample for _, sample in samples.values()])
    columns = [_make_column(name, column, sample, commas=commas) for column, (name, sample) in samples.items()]
    while untried_columns := [column for column in columns if column.untried_kinds]:
        _try_next_kinds(connection, untried_columns)
    _settle_day_orders(columns)
    notes = ColumnNotes()
    for column in columns:
        _note_reading(connection, column, notes)
        if semicolons and not commas and column.chosen_kind is not None:
            ambiguity = column_types.describe_ambiguous_number(
                column.chosen_kind, [column.number_format.strip_signs(value) for value in column.sample]
            )
            notes.faults += [f"column {column.name}: {ambiguity}"] if ambiguity else []
    return [
        column.write_cast_sql(column.chosen_kind) if column.chosen_kind else f"nullif({column.raw_name}, '')"
        for column in columns
    ], notes


def _make_column(name: str, column: str, sample: Sequence[str], *, commas: bool) -> TypedColumn:
    kinds = column_types.list_candidate_kinds(sample, decimal_commas=commas) if sample else []
    return TypedColumn(name, column, sample, detect_number_format(sample) if sample else NumberFormat(), kinds)


def _try_next_kinds(connection: DuckDBPyConnection, columns: Sequence[TypedColumn]) -> None:
    """Try the next kind of each column, with one query of the table."""
    parts = []
    for column in columns:
        cell = f"trim({column.raw_name})"
        misfit_sql = f"{cell} <> '' AND ({column.write_cast_sql(column.untried_kinds[0])}) IS NULL"
        empty_word_sql = f"lower({cell}) IN ({_EMPTY_WORDS_SQL})"
        parts += [
            f"count(*) FILTER ({misfit_sql} AND NOT {empty_word_sql})",
            f"count(*) FILTER ({misfit_sql} AND {empty_word_sql})",
        ]
    counts = connection.execute(f"SELECT {', '.join(parts)} FROM raw_rows").fetchone() or (0,) * len(parts)  # noqa: S608 - our own SQL
    for index, column in enumerate(columns):
        kind, misfits = column.untried_kinds.pop(0), MisfitCounts(*counts[2 * index : 2 * index + 2])
        column.misfits_by_kind[kind.name] = kind, misfits
        if not misfits.bad_count:
            column.fitting_kinds.append(kind)
            alternative = _AMBIGUOUS_KINDS.get(kind.name)
            column.untried_kinds = [other for other in column.untried_kinds if other.name == alternative]


def _settle_day_orders(columns: Sequence[TypedColumn]) -> None:
    """Choose the order of day and month in ambiguous columns, if the other date columns show one and the same."""
    day_first_values = {
        kind.name in _DAY_FIRST_KINDS
        for column in columns
        if (kind := column.chosen_kind) is not None and kind.name in _AMBIGUOUS_KINDS
    }
    if len(day_first_values) != 1:
        return
    (day_first,) = day_first_values
    for column in columns:
        if len(column.fitting_kinds) > 1:
            column.fitting_kinds = [
                kind for kind in column.fitting_kinds if (kind.name in _DAY_FIRST_KINDS) == day_first
            ]


def _note_reading(connection: DuckDBPyConnection, column: TypedColumn, notes: ColumnNotes) -> None:
    """Note how the column is read, or why it stays text."""
    name, kind = column.name, column.chosen_kind
    if kind is None:
        if why := _explain_text(connection, column):
            notes.faults.append(f"column {name}: {why}")
        return
    if any(map(has_invisible_characters, column.sample)):
        notes.facts.append(f"{name}: invisible characters left out")
    elif column.has_foreign_digits:
        notes.facts.append(f"{name}: digits of another script, read as 0 to 9")
    if kind.fact:
        notes.facts.append(f"{name}: {kind.fact}")
    if kind.name in column_types.NUMERIC_KIND_NAMES:
        notes.facts.extend(f"{name}: {fact}" for fact in column.number_format.facts)
        if column.number_format.unit in SHARE_SIGNS:
            notes.faults += _describe_bare_shares(connection, column)
    if empty := column.misfits_by_kind[kind.name][1].empty_count:
        notes.facts.append(f"{name}: {empty:,} cells such as 'n/a' read as empty")


def _explain_text(connection: DuckDBPyConnection, column: TypedColumn) -> str:
    """Return why a column that could be dates or numbers stays text; "" for a column of words."""
    if column.fitting_kinds:
        example = find_ambiguous_date(column.sample)
        return (
            f"day and month cannot be told apart ('{example}'), so it was kept as text; "
            "ask which comes first, then use strptime"
        )
    units = list_units(column.sample)
    if len(units) > 1 and _are_numbers_with_units(units, column.sample):
        unit_list = ", ".join(units[:_MAX_EXAMPLES])
        return f"numbers in different units ({unit_list}), so it was kept as text"
    if column.misfits_by_kind:
        nearest, misfits = min(column.misfits_by_kind.values(), key=lambda each: each[1].bad_count)
        return _describe_misfits(connection, column, nearest, misfits)
    if words := column_types.guess_text_kind(column.sample):
        return f"looks like {words} ('{column.sample[0][:40]}') in a form that is not read, so it was kept as text"
    return ""


def _are_numbers_with_units(units: Sequence[str], sample: Sequence[str]) -> bool:
    bare = [next((NumberFormat(unit).strip_signs(value) for unit in units if unit in value), value) for value in sample]
    return sum(value[:1].isdigit() or value[:1] in "-(" for value in bare) >= 0.6 * len(bare)


def _describe_bare_shares(connection: DuckDBPyConnection, column: TypedColumn) -> list[str]:
    """Return a fault if some numbers lack the percent sign of the others: 0.12 may mean the same as 12 %."""
    sign, cell = column.number_format.unit, f"trim({column.raw_name})"
    row = connection.execute(
        f"SELECT count(*) FROM raw_rows WHERE {cell} <> '' AND NOT contains({cell}, '{sign}') "  # noqa: S608 - our own names
        f"AND lower({cell}) NOT IN ({_EMPTY_WORDS_SQL})"
    ).fetchone()
    bare_count = row[0] if row else 0
    return (
        [f"column {column.name}: {_format_value_count(bare_count)} without the {sign} of the others, read as they are"]
        if bare_count
        else []
    )


def _describe_misfits(
    connection: DuckDBPyConnection, column: TypedColumn, kind: ValueKind, misfits: MisfitCounts
) -> str:
    cell = f"trim({column.raw_name})"
    examples = connection.execute(
        f"SELECT DISTINCT {cell}[:40] FROM raw_rows WHERE {cell} <> '' AND ({column.write_cast_sql(kind)}) IS NULL "  # noqa: S608 - our own SQL
        f"AND lower({cell}) NOT IN ({_EMPTY_WORDS_SQL}) ORDER BY 1 LIMIT {_MAX_EXAMPLES}"
    ).fetchall()
    example_list = ", ".join(f"'{example}'" for (example,) in examples)
    count_text = _format_value_count(misfits.bad_count)
    return f"{count_text} not {kind.plural} like the rest ({example_list}), so it was kept as text"


def _format_value_count(number: int) -> str:
    return f"{number:,} value" + ("" if number == 1 else "s")
