"""Reads what `profile_table` says about tables and their columns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from bot.models.rehearsal.rehearsed_brief import words
from bot.models.rehearsal.rehearsed_words import FILLERS, FLOWS, NEVER_ADDED, RATES, STOCKS, UNITS
from handoff.text.text_words import stem
from specialists.tools.tables.profile import COLUMN, VALUES

_TABLE = re.compile(r"^(?P<file>.+?) is table (?P<table>\S+): (?P<rows>[\d,]+) rows?, ")
_SHEET = re.compile(r" \[([^\[\]]+)\]$")
_DISTINCT = re.compile(r"([\d,]+) distinct")
_RANGE = re.compile(r"(\d{4}-\d\d-\d\d).* to (\d{4}-\d\d-\d\d)")
_NUMBER = re.compile(r"(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DOUBLE|FLOAT|DECIMAL.*)$")
_NO_MEASURE = {"id", "nr", "no", "zip", "plz", "code", "index", "phone", "key", "status", *UNITS, "date", "time"}


@dataclass(frozen=True, slots=True)
class Column:
    """A column as profiled. `distinct` is 0 if the profile does not say; `values` are its commonest."""

    table: str
    name: str
    sql: str
    kind: str
    distinct: int = 0
    values: tuple[str, ...] = ()
    first: date | None = None
    last: date | None = None
    """Its first and last day, where it holds dates."""

    @property
    def stems(self) -> tuple[str, ...]:
        """The words of its name that say something, without their endings."""
        said = words(self.name)
        told = [word for word in said if word not in FILLERS and not word.isdigit()]
        return tuple(stem(word) for word in told or said)

    @property
    def is_number(self) -> bool:
        """True if its values are numbers."""
        return bool(_NUMBER.match(self.kind))

    @property
    def is_date(self) -> bool:
        """True if its values are dates or times."""
        return self.kind.startswith(("DATE", "TIMESTAMP"))

    @property
    def is_measure(self) -> bool:
        """True if adding or averaging it may mean something."""
        return self.is_number and not _NO_MEASURE & set(words(self.name))

    @property
    def is_stock(self) -> bool:
        """True if it says how many there are at a moment."""
        own = set(self.stems)
        return self.is_measure and bool(own & STOCKS) and not own & (FLOWS - STOCKS)

    @property
    def is_flow(self) -> bool:
        """True if its values are added up where nobody says how."""
        own = set(self.stems)
        return self.is_stock or (bool(own & FLOWS) and not own & RATES)

    @property
    def is_rate(self) -> bool:
        """True if its values never add up."""
        return "%" in self.name or bool(set(self.stems) & NEVER_ADDED)


@dataclass(frozen=True, slots=True)
class Table:
    """A table as profiled."""

    file: str
    name: str
    rows: int
    columns: tuple[Column, ...]

    @property
    def sheet(self) -> str:
        """The name of its sheet, where its file has several tables."""
        found = _SHEET.search(self.file)
        return found[1] if found else ""

    @property
    def measures(self) -> list[Column]:
        """The columns that may be added up or averaged."""
        return [column for column in self.columns if column.is_measure]

    @property
    def dates(self) -> list[Column]:
        """The columns that say when."""
        return [column for column in self.columns if column.is_date]


def read_profile(text: str) -> list[Table]:
    """The tables that a profile describes, those without any column or row left out."""
    tables: list[Table] = []
    head: re.Match[str] | None = None
    columns: list[Column] = []
    for line in [*text.splitlines(), "end is table end: 0 rows, "]:
        start = _TABLE.match(line)
        if start is not None:
            if head is not None and columns and (rows := int(head["rows"].replace(",", ""))):
                tables.append(Table(head["file"], head["table"], rows, tuple(columns)))
            head, columns = start, []
        elif head is not None and (found := COLUMN.fullmatch(line)):
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
        sql='"' + name.replace('"', '""') + '"',
        kind=found["type"],
        distinct=int(distinct[1].replace(",", "")) if distinct else 0,
        values=tuple(value.strip() for value in VALUES.findall(found["about"])),
        first=_day(dates[1]) if dates else None,
        last=_day(dates[2]) if dates else None,
    )


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
