"""The SQL of a query, and its title in words."""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from typing import Literal

from bot.models.rehearsal.rehearsed_profile import ProfiledColumn
from bot.models.rehearsal.rehearsed_query import MAX_GROUPS, Filter, Query

_MAX_PERIODS = 100
_DAYS_FOR_MONTHS, _DAYS_FOR_YEARS = 62, 1830
"""Days of data above which a trend is shown by month, and above which by year."""
_UNITS = {"eur": "EUR", "usd": "USD", "chf": "CHF", "gbp": "GBP", "pct": "%", "percent": "%"}
_FOLD_NAMES = {
    "mean": ("average", "avg"),
    "max": ("largest", "max"),
    "min": ("smallest", "min"),
    "sum": ("total", "sum"),
    "median": ("median", "median"),
}
_LABELS = {"month": "%Y-%m", "year": "%Y", "day": "%Y-%m-%d", "week": "%Y-%m-%d"}


@dataclass(frozen=True, slots=True)
class SqlQuestion:
    """A query in SQL.

    Attributes:
        title: What it shows, for people.
        sql: The statement.
        label: The column of its rows with the labels.
        figure: The column of its rows with the figures.
        kind: One figure, a figure for each group, or a figure for each period of time.
        upward: True if the lowest comes first.
        most: Most rows that are shown.
        unit: The period of a row, such as `month`; "" if rows are no periods.
        data_until: The last day with data if the last period goes on after it; otherwise "".
    """

    title: str
    sql: str
    label: str
    figure: str
    kind: Literal["one", "groups", "time"]
    upward: bool = False
    most: int = MAX_GROUPS
    unit: str = ""
    data_until: str = ""


def find_unit(figure: str) -> str:
    """Return the unit at the end of a column's name, such as `EUR`; "" if there is none."""
    return _UNITS.get(figure.rpartition("_")[2], "")


def render_figure_name(figure: str, *, without_unit: bool = False) -> str:
    """Return a figure's name for people, such as `total revenue in EUR`; `without_unit` leaves the unit out."""
    unit = find_unit(figure)
    name = (figure.rpartition("_")[0] if unit else figure).replace("_", " ")
    return f"{name} in {unit}" if unit and not without_unit else name


def make_question(query: Query) -> SqlQuestion:
    """Return the SQL and the title of a query."""
    figure, sql = _make_figure(query)
    period, unit = _make_period(query)
    where, told = _make_where(query, period)
    rows = f' FROM "{query.table.name}"{where}'
    if not (period or query.group):
        return SqlQuestion(
            f"{render_figure_name(figure)}{told}", f"SELECT {sql} AS {figure}{rows}", figure, figure, "one"
        )
    label, name = (_make_label(query.group), query.group.name) if query.group else (period, unit)
    quoted = '"' + name.replace('"', '""') + '"'
    select = f"SELECT {label} AS {quoted}, {sql} AS {figure}{rows} GROUP BY 1"
    title = f"{render_figure_name(figure)} by {name}{told}"
    if period and query.when and not query.is_sorted:
        sql = f"{select} ORDER BY min({query.when.sql}), 1 LIMIT {_MAX_PERIODS}"
        until = _find_last_day(query.when, unit)
        return SqlQuestion(title, sql, name, figure, "time", most=_MAX_PERIODS, unit=unit, data_until=until)
    order, most = "ASC" if query.upward else "DESC", query.most or (_MAX_PERIODS if period else MAX_GROUPS)
    few = f" QUALIFY rank() OVER (ORDER BY {figure} {order}) <= {most}" if query.most else ""
    sql = f"{select}{few} ORDER BY 2 {order} NULLS LAST, 1 LIMIT {most}"
    return SqlQuestion(title, sql, name, figure, "groups", query.upward, most)


def _make_figure(query: Query) -> tuple[str, str]:
    """Return the name and the SQL of the figure."""
    measure, fold = query.measure, query.fold or "sum"
    plain = (re.sub(r"\W+", "_", measure.name.casefold()).strip("_") or "value") if measure else "rows"
    if fold == "share":
        part = f"sum({measure.sql})" if measure else "count(*)"
        whole = f"sum({part}) OVER ()"
        if not (query.group or query.unit):
            part, whole = f"{part} FILTER (WHERE {_make_condition(query.filters[0])[0]})", part
        return f"share_of_{plain}_percent", f"round(100.0 * {part} / {whole}, 2)"
    if measure is None:
        return "number_of_rows", "count(*)"
    name, function = _FOLD_NAMES[fold]
    return f"{'sum_of' if plain.startswith(name) else name}_{plain}", f"round({function}({measure.sql}), 2)"


