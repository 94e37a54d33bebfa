"""Binds the figures of a text to table cells, and checks that the text names their row, period, filter and unit. Pure.

A figure is checked only if no other text that was read has it, so that it must come from a grid. Uncertain cases are no
faults: a figure that another named row explains, two named rows for one figure, a derived figure.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from handoff.checking.derived_figures import compute_rounding_error
from handoff.checking.figures import blank_non_figures, extract_figures, is_figure
from handoff.checking.numerals import Numeral
from handoff.evidence.grids import Cell, Grid
from handoff.evidence.period_words import CalendarPeriod, find_periods
from handoff.evidence.place_words import SENTENCE_END

_CLAUSE_END = re.compile(r"[;,(\u2013\u2014](?=\s|\()|\s[\u2013\u2014-]\s|\uff0c|\u3001|\u060c")
_MAX_OPENING_WORDS = 5
"""The most words of an opening clause that counts as part of the second clause as well."""
_MAX_EXACT_CASE_LENGTH = 3
"""The most letters of a label that is matched with its exact case: DE is a label, "de" a Spanish word."""
_ORDINARY_LABELS = frozenset([
    "yes", "no", "true", "false", "none", "total", "totals", "sum", "all", "other", "others", "gesamt", "summe", "alle",
    "andere", "autres", "tous", "otros", "todos",
])  # fmt: skip
"""Labels that are ordinary words, and so name no row."""
_UNSPACED_LETTER = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_MIN_MATERIAL_DIGITS = 3
"""The least digits of a figure that is bound to a cell of a table of material. Replies to queries have no minimum."""
_CURRENCIES = (
    ("EUR", re.compile(r"€|(?<![a-z])eur(?:os?)?(?![a-z])|ユーロ|欧元|يورو|евро", re.IGNORECASE)),
    (
        "USD",
        re.compile(
            r"(?<![A-Za-z])(?:US)?\$|(?<![a-z])(?:usd|dollars?|dólares|dollari)(?![a-z])|ドル|美元|دولار|доллар",
            re.IGNORECASE,
        ),
    ),
    (
        "GBP",
        re.compile(
            r"£|(?<![a-z])(?:gbp|pounds?(?: sterling)?|livres? sterling|libras? esterlinas?)(?![a-z])|ポンド|英镑",
            re.IGNORECASE,
        ),
    ),
    ("JPY", re.compile(r"(?<![a-z])(?:jpy|yen)(?![a-z])|円|日元", re.IGNORECASE)),
    (
        "CHF",
        re.compile(
            r"(?<![a-z])(?:chf|swiss francs?|schweizer franken|francs? suisses?|francos? suizos?)(?![a-z])|"
            r"スイスフラン",
            re.IGNORECASE,
        ),
    ),
)
_EXCLUSIVE_END = re.compile(r"(?<![<>])<\s*(?:DATE|TIMESTAMP)?\s*'[^']*'", re.IGNORECASE)
"""The exclusive end of a period in a query."""
_CURRENCY_DISTANCE = 18
"""The number of characters after a figure in which its currency sign or word is looked for."""
_SURROUNDINGS_END = re.compile(r"[,;\u060c]|[€$£¥]?\d")
"""The end of a figure's own surroundings: a comma, or the next figure."""
_FOLLOWING_WORD = re.compile(r"\s*(?P<word>[^\W\d_]\w+)(?P<end>\s*(?:[.,;:!?)]|$))?")


