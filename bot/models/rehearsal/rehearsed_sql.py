"""The SQL of a query, and what it shows in words. A change over time takes further queries of the same shape."""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass, replace
from typing import Literal

from bot.models.rehearsal.rehearsed_periods import Period
from bot.models.rehearsal.rehearsed_profile import Column
from bot.models.rehearsal.rehearsed_request import Filter, Query

Kind = Literal["one", "groups", "time", "periods", "change"]
_UNITS = {"eur": "EUR", "usd": "USD", "chf": "CHF", "gbp": "GBP", "pct": "%", "percent": "%"}
_MOST, _MOST_PERIODS, _MOST_CAUSES = 25, 100, 3
_MONTHS, _YEARS = 62, 1830
_FOLDS = {"sum": "sum({})", "mean": "avg({})", "median": "median({})", "max": "max({})", "min": "min({})"}
_NAMES = {"mean": "average", "max": "largest", "min": "smallest", "sum": "total", "median": "median"}
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


def questions(query: Query) -> list[Question]:
    """Return the queries that answer a request: one, but of a change also what changed most, by group."""
    if query.overview:
        flows = [one for one in query.table.measures if one.is_flow and not one.is_stock]
        return [_question(replace(query, fold="sum", measures=(one,))) for one in flows[:_MOST_CAUSES]]
    if not query.changed:
        return [_question(query)]
    whole = replace(query, unit=query.unit or "auto", fold="sum")
    causes = query.groups or tuple(one for one in query.table.categories if one.values)[:_MOST_CAUSES]
    return [_question(replace(whole, groups=())), *(_change(whole, cause) for cause in causes)]


def unit_of(figure: str) -> str:
    """The unit that a column's name ends in, or nothing."""
    return _UNITS.get(figure.rpartition("_")[2], "")


def in_words(figure: str, *, bare: bool = False) -> str:
    """A figure's name for people, such as `total revenue in EUR`; `bare` leaves the unit out."""
    unit = unit_of(figure)
    name = (figure.rpartition("_")[0] if unit else figure).replace("_", " ")
    return f"{name} in {unit}" if unit and not bare else name


def _question(query: Query) -> Question:
    figures = _figures(query)
    label, name, order, most = "", "", "", _MOST
    kind: Kind = "one"
    period, unit = _period(query)
    if len(query.periods) > 1 and query.when:
        cases = (f"WHEN {one.sql(query.when.sql)} THEN {_quoted(_bare(one))}" for one in _in_order(query))
        label, name, kind = f"CASE {' '.join(cases)} END", "period", "periods"
        order = f"min({query.when.sql})"
    elif query.unit and query.when:
        name = " / ".join((unit, *(one.name for one in query.groups)))
        label, kind = _joined([period, *map(_label, query.groups)]), "groups" if query.groups else "time"
        order, most = f"min({query.when.sql}), 1", _MOST_PERIODS
    elif query.groups:
        label, name, kind = (
            _joined([*map(_label, query.groups)]),
            " / ".join(one.name for one in query.groups),
            "groups",
        )
        order, most = f"2 {'ASC' if query.upward else 'DESC'} NULLS LAST, 1", query.most or _MOST
    where, told = _where(query, period)
    picked = [f"{sql} AS {figure}" for figure, sql in figures]
    tail = ""
    if label:
        picked.insert(0, f"{label} AS {_name(name)}")
        few = f" QUALIFY rank() OVER (ORDER BY {figures[0][0]} {'ASC' if query.upward else 'DESC'}) <= {query.most}"
        kept = few if query.most and query.groups and not query.unit else ""
        tail = f" GROUP BY 1{kept} ORDER BY {order} LIMIT {most}"
        if query.fold in {"mean", "median"} and query.measures:
            picked.append(f"count({query.measures[0].sql}) AS values_counted")
    by = f" by {' and '.join(name.split(' / '))}" if label and kind != "periods" else ""
    return Question(
        f"{' and '.join(in_words(figure) for figure, _ in figures)}{by}{told}",
        f'SELECT {", ".join(picked)} FROM "{query.table.name}"{where}{tail}',  # noqa: S608 - names are quoted, and reading is all that tables allow
        name or figures[0][0],
        figures[0][0],
        kind,
        query.upward,
        most,
        unit if kind == "time" else "",
        _until(query.when, unit) if kind == "time" else "",
    )


def _figures(query: Query) -> list[tuple[str, str]]:
    """The name and the SQL of each figure."""
    fold = query.fold or "sum"
    if fold == "share":
        of = f"sum({query.measures[0].sql})" if query.measures else "count(*)"
        name = f"share_of_{_plain(query.measures[0].name) if query.measures else 'rows'}_percent"
        if query.groups or query.unit:
            return [(name, f"round(100.0 * {of} / sum({of}) OVER (), 2)")]
        return [(name, f"round(100.0 * {of} FILTER (WHERE {_condition(_part(query))[0]}) / {of}, 2)")]
    if query.counting or not query.measures:
        column = query.counted
        if column is not None and column.distinct < query.table.rows and not column.is_date:
            return [(f"number_of_different_{_plain(column.name)}", f"count(DISTINCT {column.sql})")]
        return [("number_of_rows", "count(*)")]
    made = []
    for column in query.measures:
        name = f"{_NAMES[fold]}_{_plain(column.name)}"
        name = f"sum_of_{_plain(column.name)}" if name.startswith("total_total") else name
        made.append((name, f"round({_FOLDS[fold].format(column.sql)}, 2)"))
    return made


