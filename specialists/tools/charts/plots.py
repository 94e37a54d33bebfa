"""Draws charts into given axes, with one function per kind of chart."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, date2num, num2date
from matplotlib.ticker import FuncFormatter, MaxNLocator

from specialists.tools.charts import chart_labels
from specialists.tools.charts.chart_data import ChartData

# Okabe and Ito's colours, which colour-blind people can tell apart; the yellow is too pale for lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6F4E37", "#4D4D4D")
_MAX_LABELLED_BARS = 16
_MAX_LABELLED_ROWS = 32
_MAX_TWO_LINE_LABELS = 10
_MAX_TICKS = 24
_MAX_DIRECT_LABELS = 6
_MAX_DATA_DATE_TICKS = 12
_LABEL_LETTERS_ACROSS = 100
_NARROWEST_LABEL = 14
_MAX_MARKED_POINTS = 40
_BAR_GROUP_WIDTH = 0.8
_LINE_GAP = 0.055
_SLICE_GAP = 0.135
_LABEL_RADIUS = 1.15


def draw_data(axes: Axes, data: ChartData, unit: str) -> None:
    """Draw the data. The axis label names `unit`; only a percent sign is also written beside the numbers."""
    {"bar": _draw_bars, "barh": _draw_bars, "line": _draw_lines, "scatter": _draw_scatter, "pie": _draw_pie}[data.kind](
        axes, data, unit
    )


def _draw_bars(axes: Axes, data: ChartData, unit: str) -> None:
    is_horizontal = data.kind == "barh"
    count, bar_width = len(data.series), _BAR_GROUP_WIDTH / len(data.series)
    largest = _find_largest_magnitude(data)
    are_bars_labelled = len(data.x) * count <= (_MAX_LABELLED_ROWS if is_horizontal else _MAX_LABELLED_BARS)
    for number, series in enumerate(data.series):
        places = [index + (number - (count - 1) / 2) * bar_width for index in range(len(data.x))]
        values = [value if value is not None else math.nan for value in series.values]
        size = bar_width * (0.94 if count > 1 else 0.9)
        name, colour = chart_labels.label_column(series.name), COLOURS[number]
        bars: Any = (
            axes.barh(places, values, size, color=colour, label=name)
            if is_horizontal
            else axes.bar(places, values, size, color=colour, label=name)
        )
        if are_bars_labelled:
            texts = ["" if math.isnan(value) else chart_labels.format_label(value, largest, unit) for value in values]
            is_crowded = len(data.x) * count > _MAX_LABELLED_BARS
            axes.bar_label(bars, texts, padding=2.5, fontsize=6 if is_crowded and count > 1 else 7 if is_crowded else 8)
    labels: Any = _make_category_labels(data, horizontal=is_horizontal)
    ticks = list(range(len(labels))) if is_horizontal or data.x_kind == "text" else _choose_ticks(labels)
    if data.x_kind == "date":  # labelled again for the ticks that remain, as the first of a year has to name the year
        labels = dict(zip(ticks, chart_labels.label_dates([data.x[index] for index in ticks]), strict=True))
    if is_horizontal:
        axes.set_yticks(ticks, [labels[index] for index in ticks])
        axes.set_ylim(len(data.x) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0, labelsize=8.5 if len(data.x) <= _MAX_LABELLED_BARS else 7)
    else:
        axes.set_xticks(ticks, [labels[index] for index in ticks])
        side = 1.1 if len(data.x) == 1 else 0.6  # a single bar does not fill the whole width
        axes.set_xlim(-side, len(data.x) - 1 + side)
        axes.tick_params(axis="x", length=0)
    _format_value_axis(axes, data, horizontal=is_horizontal)
    axes.grid(visible=False, axis="y" if is_horizontal else "x")
    (axes.axvline if is_horizontal else axes.axhline)(0, color="#8d8d90", linewidth=0.9)
    if not largest:
        (axes.set_xlim if is_horizontal else axes.set_ylim)(0, 1)  # nothing but zeros
    room = 0.1 if are_bars_labelled else 0.05
    axes.margins(x=room if is_horizontal else None, y=None if is_horizontal else room)


def _draw_lines(axes: Axes, data: ChartData, _unit: str) -> None:
    places = _set_x_ticks(axes, data)
    marker = "o" if len(data.x) <= _MAX_MARKED_POINTS else ""
    has_direct_labels = 1 < len(data.series) <= _MAX_DIRECT_LABELS
    for number, series in enumerate(data.series):
        values = [value if value is not None else math.nan for value in series.values]
        line_marker = "o" if _has_lone_points(values) else marker
        axes.plot(
            places,
            values,
            color=COLOURS[number],
            linewidth=2,
            marker=line_marker,
            markersize=3.5,
            clip_on=False,
            label="_" if has_direct_labels else chart_labels.label_column(series.name),
        )
    _format_value_axis(axes, data, horizontal=False)
    low, high = _find_value_range(data)
    if low >= 0 and low < 0.4 * high:
        axes.set_ylim(bottom=0)  # the axis of a line may start above zero, but not when zero is this near
    if low < 0 < high:
        axes.axhline(0, color="#8d8d90", linewidth=0.9)
    if has_direct_labels:
        _label_lines(axes, data, places)


def _has_lone_points(values: list[float]) -> bool:
    """Return True if a value has no neighbour to be joined with (NaN on both sides), so that only a marker shows it."""
    is_present = [False, *(not math.isnan(value) for value in values), False]
    return any(is_present[i] and not is_present[i - 1] and not is_present[i + 1] for i in range(1, len(is_present) - 1))


def _label_lines(axes: Axes, data: ChartData, places: list[float]) -> None:
    """Write each line's name at its right end; names whose ends are close are moved apart."""
    low, high = axes.get_ylim()
    ends: list[tuple[float, int]] = []
    for number, series in enumerate(data.series):
        values = [value for value in series.values if value is not None]
        if values:
            ends.append((values[-1], number))
    ends.sort()
    heights = _spread_heights([(value - low) / (high - low or 1.0) for value, _ in ends], _LINE_GAP)
    style: dict[str, Any] = {"fontsize": 8.5, "fontweight": "bold", "va": "center", "ha": "left"}
    for (_, number), height in zip(ends, heights, strict=True):
        name = chart_labels.wrap_text(chart_labels.label_column(data.series[number].name), 22, 1)
        axes.text(1.015, height, name, transform=axes.transAxes, color=COLOURS[number], **style)
    axes.set_xlim(right=max(places))


