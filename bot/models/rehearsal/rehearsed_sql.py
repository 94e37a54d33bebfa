"""The queries of the rehearsed analyst, and what their rows say."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from bot.models.rehearsal.rehearsed_brief import words
from bot.models.rehearsal.rehearsed_profile import Column, Table, categories, is_timed, named_category
from bot.models.rehearsal.rehearsed_where import Where, where

_RATES = {"rate", "ratio", "percent", "pct", "share", "price", "score", "age", "temperature", "rating", "margin"}
_CHANGE = re.compile(
    r"\b(why|rise|rose|risen|fall|fell|drop\w*|grew|grow\w*|chang\w+|increas\w+|decreas\w+|declin\w+|driv\w+)\b",
    re.IGNORECASE,
)
_WHICH = re.compile(r"^\W*(which|what|who)\b", re.IGNORECASE)
_EXTREME = re.compile(r"\b(most|least|highest|lowest|largest|smallest|best|worst|biggest|peak)\b", re.IGNORECASE)
_FEW = re.compile(
    r"\b(?:top|first|best|largest|biggest|highest|(?P<low>bottom|last|worst|smallest|lowest))\s+(?P<number>\d{1,2})\b",
    re.IGNORECASE,
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_UNITS = {"eur": "EUR", "usd": "USD", "chf": "CHF", "gbp": "GBP", "pct": "%", "percent": "%"}
_MOST = 25
_MOST_PERIODS = 100
_MOST_CAUSES = 3
_TIED = 3
_MONTHS, _YEARS = 62, 1830


@dataclass(frozen=True, slots=True)
class Question:
    """One query: what it shows, its SQL, and which columns of its rows are labels and figures.

    `over_time`: the rows are in order of time; `upward`: the lowest comes first. `most` rows are shown at most.
    """

    title: str
    sql: str
    label: str
    figure: str
    over_time: bool = False
    upward: bool = False
    most: int = _MOST


@dataclass(frozen=True, slots=True)
class _Figure:
    """A number of each row: the sum or the average of a column, or (without one) the number of rows."""

    name: str
    column: str
    averaged: bool

    def sql(self, only: str = "") -> str:
        """Its SQL, for those rows only that a condition holds for."""
        chosen = f" FILTER (WHERE {only})" if only else ""
        if not self.column:
            return f"count(*){chosen}"
        return f"round(avg({self.column}){chosen}, 4)" if self.averaged else f"sum({self.column}){chosen}"


def questions(
    table: Table, chosen: list[Column], groups: list[Column], when: Column | None, text: str
) -> list[Question]:
    """The queries that answer a task: by what it names, over time, and what changed between the ends.

    Where it names nothing, the whole comes first, then the nearest category and the course of time.
    """
    figures = _figures(chosen, text)
    picked = [f"{figure.sql()} AS {figure.name}" for figure in figures]
    if chosen:
        picked.append("count(*) AS row_count")
    what = " and ".join(in_words(figure.name) for figure in figures)
    first = figures[0].name
    rows = where(table, groups, when, text)
    at = f", {rows.words}" if rows.words else ""
    named, why = named_category(table, text), asks_why(text)
    alone = not named and not is_timed(text) and not why
    asked = [Question(f"{what}{at}", _select(picked, table, rows.clause()), first, first)] if alone or at else []
    order, most = _order(text)
    for group in groups:
        sql = _select([group.sql, *picked], table, f"{rows.clause()}GROUP BY 1 ORDER BY 2 {order}, 1 LIMIT {most}")
        asked.append(Question(f"{what} by {group.name}{at}", sql, group.name, first, False, order == "ASC", most))
    if when is None or (rows.of_time and not is_timed(text)) or not (alone or why or is_timed(text) or not groups):
        return asked
    period, unit = _period(when, text)
    end = f"{rows.clause(f'{when.sql} IS NOT NULL')}GROUP BY 1 ORDER BY 1 LIMIT {_MOST_PERIODS}"
    sql = _select([f"{period} AS {unit}", *picked], table, end)
    asked.append(Question(f"{what} by {unit}{at}", sql, unit, first, over_time=True))
    if not why:
        return asked
    causes = named or list(dict.fromkeys([*groups, *categories(table)]))[:_MOST_CAUSES]
    asked += [_change(table, group, period, unit, figures[0], rows) for group in causes]
    # First the course of time, then changes, then totals; but changes come first if somebody asks which.
    ranks = {"change": 0 if named and _WHICH.search(text) else 2}
    return sorted(asked, key=lambda question: ranks.get(question.figure, 1 if question.over_time else 3))


def unit_of(figure: str) -> str:
    """The unit that a column's name ends in, or nothing."""
    return _UNITS.get(figure.rpartition("_")[2], "")