def _part(query: Query) -> Filter:
    """The values whose share is asked for."""
    return next(one for one in query.filters if one.values)


def _change(query: Query, group: Column) -> Question:
    """What changed from the first period to the last, by group."""
    period, unit = _period(query)
    ((figure, sql),) = _figures(query)
    when = query.when.sql if query.when else ""
    where, told = _where(query, period)
    table = _name(query.table.name)
    first, last = (
        # Within `round(..., 2)`.
        f"{sql[:-4]} FILTER (WHERE {period} = "  # noqa: S608 - see above
        f"(SELECT {period} FROM {table} WHERE {when} = (SELECT {end}({when}) FROM {table}) LIMIT 1)), 2)"
        for end in ("min", "max")
    )
    picked = (
        f"{_label(group)} AS {_name(group.name)}, {first} AS first_{unit}, {last} AS last_{unit}, "
        f"round(coalesce(last_{unit}, 0) - coalesce(first_{unit}, 0), 2) AS change"
    )
    tail = f"{where} GROUP BY 1 ORDER BY abs(change) DESC, 1 LIMIT {_MOST}"
    title = f"change of {in_words(figure)} from the first to the last {unit}, by {group.name}{told}"
    return Question(title, f'SELECT {picked} FROM "{query.table.name}"{tail}', group.name, "change", "change")  # noqa: S608 - see above


# ---------------------------------------------------------------- rows


def _where(query: Query, period: str) -> tuple[str, str]:
    """The WHERE clause, with a space before it, and the same in words; both empty if all rows count.

    Of a stock only the last moment counts: of all, or of each period that rows are grouped by.
    """
    filters = list(query.filters)
    parts = []
    if query.fold == "share" and not (query.groups or query.unit):
        part = _part(query)
        filters.remove(part)
        parts.append(("", _condition(part)[1]))
    parts += [_condition(one) for one in filters]
    when = query.when
    if when is not None and (query.periods or query.unit):
        within = [one.sql(when.sql) for one in query.periods] or [f"{when.sql} IS NOT NULL"]
        of = f" ({when.name})" if len(query.table.dates) > 1 else ""
        told = f"{' and '.join(one.words for one in _in_order(query))}{of}" if query.periods else of.strip()
        parts.append((within[0] if len(within) == 1 else " OR ".join(within).join("()"), told))
    every = [sql for sql, _ in parts if sql]
    if when is not None and _is_stock(query):
        all_rows = f" WHERE {' AND '.join(every)}" if every else ""
        group, told = _moments(query, period)
        last = f'(SELECT max({when.sql}) FROM "{query.table.name}"{all_rows}{group})'  # noqa: S608 - see above
        every.append(f"{when.sql} IN {last}")
        parts.append(("", told))
    words = "".join(f", {told}" for _, told in parts if told)
    return (f" WHERE {' AND '.join(every)}" if every else "", words)


def _is_stock(query: Query) -> bool:
    """True if the figure is a sum of what stood at a moment, and the table has several moments."""
    moments = query.when is not None and query.when.distinct > 1
    added = query.fold in {None, "sum", "share"} and not query.counting
    return added and moments and any(one.is_stock for one in query.measures)


def _moments(query: Query, period: str) -> tuple[str, str]:
    """Of which periods the last moments are taken, and how that is told."""
    if len(query.periods) > 1 and query.when:
        cases = " ".join(f"WHEN {one.sql(query.when.sql)} THEN {at}" for at, one in enumerate(query.periods))
        return f" GROUP BY CASE {cases} END", "at the end of each"
    if query.unit:
        return f" GROUP BY {period}", "at the end of each"
    at_the_end = "at its end" if query.periods else f"at the end ({query.when.last if query.when else ''})"
    return "", at_the_end


def _condition(one: Filter) -> tuple[str, str]:
    """A filter in SQL and in words."""
    if one.limit:
        return f"{one.column.sql} {one.limit}", f"where {one.column.name} {one.limit}"
    listed = ", ".join(map(_quoted, one.values))
    written = {value.casefold(): value for value in one.column.values}
    names = " or ".join(dict.fromkeys(written.get(value, value) for value in one.values))
    if one.excluded:
        sql = f"({one.column.sql} IS NULL OR lower({one.column.sql}) NOT IN ({listed}))"
        return sql, f"where {one.column.name} is not {names}"
    return f"lower({one.column.sql}) IN ({listed})", f"where {one.column.name} is {names}"


def _in_order(query: Query) -> list[Period]:
    return sorted(query.periods, key=lambda one: one.start)


def _bare(period: Period) -> str:
    return period.words.removeprefix("in ")


def _period(query: Query) -> tuple[str, str]:
    """The SQL of the periods that dates are grouped by, and their unit; empty where rows are not."""
    when = query.when
    if when is None or not query.unit:
        return "", ""
    span = (when.last - when.first).days if when.first and when.last else 0
    unit = query.unit if query.unit != "auto" else "year" if span > _YEARS else "month" if span > _MONTHS else "day"
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


# ---------------------------------------------------------------- names


def _joined(labels: list[str]) -> str:
    return labels[0] if len(labels) == 1 else f"concat_ws(' / ', {', '.join(labels)})"


def _label(column: Column) -> str:
    folded = [value.casefold() for value in column.values]
    return f"lower({column.sql})" if len(set(folded)) < len(folded) else f"CAST({column.sql} AS VARCHAR)"


def _plain(name: str) -> str:
    return re.sub(r"\W+", "_", name.casefold()).strip("_") or "value"


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