def _make_where(query: Query, period: str) -> tuple[str, str]:
    """Return the WHERE clause after a space, and the same in words; both empty if all rows count.

    Of a stock only the last date counts: the last of all rows, or of each period that rows are grouped by.
    """
    conditions, when = [_make_condition(one) for one in query.filters], query.when
    told = [words for _, words in conditions]
    is_share = query.fold == "share" and not (query.group or query.unit)
    every = [] if is_share else [sql for sql, _ in conditions]
    if when is not None and (query.period or query.unit):
        every.append(query.period.render_condition(when.sql) if query.period else f"{when.sql} IS NOT NULL")
        of = f"({when.name})" if len(query.table.date_columns) > 1 else ""
        told.append(" ".join(filter(None, (query.period.words if query.period else "", of))))
    is_added = query.fold in {None, "sum", "share"} and query.measure is not None and query.measure.is_stock
    if when is not None and when.distinct_count > 1 and is_added:
        rows = f" WHERE {' AND '.join(every)}" if every else ""
        group = f" GROUP BY {period}" if period else ""
        every.append(f'{when.sql} IN (SELECT max({when.sql}) FROM "{query.table.name}"{rows}{group})')  # noqa: S608 - names are quoted
        told.append(
            "at the end of each" if period else "at its end" if query.period else f"at the end ({when.last_date})"
        )
    return (f" WHERE {' AND '.join(every)}" if every else "", "".join(f", {words}" for words in told if words))


def _make_condition(row_filter: Filter) -> tuple[str, str]:
    """Return a filter in SQL and in words."""
    listed = ", ".join("'" + value.replace("'", "''") + "'" for value in row_filter.values)
    written = {value.casefold(): value for value in row_filter.column.values}
    names = " or ".join(dict.fromkeys(written.get(value, value) for value in row_filter.values))
    if row_filter.excludes:
        sql = f"({row_filter.column.sql} IS NULL OR lower({row_filter.column.sql}) NOT IN ({listed}))"
        return sql, f"where {row_filter.column.name} is not {names}"
    return f"lower({row_filter.column.sql}) IN ({listed})", f"where {row_filter.column.name} is {names}"


def _make_period(query: Query) -> tuple[str, str]:
    """Return the SQL of the periods that rows are grouped by, and their unit; both empty without such periods."""
    when, unit = query.when, query.unit
    if when is None or not unit:
        return "", ""
    if unit == "auto":
        span = (when.last_date - when.first_date).days if when.first_date and when.last_date else 0
        unit = "year" if span > _DAYS_FOR_YEARS else "month" if span > _DAYS_FOR_MONTHS else "day"
    if unit == "quarter":
        return f"'Q' || quarter({when.sql}) || ' ' || year({when.sql})", unit
    return f"strftime(date_trunc('{unit}', {when.sql}), '{_LABELS[unit]}')", unit


def _find_last_day(when: ProfiledColumn, unit: str) -> str:
    """Return the last day with data if the table has days and its last period is incomplete; otherwise ""."""
    first, last = when.first_date, when.last_date
    if last is None or first is None or unit not in {"month", "quarter", "year"}:
        return ""
    months = (last.year - first.year) * 12 + last.month - first.month + 1
    closing = {"month": last.month, "quarter": (last.month + 2) // 3 * 3, "year": 12}[unit]
    is_whole = last.month == closing and last.day >= calendar.monthrange(last.year, last.month)[1]
    return "" if is_whole or when.distinct_count <= months else str(last)


def _make_label(column: ProfiledColumn) -> str:
    """Return the SQL of a group's labels. Values that differ only in case are one group."""
    folded = {value.casefold() for value in column.values}
    return f"lower({column.sql})" if len(folded) < len(column.values) else f"CAST({column.sql} AS VARCHAR)"
