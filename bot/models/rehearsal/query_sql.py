"""The SQL of a query, and its title in words."""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from typing import Literal

from bot.models.rehearsal.table_profile import ProfiledColumn
from bot.models.rehearsal.table_query import MAX_GROUPS, Filter, Query

_MAX_PERIODS = 100
_MIN_DAYS_FOR_MONTHS, _MIN_DAYS_FOR_YEARS = 62, 1830
"""A trend is shown by month if the data spans more days than the first, and by year above the second."""
_FIGURE_UNITS = {"eur": "EUR", "usd": "USD", "chf": "CHF", "gbp": "GBP", "pct": "%", "percent": "%"}
_AGGREGATE_NAMES = {
    "mean": ("average", "avg"),
    "max": ("largest", "max"),
    "min": ("smallest", "min"),
    "sum": ("total", "sum"),
    "median": ("median", "median"),
}
_PERIOD_FORMATS = {"month": "%Y-%m", "year": "%Y", "day": "%Y-%m-%d", "week": "%Y-%m-%d"}


@dataclass(frozen=True, slots=True)
class SqlQuery:
    """A query in SQL.

    Attributes:
        title: The title of its figures, for people.
        sql: The statement.
        label_column: The column of its rows with the labels.
        figure_column: The column of its rows with the figures.
        kind: One figure, a figure for each group, or a figure for each period of time.
        is_ascending: True if the lowest comes first.
        max_rows: Maximum number of rows that are shown.
        period_unit: The length of a row's period, such as `month`; "" if rows are not periods.
        data_until: The last day with data if the last period goes on after it; otherwise "".
    """

    title: str
    sql: str
    label_column: str
    figure_column: str
    kind: Literal["one", "groups", "time"]
    is_ascending: bool = False
    max_rows: int = MAX_GROUPS
    period_unit: str = ""
    data_until: str = ""


def find_figure_unit(figure: str) -> str:
    """Return the unit at the end of a column's name, such as `EUR`; "" if there is none."""
    return _FIGURE_UNITS.get(figure.rpartition("_")[2], "")


def render_figure_name(figure: str, *, without_unit: bool = False) -> str:
    """Return a figure's name for people, such as `total revenue in EUR`; `without_unit` leaves the unit out."""
    unit = find_figure_unit(figure)
    name = (figure.rpartition("_")[0] if unit else figure).replace("_", " ")
    return f"{name} in {unit}" if unit and not without_unit else name


def make_sql_query(query: Query) -> SqlQuery:
    """Return the SQL and the title of a query."""
    figure, sql = _make_figure_sql(query)
    period, unit = _make_period_sql(query)
    where, conditions_text = _make_where(query, period)
    rows = f' FROM "{query.table.name}"{where}'
    if not (period or query.group):
        return SqlQuery(
            f"{render_figure_name(figure)}{conditions_text}", f"SELECT {sql} AS {figure}{rows}", figure, figure, "one"
        )
    label, name = (_make_label_sql(query.group), query.group.name) if query.group else (period, unit)
    quoted_name = '"' + name.replace('"', '""') + '"'
    select = f"SELECT {label} AS {quoted_name}, {sql} AS {figure}{rows} GROUP BY 1"
    title = f"{render_figure_name(figure)} by {name}{conditions_text}"
    if period and query.date_column and not query.is_sorted:
        sql = f"{select} ORDER BY min({query.date_column.quoted_name}), 1 LIMIT {_MAX_PERIODS}"
        until = _find_incomplete_end(query.date_column, unit)
        return SqlQuery(title, sql, name, figure, "time", max_rows=_MAX_PERIODS, period_unit=unit, data_until=until)
    order, most = "ASC" if query.is_ascending else "DESC", query.max_groups or (_MAX_PERIODS if period else MAX_GROUPS)
    rank_clause = f" QUALIFY rank() OVER (ORDER BY {figure} {order}) <= {most}" if query.max_groups else ""
    sql = f"{select}{rank_clause} ORDER BY 2 {order} NULLS LAST, 1 LIMIT {most}"
    return SqlQuery(title, sql, name, figure, "groups", query.is_ascending, most)


def _make_figure_sql(query: Query) -> tuple[str, str]:
    """Return the column name and the SQL expression of the figure."""
    measure, fold = query.measure, query.aggregate or "sum"
    column_slug = (re.sub(r"\W+", "_", measure.name.casefold()).strip("_") or "value") if measure else "rows"
    if fold == "share":
        part = f"sum({measure.quoted_name})" if measure else "count(*)"
        whole = f"sum({part}) OVER ()"
        if not (query.group or query.period_unit):
            part, whole = f"{part} FILTER (WHERE {_make_condition(query.filters[0])[0]})", part
        return f"share_of_{column_slug}_percent", f"round(100.0 * {part} / {whole}, 2)"
    if measure is None:
        return "number_of_rows", "count(*)"
    name, function = _AGGREGATE_NAMES[fold]
    return (
        f"{'sum_of' if column_slug.startswith(name) else name}_{column_slug}",
        f"round({function}({measure.quoted_name}), 2)",
    )


