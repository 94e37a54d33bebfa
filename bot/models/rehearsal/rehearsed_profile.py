"""Reads what `profile_table` says about tables and their columns."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from datetime import date

from bot.models.rehearsal.rehearsed_brief import words
from bot.models.rehearsal.rehearsed_words import FILLERS, FLOWS, NEVER_ADDED, RATES, STOCKS, UNITS, word_set
from handoff.text.text_words import stem
from specialists.tools.tables.profile import COLUMN, VALUES

_TABLE = re.compile(r"^(?P<file>.+?) is table (?P<table>\S+): (?P<rows>[\d,]+) rows?, ")
_SHEET = re.compile(r" \[([^\[\]]+)\]$")
_DISTINCT = re.compile(r"([\d,]+) distinct")
_EMPTY = re.compile(r"([\d,]+) empty")
_WHOLE = re.compile(r"(-?\d+) to (-?\d+), mean")
_RANGE = re.compile(r"(\d{4}-\d\d-\d\d).* to (\d{4}-\d\d-\d\d)")
_NUMBER = re.compile(r"(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DOUBLE|FLOAT|DECIMAL.*)$")
_MOMENTS = {"time", *(word for word, unit in UNITS.items() if unit == "day")}
"""Words of columns that say when, unless another word makes them a length: `lead time (days)`."""
_FEW_ROWS = 12
"""In no more rows than these, whole numbers may follow one another by chance."""
KEYS = word_set("id nr no number nummer code key")
"""Words of columns that number something."""
_NO_MEASURE = KEYS - {"number"} | word_set("zip plz index phone status date") | UNITS.keys() - _MOMENTS


@dataclass(frozen=True, slots=True)
class Column:
    """A column as profiled. `distinct` is 0 if the profile does not say; `values` are its commonest.

    `first` and `last` are its ends where it holds dates. `is_whole`: no cell is empty. `is_numbered`: its values are
    whole numbers, one for each row and without a gap, as those of a key are.
    """

    name: str
    sql: str
    kind: str
    distinct: int = 0
    values: tuple[str, ...] = ()
    first: date | None = None
    last: date | None = None
    is_whole: bool = False
    is_numbered: bool = False

    @property
    def stems(self) -> tuple[str, ...]:
        """The words of its name that say something, without their endings."""
        said = words(self.name)
        return tuple(map(stem, [word for word in said if word not in FILLERS and not word.isdigit()] or said))

    @property
    def is_date(self) -> bool:
        """True if its values are dates or times."""
        return self.kind.startswith(("DATE", "TIMESTAMP"))

    @property
    def is_text(self) -> bool:
        """True if its values are neither numbers nor dates."""
        return not self.is_date and not _NUMBER.match(self.kind)

    @property
    def is_measure(self) -> bool:
        """True if adding or averaging it may mean something."""
        own = set(words(self.name))
        is_number = bool(_NUMBER.match(self.kind)) and not self.is_numbered
        return is_number and not _NO_MEASURE & own and not own <= _MOMENTS

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
    """A table as profiled. `sheet` is its name in a file of several tables."""

    file: str
    name: str
    rows: int
    columns: tuple[Column, ...]
    sheet: str = ""

    @property
    def dates(self) -> list[Column]:
        """The columns that say when."""
        return [column for column in self.columns if column.is_date]


def read_profile(text: str) -> list[Table]:
    """The tables that a profile describes, those without any column or row left out."""
    tables: list[Table] = []
    lines = text.splitlines()
    heads = [(at, found) for at, line in enumerate(lines) if (found := _TABLE.match(line))]
    for (at, head), end in zip(heads, [*(at for at, _ in heads[1:]), len(lines)], strict=False):
        rows, sheet = int(head["rows"].replace(",", "")), _SHEET.search(head["file"])
        columns = tuple(_column(found, rows) for line in lines[at:end] if (found := COLUMN.fullmatch(line)))
        tables += [Table(head["file"], head["table"], rows, columns, sheet[1] if sheet else "")]
    return [one for one in tables if one.columns and one.rows]


def _column(found: re.Match[str], rows: int) -> Column:
    name, about = found["name"], found["about"]
    name = name[1:-1].replace('""', '"') if name.startswith('"') else name
    distinct, dates = _DISTINCT.search(about), _RANGE.search(about)
    first = last = None
    number = int(distinct[1].replace(",", "")) if distinct else 0
    ends = _WHOLE.search(about) if "INT" in found["type"] and number == rows > _FEW_ROWS else None
    with contextlib.suppress(ValueError):
        first, last = map(date.fromisoformat, dates.groups()) if dates else (None, None)
    return Column(
        name=name,
        # Names that are SQL words need quotes too, and the profile gives them without.
        sql='"' + name.replace('"', '""') + '"',
        kind=found["type"],
        distinct=number,
        values=tuple(value.strip() for value in VALUES.findall(about)),
        first=first,
        last=last,
        is_whole=_EMPTY.match(about) is None,
        is_numbered=ends is not None and int(ends[2]) - int(ends[1]) + 1 == number,
    )
