"""Parses the rows of tables and of query replies, and inserts rows into a text at its placeholders. Pure."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from handoff.checking.numerals import normalize_digits, parse_numerals
from handoff.evidence.period_words import CalendarPeriod, parse_period
from handoff.text.counts import format_count

FILTER_WORD = "only"
"""The word before a condition in a reply, such as `only status = paid: 6 of 10 rows`."""
MAX_GRID_ROWS, MAX_TEXT_LENGTH = 200, 60_000
"""The most rows of a table of material that becomes a grid, and the most characters of its text."""
_ROW_COUNT_LINE = re.compile(r"\((?:the first )?[\d,]+ (?:of (?:more than )?[\d,]+ )?rows?\b(?P<more>[^\n]*)\)(?:\n|$)")
_NUMBER = re.compile(r"[-+]?\d[\d.,'\u00a0 ]*(?:[eE][-+]?\d+)?")
_MAX_DISTINCT_LABELS = 40
"""The most different words in a column of labels in a table of material. A column with more has names or texts."""


class Cell(NamedTuple):
    """A number in a grid, with its row and column, counted from 0."""

    row: int
    column: int
    value: float


@dataclass(frozen=True)
class Grid:
    """A table of cells as text: the reply to a query, or a table of material."""

    source: str
    """The name of the document that it comes from."""
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    query: str = ""
    """The SQL query; empty for a table of material."""
    filters: tuple[str, ...] = ()
    """The conditions that all its rows meet."""
    is_reply: bool = False
    """True if a query returned it, False for a table of material."""

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The numbers of the grid, except in columns of years and months, which label rows."""
        number_cells = []
        for column in range(len(self.columns)):
            if column in self.periods:
                continue
            for row, cells in enumerate(self.rows):
                value = parse_number(cells[column])
                if value is not None:
                    number_cells.append(Cell(row, column, value))
        return tuple(number_cells)

    @cached_property
    def labels(self) -> dict[int, tuple[str, ...]]:
        """The words of each column of labels, by column index, in the order of rows; "" for an empty cell."""
        labels_by_column = {}
        for column in range(len(self.columns)):
            words = tuple(row[column].strip() for row in self.rows)
            if (
                column in self.periods
                or not any(words)
                or any(parse_number(word) is not None for word in words if word)
            ):
                continue
            if self.is_reply or len(set(words)) <= _MAX_DISTINCT_LABELS:
                labels_by_column[column] = words
        return labels_by_column

    @cached_property
    def periods(self) -> dict[int, tuple[CalendarPeriod | None, ...]]:
        """The periods of each column that consists of months and years, by column index, in the order of rows."""
        periods_by_column = {}
        for column, name in enumerate(self.columns):
            cells = [row[column] for row in self.rows]
            periods = tuple(parse_period(cell, name) for cell in cells)
            if any(periods) and all(one is not None for one, cell in zip(periods, cells, strict=True) if cell.strip()):
                periods_by_column[column] = periods
        return periods_by_column


def parse_number(cell: str) -> float | None:
    """Parse a cell that is a number in any format, also with a currency or per cent sign; None if it is no number."""
    text = normalize_digits(cell).strip()
    try:
        return float(text)
    except ValueError:
        pass
    bare = re.sub(r"^[€$£¥]\s?|\s?(?:[€$£¥%]|EUR|USD|GBP|CHF)$", "", text)
    if not _NUMBER.fullmatch(bare):
        return None
    numerals = parse_numerals(bare)
    return numerals[0].readings[0][0] if len(numerals) == 1 and numerals[0].readings else None


def parse_reply_grid(source: str, text: str, query: str) -> Grid | None:
    """Parse the reply of a query tool into a grid; None if the reply has no line with the number of rows."""
    tail = next(iter(_ROW_COUNT_LINE.finditer(text)), None)
    if tail is None:
        return None
    lines = text[: tail.start()].rstrip("\n").split("\n")
    columns = tuple(lines[0].split(" | "))
    rows = tuple(cells for line in lines[1:] if len(cells := tuple(line.split(" | "))) == len(columns))
    conditions = (one.strip() for one in tail["more"].split(";"))
    filters = tuple(one.removeprefix(f"{FILTER_WORD} ") for one in conditions if one.startswith(f"{FILTER_WORD} "))
    return Grid(source, columns, rows, query, filters, is_reply=True)


def parse_text_grid(name: str, text: str) -> Grid | None:
    """Parse a small table in text form, with any usual delimiter, into a grid; None if the text is no such table."""
    if len(text) > MAX_TEXT_LENGTH or not text.strip():
        return None
    lines = [line for line in text.splitlines() if line.strip()]
    delimiter = next((one for one in ("\t", ";", "|", ",") if one in lines[0]), "")
    if not delimiter or len(lines) - 1 > MAX_GRID_ROWS:
        return None
    table_rows = [tuple(cell.strip() for cell in row) for row in csv.reader(lines, delimiter=delimiter)]
    rows = tuple(row for row in table_rows[1:] if len(row) == len(table_rows[0]))
    if len(table_rows[0]) < 2 or not rows or len(rows) < len(table_rows) - 2:
        return None
    return Grid(name, table_rows[0], rows)


ROWS_PLACEHOLDER = "[[rows]]"
"""The placeholder for the rows of the last query that returned rows; `[[rows 2]]` stands for those of the second."""
MAX_INSERTED_ROWS = 30
"""The most rows that are inserted; the others are counted."""
_PLACEHOLDER_PATTERN = re.compile(r"\[\[ ?rows(?: (\d{1,3}))? ?\]\]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TextWithRows:
    """A text with rows inserted. `fault` describes a placeholder without rows, worded for the author; empty: none."""

    text: str
    fault: str = ""


def insert_rows(text: str, grids: Sequence[Grid]) -> TextWithRows:
    """Replace the placeholders of a text by rows. If one stands for no rows, return the text unchanged, with a fault.

    `grids` are those of the queries that returned rows, in order.
    """
    wrong = [match[0] for match in _PLACEHOLDER_PATTERN.finditer(text) if _find_grid(match, grids) is None]
    if wrong:
        queries = f"only {format_count(len(grids), 'query', 'queries')}" if grids else "no query"
        return TextWithRows(text, f"{wrong[0]} stands for no rows: {queries} brought rows.")
    return TextWithRows(_PLACEHOLDER_PATTERN.sub(lambda match: _render_table(_find_grid(match, grids)), text))


def _find_grid(placeholder: re.Match[str], grids: Sequence[Grid]) -> Grid | None:
    number = int(placeholder[1]) if placeholder[1] else len(grids)
    return grids[number - 1] if 0 < number <= len(grids) else None


def _render_table(grid: Grid | None) -> str:
    """Render the first rows of a grid as a Markdown table, followed by the number of all rows and its conditions."""
    if grid is None:
        return ""
    lines = [grid.columns, ("---",) * len(grid.columns), *grid.rows[:MAX_INSERTED_ROWS]]
    table = "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)
    below = [f"{len(grid.rows):,} rows in all" if len(grid.rows) > MAX_INSERTED_ROWS else "", *grid.filters]
    footnote = "; ".join(filter(None, below))
    return f"\n{table}\n" + (f"\n_({footnote})_\n" if footnote else "")