def in_words(figure: str, *, bare: bool = False) -> str:
    """A figure's name for people, such as `total revenue in EUR`; `bare` leaves the unit out."""
    unit = unit_of(figure)
    name = (figure.rpartition("_")[0] if unit else figure).replace("_", " ")
    return f"{name} in {unit}" if unit and not bare else name


def asks_why(text: str) -> bool:
    """Return True if a task is about a change."""
    return bool(_CHANGE.search(text))


def _order(text: str) -> tuple[str, int]:
    """How groups are put in order, and how many are shown: those at the top, unless the lowest few are asked for."""
    few = _FEW.search(text)
    if few is None:
        return "DESC", _MOST
    return "ASC" if few["low"] else "DESC", max(1, min(_MOST, int(few["number"])))


def _select(columns: list[str], table: Table, end: str = "") -> str:
    return f"SELECT {', '.join(columns)} FROM {table.name} {end}".strip()  # noqa: S608 - names are quoted, and reading is all that tables allow


def _figures(chosen: list[Column], text: str) -> list[_Figure]:
    """Write sums of the columns, or averages for rates and if averages are asked for."""
    asked = bool(re.search(r"\b(averages?|mean|avg)\b", text, re.IGNORECASE))
    figures = []
    for column in chosen:
        averaged = asked or bool(_RATES & set(words(column.name)))
        plain = re.sub(r"\W+", "_", column.name.casefold()).strip("_") or "value"
        figures.append(_Figure(f"{'average' if averaged else 'total'}_{plain}", column.sql, averaged))
    return figures or [_Figure("number_of_rows", "", averaged=False)]


def _period(when: Column, text: str) -> tuple[str, str]:
    """The SQL and the name of the periods that dates are grouped by."""
    if not when.is_date:
        return when.sql, re.sub(r"\W+", "_", when.name.casefold()).strip("_") or "period"
    asked = re.search(r"\b(day|dai|week|month|quarter|year|annual)", text, re.IGNORECASE)
    unit = {"dai": "day", "annual": "year"}.get(asked[1].lower(), asked[1].lower()) if asked else ""
    if not unit:
        unit = "year" if when.span > _YEARS else "month" if when.span > _MONTHS else "day"
    return f"CAST(date_trunc('{unit}', {when.sql}) AS DATE)", unit


def _change(table: Table, group: Column, period: str, unit: str, figure: _Figure, rows: Where) -> Question:
    first, last = (figure.sql(f"{period} = ({_select([f'{end}({period})'], table)})") for end in ("min", "max"))
    columns = [
        group.sql,
        f"{first} AS first_{unit}",
        f"{last} AS last_{unit}",
        f"coalesce({last}, 0) - coalesce({first}, 0) AS change",
    ]
    what = in_words(figure.name)
    return Question(
        f"change of {what} from the first to the last {unit}, by {group.name}",
        _select(columns, table, f"{rows.clause()}GROUP BY 1 ORDER BY abs(change) DESC, 1 LIMIT {_MOST}"),
        group.name,
        "change",
    )


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
        """The rows as a Markdown table, each cell as the tool gave it."""
        lines = [self.columns, tuple("---" for _ in self.columns), *self.rows]
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


