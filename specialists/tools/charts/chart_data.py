"""Turns the rows of a query into the data of a chart: the series, their order, and notes on omitted points."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal

from specialists.tools.charts.chart_labels import format_category_number

ChartKind = Literal["bar", "barh", "line", "scatter", "pie"]
XKind = Literal["date", "number", "text"]

MAX_BARS = 30
MAX_SLICES = 6
MAX_SERIES = 8
_SMALLEST_SLICE_SHARE = 0.02
_SMALLEST_VISIBLE_SHARE = 0.005
_LABEL_LETTERS_ACROSS = 100
_LONGEST_BAR_LABEL = 40
_LABEL_WRAP_WIDTH = 14
_MONTH = re.compile(r"(\d{4})-(\d{2})")


class ChartRefused(Exception):
    """The rows cannot be drawn as asked. The message says why and what to change."""


@dataclass(frozen=True, slots=True)
class Series:
    """A line, or the bars of one colour. It has one value for each x; None: the value is missing."""

    name: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class ChartData:
    """Data to draw. `x` holds dates, numbers or texts, as `x_kind` says; `notes` are printed below the chart."""

    kind: ChartKind
    x_kind: XKind
    x: tuple[Any, ...]
    series: tuple[Series, ...]
    notes: tuple[str, ...] = field(default=())


def make_chart_data(
    kind: ChartKind, columns: Sequence[str], rows: Sequence[Sequence[Any]], x: str, y: Sequence[str]
) -> ChartData:
    """Make the data of a chart from rows: column `x` against one or more columns `y` of numbers.

    Raises:
        ChartRefused: a column is missing or has no numbers, x repeats itself, or the kind does not fit.
    """
    if not rows:
        raise ChartRefused("The query gave no rows, so there is nothing to draw.")
    x_index = _find_column(columns, x)
    y_indexes = [_find_column(columns, name) for name in y]
    table = [row for row in rows if row[x_index] is not None]
    notes = [] if len(table) == len(rows) else [f"{len(rows) - len(table)} rows without {columns[x_index]} left out"]
    if not table:
        raise ChartRefused(f"Column {columns[x_index]} is empty in every row.")
    x_kind, xs = _convert_x(kind, columns[x_index], [row[x_index] for row in table])
    series = [
        Series(columns[index], tuple(_to_float(row[index], columns[index]) for row in table)) for index in y_indexes
    ]
    if kind != "scatter" and len(set(xs)) < len(xs):
        xs, series = _split_into_series(columns, table, xs, series, {x_index, *y_indexes})
    data = ChartData(kind, x_kind, tuple(xs), tuple(series), tuple(notes))
    if not any(value is not None for each in data.series for value in each.values):
        raise ChartRefused(f"There are no numbers in {', '.join(y)}.")
    return _apply_limits(_sort_points(data))


def _find_column(columns: Sequence[str], name: str) -> int:
    folded_names = [column.casefold() for column in columns]
    folded_name = name.strip().strip('"').casefold()
    if folded_name not in folded_names:
        raise ChartRefused(f"The query has no column {name!r}; it has {', '.join(columns)}.")
    return folded_names.index(folded_name)


def _convert_x(kind: ChartKind, name: str, values: list[Any]) -> tuple[XKind, list[Any]]:
    if all(isinstance(value, dt.date) for value in values):
        return "date", [_to_datetime(value) for value in values]
    if all(isinstance(value, str) and _MONTH.fullmatch(value) for value in values):
        months = [(int(value[:4]), int(value[5:])) for value in values]
        if all(1 <= month <= 12 and year for year, month in months):
            return "date", [_to_datetime(dt.date(year, month, 1)) for year, month in months]
    if all(isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in values):
        numbers = [float(value) for value in values]
        if all(map(math.isfinite, numbers)):
            return "number", numbers
    if kind == "scatter":
        raise ChartRefused(f"A scatter needs numbers or dates for x; {name} is text. Use bar or barh.")
    return "text", [str(value) for value in values]


def _to_datetime(value: dt.date) -> dt.datetime:
    """Convert a date to a datetime; a plain date becomes midnight. Times in tables have no time zone."""
    return value if isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time())


def _to_float(value: Any, column: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ChartRefused(f"Column {column} holds {str(value)[:40]!r}, not a number: cast or count it in SQL.")
    number = float(value)
    return number if math.isfinite(number) else None


def _split_into_series(
    columns: Sequence[str], rows: list[Sequence[Any]], x_values: list[Any], series: list[Series], used_columns: set[int]
) -> tuple[list[Any], list[Series]]:
    """Turn rows of x, group and value into one series per group.

    Raises ChartRefused unless one text column is the group.
    """
    other_columns = [index for index in range(len(columns)) if index not in used_columns]
    text_columns = [index for index in other_columns if all(isinstance(row[index], str) for row in rows)]
    if len(series) != 1 or len(text_columns) != 1:
        raise ChartRefused("x occurs several times: GROUP BY x, or give one text column that tells the series apart.")
    order = list(dict.fromkeys(x_values))
    groups: dict[str, dict[Any, float | None]] = {}
    for x, row, value in zip(x_values, rows, series[0].values, strict=True):
        group = groups.setdefault(row[text_columns[0]], {})
        if x in group:
            raise ChartRefused(f"x and {columns[text_columns[0]]} together occur several times: GROUP BY both.")
        group[x] = value
    return order, [Series(name, tuple(group.get(x) for x in order)) for name, group in groups.items()]


def _sort_points(data: ChartData) -> ChartData:
    if data.x_kind == "text" or data.kind in {"pie", "scatter"}:
        return data
    return _pick_points(data, sorted(range(len(data.x)), key=lambda index: data.x[index]))


def _apply_limits(data: ChartData) -> ChartData:
    if len(data.series) > MAX_SERIES:
        largest = sorted(data.series, key=_sum_magnitudes, reverse=True)[:MAX_SERIES]
        note = f"the {MAX_SERIES} largest of {len(data.series)} series"
        kept_series = tuple(each for each in data.series if each in largest)
        data = replace(data, series=kept_series, notes=(*data.notes, note))
    if data.kind == "pie":
        return _prepare_pie(data)
    if data.kind in {"bar", "barh"} and data.x_kind == "text":
        data = _limit_categories(data)
        longest = max(len(x) for x in data.x)
        if data.kind == "bar" and (
            len(data.x) * (min(longest, _LABEL_WRAP_WIDTH) + 1) > _LABEL_LETTERS_ACROSS or longest > _LONGEST_BAR_LABEL
        ):
            data = replace(data, kind="barh")
    data = replace(data, notes=(*data.notes, *_make_flat_note(data)))
    missing_count = sum(1 for each in data.series for value in each.values if value is None)
    if missing_count and len(data.series) * len(data.x) > missing_count:
        data = replace(data, notes=(*data.notes, f"{missing_count} missing value{'' if missing_count == 1 else 's'}"))
    return data


def _make_flat_note(data: ChartData) -> list[str]:
    """Return a note that names the series too small to be seen beside a far larger one; [] if there are none."""
    heights = [max((abs(value) for value in each.values if value is not None), default=0.0) for each in data.series]
    flat = [
        each.name
        for each, height in zip(data.series, heights, strict=True)
        if 0 < height < _SMALLEST_VISIBLE_SHARE * max(heights)
    ]
    return [f"too small to be seen on this scale: {', '.join(flat)}"] if flat else []


def _limit_categories(data: ChartData) -> ChartData:
    """Keep all categories in their order or, if there are too many, only the largest, sorted by size."""
    max_categories = max(MAX_BARS // len(data.series), 5)
    if len(data.x) <= max_categories:
        return data

    def measure_category(index: int) -> float:
        return max(abs(each.values[index] or 0.0) for each in data.series)

    largest = sorted(range(len(data.x)), key=measure_category, reverse=True)[:max_categories]
    note = f"the {max_categories} largest of {len(data.x):,}; {len(data.x) - max_categories:,} others not shown"
    return replace(_pick_points(data, largest), notes=(*data.notes, note))


def _prepare_pie(data: ChartData) -> ChartData:
    if len(data.series) != 1:
        raise ChartRefused("A pie shows one column of y. Use bar for several.")
    values = [value or 0.0 for value in data.series[0].values]
    if min(values) < 0 or not sum(values):
        raise ChartRefused("A pie needs positive values. Use bar.")
    order = sorted(range(len(values)), key=lambda index: values[index], reverse=True)
    whole = sum(values)
    kept_indexes = [index for index in order[:MAX_SLICES] if values[index] >= _SMALLEST_SLICE_SHARE * whole]
    if len(order) == len(kept_indexes) + 1:
        kept_indexes = order  # an "Other" slice of one category would only hide its name
    labels = [_format_label(data.x[index], data.x_kind) for index in kept_indexes]
    sizes = [values[index] for index in kept_indexes]
    rest = [values[index] for index in order if index not in set(kept_indexes) and values[index]]
    if rest:
        labels.append(f"Other ({len(rest)})")
        sizes.append(sum(rest))
    series = (Series(data.series[0].name, tuple(sizes)),)
    return replace(data, x_kind="text", x=tuple(labels), series=series)


def _format_label(value: Any, x_kind: XKind) -> str:
    if x_kind == "date":
        return f"{value:%Y-%m-%d}"
    return format_category_number(value) if x_kind == "number" else str(value)


def _pick_points(data: ChartData, indexes: list[int]) -> ChartData:
    series = tuple(Series(each.name, tuple(each.values[index] for index in indexes)) for each in data.series)
    return replace(data, x=tuple(data.x[index] for index in indexes), series=series)


def _sum_magnitudes(series: Series) -> float:
    return sum(abs(value) for value in series.values if value is not None)
