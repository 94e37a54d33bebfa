"""Sums of the numbers in a table of text, computed only down to the last row that a caller asks for."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from specialists.tools.tables.number_dress import SHARES, find_number_signs

Row = list[str]

_SAMPLED = 200
_CLEARLY = 1.01


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """A column of numbers.

    Attributes:
        at: Its index, counted from 0.
        value: Returns the number in a cell; None if the cell holds none.
        decimals: The most decimals that a cell of the sample shows, at most 9.
        share: True if the numbers are percentages or per mille.
    """

    at: int
    value: Callable[[str], float | None]
    decimals: int
    share: bool


def numbers_of(at: int, sample: Sequence[str], kind: str) -> NumberColumn:
    """Return how to read the numbers of a column, found from a sample of its cells and their kind."""
    dress = find_number_signs(sample)

    def value(cell: str) -> float | None:
        bare = dress.strip_signs(cell.strip())
        bare = bare.replace(".", "").replace(",", ".") if kind == "comma" else bare.replace(",", "")
        try:
            return float(bare) if bare[-1:].isdigit() or bare[-1:] == "." else None
        except ValueError:
            return None

    point = "," if kind == "comma" else "."
    decimals = max(len(dress.strip_signs(cell).partition(point)[2]) for cell in sample)
    return NumberColumn(at, value, min(decimals, 9), dress.symbol in SHARES)


class Sums:
    """Sums over spans of rows, without the rows that were left out. Rows must be left out in ascending order."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        self._running: dict[int, list[float]] = {}
        self._left_out: list[int] = []
        self._sampled = list(range(0, len(rows), max(1, len(rows) // _SAMPLED)))
        self._samples: dict[int, list[float] | None] = {}

    def leave_out(self, index: int) -> None:
        """Leave a row out of all further sums."""
        self._left_out.append(index)
        for running in self._running.values():
            del running[index + 1 :]

    def rows(self, start: int, end: int) -> int:
        """Count the rows of a span that are not left out."""
        return end - start - (bisect_left(self._left_out, end) - bisect_left(self._left_out, start))

    def sum_span(self, column: NumberColumn, start: int, end: int) -> tuple[float, int]:
        """Return the sum of a column over the rows from `start` to before `end`, and the number of these rows."""
        running = self._running.setdefault(column.at, [0.0])
        if len(running) <= end:
            left_out = set(self._left_out)
            for index in range(len(running) - 1, end):
                value = 0.0 if index in left_out else column.value(self._rows[index][column.at]) or 0.0
                running.append(running[-1] + value)
        return running[end] - running[start], self.rows(start, end)

    def exceeds(self, column: NumberColumn, start: int, end: int, value: float) -> bool:
        """Return True if a sample of the rows already adds up to more than `value`, and no number in it is negative.

        False leaves it open whether the whole span does.
        """
        if column.at not in self._samples:
            cells = [column.value(self._rows[index][column.at]) or 0.0 for index in self._sampled]
            running = [0.0]
            for cell in cells:
                running.append(running[-1] + cell)
            self._samples[column.at] = None if min(cells) < 0 else running
        sampled = self._samples[column.at]
        if sampled is None or self._left_out:
            return False
        first, last = bisect_left(self._sampled, start), bisect_left(self._sampled, end)
        return sampled[last] - sampled[first] > _CLEARLY * abs(value)

    def lies_within(self, column: NumberColumn, value: float, start: int, end: int) -> bool:
        """Return whether a number lies between the lowest and the highest of a span, as a mean or a rate would."""
        left_out = set(self._left_out)
        values = [
            each
            for at in range(start, end)
            if at not in left_out and (each := column.value(self._rows[at][column.at])) is not None
        ]
        return len(values) > 1 and min(values) <= value <= max(values) and min(values) < max(values)
