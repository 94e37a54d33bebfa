"""Finds the layout of the figures in a text: sentences, lines, columns, and cells of a table, CSV or JSON."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from typing import Any

from handoff.checking.derived_figures import Quantity, yield_quantities
from handoff.checking.numerals import Numeral

_CELL_COMMA = re.compile(r",(?=\S)")
_PERCENT_HEAD = re.compile(
    r"%|(?<![^\W_])(?:pct|percent\w*|prozent\w*|pour ?cent\w*|porcentaje|por ?cento|rate|quote|anteil)", re.IGNORECASE
)
_HEAD_RULE = re.compile(r"[\s|:+-]*")
"""Matches the line of dashes below the head of a table."""
_MAX_SUMMED_ROWS = 60
"""The most rows of a table for which totals of rows count as well; in a longer one only totals of columns do."""
SENTENCE_END = re.compile(r"[.!?;] +(?=[^\W\d])|[\u3002\uff01\uff1f]")


def flatten_to_lines(text: str) -> str:
    """Convert JSON to lines of cells, and the commas between the cells of a CSV to bars; other text stays as it is."""
    if text.lstrip()[:1] in {"{", "["}:
        try:
            return "\n".join(_yield_flat_lines(json.loads(text), ""))
        except (ValueError, RecursionError):
            return text
    lines = text.splitlines()
    counts = [len(_CELL_COMMA.findall(line)) if "," in line and len(line) < 2_000 else 0 for line in lines]
    for count, run in groupby(range(len(lines)), key=counts.__getitem__):
        places = list(run)
        if count and len(places) > 1 and any(re.search(r"[^\d\s],[^\d\s]", lines[place]) for place in places):
            for place in places:
                lines[place] = _CELL_COMMA.sub("|", lines[place])
    return "\n".join(lines)


def _yield_flat_lines(data: Any, path: str) -> Iterator[str]:
    if isinstance(data, dict):
        if data and not any(isinstance(value, dict | list) for value in data.values()) and path.endswith("[]"):
            yield " | ".join(f"{value}" for value in data.values())
            return
        for key, value in data.items():
            yield from _yield_flat_lines(value, f"{path} {key}")
    elif isinstance(data, list):
        if all(not isinstance(value, dict | list) for value in data):
            yield f"{path} | " + " ; ".join(map(str, data))
            return
        for value in data:
            yield from _yield_flat_lines(value, f"{path}[]")
    else:
        yield f"{path} | {data}"


def find_lines_and_cells(
    text: str, numerals: Sequence[Numeral]
) -> tuple[list[list[Numeral]], list[tuple[int, list[int]]]]:
    """Return the numbers of each line, and for each line a pair (number of cells, cell index of each number)."""
    by_line: list[list[Numeral]] = []
    cells: list[tuple[int, list[int]]] = []
    place, start = 0, 0
    for line in text.split("\n"):
        end = start + len(line)
        own = []
        while place < len(numerals) and numerals[place].start < end:
            own.append(numerals[place])
            place += 1
        mark = next((sign for sign in "|;\t" if sign in line), "")
        cells.append(
            (line.count(mark) + 1, [line.count(mark, 0, one.start - start) for one in own]) if mark else (1, [])
        )
        by_line.append(own)
        start = end + 1
    return by_line, cells


def mark_percent_columns(
    lines: Sequence[str], by_line: list[list[Numeral]], cells: list[tuple[int, list[int]]]
) -> None:
    """Set the kind of bare figures to per cent in columns with a head such as `churn_pct`. Changes `by_line`."""
    heads: dict[int, set[int]] = {}
    for place, (count, where) in enumerate(cells):
        if count > 1 and not where:
            mark = next(sign for sign in "|;\t" if sign in lines[place])
            percent_columns = {
                column for column, head in enumerate(lines[place].split(mark)) if _PERCENT_HEAD.search(head)
            }
            if percent_columns or not _HEAD_RULE.fullmatch(lines[place]):
                heads = {count: percent_columns}
        for index, column in enumerate(where):
            one = by_line[place][index]
            if column in heads.get(count, ()) and not one.kind:
                by_line[place][index] = one._replace(kind="%")


def yield_figure_lists(
    by_line: list[list[Numeral]], cells: list[tuple[int, list[int]]]
) -> Iterator[tuple[Quantity, ...]]:
    """Yield the columns of neighbouring lines with as many cells or figures, and each line of three or more figures."""
    for (_, is_delimited, _), run in groupby(
        range(len(by_line)),
        key=lambda place: (cells[place][0], bool(cells[place][1]), 0 if cells[place][1] else len(by_line[place])),
    ):
        places = list(run)
        if len(places) < 2:
            continue
        columns: dict[int, list[Quantity]] = {}
        for place in places:
            where = cells[place][1] if is_delimited else range(len(by_line[place]))
            for column, one in zip(where, by_line[place], strict=True):
                columns.setdefault(column, []).append(next(yield_quantities(one)))
        yield from (tuple(column) for column in columns.values() if len(column) > 1)
    rows = sum(1 for count, _ in cells if count > 1)
    for line, (count, _) in zip(by_line, cells, strict=True):
        if len(line) > 2 and (count == 1 or rows <= _MAX_SUMMED_ROWS):
            yield tuple(next(yield_quantities(one)) for one in line)


def yield_figure_groups(
    text: str, by_line: list[list[Numeral]], scales: Sequence[float]
) -> Iterator[tuple[Quantity, ...]]:
    """Yield the figures of each line with at least two figures, and of each sentence of such a line.

    `scales` are those of the text, as `find_scales` returns them.
    """
    for line in by_line:
        if len(line) > 1:
            ends = [match.end() for match in SENTENCE_END.finditer(text, line[0].start, line[-1].end)]
            if ends:
                for _, sentence in groupby(line, key=lambda one: bisect_left(ends, one.end)):
                    yield tuple(chain.from_iterable(yield_quantities(one, scales) for one in sentence))
            yield tuple(chain.from_iterable(yield_quantities(one, scales) for one in line))
