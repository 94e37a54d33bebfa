"""Sums of the numbers in a table of text, computed only down to the last row that a caller asks for."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from specialists.tools.tables.number_format import SHARE_SIGNS, detect_number_format

Row = list[str]

_MAX_SAMPLED_ROWS = 200
_EXCESS_FACTOR = 1.01


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """A column of numbers.

    Attributes:
        index: Its index, counted from 0.
        parse: Returns the number in a cell; None if the cell holds none.
        decimals: The most decimals that a cell of the sample shows, at most 9.
        is_share: True if the numbers are percentages or per mille.
    """

    index: int
    parse: Callable[[str], float | None]
    decimals: int
    is_share: bool


def make_number_column(index: int, sample: Sequence[str], kind: str) -> NumberColumn:
    """Make the description of a column of numbers from a sample of its cells, at least one, and their kind's name."""
    number_format = detect_number_format(sample)

    def parse_number(cell: str) -> float | None:
        bare = number_format.strip_signs(cell.strip())
        bare = bare.replace(".", "").replace(",", ".") if kind == "comma" else bare.replace(",", "")
        try:
            return float(bare) if bare[-1:].isdigit() or bare[-1:] == "." else None
        except ValueError:
            return None

    point = "," if kind == "comma" else "."
    decimals = max(len(number_format.strip_signs(cell).partition(point)[2]) for cell in sample)
    return NumberColumn(index, parse_number, min(decimals, 9), number_format.unit in SHARE_SIGNS)


class RowSums:
    """Sums over spans of rows, without the rows that were left out. Rows must be left out in ascending order."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        self._running_sums: dict[int, list[float]] = {}
        self._excluded_rows: list[int] = []
        self._sample_rows = list(range(0, len(rows), max(1, len(rows) // _MAX_SAMPLED_ROWS)))
        self._sample_sums: dict[int, list[float] | None] = {}

    def exclude_row(self, index: int) -> None:
        """Leave a row out of all further sums."""
        self._excluded_rows.append(index)
        for running in self._running_sums.values():
            del running[index + 1 :]

    def count_rows(self, start: int, end: int) -> int:
        """Count the rows of a span that are not left out."""
        return end - start - (bisect_left(self._excluded_rows, end) - bisect_left(self._excluded_rows, start))

    def sum_span(self, column: NumberColumn, start: int, end: int) -> tuple[float, int]:
        """Return the sum of a column over the rows from `start` to before `end`, and the number of these rows."""
        running = self._running_sums.setdefault(column.index, [0.0])
        if len(running) <= end:
            left_out = set(self._excluded_rows)
            for index in range(len(running) - 1, end):
                value = 0.0 if index in left_out else column.parse(self._rows[index][column.index]) or 0.0
                running.append(running[-1] + value)
        return running[end] - running[start], self.count_rows(start, end)

    def sample_exceeds(self, column: NumberColumn, start: int, end: int, value: float) -> bool:
        """Return True if a sample of the rows already adds up to more than `value`, and no number in it is negative.

        False says nothing about the whole span; it is always returned once a row was excluded.
        """
        if column.index not in self._sample_sums:
            cells = [column.parse(self._rows[index][column.index]) or 0.0 for index in self._sample_rows]
            running = [0.0]
            for cell in cells:
                running.append(running[-1] + cell)
            self._sample_sums[column.index] = None if min(cells) < 0 else running
        sample_sums = self._sample_sums[column.index]
        if sample_sums is None or self._excluded_rows:
            return False
        first, last = bisect_left(self._sample_rows, start), bisect_left(self._sample_rows, end)
        return sample_sums[last] - sample_sums[first] > _EXCESS_FACTOR * abs(value)

    def lies_within(self, column: NumberColumn, value: float, start: int, end: int) -> bool:
        """Return whether a number lies between the lowest and the highest of a span, as a mean or a rate would."""
        left_out = set(self._excluded_rows)
        values = [
            each
            for index in range(start, end)
            if index not in left_out and (each := column.parse(self._rows[index][column.index])) is not None
        ]
        return len(values) > 1 and min(values) <= value <= max(values) and min(values) < max(values)
