"""What the rows of a query say, in sentences and as a table, with numbers as people write them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from bot.models.rehearsal.rehearsed_sql import Question, in_words

_TIED = 3
_EMPTY = "(empty)"


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a reply, as text, cell by cell. `note` is what the tool said about them."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str

    def column(self, name: str) -> list[str]:
        """The cells of the column of that name, or of the last one."""
        index = self.columns.index(name) if name in self.columns else len(self.columns) - 1
        return [row[index] for row in self.rows]

    def as_markdown(self) -> str:
        """The rows as a Markdown table; the first column holds labels, and empty ones are named so."""
        titles = tuple(name.replace("_", " ") for name in self.columns)
        cells = [(_EMPTY if row[0] == "NULL" else row[0], *map(written, row[1:])) for row in self.rows]
        lines = [titles, tuple("---" for _ in titles), *cells]
        return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)


def read_rows(text: str) -> Rows | None:
    """The rows of a query's reply; None if it holds none or cannot be told apart."""
    lines = text.partition("\n\nParse report:")[0].splitlines()
    if len(lines) < 2:
        return None
    note = lines.pop() if lines[-1].startswith("(") and lines[-1].endswith(")") else ""
    cells = [tuple(cell.strip() for cell in line.split(" | ")) for line in lines]
    if len(cells) < 2 or any(len(row) != len(cells[0]) for row in cells):
        return None
    return Rows(cells[0], tuple(cells[1:]), note)


def written(cell: str) -> str:
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
    if question.kind == "one":
        return [_line(question, rows)]
    pairs = zip(rows.column(question.label), rows.column(question.figure), strict=True)
    known = [
        (_EMPTY if label == "NULL" else label, value) for label, cell in pairs if (value := number(cell)) is not None
    ]
    if not known:
        return []
    if question.kind == "time":
        return _over_time(known, question)
    return _by_group(known, question)


def capital(text: str) -> str:
    """Return a text with a capital at its start."""
    return text[:1].upper() + text[1:]


def _line(question: Question, rows: Rows) -> str:
    at = question.title.partition(", ")[2]
    what = in_words(question.figure)
    of_all = "" if what.startswith("number of") else " of all rows"
    return f"{capital(what)}{f', {at}' if at else of_all}: **{_with_unit(question.figure, rows.rows[0][0])}**."


def _with_unit(name: str, cell: str) -> str:
    return f"{written(cell)} %" if name.endswith("_percent") and number(cell) is not None else written(cell)


def _number(value: Decimal, question: Question) -> str:
    return _with_unit(question.figure, str(value))


def _over_time(known: list[tuple[str, Decimal]], question: Question) -> list[str]:
    what, unit = in_words(question.figure), question.unit
    (start, first), (end, last) = known[0], known[-1]
    if len(known) == 1:
        return [f"{capital(what)} in {start}: {_number(first, question)}."]
    share = f" ({(last - first) / abs(first) * 100:+.1f} %)" if first else ""
    word = "rose" if last > first else "fell" if last < first else "stayed the same"
    high, low = max(known, key=lambda each: each[1]), min(known, key=lambda each: each[1])
    ends = f"{low[0]} with {_number(low[1], question)}"
    told = [
        f"From {start} to {end}, {what} {word} from {_number(first, question)} to {_number(last, question)}{share}.",
        f"The highest {unit} is {high[0]} with {_number(high[1], question)}, the lowest {ends}.",
    ]
    return [*told, f"The last {unit}, {end}, has data up to {question.until} only."] if question.until else told


def _by_group(known: list[tuple[str, Decimal]], question: Question) -> list[str]:
    """The ends of a list; of one that was cut off, the end that it begins with."""
    what = in_words(question.figure).removeprefix("largest ")
    high, low = max(known, key=lambda each: each[1]), min(known, key=lambda each: each[1])
    largest = f"{_who(known, high)} the largest {what}: {_number(high[1], question)}."
    if high[1] == low[1]:
        return [largest]
    smallest = f"{_who(known, low)} the smallest"
    if question.upward:
        return [f"{smallest} {what}: {_number(low[1], question)}."]
    return [largest] if len(known) >= question.most else [largest, f"{smallest}: {_number(low[1], question)}."]


def _who(known: list[tuple[str, Decimal]], end: tuple[str, Decimal]) -> str:
    """Name the rows with that figure, followed by their verb."""
    names = [label for label, value in known if value == end[1]]
    if len(names) > _TIED:
        return f"{len(names)} share a place: {', '.join(names[:_TIED])} and others have"
    return f"{' and '.join(names)} {'has' if len(names) == 1 else 'have'}"


def cut(rows: Rows) -> str:
    """The note that rows were left out, or nothing."""
    return rows.note if re.match(r"\(the first", rows.note) else ""
