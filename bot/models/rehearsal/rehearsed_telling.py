"""Renders the rows of a query as sentences and as a table, with numbers as people write them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from bot.models.rehearsal.rehearsed_profile import ProfiledColumn
from bot.models.rehearsal.rehearsed_sql import SqlQuestion, render_figure_name

_MAX_TIED_NAMES = 3
_EMPTY_LABEL = "(empty)"


@dataclass(frozen=True, slots=True)
class QueryRows:
    """The rows of a query's reply, each cell as text. `note` is the tool's remark below the rows."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str

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
    """Return a clause on how many rows have no value in a column; "" if all have one."""
    rows = f"{column.empty_count:,} row{' has' if column.empty_count == 1 else 's have'}"
    return f"{rows} no value in {column.name}" if column.empty_count else ""


def make_statements(question: SqlQuestion, rows: QueryRows) -> list[str]:
    """Return sentences about the rows. Their figures are those of the rows, or differences and shares of these."""
    figure = capitalize_first(render_figure_name(question.figure))
    if question.kind == "one":
        at = question.title.partition(", ")[2]
        of_all = "" if figure.startswith("Number of") else " of all rows"
        cell = rows.rows[0][0]
        return [] if cell == "NULL" else [f"{figure}{f', {at}' if at else of_all}: **{_format_cell(question, cell)}**."]
    if question.kind == "time" and len(rows.rows) >= question.most:
        return [f"Only the first {question.most} are shown; ask about a shorter period, or by month."]
    known = [(_EMPTY_LABEL if row[0] == "NULL" else row[0], read_number(row[1])) for row in rows.rows]
    figures = {label: value for label, value in known if value is not None}
    course = _describe_trend(figures, question) if question.kind == "time" and len(figures) > 1 else []
    return [*course, *_describe_extremes(figures, question)] if figures else []


def capitalize_first(text: str) -> str:
    """Return a text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def _format_cell(question: SqlQuestion, cell: object) -> str:
    return f"{format_figure(str(cell))}{' %' if question.figure.endswith('_percent') else ''}"


def _describe_trend(figures: dict[str, Decimal], question: SqlQuestion) -> list[str]:
    """Describe how the figure changed from the first to the last period."""
    (start, first), *_, (end, last) = figures.items()
    share = f" ({(last - first) / abs(first) * 100:+.1f} %)" if first else ""
    word = "rose" if last > first else "fell" if last < first else "stayed the same"
    ends = f"from {_format_cell(question, first)} to {_format_cell(question, last)}{share}"
    until = (
        f" The last {question.unit}, {end}, has data up to {question.data_until} only." if question.data_until else ""
    )
    return [f"From {start} to {end}, {render_figure_name(question.figure)} {word} {ends}.{until}"]


def _describe_extremes(figures: dict[str, Decimal], question: SqlQuestion) -> list[str]:
    """State the largest and the smallest figure; of a list that was cut off, only the one at its beginning."""
    figure = render_figure_name(question.figure)
    high, low = max(figures.values()), min(figures.values())
    largest = (
        f"{_name_holders(figures, high)} the largest {figure.removeprefix('largest ')}: {_format_cell(question, high)}."
    )
    smallest = (
        f"{_name_holders(figures, low)} the smallest {figure.removeprefix('smallest ')}: {_format_cell(question, low)}."
    )
    if high == low:
        return [largest]
    is_cut = len(figures) >= question.most
    return [smallest, *([] if is_cut else [largest])] if question.upward else [largest, *([] if is_cut else [smallest])]


def _name_holders(figures: dict[str, Decimal], figure: Decimal) -> str:
    """Name the rows with that figure, followed by `has` or `have`."""
    names = [label for label, value in figures.items() if value == figure]
    if len(names) > _MAX_TIED_NAMES:
        return f"{len(names)} share a place: {', '.join(names[:_MAX_TIED_NAMES])} and others have"
    return f"{' and '.join(names)} {'has' if len(names) == 1 else 'have'}"