def _make_where(query: Query, period: str) -> tuple[str, str]:
    """Return the WHERE clause with a space before it, and the same in words; both empty if all rows count.

    For a stock only the last date counts: the last of all rows, or of each period by which rows are grouped.
    """
    conditions, when = [_make_condition(one) for one in query.filters], query.date_column
    condition_texts = [words for _, words in conditions]
    is_share = query.aggregate == "share" and not (query.group or query.period_unit)
    conditions_sql = [] if is_share else [sql for sql, _ in conditions]
    if when is not None and (query.period or query.period_unit):
        conditions_sql.append(
            query.period.render_condition(when.quoted_name) if query.period else f"{when.quoted_name} IS NOT NULL"
        )
        of = f"({when.name})" if len(query.table.date_columns) > 1 else ""
        condition_texts.append(" ".join(filter(None, (query.period.phrase if query.period else "", of))))
    is_added = query.aggregate in {None, "sum", "share"} and query.measure is not None and query.measure.is_stock
    if when is not None and when.distinct_count > 1 and is_added:
        rows = f" WHERE {' AND '.join(conditions_sql)}" if conditions_sql else ""
        group = f" GROUP BY {period}" if period else ""
        conditions_sql.append(
            f'{when.quoted_name} IN (SELECT max({when.quoted_name}) FROM "{query.table.name}"{rows}{group})'  # noqa: S608 - names are quoted
        )
        condition_texts.append(
            "at the end of each" if period else "at its end" if query.period else f"at the end ({when.last_date})"
        )
    return (
        f" WHERE {' AND '.join(conditions_sql)}" if conditions_sql else "",
        "".join(f", {words}" for words in condition_texts if words),
    )


def _make_condition(row_filter: Filter) -> tuple[str, str]:
    """Return a filter in SQL and in words."""
    values_sql = ", ".join("'" + value.replace("'", "''") + "'" for value in row_filter.values)
    original_values = {value.casefold(): value for value in row_filter.column.frequent_values}
    names = " or ".join(dict.fromkeys(original_values.get(value, value) for value in row_filter.values))
    if row_filter.excludes:
        sql = (
            f"({row_filter.column.quoted_name} IS NULL OR lower({row_filter.column.quoted_name}) NOT IN ({values_sql}))"
        )
        return sql, f"where {row_filter.column.name} is not {names}"
    return f"lower({row_filter.column.quoted_name}) IN ({values_sql})", f"where {row_filter.column.name} is {names}"


def _make_period_sql(query: Query) -> tuple[str, str]:
    """Return the SQL of the periods that rows are grouped by, and their unit; both empty without such periods."""
    when, unit = query.date_column, query.period_unit
    if when is None or not unit:
        return "", ""
    if unit == "auto":
        span = (when.last_date - when.first_date).days if when.first_date and when.last_date else 0
        unit = "year" if span > _MIN_DAYS_FOR_YEARS else "month" if span > _MIN_DAYS_FOR_MONTHS else "day"
    if unit == "quarter":
        return f"'Q' || quarter({when.quoted_name}) || ' ' || year({when.quoted_name})", unit
    return f"strftime(date_trunc('{unit}', {when.quoted_name}), '{_PERIOD_FORMATS[unit]}')", unit


def _find_incomplete_end(when: ProfiledColumn, unit: str) -> str:
    """Return the last day with data if the table has days and its last period is incomplete; otherwise ""."""
    first, last = when.first_date, when.last_date
    if last is None or first is None or unit not in {"month", "quarter", "year"}:
        return ""
    months = (last.year - first.year) * 12 + last.month - first.month + 1
    closing = {"month": last.month, "quarter": (last.month + 2) // 3 * 3, "year": 12}[unit]
    is_whole = last.month == closing and last.day >= calendar.monthrange(last.year, last.month)[1]
    return "" if is_whole or when.distinct_count <= months else str(last)


def _make_label_sql(column: ProfiledColumn) -> str:
    """Return the SQL of a group's labels. Values that differ only in case are one group."""
    folded_values = {value.casefold() for value in column.frequent_values}
    return (
        f"lower({column.quoted_name})"
        if len(folded_values) < len(column.frequent_values)
        else f"CAST({column.quoted_name} AS VARCHAR)"
    )
