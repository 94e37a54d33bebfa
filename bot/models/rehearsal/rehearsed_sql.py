"""The queries that answer what a request asks of a table."""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass, replace
from typing import Literal

from bot.models.rehearsal.rehearsed_mentions import Chosen
from bot.models.rehearsal.rehearsed_periods import Period
from bot.models.rehearsal.rehearsed_profile import Column, Table
from bot.models.rehearsal.rehearsed_request import NAMES, Asked
from bot.models.rehearsal.rehearsed_words import YES

Kind = Literal["one", "groups", "time", "periods", "change"]
_UNITS = {"eur": "EUR", "usd": "USD", "chf": "CHF", "gbp": "GBP", "pct": "%", "percent": "%"}
_MOST = 25
_MOST_PERIODS = 100
_MOST_CAUSES = 3
_MONTHS, _YEARS = 62, 1830
_FOLDS = {"sum": "sum({})", "mean": "avg({})", "median": "median({})", "max": "max({})", "min": "min({})"}
_LABELS = {"month": "%Y-%m", "year": "%Y", "day": "%Y-%m-%d", "week": "%Y-%m-%d"}


@dataclass(frozen=True, slots=True)
class Question:
    """One query: what it shows, its SQL, and which columns of its rows are labels and figures.

    `most` is how many rows are shown at most; `upward`: the lowest comes first. `unit` is the period of a row, and
    `until` the last day with data where that ends before the last period does. `sheet` is the one that it is about,
    where its file has several.
    """

    title: str
    sql: str
    label: str
    figure: str
    kind: Kind
    upward: bool = False
    most: int = _MOST
    unit: str = ""
    until: str = ""
    sheet: str = ""


@dataclass(frozen=True, slots=True)
class _Figure:
    """A figure of rows: its name, and its SQL for those rows that a condition holds for."""

    name: str
    pattern: str

    def sql(self, only: str = "") -> str:
        """Its SQL."""
        chosen = f" FILTER (WHERE {only})" if only else ""
        return self.pattern.replace("|", chosen)


def questions(asked: Asked) -> list[Question]:
    """The queries that answer a request, the one that says most first."""
    if asked.overview:
        return [_overview(asked, column) for column in asked.table.measures if column.is_flow and not column.is_stock][
            :3
        ]
    figures = _figures(asked)
    if asked.why:
        return _why(asked, figures[0])
    if len(asked.periods) > 1:
        return [_by_period(asked, figures[0])]
    if asked.unit and asked.when is not None:
        return [_timed(asked, figures, asked.when)]
    if asked.groups:
        return [_grouped(asked, figures)]
    where, at = _rows(asked)
    sql = _select([f"{one.sql()} AS {one.name}" for one in figures], asked.table, where)
    return [Question(f"{_what(figures)}{at}", sql, figures[0].name, figures[0].name, "one")]


def unit_of(figure: str) -> str:
    """The unit that a column's name ends in, or nothing."""
    return _UNITS.get(figure.rpartition("_")[2], "")


def in_words(figure: str, *, bare: bool = False) -> str:
    """A figure's name for people, such as `total revenue in EUR`; `bare` leaves the unit out."""
    unit = unit_of(figure)
    name = (figure.rpartition("_")[0] if unit else figure).replace("_", " ")
    return f"{name} in {unit}" if unit and not bare else name


def _what(figures: list[_Figure]) -> str:
    return " and ".join(in_words(one.name) for one in figures)


def _select(columns: list[str], table: Table, end: str = "") -> str:
    return f'SELECT {", ".join(columns)} FROM "{table.name}" {end}'.strip()  # noqa: S608 - names are quoted, and reading is all that tables allow


def _plain(name: str) -> str:
    return re.sub(r"\W+", "_", name.casefold()).strip("_") or "value"


