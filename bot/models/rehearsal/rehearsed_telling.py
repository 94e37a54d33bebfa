"""What the rows of a query say, in sentences and as a table, with numbers as people write them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from bot.models.rehearsal.rehearsed_sql import Question, in_words

_TIED = 3
_EMPTY = "(empty)"
_Figures = list[tuple[str, Decimal]]


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a reply, as text, cell by cell. `note` is what the tool said about them."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str

    def as_markdown(self) -> str:
        """The rows as a Markdown table; the first column holds labels, and empty ones are named so."""
        titles = tuple(name.replace("_", " ") for name in self.columns)
        cells = [(_EMPTY if row[0] == "NULL" else row[0], *map(format_figure, row[1:])) for row in self.rows]
        lines = [titles, tuple("---" for _ in titles), *cells]
        return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)


def read_rows(text: str) -> Rows | None:
    """The rows of a query's reply; None if it holds none or cannot be told apart."""
    lines = text.partition("\n\nParse report:")[0].splitlines()
    note = lines.pop() if lines and re.fullmatch(r"\(.*\)", lines[-1]) else ""
    cells = [tuple(cell.strip() for cell in line.split(" | ")) for line in lines]
    if len(cells) < 2 or any(len(row) != len(cells[0]) for row in cells):
        return None
    return Rows(cells[0], tuple(cells[1:]), note)


def format_figure(cell: str) -> str:
    """A number as people write it: `1,234.50`; anything else as it is."""
    value = number(cell)
    if value is None:
        return "none" if cell == "NULL" else cell
    if value == value.to_integral_value():
        return f"{value:,.0f}"
    return f"{value:,.2f}" if abs(value) >= Decimal("0.01") else f"{value:,f}"


def number(cell: str) -> Decimal | None:
    """The number of a cell; None if it is none."""
    try:
        value = Decimal(cell)
    except InvalidOperation:
        return None
    return value if value.is_finite() else None


def statements(question: Question, rows: Rows) -> list[str]:
    """Tell the rows in sentences whose figures are the rows' own, or differences and shares of them."""
    what = in_words(question.figure)
    if question.kind == "one":
        at = question.title.partition(", ")[2]
        of_all = "" if what.startswith("number of") else " of all rows"
        return [f"{capital(what)}{f', {at}' if at else of_all}: **{_figure(question, rows.rows[0][0])}**."]
    pairs = [(row[0], number(row[1])) for row in rows.rows]
    known = [(_EMPTY if label == "NULL" else label, value) for label, value in pairs if value is not None]
    if not known:
        return []
    return _over_time(known, question, what) if question.kind == "time" else _by_group(known, question, what)


def capital(text: str) -> str:
    """Return a text with a capital at its start."""
    return text[:1].upper() + text[1:]


def _figure(question: Question, cell: object) -> str:
    return f"{format_figure(str(cell))}{' %' if question.figure.endswith('_percent') and cell != 'NULL' else ''}"


def _ends(known: _Figures) -> tuple[tuple[str, Decimal], tuple[str, Decimal]]:
    return max(known, key=lambda each: each[1]), min(known, key=lambda each: each[1])


def _over_time(known: _Figures, question: Question, what: str) -> list[str]:
    unit, (start, first), (end, last) = question.unit, known[0], known[-1]
    if len(known) == 1:
        return [f"{capital(what)} in {start}: {_figure(question, first)}."]
    share = f" ({(last - first) / abs(first) * 100:+.1f} %)" if first else ""
    word = "rose" if last > first else "fell" if last < first else "stayed the same"
    high, low = _ends(known)
    highest = f"The highest {unit} is {high[0]} with {_figure(question, high[1])}"
    told = [
        f"From {start} to {end}, {what} {word} from {_figure(question, first)} to {_figure(question, last)}{share}.",
        f"{highest}, the lowest {low[0]} with {_figure(question, low[1])}.",
    ]
    return [*told, f"The last {unit}, {end}, has data up to {question.until} only."] if question.until else told


def _by_group(known: _Figures, question: Question, what: str) -> list[str]:
    """The ends of a list; of one that was cut off, the end that it begins with."""
    what = what.removeprefix("largest ")
    high, low = _ends(known)
    largest = f"{_who(known, high)} the largest {what}: {_figure(question, high[1])}."
    smallest = f"{_who(known, low)} the smallest{f' {what}' if question.upward else ''}: {_figure(question, low[1])}."
    if high[1] == low[1]:
        return [largest]
    return [smallest] if question.upward else [largest] if len(known) >= question.most else [largest, smallest]


def _who(known: _Figures, end: tuple[str, Decimal]) -> str:
    """Name the rows with that figure, followed by their verb."""
    names = [label for label, value in known if value == end[1]]
    if len(names) > _TIED:
        return f"{len(names)} share a place: {', '.join(names[:_TIED])} and others have"
    return f"{' and '.join(names)} {'has' if len(names) == 1 else 'have'}"
