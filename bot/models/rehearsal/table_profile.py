"""Parses the replies of the tool `profile_table`, which describe tables and their columns."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from datetime import date

from bot.models.rehearsal import word_lists as lexicon
from bot.models.rehearsal.word_lists import read_word_list, split_words
from handoff.text.text_words import stem_word
from specialists.tools.tables.profile import COLUMN_LINE, COUNTED_VALUES

_TABLE = re.compile(r"^(?P<file>.+?) is table (?P<table>\S+): (?P<rows>[\d,]+) rows?, ")
_SHEET_SUFFIX = re.compile(r" \[([^\[\]]+)\]$")
_DISTINCT_COUNT = re.compile(r"([\d,]+) distinct")
_EMPTY_COUNT = re.compile(r"([\d,]+) empty")
_INTEGER_RANGE = re.compile(r"(-?\d+) to (-?\d+), mean")
_DATE_RANGE = re.compile(r"(\d{4}-\d\d-\d\d).* to (\d{4}-\d\d-\d\d)")
_NUMBER = re.compile(r"(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DOUBLE|FLOAT|DECIMAL.*)$")
_TIME_WORDS = {"time", *(word for word, unit in lexicon.PERIOD_UNITS.items() if unit == "day")}
"""Words in the names of columns with points in time. With other words they may mean a duration: `lead time (days)`."""
_NON_MEASURE_WORDS = read_word_list("no_measure") | lexicon.PERIOD_UNITS.keys() - _TIME_WORDS
_MAX_CHANCE_ROWS = 12
"""Maximum rows of a table in which consecutive whole numbers may be chance, and not row numbers."""


@dataclass(frozen=True, slots=True)
class ProfiledColumn:
    """A column as the profile describes it.

    Attributes:
        name: Its name in the file.
        quoted_name: Its name in SQL, quoted.
        sql_type: Its SQL type.
        distinct_count: The number of different values; 0 if the profile does not say.
        frequent_values: The most frequent values.
        first_date: The first date, if it holds dates.
        last_date: The last date, if it holds dates.
        empty_count: The number of cells without a value.
        has_row_numbers: True if its values are whole numbers, one for each row and without a gap.
        is_unique: True if each row has a different value, and they are no dates or times.
    """

    name: str
    quoted_name: str
    sql_type: str
    distinct_count: int = 0
    frequent_values: tuple[str, ...] = ()
    first_date: date | None = None
    last_date: date | None = None
    empty_count: int = 0
    has_row_numbers: bool = False
    is_unique: bool = False

    @property
    def stems(self) -> tuple[str, ...]:
        """The stems of the meaningful words in its name."""
        name_words = split_words(self.name)
        return tuple(
            map(
                stem_word,
                [word for word in name_words if word not in lexicon.FILLERS and not word.isdigit()] or name_words,
            )
        )

    @property
    def is_date(self) -> bool:
        """True if its values are dates or times."""
        return self.sql_type.startswith(("DATE", "TIMESTAMP"))

    @property
    def is_text(self) -> bool:
        """True if its values are neither numbers nor dates."""
        return not self.is_date and not _NUMBER.match(self.sql_type)

    @property
    def is_measure(self) -> bool:
        """True if a sum or an average of its numbers may make sense. Words after `per` in its name are ignored."""
        name_words = split_words(self.name)
        words_before_per = set(
            name_words[: next((at for at, word in enumerate(name_words) if word in lexicon.PER), len(name_words))]
        )
        is_number = bool(_NUMBER.match(self.sql_type)) and not self.has_row_numbers
        return is_number and not _NON_MEASURE_WORDS & words_before_per and not words_before_per <= _TIME_WORDS

    @property
    def is_stock(self) -> bool:
        """True if its values are amounts at a point in time, such as an inventory or a balance."""
        own = set(self.stems)
        return self.is_measure and not self.is_non_additive and bool(own & lexicon.STOCKS) and not own & lexicon.FLOWS

    @property
    def is_flow(self) -> bool:
        """True if its values are added up unless the request says otherwise."""
        own = set(self.stems)
        return self.is_stock or (bool(own & lexicon.FLOWS) and not own & lexicon.RATES and not self.is_non_additive)

    @property
    def is_non_additive(self) -> bool:
        """True if a sum of its values never makes sense, as for prices and percentages."""
        return "%" in self.name or bool(lexicon.NON_ADDITIVE & {*self.stems} or lexicon.PER & {*split_words(self.name)})


@dataclass(frozen=True, slots=True)
class ProfiledTable:
    """A table as the profile describes it. `sheet` is its name in a file with several tables, otherwise ""."""

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
    heads = [(at, match) for at, line in enumerate(lines) if (match := _TABLE.match(line))]
    for (at, head), end in zip(heads, [*(at for at, _ in heads[1:]), len(lines)], strict=False):
        rows, sheet = int(head["rows"].replace(",", "")), _SHEET_SUFFIX.search(head["file"])
        columns = tuple(_read_column(match, rows) for line in lines[at:end] if (match := COLUMN_LINE.fullmatch(line)))
        tables += [ProfiledTable(head["file"], head["table"], rows, columns, sheet[1] if sheet else "")]
    return [one for one in tables if one.columns and one.row_count]


def _read_column(match: re.Match[str], rows: int) -> ProfiledColumn:
    name, column_summary = match["name"], match["about"]
    name = name[1:-1].replace('""', '"') if name.startswith('"') else name
    distinct, empty, dates = (
        _DISTINCT_COUNT.search(column_summary),
        _EMPTY_COUNT.match(column_summary),
        _DATE_RANGE.search(column_summary),
    )
    first = last = None
    number = int(distinct[1].replace(",", "")) if distinct else 0
    integer_range = (
        _INTEGER_RANGE.search(column_summary) if "INT" in match["type"] and number == rows > _MAX_CHANCE_ROWS else None
    )
    with contextlib.suppress(ValueError):
        first, last = map(date.fromisoformat, dates.groups()) if dates else (None, None)
    return ProfiledColumn(
        name=name,
        # Always quoted: a name may be an SQL keyword, which the profile does not quote.
        quoted_name='"' + name.replace('"', '""') + '"',
        sql_type=match["type"],
        distinct_count=number,
        frequent_values=tuple(value.strip() for value in COUNTED_VALUES.findall(column_summary)),
        first_date=first,
        last_date=last,
        empty_count=rows if column_summary == "no values" else int(empty[1].replace(",", "")) if empty else 0,
        has_row_numbers=integer_range is not None and int(integer_range[2]) - int(integer_range[1]) + 1 == number,
        is_unique=number == rows and match["type"][:4] not in {"DATE", "TIME"},
    )
