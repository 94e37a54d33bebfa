"""Renders the rows of a query as sentences and as a table, with numbers as people write them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from bot.models.rehearsal.query_sql import SqlQuery, render_figure_name
from bot.models.rehearsal.table_profile import ProfiledColumn
from handoff.text.capitalization import capitalize_first

_MAX_TIED_NAMES = 3
_EMPTY_LABEL = "(empty)"


@dataclass(frozen=True, slots=True)
class QueryRows:
    """The rows of a query's reply, each cell as text. `tool_note` is the tool's remark below the rows."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    tool_note: str

    def as_markdown(self) -> str:
        """Render the rows as a Markdown table. The first column has labels; empty ones read `(empty)`."""
        titles = tuple(name.replace("_", " ") for name in self.columns)
        cells = [(_EMPTY_LABEL if row[0] == "NULL" else row[0], *map(format_figure, row[1:])) for row in self.rows]
        lines = [titles, tuple("---" for _ in titles), *cells]
        return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)


def read_rows(text: str) -> QueryRows | None:
    """Parse the rows of a query's reply; None if it has none, or if its lines differ in their number of cells."""
    lines = text.partition("\n\nParse report:")[0].splitlines()
    note = lines.pop() if lines and re.fullmatch(r"\(.*\)", lines[-1]) else ""
    cells = [tuple(cell.strip() for cell in line.split(" | ")) for line in lines]
    if len(cells) < 2 or any(len(row) != len(cells[0]) for row in cells):
        return None
    return QueryRows(cells[0], tuple(cells[1:]), note)


def format_figure(cell: str) -> str:
    """Return a number as people write it, such as `1,234.50`; `none` for NULL; any other cell unchanged."""
    value = read_number(cell)
    if value is None:
        return "none" if cell == "NULL" else cell
    if value == value.to_integral_value():
        return f"{value:,.0f}"
    return f"{value:,.2f}" if abs(value) >= Decimal("0.01") else f"{value:,f}"


def read_number(cell: str) -> Decimal | None:
    """Return the number in a cell; None if the cell is not a finite number."""
    try:
        value = Decimal(cell)
    except InvalidOperation:
        return None
    return value if value.is_finite() else None


def describe_empty_cells(column: ProfiledColumn) -> str:
    """Return a clause on how many rows have no value in a column; "" if no cell is empty."""
    rows = f"{column.empty_count:,} row{' has' if column.empty_count == 1 else 's have'}"
    return f"{rows} no value in {column.name}" if column.empty_count else ""


def make_sentences(question: SqlQuery, rows: QueryRows) -> list[str]:
    """Return sentences on the rows: the figure, the trend, the largest and smallest. [] if no row has a figure."""
    figure = capitalize_first(render_figure_name(question.figure_column))
    if question.kind == "one":
        conditions_text = question.title.partition(", ")[2]
        of_all = "" if figure.startswith("Number of") else " of all rows"
        cell = rows.rows[0][0]
        return (
            []
            if cell == "NULL"
            else [
                f"{figure}{f', {conditions_text}' if conditions_text else of_all}: **{_format_cell(question, cell)}**."
            ]
        )
    if question.kind == "time" and len(rows.rows) >= question.max_rows:
        return [f"Only the first {question.max_rows} are shown; ask about a shorter period, or by month."]
    labelled_figures = [(_EMPTY_LABEL if row[0] == "NULL" else row[0], read_number(row[1])) for row in rows.rows]
    figures = {label: value for label, value in labelled_figures if value is not None}
    trend_sentences = _describe_trend(figures, question) if question.kind == "time" and len(figures) > 1 else []
    return [*trend_sentences, *_describe_extremes(figures, question)] if figures else []


def _format_cell(question: SqlQuery, cell: object) -> str:
    return f"{format_figure(str(cell))}{' %' if question.figure_column.endswith('_percent') else ''}"


def _describe_trend(figures: dict[str, Decimal], question: SqlQuery) -> list[str]:
    """Describe how the figure changed from the first to the last period."""
    (start, first), *_, (end, last) = figures.items()
    share = f" ({(last - first) / abs(first) * 100:+.1f} %)" if first else ""
    word = "rose" if last > first else "fell" if last < first else "stayed the same"
    change_text = f"from {_format_cell(question, first)} to {_format_cell(question, last)}{share}"
    until = (
        f" The last {question.period_unit}, {end}, has data up to {question.data_until} only."
        if question.data_until
        else ""
    )
    return [f"From {start} to {end}, {render_figure_name(question.figure_column)} {word} {change_text}.{until}"]


def _describe_extremes(figures: dict[str, Decimal], question: SqlQuery) -> list[str]:
    """State the largest and the smallest figure. Of a list that was cut off, states only the one in the first row."""
    figure = render_figure_name(question.figure_column)
    high, low = max(figures.values()), min(figures.values())
    largest = (
        f"{_render_tied_labels(figures, high)} the largest {figure.removeprefix('largest ')}: "
        f"{_format_cell(question, high)}."
    )
    smallest = (
        f"{_render_tied_labels(figures, low)} the smallest {figure.removeprefix('smallest ')}: "
        f"{_format_cell(question, low)}."
    )
    if high == low:
        return [largest]
    is_cut = len(figures) >= question.max_rows
    return (
        [smallest, *([] if is_cut else [largest])]
        if question.is_ascending
        else [largest, *([] if is_cut else [smallest])]
    )


def _render_tied_labels(figures: dict[str, Decimal], figure: Decimal) -> str:
    """Return the labels of the rows with that figure, followed by `has` or `have`."""
    names = [label for label, value in figures.items() if value == figure]
    if len(names) > _MAX_TIED_NAMES:
        return f"{len(names)} share a place: {', '.join(names[:_MAX_TIED_NAMES])} and others have"
    return f"{' and '.join(names)} {'has' if len(names) == 1 else 'have'}"
