"""What a chart shows, in numbers, for places that draw charts themselves."""

from __future__ import annotations

from handoff.contracts import ChartSeries, ChartShape
from specialists.tools.charts.chart_data import ChartData


def chart_shape(data: ChartData, title: str, x_label: str, y_label: str, unit: str) -> ChartShape | None:
    """Return the shape of a chart; None for points on a plane, and where values are missing: they are no zeros."""
    if data.kind == "scatter" or any(value is None for one in data.series for value in one.values):
        return None
    return ChartShape(
        kind="bar" if data.kind == "barh" else data.kind,
        title=title,
        categories=tuple(_name_category(data, x) for x in data.x),
        series=tuple(ChartSeries(name=one.name, values=_drop_missing(one.values)) for one in data.series),
        x_label="" if data.kind == "pie" else x_label,
        y_label=f"{y_label} ({unit})" if y_label and unit and unit not in y_label else y_label or unit,
        notes=data.notes,
    )


def _drop_missing(values: tuple[float | None, ...]) -> tuple[float, ...]:
    return tuple(value for value in values if value is not None)


def _name_category(data: ChartData, x: object) -> str:
    """Name a category: a month where all are first days of months, else a day, with the time where there is one."""
    if data.x_kind == "text":
        return str(x)
    if data.x_kind == "number":
        return f"{x:g}"
    if all(one.day == 1 and not (one.hour or one.minute) for one in data.x):
        return f"{x:%Y-%m}"
    midnight = all(not (one.hour or one.minute) for one in data.x)
    return f"{x:%Y-%m-%d}" if midnight else f"{x:%Y-%m-%d %H:%M}"