def _spread_heights(heights: list[float], gap: float) -> list[float]:
    """Move ascending heights (0 to 1) so that neighbours are at least `gap` apart and none is above 1."""
    new_heights: list[float] = []
    for height in heights:
        new_heights.append(max(height, new_heights[-1] + gap) if new_heights else height)
    excess = new_heights[-1] - 1 if new_heights else 0.0
    if excess > 0:
        top = 1.0
        for index in range(len(new_heights) - 1, -1, -1):
            new_heights[index] = min(new_heights[index], top)
            top = new_heights[index] - gap
    return new_heights


def _draw_scatter(axes: Axes, data: ChartData, _unit: str) -> None:
    places = _set_x_ticks(axes, data)
    point_count = len(data.x) * len(data.series)
    for number, series in enumerate(data.series):
        pairs = [(x, y) for x, y in zip(places, series.values, strict=True) if y is not None]
        axes.scatter(
            [x for x, _ in pairs],
            [y for _, y in pairs],
            s=26 if point_count < 300 else 12,
            alpha=0.8 if point_count < 300 else 0.5,
            color=COLOURS[number],
            edgecolors="white",
            linewidths=0.4,
            label=chart_labels.label_column(series.name),
        )
    _format_value_axis(axes, data, horizontal=False)


def _draw_pie(axes: Axes, data: ChartData, unit: str) -> None:
    values = [value or 0.0 for value in data.series[0].values]
    whole = sum(values)
    colours = [*COLOURS[: len(values)]]
    if str(data.x[-1]).startswith("Other ("):
        colours[-1] = "#b5b5b8"
    names = [
        f"{chart_labels.wrap_text(str(name), 26, 1)}\n"
        f"{chart_labels.format_label(value, max(values), '')} ({chart_labels.format_share(value, whole)})"
        for name, value in zip(data.x, values, strict=True)
    ]
    axes.pie(
        values,
        colors=colours,
        startangle=90,
        counterclock=False,
        wedgeprops={"width": 0.42, "edgecolor": "white", "linewidth": 1.5},
    )
    _label_slices(axes, values, names)
    centre = chart_labels.format_label(whole, whole, unit) + (f" {unit}" if unit and unit != "%" else "")
    axes.text(0, 0, f"{centre}\nin all", ha="center", va="center", fontsize=10, fontweight="bold")
    axes.set_aspect("equal")


def _label_slices(axes: Axes, values: list[float], names: list[str]) -> None:
    """Write each name right or left of the ring, beside its slice; names are moved apart where slices are thin."""
    whole, drawn_sum = sum(values), 0.0
    sides: dict[int, list[tuple[float, float, str]]] = {1: [], -1: []}
    for value, name in zip(values, names, strict=True):
        angle = 2 * math.pi * (drawn_sum + value / 2) / whole  # clockwise from the top
        drawn_sum += value
        sides[1 if angle <= math.pi else -1].append((math.cos(angle), math.sin(angle), name))
    for side, slices in sides.items():
        slices.sort()
        heights = _spread_heights([(height / _LABEL_RADIUS + 1) / 2 for height, _, _ in slices], _SLICE_GAP)
        for (up, across, name), height in zip(slices, heights, strict=True):
            place = (1.24 * side, (2 * height - 1) * _LABEL_RADIUS)
            axes.plot(
                [1.02 * across, 1.1 * across, 1.2 * side],
                [1.02 * up, 1.1 * up, place[1]],
                color="#b5b5b8",
                linewidth=0.8,
            )
            axes.text(*place, name, ha="left" if side > 0 else "right", va="center", fontsize=8.5)
    axes.set_ylim(-1.25, 1.25)


