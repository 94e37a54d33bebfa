"""Reads the rows of a query from the reply that gave them, and those of a small table of text. Pure."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from handoff.checking.numerals import normalize_digits, numerals
from handoff.evidence.period_words import CalendarPeriod, period_of

ONLY = "only"
"""The word in a reply before a condition that its rows meet, such as `only status = paid: 6 of 10 rows`."""
MOST_ROWS, LONGEST = 200, 60_000
"""Rows of a table of material, and characters of its text, up to which its figures are bound."""
_TAIL = re.compile(r"\((?:the first )?[\d,]+ (?:of (?:more than )?[\d,]+ )?rows?\b(?P<more>[^\n]*)\)(?:\n|$)")
_NUMBER = re.compile(r"[-+]?\d[\d.,'\u00a0 ]*(?:[eE][-+]?\d+)?")
_FEW_LABELS = 40
"""Different words of a column of material that tells kinds of rows apart; of more, they are names or texts."""


class Cell(NamedTuple):
    """A number of a grid, by its row and column from 0."""

    row: int
    column: int
    value: float


@dataclass(frozen=True)
class Grid:
    """Rows of cells as text, with what they were asked by. `filters` are the conditions that all of them meet.

    `is_reply`: a query gave it; else it is a table of material.
    """

    source: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    query: str = ""
    filters: tuple[str, ...] = ()
    is_reply: bool = False

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """Its numbers, but for those that are the labels of rows: years and months."""
        found = []
        for column in range(len(self.columns)):
            if column in self.periods:
                continue
            for row, cells in enumerate(self.rows):
                value = parse_number(cells[column])
                if value is not None:
                    found.append(Cell(row, column, value))
        return tuple(found)

    @property
    def is_single(self) -> bool:
        """True for one row that nothing names."""
        return len(self.rows) == 1 and not self.labels and not self.periods

    @cached_property
    def labels(self) -> dict[int, tuple[str, ...]]:
        """The words of each column that tells kinds of rows apart, in the order of rows; empty where there is none."""
        found = {}
        for column in range(len(self.columns)):
            words = tuple(row[column].strip() for row in self.rows)
            if (
                column in self.periods
                or not any(words)
                or any(parse_number(word) is not None for word in words if word)
            ):
                continue
            if self.is_reply or len(set(words)) <= _FEW_LABELS:
                found[column] = words
        return found

    @cached_property
    def periods(self) -> dict[int, tuple[CalendarPeriod | None, ...]]:
        """The months and years that the rows of a column are of, for columns of nothing else."""
        found = {}
        for column, name in enumerate(self.columns):
            cells = [row[column] for row in self.rows]
            periods = tuple(period_of(cell, name) for cell in cells)
            if any(periods) and all(one is not None for one, cell in zip(periods, cells, strict=True) if cell.strip()):
                found[column] = periods
        return found


def parse_number(cell: str) -> float | None:
    """Return the value of a cell that is a number in any format, with a sign of money or per cent; else None."""
    text = normalize_digits(cell).strip()
    try:
        return float(text)
    except ValueError:
        pass
    bare = re.sub(r"^[€$£¥]\s?|\s?(?:[€$£¥%]|EUR|USD|GBP|CHF)$", "", text)
    if not _NUMBER.fullmatch(bare):
        return None
    found = numerals(bare)
    return found[0].readings[0][0] if len(found) == 1 and found[0].readings else None


def grid_of_reply(source: str, text: str, query: str) -> Grid | None:
    """Return the rows that a query gave, from its reply as tools write it; None if that holds no rows."""
    tail = next(iter(_TAIL.finditer(text)), None)
    if tail is None:
        return None
    lines = text[: tail.start()].rstrip("\n").split("\n")
    columns = tuple(lines[0].split(" | "))
    rows = tuple(cells for line in lines[1:] if len(cells := tuple(line.split(" | "))) == len(columns))
    told = (one.strip() for one in tail["more"].split(";"))
    filters = tuple(one.removeprefix(f"{ONLY} ") for one in told if one.startswith(f"{ONLY} "))
    return Grid(source, columns, rows, query, filters, is_reply=True)


def grid_of_text(name: str, text: str) -> Grid | None:
    """Return the rows of a small table that is text, parted by whichever sign fits; None if the text is no table."""
    if len(text) > LONGEST or not text.strip():
        return None
    lines = [line for line in text.splitlines() if line.strip()]
    sign = next((one for one in ("\t", ";", "|", ",") if one in lines[0]), "")
    if not sign or len(lines) - 1 > MOST_ROWS:
        return None
    read = [tuple(cell.strip() for cell in row) for row in csv.reader(lines, delimiter=sign)]
    rows = tuple(row for row in read[1:] if len(row) == len(read[0]))
    if len(read[0]) < 2 or not rows or len(rows) < len(read) - 2:
        return None
    return Grid(name, read[0], rows)
