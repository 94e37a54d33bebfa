"""Reads what `profile_table` says about tables and their columns."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from datetime import date

from bot.models.rehearsal import rehearsed_words as lexicon
from bot.models.rehearsal.rehearsed_words import read_words, split_words
from handoff.text.text_words import stem
from specialists.tools.tables.profile import COLUMN, VALUES

_TABLE = re.compile(r"^(?P<file>.+?) is table (?P<table>\S+): (?P<rows>[\d,]+) rows?, ")
_SHEET = re.compile(r" \[([^\[\]]+)\]$")
_DISTINCT = re.compile(r"([\d,]+) distinct")
_EMPTY = re.compile(r"([\d,]+) empty")
_WHOLE = re.compile(r"(-?\d+) to (-?\d+), mean")
_RANGE = re.compile(r"(\d{4}-\d\d-\d\d).* to (\d{4}-\d\d-\d\d)")
_NUMBER = re.compile(r"(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DOUBLE|FLOAT|DECIMAL.*)$")
_MOMENTS = {"time", *(word for word, unit in lexicon.UNITS.items() if unit == "day")}
"""Words of columns that say when, unless another word makes them a length: `lead time (days)`."""
_NO_MEASURE = read_words("no_measure") | lexicon.UNITS.keys() - _MOMENTS
_FEW_ROWS = 12
"""In no more rows than these, whole numbers may follow one another by chance."""


@dataclass(frozen=True, slots=True)
class ProfiledColumn:
    """A column as profiled. `distinct` is 0 if the profile does not say; `values` are its commonest.

    `first` and `last` are its ends where it holds dates, and `empty` is how many cells have no value. `is_numbered`:
    its values are whole numbers, one for each row and without a gap. `is_row_key`: each row has another value.
    """

    name: str
    sql: str
    kind: str
    distinct: int = 0
    values: tuple[str, ...] = ()
    first: date | None = None
    last: date | None = None
    empty: int = 0
    is_numbered: bool = False
    is_row_key: bool = False

    @property
    def stems(self) -> tuple[str, ...]:
        """The words of its name that say something, without their endings."""
        said = split_words(self.name)
        return tuple(map(stem, [word for word in said if word not in lexicon.FILLERS and not word.isdigit()] or said))

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
        """True if adding or averaging its values may mean something. Words after `per` in its name are ignored."""
        said = split_words(self.name)
        own = set(said[: next((at for at, word in enumerate(said) if word in lexicon.PER), len(said))])
        is_number = bool(_NUMBER.match(self.kind)) and not self.is_numbered
        return is_number and not _NO_MEASURE & own and not own <= _MOMENTS

    @property
    def is_stock(self) -> bool:
        """True if its values are amounts at a moment, such as a stock."""
        own = set(self.stems)
        return self.is_measure and not self.is_rate and bool(own & lexicon.STOCKS) and not own & lexicon.FLOWS

    @property
    def is_flow(self) -> bool:
        """True if its values are added up unless the request says otherwise."""
        own = set(self.stems)
        return self.is_stock or (bool(own & lexicon.FLOWS) and not own & lexicon.RATES and not self.is_rate)

    @property
    def is_rate(self) -> bool:
        """True if its values never add up."""
        return "%" in self.name or bool(lexicon.NEVER_ADDED & {*self.stems} or lexicon.PER & {*split_words(self.name)})


@dataclass(frozen=True, slots=True)
class ProfiledTable:
    """A table as profiled. `sheet` is its name in a file of several tables."""

    file: str
    name: str
    rows: int
    columns: tuple[ProfiledColumn, ...]
    sheet: str = ""

    @property
    def dates(self) -> list[ProfiledColumn]:
        """The columns that say when."""
        return [column for column in self.columns if column.is_date]


def read_profile(text: str) -> list[ProfiledTable]:
    """The tables that a profile describes, those without any column or row left out."""
    tables: list[ProfiledTable] = []
    lines = text.splitlines()
    heads = [(at, found) for at, line in enumerate(lines) if (found := _TABLE.match(line))]
    for (at, head), end in zip(heads, [*(at for at, _ in heads[1:]), len(lines)], strict=False):
        rows, sheet = int(head["rows"].replace(",", "")), _SHEET.search(head["file"])
        columns = tuple(_read_column(found, rows) for line in lines[at:end] if (found := COLUMN.fullmatch(line)))
        tables += [ProfiledTable(head["file"], head["table"], rows, columns, sheet[1] if sheet else "")]
    return [one for one in tables if one.columns and one.rows]


def _read_column(found: re.Match[str], rows: int) -> ProfiledColumn:
    name, about = found["name"], found["about"]
    name = name[1:-1].replace('""', '"') if name.startswith('"') else name
    distinct, empty, dates = _DISTINCT.search(about), _EMPTY.match(about), _RANGE.search(about)
    first = last = None
    number = int(distinct[1].replace(",", "")) if distinct else 0
    ends = _WHOLE.search(about) if "INT" in found["type"] and number == rows > _FEW_ROWS else None
    with contextlib.suppress(ValueError):
        first, last = map(date.fromisoformat, dates.groups()) if dates else (None, None)
    return ProfiledColumn(
        name=name,
        # Names that are SQL words need quotes too, and the profile gives them without.
        sql='"' + name.replace('"', '""') + '"',
        kind=found["type"],
        distinct=number,
        values=tuple(value.strip() for value in VALUES.findall(about)),
        first=first,
        last=last,
        empty=rows if about == "no values" else int(empty[1].replace(",", "")) if empty else 0,
        is_numbered=ends is not None and int(ends[2]) - int(ends[1]) + 1 == number,
        is_row_key=number == rows and found["type"][:4] not in {"DATE", "TIME"},
    )
