"""Reads what `profile_table` says, and chooses columns that fit the words of a task."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from bot.models.rehearsal.rehearsed_brief import words
from handoff.text_words import stem

_TABLE = re.compile(r"^(?P<file>.+?) is table (?P<table>\S+): (?P<rows>[\d,]+) rows?, ")
_COLUMN = re.compile(r'^- (?P<name>"(?:[^"]|"")+"|\S+) (?P<type>[A-Z].*?): (?P<about>.*)$')
_DISTINCT = re.compile(r"([\d,]+) distinct")
_RANGE = re.compile(r"(\d{4}-\d\d-\d\d).* to (\d{4}-\d\d-\d\d)")
_VALUES = re.compile(r"(?:^|, )([^,()]+) \([\d,]+\)")
_NUMBER = re.compile(r"(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DOUBLE|FLOAT|DECIMAL.*)$")
_TIME_NAMES = {"date", "month", "week", "quarter", "year", "day", "period", "time"}
_NO_MEASURE = _TIME_NAMES | {"id", "nr", "no", "number", "zip", "code", "index", "phone", "key", "lat", "lon"}
_PEOPLE = {"name", "person", "employee", "customer", "client", "user", "owner", "rep", "seller", "member", "player"}
_TIMED = re.compile(
    r"\b(over time|trends?|course|develop\w*|month\w*|week\w*|dail?y|days?|quarter\w*|year\w*|annual\w*|when)\b",
    re.IGNORECASE,
)
_GROUPED = re.compile(
    r"\b(?:by|per|each|which|what|every|pro|je|nach|par|por|"
    r"(?:top|bottom|best|worst|largest|smallest)(?: \d+)?)\s+(\w+)",
    re.IGNORECASE,
)
_NAMED = 2
_ALIKE: tuple[frozenset[str], ...] = tuple(
    frozenset(stem(word) for word in group.split())
    for group in (
        "sales revenue turnover income proceeds umsatz",
        "cost costs expense expenses spend spending kosten",
        "units quantity qty volume pieces sold menge anzahl",
        "customers clients accounts users subscribers kunde kunden",
        "products articles goods produkt produkte artikel",
        "profit margin earnings gewinn",
        "staff headcount employees people",
        "region area territory country land",
        "plan tier package",
    )
)
"""Words that people use for one another: general ones, not those of any file."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column as profiled. `distinct` is 0 if the profile does not say; `values` are its commonest."""

    table: str
    name: str
    sql: str
    kind: str
    distinct: int
    values: tuple[str, ...]
    span: int
    """Days from the first to the last date; 0 if the column holds none."""

    @property
    def is_number(self) -> bool:
        """True if its values are numbers."""
        return bool(_NUMBER.match(self.kind))

    @property
    def is_date(self) -> bool:
        """True if its values are dates or times."""
        return self.kind.startswith(("DATE", "TIMESTAMP"))

    @property
    def is_time(self) -> bool:
        """True if it says when, by its type or its name."""
        return self.is_date or bool(_TIME_NAMES & set(words(self.name)))

    @property
    def is_measure(self) -> bool:
        """True if adding or averaging it may mean something."""
        return self.is_number and not _NO_MEASURE & set(words(self.name))


@dataclass(frozen=True, slots=True)
class Table:
    """A table as profiled."""

    file: str
    name: str
    rows: int
    columns: tuple[Column, ...]


def read_profile(text: str) -> list[Table]:
    """The tables that a profile describes, those without any column left out."""
    tables: list[Table] = []
    head: re.Match[str] | None = None
    columns: list[Column] = []
    for line in [*text.splitlines(), "end is table end: 0 rows, "]:
        start = _TABLE.match(line)
        if start is not None:
            if head is not None and columns:
                rows = int(head["rows"].replace(",", ""))
                tables.append(Table(head["file"], head["table"], rows, tuple(columns)))
            head, columns = start, []
        elif head is not None and (found := _COLUMN.match(line)):
            columns.append(_column(head["table"], found))
    return tables