@dataclass(frozen=True)
class CellBinder:
    """Finds the grid cells that the figures of a text may come from, and checks what the text says of the figures."""

    grids: tuple[Grid, ...]
    texts_without_grid: tuple[str, ...] = ()
    """All other texts that were read. Figures in them are not checked."""

    @cached_property
    def _sorted_values(self) -> tuple[tuple[float, ...], tuple[tuple[Grid, Cell], ...]]:
        sorted_cells = sorted(
            ((abs(cell.value), grid, cell) for grid in self.grids for cell in grid.cells), key=lambda one: one[0]
        )
        return tuple(value for value, _, _ in sorted_cells), tuple((grid, cell) for _, grid, cell in sorted_cells)

    @cached_property
    def _text_values(self) -> tuple[float, ...]:
        figures = (one for text in self.texts_without_grid for one in extract_figures(blank_non_figures(text)))
        return tuple(sorted(value for one in figures for value, _ in one.readings))

    def find_cells(self, figure: Numeral) -> list[tuple[Grid, Cell]]:
        """Return the cells that a figure may come from, within its rounding error.

        If replies to queries have such cells, those of material are left out.
        """
        values, cells = self._sorted_values
        matching_cells = [cells[at] for at in _yield_matching_indices(figure, values)]
        reply_cells = [one for one in matching_cells if one[0].is_reply]
        digits = len(str(figure.readings[0][0]).replace(".", "").strip("0")) if figure.readings else 0
        return reply_cells or (matching_cells if digits >= _MIN_MATERIAL_DIGITS else [])

    def is_in_other_text(self, figure: Numeral) -> bool:
        """Return True if one of the other texts contains the figure."""
        return next(_yield_matching_indices(figure, self._text_values), None) is not None

    def yield_faults(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield the sentences of a text that give a figure a wrong row, period, filter or unit, each with its fault."""
        if not self.grids:
            return
        for sentence in filter(None, (each.strip() for each in SENTENCE_END.split(text))):
            if fault := self._find_sentence_fault(sentence):
                yield sentence, fault

    def list_filters(self, text: str) -> tuple[str, ...]:
        """Return the filters of the grids that figures of a text must come from."""
        filters: dict[str, None] = {}
        for one in extract_figures(blank_non_figures(text)) if any(grid.filters for grid in self.grids) else ():
            grids = [grid for grid, _ in self.find_cells(one)]
            if grids and all(grid.filters for grid in grids) and not self.is_in_other_text(one):
                filters.update(dict.fromkeys(grids[0].filters))
        return tuple(filters)

    def _find_sentence_fault(self, sentence: str) -> str:
        figures = [one for one in extract_figures(blank_non_figures(sentence), include_small=True) if one.readings]
        bound_figures = [_BoundFigure(one, self.find_cells(one)) for one in figures]
        grid_figures = [
            one
            for one in bound_figures
            if one.cells and is_figure(one.figure) and not self.is_in_other_text(one.figure)
        ]
        return next(
            filter(
                None,
                (
                    check(sentence, grid_figures, bound_figures)
                    for check in (
                        _find_row_fault,
                        _find_order_fault,
                        _find_column_fault,
                        _find_currency_fault,
                        self._find_filter_fault,
                    )
                ),
            ),
            "",
        )

    def _find_filter_fault(
        self, sentence: str, grid_figures: Sequence[_BoundFigure], all_figures: Sequence[_BoundFigure]
    ) -> str:
        """Return a fault if a figure counts all rows, but its clause names only some of them; empty otherwise.

        `grid_figures` are the figures that must come from a grid, and `all_figures` all figures of the sentence.
        """
        for one in grid_figures:
            if not all(
                grid.is_reply and len(grid.rows) == 1 and not grid.labels and not grid.periods for grid, _ in one.cells
            ):
                continue
            words = _find_clause(sentence, one.figure)
            for part in self._yield_named_parts(words):
                if part.period is not None and any(
                    each.cells and each.figure.integer == part.period.year for each in all_figures
                ):
                    continue  # the "year" is a count
                rest = [each for each in all_figures if each is not one]
                if any(part.is_selected_by(grid) for grid, _ in one.cells) or any(
                    part.is_selected_by(grid) or part.contains_cell(grid, cell)
                    for each in rest
                    for grid, cell in each.cells
                ):
                    continue
                rows = one.cells[0][0].filters
                counted_rows = f"the rows with {'; '.join(rows)}" if rows else "all rows"
                return (
                    f"{_get_figure_text(sentence, one.figure)} is of {counted_rows}, not of {part.name}: "
                    "query those, or say so."
                )
        return ""

    def _yield_named_parts(self, words: str) -> Iterator[_TablePart]:
        """Yield the parts of material tables that a text names: a column's label or a period, if it names only one."""
        tables = [one for one in self.grids if not one.is_reply]
        for grid in tables:
            for column, labels in grid.labels.items():
                named_labels = [one for one in dict.fromkeys(filter(None, labels)) if _contains_label(words, one)]
                if len(named_labels) == 1 and len({*labels}) > 1:
                    yield _TablePart(named_labels[0], named_labels[0], None, column)
        periods = find_periods(words)
        if len(periods) == 1:
            one = periods[0]
            there = {each.period for grid in tables for row in grid.rows for cell in row for each in find_periods(cell)}
            fits = [one.period.overlaps(each) for each in there]
            if (any(fits) and not all(fits)) or (
                not any(fits) and not one.period.month and any(_has_year_column(grid) for grid in tables)
            ):
                yield _TablePart(words[one.start : one.end], "", one.period, -1)


@dataclass(frozen=True, slots=True)
class _BoundFigure:
    """A figure of a sentence, and the cells that it may come from."""

    figure: Numeral
    cells: list[tuple[Grid, Cell]]


@dataclass(frozen=True, slots=True)
class _TablePart:
    """The rows of a table with a label in a column, or of a period."""

    name: str
    """The words by which a text names them."""
    label: str
    """The label; empty for a period."""
    period: CalendarPeriod | None
    """The period; None for a label."""
    column: int
    """The index of the label's column; -1 for a period."""

    def is_selected_by(self, grid: Grid) -> bool:
        """Return True if the query of a grid selects these rows."""
        if self.period is None:
            return bool(re.search(rf"(?<!\w){re.escape(self.label)}(?!\w)", grid.query, re.IGNORECASE))
        query = _EXCLUSIVE_END.sub("", grid.query)
        bare = re.search(rf"(?<![\d-])0?{self.period.month}(?![\d-])", query) if self.period.month else None
        return bool(bare) or any(self.period.overlaps(one.period) for one in find_periods(query))

    def contains_cell(self, grid: Grid, cell: Cell) -> bool:
        """Return True if a cell is in one of these rows."""
        if self.period is None:
            return any(words[cell.row].casefold() == self.label.casefold() for words in grid.labels.values())
        periods = (each[cell.row] for each in grid.periods.values())
        return any(one is not None and one.overlaps(self.period) for one in periods)


def _has_year_column(grid: Grid) -> bool:
    """Return True if a column of a table has a year in every row."""
    return any(
        all(any(one.period.year for one in find_periods(row[column])) for row in grid.rows)
        for column in range(len(grid.columns))
    )


def _yield_matching_indices(figure: Numeral, values: Sequence[float]) -> Iterator[int]:
    """Yield the indices of the sorted `values` that a figure may stand for, within its rounding error."""
    for value, slack in _yield_amounts(figure):
        at = bisect_left(values, value - slack)
        while at < len(values) and values[at] <= value + slack:
            yield at
            at += 1


def _yield_amounts(figure: Numeral) -> Iterator[tuple[float, float]]:
    for value, step in figure.readings:
        yield value, compute_rounding_error(value, step)
        if figure.kind == "%":
            yield value / 100, compute_rounding_error(value / 100, step / 100)
        elif figure.factor != 1.0:
            yield value / figure.factor, compute_rounding_error(value / figure.factor, step / figure.factor)


def _get_figure_text(sentence: str, figure: Numeral) -> str:
    return sentence[figure.start : figure.end].strip()


def _contains_label(text: str, label: str) -> bool:
    """Return True if a text contains a label as a word of its own."""
    return bool(_find_label_indices(text, label))


def _find_label_indices(text: str, label: str) -> list[int]:
    if len(label) < 2 or label.casefold() in _ORDINARY_LABELS:
        return []
    if _UNSPACED_LETTER.search(label):
        return [one.start() for one in re.finditer(re.escape(label), text)]
    flags = 0 if len(label) <= _MAX_EXACT_CASE_LENGTH else re.IGNORECASE
    return [one.start() for one in re.finditer(rf"(?<!\w){re.escape(label)}(?!\w)", text, flags)]


def _find_clause(sentence: str, figure: Numeral) -> str:
    """Return the clause that contains a figure. A short first clause is put before the second one."""
    spans = list(pairwise([0, *(one.end() for one in _CLAUSE_END.finditer(sentence)), len(sentence)]))
    at = next((number for number, (_, end) in enumerate(spans) if figure.start < end), len(spans) - 1)
    first = sentence[slice(*spans[0])]
    opening = first if at == 1 and len(first.split()) <= _MAX_OPENING_WORDS else ""
    return opening + sentence[slice(*spans[at])]


def _yield_named_rows(sentence: str, grid: Grid) -> Iterator[dict[int, list[int]]]:
    """Yield a dict for each column of labels or periods: by row, the indices at which a sentence names the row."""
    for words in grid.labels.values():
        indices_by_word = {word: _find_label_indices(sentence, word) for word in {*words} if word}
        yield {row: indices_by_word[word] for row, word in enumerate(words) if word}
    named_periods = find_periods(sentence)
    for periods in grid.periods.values():
        yield {
            row: [one.start for one in named_periods if one.period.overlaps(period)]
            for row, period in enumerate(periods)
            if period
        }


def _find_row_fault(sentence: str, grid_figures: Sequence[_BoundFigure], all_figures: Sequence[_BoundFigure]) -> str:
    """Return a fault if a figure is in another row than the one that the sentence names; empty otherwise."""
    for one in grid_figures:
        faults = [_find_cell_row_fault(sentence, one, grid, cell, all_figures) for grid, cell in one.cells]
        if faults and all(faults):
            return faults[0]
    return ""


def _find_cell_row_fault(
    sentence: str, figure_cells: _BoundFigure, grid: Grid, cell: Cell, all_figures: Sequence[_BoundFigure]
) -> str:
    for places in _yield_named_rows(sentence, grid):
        rows = [row for row, at in places.items() if at]
        if not rows or cell.row in rows:
            continue
        explained_rows = {
            other.row
            for each in all_figures
            if each is not figure_cells
            for cell_grid, other in each.cells
            if cell_grid is grid
        }
        if unexplained_rows := [row for row in rows if row not in explained_rows]:
            mine, other = _name_row(grid, cell.row), _name_row(grid, unexplained_rows[0])
            return (
                f"{_get_figure_text(sentence, figure_cells.figure)} is the figure of {mine}, not of "
                f"{other}: mend what is "
                "wrong."
            )
    return ""


def _name_row(grid: Grid, row: int) -> str:
    columns = sorted({*grid.labels, *grid.periods})
    return ", ".join(grid.rows[row][column] for column in columns) or f"row {row + 1}"


def _find_order_fault(sentence: str, grid_figures: Sequence[_BoundFigure], all_figures: Sequence[_BoundFigure]) -> str:
    """Return a fault if the figures of a sentence are in another order than their rows; empty otherwise.

    Each row must be named once, and must have one of the figures.
    """
    figures = [one for one in all_figures if one.cells and is_figure(one.figure)]
    for grid in {id(grid): grid for one in grid_figures for grid, _ in one.cells}.values():
        columns = [each for each in _yield_named_rows(sentence, grid) if any(each.values())]
        named_rows = {row for row in range(len(grid.rows)) if all(each.get(row) for each in columns)}
        rows_by_figure = [
            (one, {cell.row for cell_grid, cell in one.cells if cell_grid is grid}) for one in grid_figures
        ]
        single = [(one, rows.pop()) for one, rows in rows_by_figure if len(rows) == 1]
        figure_rows = [row for _, row in single]
        if len(figure_rows) < 2 or len({*figure_rows}) < len(figure_rows) or len(figure_rows) != len(figures):
            continue
        for places in columns:
            row_places = sorted((at, row) for row, at_all in places.items() if row in named_rows for at in at_all)
            order = [row for _, row in row_places]
            if sorted(order) != sorted(figure_rows) or len({at for at, _ in row_places}) < len(row_places):
                continue
            wrong = next((each for each, named_row in zip(single, order, strict=True) if each[1] != named_row), None)
            if wrong is not None:
                one, row = wrong
                return (
                    f"{_get_figure_text(sentence, one.figure)} is the figure of {_name_row(grid, row)}: mend the order."
                )
    return ""


def find_currencies(text: str) -> set[str]:
    """Return the codes of the currencies that a text names."""
    return {code for code, pattern in _CURRENCIES if pattern.search(text)}


def find_currencies_beside(text: str, figure: Numeral) -> set[str]:
    """Return the codes of the currencies right before and after a figure."""
    behind = _SURROUNDINGS_END.split(text[figure.end : figure.end + _CURRENCY_DISTANCE])[0]
    return find_currencies(text[max(0, figure.start - 4) : figure.end] + behind)


def _find_column_fault(
    sentence: str, grid_figures: Sequence[_BoundFigure], _all_figures: Sequence[_BoundFigure]
) -> str:
    """Return a fault if the word behind a figure names another column than its own; empty otherwise.

    An example is "412 visits" where 412 is in the column of euros. The word must end its clause, since "12 visits that
    were missed" may count something else. A figure from a column of money is checked in any case.
    """
    for one in grid_figures:
        match = _FOLLOWING_WORD.match(sentence[one.figure.end :])
        if match is None:
            continue
        name = match["word"].casefold()
        faults = [
            grid.columns[cell.column].replace("_", " ")
            for grid, cell in one.cells
            if grid.is_reply
            and name in {column.casefold() for column in grid.columns}
            and name not in grid.columns[cell.column].casefold()
            and (match["end"] is not None or find_currencies(grid.columns[cell.column].replace("_", " ")))
        ]
        if len(faults) == len(one.cells):
            return f"{_get_figure_text(sentence, one.figure)} is in the column {faults[0]}, not in {match['word']}."
    return ""


def _find_currency_fault(
    sentence: str, grid_figures: Sequence[_BoundFigure], _all_figures: Sequence[_BoundFigure]
) -> str:
    """Return a fault if a figure has another currency than its cell; empty otherwise."""
    for one in grid_figures:
        beside = find_currencies_beside(sentence, one.figure)
        if len(beside) != 1:
            continue
        units = [_find_cell_currencies(grid, cell) for grid, cell in one.cells]
        if all(len(each) == 1 and not each & beside for each in units):
            return f"{_get_figure_text(sentence, one.figure)} is in {min(units[0])}, not in {min(beside)}."
    return ""


def _find_cell_currencies(grid: Grid, cell: Cell) -> set[str]:
    name = grid.columns[cell.column]
    return (
        find_currencies(name.replace("_", " "))
        or find_currencies(grid.rows[cell.row][cell.column])
        or find_currencies(grid.query.replace("_", " "))
    )