def _figures(asked: Asked) -> list[_Figure]:
    fold = asked.fold or "sum"
    if asked.duration:
        begin, end = asked.duration
        days = f"date_diff('day', {begin.sql}, {end.sql})"
        return [_Figure(f"{NAMES[fold]}_days_from_{_plain(begin.name)}_to_{_plain(end.name)}",
                        f"round({_FOLDS[fold].format(days)}|, 2)")]  # fmt: skip
    if fold == "share":
        return [_share(asked)]
    if fold == "count" or not asked.measures:
        column = asked.counted
        if column is not None and column.distinct < asked.table.rows and not column.is_date:
            return [_Figure(f"number_of_different_{_plain(column.name)}", f"count(DISTINCT {column.sql})|")]
        return [_Figure("number_of_rows", "count(*)|")]
    made = []
    for column in asked.measures[:3]:
        pattern = f"round({_FOLDS[fold].format(column.sql)}|, 2)"
        name = f"{NAMES[fold]}_{_plain(column.name)}"
        if name.startswith("total_total"):
            name = f"sum_of_{_plain(column.name)}"
        made.append(_Figure(name, pattern))
    return made


def _share(asked: Asked) -> _Figure:
    column = asked.measures[0] if asked.measures else None
    of = f"sum({column.sql})" if column else "count(*)"
    name = f"share_of_{_plain(column.name) if column else 'rows'}_percent"
    if asked.groups or asked.unit:
        return _Figure(name, f"round(100.0 * {of}| / sum({of}) OVER (), 2)")
    part = _value(asked.values[-1])[0] if asked.values else "true"
    return _Figure(name, f"round(100.0 * {of} FILTER (WHERE {part}) / {of}|, 2)")


def _value(chosen: Chosen) -> tuple[str, str]:
    listed = ", ".join(_quoted(value) for value in chosen.values)
    shown = dict.fromkeys(_as_written(chosen.column, value) for value in chosen.values)
    names = " or ".join(shown)
    if chosen.excluded:
        sql = f"({chosen.column.sql} IS NULL OR lower({chosen.column.sql}) NOT IN ({listed}))"
        return sql, f"where {chosen.column.name} is not {names}"
    return f"lower({chosen.column.sql}) IN ({listed})", f"where {chosen.column.name} is {names}"


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _as_written(column: Column, value: str) -> str:
    return next((one for one in column.values if one.casefold() == value), value)


def _conditions(asked: Asked) -> list[tuple[str, str]]:
    """What rows must be like, in SQL and in words, but for their period."""
    parts = [_value(one) for one in asked.values]
    if asked.fold == "share" and not (asked.groups or asked.unit):
        of = parts[-1][1] if parts else ""
        parts = [*parts[:-1], ("", of)]
    parts += [(f"{one.column.sql} {one.sign} {one.number}", f"where {one.column.name} {one.sign} {one.number}")
              for one in asked.limits]  # fmt: skip
    if asked.filled:
        parts.append((f"{asked.filled.sql} IS NOT NULL", f"where {asked.filled.name} is filled in"))
    if asked.yes:
        yes = (
            asked.yes.sql
            if asked.yes.kind == "BOOLEAN"
            else f"lower({asked.yes.sql}) IN ({', '.join(sorted(map(_quoted, YES)))})"
        )
        parts.append((yes, f"where “{asked.yes.name}” is yes"))
    return parts


def _is_stock(asked: Asked) -> bool:
    """True if the figure is a sum of what stood at a moment, and the table has several moments."""
    fold = asked.fold in {None, "sum", "share"}
    moments = asked.when is not None and asked.when.distinct > 1
    return fold and moments and any(column.is_stock for column in asked.measures)