def _column(table: str, found: re.Match[str]) -> Column:
    sql = found["name"]
    name = sql[1:-1].replace('""', '"') if sql.startswith('"') else sql
    distinct = _DISTINCT.search(found["about"])
    dates = _RANGE.search(found["about"])
    return Column(
        table=table,
        name=name,
        # Names that are SQL words need quotes too, and the profile gives them without.
        sql='"' + name.replace('"', '""') + '"' if not re.fullmatch(r"[a-z_][a-z0-9_]*", name) else sql,
        kind=found["type"],
        distinct=int(distinct[1].replace(",", "")) if distinct else 0,
        values=tuple(value.strip() for value in _VALUES.findall(found["about"].partition("distinct:")[2])),
        span=_days(dates) if dates else 0,
    )


def _days(dates: re.Match[str]) -> int:
    try:
        return (date.fromisoformat(dates[2]) - date.fromisoformat(dates[1])).days
    except ValueError:
        return 0


def fit(column: Column, text: str) -> int:
    """How well a column fits the words of a text: 2 if it is named, 1 by a word that means much the same, or 0."""
    said = {stem(word) for word in words(text)}
    own = [stem(word) for word in words(column.name)]
    if any(word in said for word in own if len(word) > 1):
        return _NAMED
    return int(any(group & said and group & set(own) for group in _ALIKE))


def best_fitting(columns: Iterable[Column], text: str) -> list[Column]:
    """The columns that a text names, else those that it may mean; empty if there are none.

    Where the words for one are among the words for another, the closer one counts: `churned customers` is
    not `customers`, and `customers` is not `new_customers`.
    """
    given = list(columns)
    said = {stem(word) for word in words(text)}
    own = {column: {stem(word) for word in words(column.name)} for column in given}
    named = [column for column in given if fit(column, text) == _NAMED]

    def closer(other: Column, column: Column) -> bool:
        theirs, ours = own[other] & said, own[column] & said
        return theirs > ours or (theirs == ours and own[other] <= said < own[column] | said)

    close = [column for column in named if not any(closer(other, column) for other in named)]
    return close or [column for column in given if fit(column, text)]


def measures(table: Table) -> list[Column]:
    """The columns that may be added up or averaged."""
    return [column for column in table.columns if column.is_measure]


def categories(table: Table) -> list[Column]:
    """The columns that rows may be grouped by, those with the fewest values first."""
    few = [column for column in table.columns if not column.is_time and not column.is_measure]
    return sorted((column for column in few if _groups(column, table.rows)), key=_distinct)


def is_timed(text: str) -> bool:
    """Return True if a text asks for the course of time."""
    return bool(_TIMED.search(text))


def values_in(column: Column, text: str) -> list[str]:
    """The values of a column that a text names."""
    if column.is_number or column.is_time:
        return []
    names = [value for value in column.values if len(value) > 1 and not value.endswith("…")]
    return [name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE)]


def named_category(table: Table, text: str) -> list[Column]:
    """Columns to group by, at most two, that a text names, or some values of."""
    few = categories(table)
    texts = [column for column in table.columns if not (column.is_time or column.is_number) and column.distinct > 1]
    wide = list(dict.fromkeys([*few, *texts]))
    asked = " ".join(_GROUPED.findall(text))
    named = best_fitting(wide, asked)
    if re.search(r"\bwho\b", text, re.IGNORECASE):
        named += [column for column in wide if _PEOPLE & set(words(column.name))][:1]
    named += [column for column in few if len(values_in(column, text)) > 1]
    # "The basic plan" names one value, and is no question about all plans.
    named += [column for column in wide if fit(column, text) == _NAMED and len(values_in(column, text)) != 1]
    if not named and not is_timed(text):
        named = [column for column in few if values_in(column, text)] or best_fitting(few, text)[:1]
    return list(dict.fromkeys(named))[:2]


def category(table: Table, text: str) -> list[Column]:
    """Choose as `named_category`; the column with fewest values if a text names none, nor the course of time."""
    return named_category(table, text) or ([] if is_timed(text) else categories(table)[:1])


def _groups(column: Column, rows: int) -> bool:
    return 2 <= column.distinct <= max(2, min(50, rows // 2))


def _distinct(column: Column) -> int:
    return column.distinct


def time_column(table: Table, text: str) -> Column | None:
    """The column that says when: one the text names, else the first."""
    times = [column for column in table.columns if column.is_time and column.distinct != 1]
    dates: Sequence[Column] = [column for column in times if column.is_date] or times
    return next(iter(best_fitting(times, text) or dates), None)
