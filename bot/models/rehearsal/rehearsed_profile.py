"""Parses the replies of the tool `profile_table`, which describe tables and their columns."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from datetime import date

from bot.models.rehearsal import rehearsed_words as lexicon
from bot.models.rehearsal.rehearsed_words import read_word_list, split_words
from handoff.text.text_words import stem_word
from specialists.tools.tables.profile import COLUMN_LINE, COUNTED_VALUES

_TABLE = re.compile(r"^(?P<file>.+?) is table (?P<table>\S+): (?P<rows>[\d,]+) rows?, ")
_SHEET = re.compile(r" \[([^\[\]]+)\]$")
_DISTINCT = re.compile(r"([\d,]+) distinct")
_EMPTY = re.compile(r"([\d,]+) empty")
_INTEGER_RANGE = re.compile(r"(-?\d+) to (-?\d+), mean")
_DATE_RANGE = re.compile(r"(\d{4}-\d\d-\d\d).* to (\d{4}-\d\d-\d\d)")
_NUMBER = re.compile(r"(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DOUBLE|FLOAT|DECIMAL.*)$")
_TIME_WORDS = {"time", *(word for word, unit in lexicon.UNITS.items() if unit == "day")}
"""Words in the names of columns with points in time. Beside other words they may mean a length: `lead time (days)`."""
_NO_MEASURE = read_word_list("no_measure") | lexicon.UNITS.keys() - _TIME_WORDS
_FEW_ROWS = 12
"""Rows up to which whole numbers may follow one another by chance."""


@dataclass(frozen=True, slots=True)
class ProfiledColumn:
    """A column as the profile describes it.

    Attributes:
        name: Its name in the file.
        sql: Its name in SQL, quoted.
        kind: Its SQL type.
        distinct_count: The number of different values; 0 if the profile does not say.
        values: The most frequent values.
        first_date: The first date, if it holds dates.
        last_date: The last date, if it holds dates.
        empty_count: The number of cells without a value.
        is_numbered: True if its values are whole numbers, one for each row and without a gap.
        is_row_key: True if each row has another value.
    """

    name: str
    sql: str
    kind: str
    distinct_count: int = 0
    values: tuple[str, ...] = ()
    first_date: date | None = None
    last_date: date | None = None
    empty_count: int = 0
    is_numbered: bool = False
    is_row_key: bool = False

    @property
    def stems(self) -> tuple[str, ...]:
        """The stems of the meaningful words in its name."""
        said = split_words(self.name)
        return tuple(
            map(stem_word, [word for word in said if word not in lexicon.FILLERS and not word.isdigit()] or said)
        )

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
        """True if a sum or an average of its values may make sense. Words after `per` in its name are ignored."""
        said = split_words(self.name)
        own = set(said[: next((at for at, word in enumerate(said) if word in lexicon.PER), len(said))])
        is_number = bool(_NUMBER.match(self.kind)) and not self.is_numbered
        return is_number and not _NO_MEASURE & own and not own <= _TIME_WORDS

    @property
    def is_stock(self) -> bool:
        """True if its values are amounts at a point in time, such as an inventory or a balance."""
        own = set(self.stems)
        return self.is_measure and not self.is_rate and bool(own & lexicon.STOCKS) and not own & lexicon.FLOWS

    @property
    def is_flow(self) -> bool:
        """True if its values are added up unless the request says otherwise."""
        own = set(self.stems)
        return self.is_stock or (bool(own & lexicon.FLOWS) and not own & lexicon.RATES and not self.is_rate)

    @property
    def is_rate(self) -> bool:
        """True if a sum of its values never makes sense, as for prices and percentages."""
        return "%" in self.name or bool(lexicon.NEVER_ADDED & {*self.stems} or lexicon.PER & {*split_words(self.name)})


@dataclass(frozen=True, slots=True)
class ProfiledTable:
    """A table as the profile describes it. `sheet` is the table's name in a file with several tables."""

    file: str
    name: str
    row_count: int
    columns: tuple[ProfiledColumn, ...]
    sheet: str = ""

    @property
    def date_columns(self) -> list[ProfiledColumn]:
        """The columns whose values are dates or times."""
        return [column for column in self.columns if column.is_date]


def read_profile(text: str) -> list[ProfiledTable]:
    """Return the tables that a profile describes, except those without columns or rows."""
    tables: list[ProfiledTable] = []
    lines = text.splitlines()
    heads = [(at, found) for at, line in enumerate(lines) if (found := _TABLE.match(line))]
    for (at, head), end in zip(heads, [*(at for at, _ in heads[1:]), len(lines)], strict=False):
        rows, sheet = int(head["rows"].replace(",", "")), _SHEET.search(head["file"])
        columns = tuple(_read_column(found, rows) for line in lines[at:end] if (found := COLUMN_LINE.fullmatch(line)))
        tables += [ProfiledTable(head["file"], head["table"], rows, columns, sheet[1] if sheet else "")]
    return [one for one in tables if one.columns and one.row_count]


def _read_column(match: re.Match[str], rows: int) -> ProfiledColumn:
    name, about = match["name"], match["about"]
    name = name[1:-1].replace('""', '"') if name.startswith('"') else name
    distinct, empty, dates = _DISTINCT.search(about), _EMPTY.match(about), _DATE_RANGE.search(about)
    first = last = None
    number = int(distinct[1].replace(",", "")) if distinct else 0
    ends = _INTEGER_RANGE.search(about) if "INT" in match["type"] and number == rows > _FEW_ROWS else None
    with contextlib.suppress(ValueError):
        first, last = map(date.fromisoformat, dates.groups()) if dates else (None, None)
    return ProfiledColumn(
        name=name,
        # Always quoted: a name may be an SQL keyword, which the profile does not quote.
        sql='"' + name.replace('"', '""') + '"',
        kind=match["type"],
        distinct_count=number,
        values=tuple(value.strip() for value in COUNTED_VALUES.findall(about)),
        first_date=first,
        last_date=last,
        empty_count=rows if about == "no values" else int(empty[1].replace(",", "")) if empty else 0,
        is_numbered=ends is not None and int(ends[2]) - int(ends[1]) + 1 == number,
        is_row_key=number == rows and match["type"][:4] not in {"DATE", "TIME"},
    )