def _rows(asked: Asked, period: Period | None = None, *, timed: bool = False, unit: str = "") -> tuple[str, str]:
    """The WHERE clause, with a space behind it, and the same in words; both empty if all rows count.

    Of a stock only the last moment counts: of all, of the period, or of each period that rows are grouped by.
    """
    parts = _conditions(asked)
    period = period or (asked.periods[0] if len(asked.periods) == 1 else None)
    when = asked.when
    if when is None:
        return _clause(parts)
    within = [period.sql(when.sql)] if period else []
    if timed:
        within.append(f"{when.sql} IS NOT NULL")
    if _is_stock(asked):
        end = f"WHERE {' AND '.join(within)}" if within else ""
        if timed:
            last = f"{when.sql} IN ({_select([f'max({when.sql})'], asked.table, f'{end} GROUP BY {unit}')})"
            told = "at the end of each"
        else:
            last = f"{when.sql} = ({_select([f'max({when.sql})'], asked.table, end)})"
            told = f"at the end ({when.last})" if period is None else f"{period.words}, at its end"
        return _clause([*parts, (last, told if not timed else (period.words if period else ""))])
    return _clause([*parts, (" AND ".join(within), period.words if period else "")])


def _clause(parts: list[tuple[str, str]]) -> tuple[str, str]:
    every = [sql for sql, _ in parts if sql]
    words = [told for _, told in parts if told]
    return (f"WHERE {' AND '.join(every)} " if every else "", "".join(f", {told}" for told in words))


def _period(when: Column, asked_unit: str) -> tuple[str, str]:
    """The SQL of the periods that dates are grouped by, and their unit."""
    span = (when.last - when.first).days if when.first and when.last else 0
    unit = asked_unit if asked_unit != "auto" else "year" if span > _YEARS else "month" if span > _MONTHS else "day"
    if unit == "quarter":
        return f"'Q' || quarter({when.sql}) || ' ' || year({when.sql})", unit
    return f"strftime(date_trunc('{unit}', {when.sql}), '{_LABELS[unit]}')", unit