def _set_x_ticks(axes: Axes, data: ChartData) -> list[float]:
    """Set the ticks of the x axis, and return the position of each point on it."""
    if data.x_kind == "date":
        round_dates = _choose_date_ticks(data.x)
        tick_positions = [float(place) for place in date2num(round_dates)]  # type: ignore[no-untyped-call]
        axes.set_xticks(tick_positions, chart_labels.label_dates(round_dates))
        return [float(place) for place in date2num(list(data.x))]  # type: ignore[no-untyped-call]
    if data.x_kind == "number":
        are_whole_numbers = all(float(x).is_integer() for x in data.x)
        are_years = are_whole_numbers and all(1800 <= x <= 2200 for x in data.x)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=9, integer=are_whole_numbers, steps=[1, 2, 2.5, 5, 10]))
        largest = max((abs(x) for x in data.x), default=1.0)
        axes.xaxis.set_major_formatter(
            FuncFormatter(lambda value, _: f"{value:.0f}" if are_years else chart_labels.format_tick(value, largest))
        )
        return [float(x) for x in data.x]
    labels = _make_category_labels(data, horizontal=False)
    ticks = _choose_ticks(labels)
    axes.set_xticks(ticks, [labels[index] for index in ticks])
    return [float(index) for index in range(len(labels))]


def _choose_ticks(labels: list[str]) -> list[int]:
    """Return the indexes of the labels to show, at equal steps, so that they fit side by side."""
    longest = max(len(line) for label in labels for line in label.split("\n"))
    step = max(math.ceil(len(labels) / _MAX_TICKS), math.ceil(len(labels) * (longest + 3) / _LABEL_LETTERS_ACROSS))
    return list(range(0, len(labels), step))


def _choose_date_ticks(dates: Sequence[dt.datetime]) -> list[dt.datetime]:
    """Choose round dates (months, Mondays, hours) in the range, or the dates themselves if few and spread out."""
    own_dates = sorted(set(dates))
    gaps = [later - earlier for earlier, later in pairwise(own_dates)]
    if len(own_dates) <= _MAX_DATA_DATE_TICKS and all(
        gap * _MAX_DATA_DATE_TICKS > own_dates[-1] - own_dates[0] for gap in gaps
    ):
        return own_dates
    locator = AutoDateLocator(minticks=4, maxticks=9)  # type: ignore[no-untyped-call]
    values = locator.tick_values(own_dates[0], own_dates[-1])  # type: ignore[no-untyped-call]
    ticks = [num2date(value).replace(tzinfo=None) for value in values]  # type: ignore[no-untyped-call]
    return [tick for tick in ticks if own_dates[0] <= tick <= own_dates[-1]] or [own_dates[0], own_dates[-1]]


def _make_category_labels(data: ChartData, *, horizontal: bool) -> list[str]:
    if data.x_kind == "date":
        return chart_labels.label_dates(data.x)
    if data.x_kind == "number":
        return [chart_labels.format_category_number(x) for x in data.x]
    # A label is as wide as its place, but never too narrow to read: `_choose_ticks` leaves some out instead.
    width = 40 if horizontal else max(_NARROWEST_LABEL, min(24, _LABEL_LETTERS_ACROSS // max(len(data.x), 1) - 1))
    lines = (2 if len(data.x) <= _MAX_TWO_LINE_LABELS else 1) if horizontal else 3
    labels = [chart_labels.wrap_text(x, width, lines) for x in data.x]
    if len(set(labels)) == len(set(data.x)):
        return labels
    return [chart_labels.wrap_text(chart_labels.shorten_middle(x, lines * (width - 2)), width, lines) for x in data.x]


def _format_value_axis(axes: Axes, data: ChartData, *, horizontal: bool) -> None:
    axis, largest = axes.xaxis if horizontal else axes.yaxis, _find_largest_magnitude(data)
    # Whole numbers are mostly counts, so no tick stands at a half.
    are_whole_numbers = all(value is None or value.is_integer() for series in data.series for value in series.values)
    axis.set_major_locator(MaxNLocator(nbins=7, steps=[1, 2, 2.5, 5, 10], integer=are_whole_numbers))
    axis.set_major_formatter(FuncFormatter(lambda value, _: chart_labels.format_tick(value, largest)))


def _find_largest_magnitude(data: ChartData) -> float:
    low, high = _find_value_range(data)
    return max(abs(low), abs(high))


def _find_value_range(data: ChartData) -> tuple[float, float]:
    values = [value for series in data.series for value in series.values if value is not None]
    return min(values), max(values)
