"""Reads the rows of a query from the reply that gave them, and puts rows into a text that left a place. Pure."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
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
"""The most different words in a column of material that tells kinds of rows apart; more are names or texts."""


class Cell(NamedTuple):
    """A number of a grid, by its row and column from 0."""

    row: int
    column: int
    value: float


@dataclass(frozen=True)
class Grid:
    """Rows of cells as text, with the query that gave them. `filters` are the conditions that all of them meet.

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


PLACE = "[[rows]]"
"""Stands for the rows of the last query that brought some; `[[rows 2]]` for those of the second."""
MOST = 30
"""Rows that are put in; the rest is counted."""
_PLACE = re.compile(r"\[\[ ?rows(?: (\d{1,3}))? ?\]\]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class InsertedRows:
    """A text with its rows, and what is wrong with the places that it names, in words for whoever wrote it."""

    text: str
    fault: str = ""


def insert_rows(text: str, grids: Sequence[Grid]) -> InsertedRows:
    """Put rows in where a text has a place for them. `grids` are those of the queries that brought rows, in order."""
    wrong = [found[0] for found in _PLACE.finditer(text) if _find_grid(found, grids) is None]
    if wrong:
        there = f"there are {len(grids)} queries that brought rows" if grids else "no query brought rows"
        return InsertedRows(text, f"{wrong[0]} stands for no rows: {there}.")
    return InsertedRows(_PLACE.sub(lambda found: _render_table(_find_grid(found, grids)), text))


def _find_grid(found: re.Match[str], grids: Sequence[Grid]) -> Grid | None:
    number = int(found[1]) if found[1] else len(grids)
    return grids[number - 1] if 0 < number <= len(grids) else None


def _render_table(grid: Grid | None) -> str:
    """Write rows as a Markdown table, with the conditions that they meet and how many there are more."""
    if grid is None:
        return ""
    lines = [grid.columns, ("---",) * len(grid.columns), *grid.rows[:MOST]]
    table = "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)
    below = [f"{len(grid.rows):,} rows in all" if len(grid.rows) > MOST else "", *grid.filters]
    told = "; ".join(filter(None, below))
    return f"\n{table}\n" + (f"\n_({told})_\n" if told else "")