def statements(question: Question, rows: Rows, text: str) -> list[str]:
    """Tell the rows in sentences whose figures are the rows' own, or differences and shares of them."""
    figures = [
        (label, cell, _number(cell))
        for label, cell in zip(rows.column(question.label), rows.column(question.figure), strict=True)
    ]
    known = [(label, cell, value) for label, cell, value in figures if value is not None and label != "NULL"]
    if not known:
        return []
    what = in_words(question.figure)
    if question.label == question.figure:
        at = question.title.partition(", ")[2]
        return [f"{what[:1].upper()}{what[1:]}{f', {at}' if at else ' of all rows'}: {known[0][1]}."]
    if question.figure == "change":
        return [_changed_most(known, question)]
    if question.over_time:
        said = _over_time(known, what, question.label)
        return said[::-1] if _EXTREME.search(text) else said
    named = [
        f"{label}: {what} {cell}."
        for label, cell, _ in known
        if re.search(rf"(?<!\w){re.escape(label)}(?!\w)", text, re.IGNORECASE)
    ]
    return named + _by_group(known, what, question, sum(value for *_, value in figures if value is not None))


def _over_time(known: list[tuple[str, str, Decimal]], what: str, unit: str) -> list[str]:
    length = {"year": 4, "month": 7}.get(unit)
    known = [(label[:length] if _DATE.fullmatch(label) else label, cell, value) for label, cell, value in known]
    (start, start_cell, first), (end, end_cell, last) = known[0], known[-1]
    share = f" ({(last - first) / abs(first) * 100:+.1f} %)" if first else ""
    word = "rose" if last > first else "fell" if last < first else "stayed the same"
    if len(known) == 1:
        return [f"{what[:1].upper()}{what[1:]} in {start}: {start_cell}."]
    high = max(known, key=lambda each: each[2])
    low = min(known, key=lambda each: each[2])
    return [
        f"From {start} to {end}, {what} {word} from {start_cell} to {end_cell}{share}.",
        f"The highest {unit} is {high[0]} with {high[1]}, the lowest {low[0]} with {low[1]}.",
    ]


def _by_group(known: list[tuple[str, str, Decimal]], what: str, question: Question, whole: Decimal | int) -> list[str]:
    """The ends of a list; of one that was cut off, the end that it begins with."""
    high = max(known, key=lambda each: each[2])
    low = min(known, key=lambda each: each[2])
    added = what.startswith(("total", "number")) and whole > 0 <= low[2]
    share = f", {high[2] / whole * 100:.1f} % of all shown" if added and len(known) > 1 else ""
    largest = f"{_who(known, high)} the largest {what} by {question.label}: {high[1]}{share}."
    if high[2] == low[2]:
        return [largest]
    smallest = f"{_who(known, low)} the smallest"
    if question.upward:
        return [f"{smallest} {what} by {question.label}: {low[1]}."]
    return [largest] if len(known) >= question.most else [largest, f"{smallest}: {low[1]}."]


def _who(known: list[tuple[str, str, Decimal]], end: tuple[str, str, Decimal]) -> str:
    """Name the rows with that figure, followed by their verb."""
    names = [label for label, _, value in known if value == end[2]]
    if len(names) > _TIED:
        return f"{len(names)} have"
    return f"{' and '.join(names)} {'has' if len(names) == 1 else 'have'}"


def _changed_most(known: list[tuple[str, str, Decimal]], question: Question) -> str:
    label, cell, value = max(known, key=lambda each: abs(each[2]))
    sign = "+" if value > 0 and not cell.startswith("+") else ""
    return f"The largest change by {question.label} is that of {label}: {sign}{cell}."


def _number(cell: str) -> Decimal | None:
    try:
        value = Decimal(cell)
    except InvalidOperation:
        return None
    return value if value.is_finite() else None