def _until(when: Column | None, unit: str) -> str:
    """The last day with data if the last month, quarter or year goes on after it, in a table with days."""
    last = when.last if when else None
    if when is None or last is None or when.first is None or unit not in {"month", "quarter", "year"}:
        return ""
    months = (last.year - when.first.year) * 12 + last.month - when.first.month + 1
    closing = {"month": last.month, "quarter": (last.month + 2) // 3 * 3, "year": 12}[unit]
    whole = last.month == closing and last.day >= calendar.monthrange(last.year, last.month)[1]
    return "" if whole or when.distinct <= months else str(last)


def _group_sql(column: Column) -> str:
    folded = [value.casefold() for value in column.values]
    return f"lower({column.sql})" if len(set(folded)) < len(folded) else f"CAST({column.sql} AS VARCHAR)"


def _grouped(asked: Asked, figures: list[_Figure]) -> Question:
    """Figures by the groups that are named, the largest first."""
    name = " / ".join(column.name for column in asked.groups)
    where, at = _rows(asked)
    order, first = "ASC" if asked.upward else "DESC", figures[0].name
    few = f"QUALIFY rank() OVER (ORDER BY {first} {order}) <= {asked.most} " if asked.most else ""
    end = f"{where}GROUP BY 1 {few}ORDER BY 2 {order} NULLS LAST, 1 LIMIT {_MOST}"
    sql = _select(_picked(asked, [_group_sql(one) for one in asked.groups], name, figures), asked.table, end)
    title = f"{_what(figures)} by {' and '.join(one.name for one in asked.groups)}{at}"
    return Question(title, sql, name, first, "groups", asked.upward, asked.most or _MOST)


def _timed(asked: Asked, figures: list[_Figure], when: Column) -> Question:
    """Figures by period, and by the groups that are named besides."""
    period, unit = _period(when, asked.unit)
    names = [unit, *(column.name for column in asked.groups)]
    where, at = _rows(asked, timed=True, unit=period)
    columns = _picked(asked, [period, *(_group_sql(one) for one in asked.groups)], " / ".join(names), figures)
    sql = _select(columns, asked.table, f"{where}GROUP BY 1 ORDER BY min({when.sql}), 1 LIMIT {_MOST_PERIODS}")
    return Question(
        f"{_what(figures)} by {' and '.join(names)}{at}",
        sql,
        " / ".join(names),
        figures[0].name,
        "groups" if asked.groups else "time",
        most=_MOST_PERIODS,
        unit=unit,
        until=_until(when, unit),
    )


def _picked(asked: Asked, labels: list[str], name: str, figures: list[_Figure]) -> list[str]:
    """The columns of a query by groups: their label, the figures, and how many values an average rests on."""
    label = labels[0] if len(labels) == 1 else f"concat_ws(' / ', {', '.join(labels)})"
    picked = [f"{label} AS {_quoted_name(name)}", *(f"{one.sql()} AS {one.name}" for one in figures)]
    if asked.fold in {"mean", "median"} and asked.measures:
        picked.append(f"count({asked.measures[0].sql}) AS values_counted")
    return picked


def _quoted_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _by_period(asked: Asked, figure: _Figure) -> Question:
    """One row for each of the periods that are compared, in the order of time."""
    parts = []
    for period in sorted(asked.periods, key=lambda one: one.start):
        where, _ = _rows(asked, period)
        name = period.words.removeprefix("in ").removeprefix("on ")
        parts.append(_select([f"{_quoted(name)} AS period", f"{figure.sql()} AS {figure.name}"], asked.table, where))
    _, at = _clause(_conditions(asked))
    names = " and ".join(one.words for one in sorted(asked.periods, key=lambda one: one.start))
    return Question(
        f"{in_words(figure.name)}{at}, {names}", " UNION ALL ".join(parts), "period", figure.name, "periods"
    )


def _overview(asked: Asked, column: Column) -> Question:
    name = f"total_{_plain(column.name)}"
    sql = _select([f"round(sum({column.sql}), 2) AS {name}"], asked.table)
    return Question(in_words(name), sql, name, name, "one")


def _why(asked: Asked, figure: _Figure) -> list[Question]:
    """The course of time, and what changed between its ends, by the groups named or by those with fewest values."""
    when = asked.when
    if when is None:
        return []
    asked = replace(asked, periods=())
    period, unit = _period(when, asked.unit or "auto")
    where, at = _rows(asked, timed=True, unit=period)
    what = in_words(figure.name)
    sql = _select([f"{period} AS {unit}", f"{figure.sql()} AS {figure.name}"], asked.table,
                  f"{where}GROUP BY 1 ORDER BY min({when.sql}) LIMIT {_MOST_PERIODS}")  # fmt: skip
    course = Question(f"{what} by {unit}{at}", sql, unit, figure.name, "time", most=_MOST_PERIODS, unit=unit,
                      until=_until(when, unit))  # fmt: skip
    causes = list(asked.groups) or [one for one in asked.table.categories if one.values][:_MOST_CAUSES]
    return [course, *(_change(asked, cause, figure, period, unit) for cause in causes)]


def _change(asked: Asked, group: Column, figure: _Figure, period: str, unit: str) -> Question:
    when = asked.when.sql if asked.when else ""
    where, at = _rows(asked, timed=True, unit=period)
    ends = [_select([period], asked.table, f"WHERE {when} = ({_select([f'{end}({when})'], asked.table)}) LIMIT 1")
            for end in ("min", "max")]  # fmt: skip
    first, last = (figure.sql(f"{period} = ({end})") for end in ends)
    columns = [f"{_group_sql(group)} AS {_quoted_name(group.name)}", f"{first} AS first_{unit}",
               f"{last} AS last_{unit}", f"round(coalesce({last}, 0) - coalesce({first}, 0), 2) AS change"]  # fmt: skip
    title = f"change of {in_words(figure.name)} from the first to the last {unit}, by {group.name}{at}"
    sql = _select(columns, asked.table, f"{where}GROUP BY 1 ORDER BY abs(change) DESC, 1 LIMIT {_MOST}")
    return Question(title, sql, group.name, "change", "change")
