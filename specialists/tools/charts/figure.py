"""Draws a chart with matplotlib: 1600 by 900 pixels, made to be read in a Slack thread."""

from __future__ import annotations

import io
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from specialists.tools.charts import chart_labels
from specialists.tools.charts.chart_data import ChartData
from specialists.tools.charts.plots import draw_data

_DPI = 200
_SIZE_INCHES = (8.0, 4.5)
_INK, _FAINT_INK, _GRID_COLOUR = "#1d1c1d", "#616061", "#e4e4e6"
_TITLE_WIDTH = 72
_NOTE_WIDTH = 120
_LABEL_WIDTH = 48
STYLE: dict[Any, Any] = {
    "text.parse_math": False,  # a dollar sign in the data does not begin a formula
    "font.size": 9,
    "text.color": _INK,
    "axes.labelcolor": _FAINT_INK,
    "axes.edgecolor": "#b5b5b8",
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "grid.color": _GRID_COLOUR,
    "grid.linewidth": 0.7,
    "xtick.color": "#b5b5b8",
    "ytick.color": "#b5b5b8",
    "xtick.labelcolor": _INK,
    "ytick.labelcolor": _INK,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "legend.handlelength": 1.2,
    "savefig.facecolor": "white",
}


def render_png(data: ChartData, *, title: str, x_label: str, y_label: str, unit: str, fonts: list[str]) -> bytes:
    """Draw the chart and return the bytes of its PNG. `fonts` are names of fonts, preferred first."""
    with rc_context(STYLE | {"font.family": fonts}):
        figure = Figure(figsize=_SIZE_INCHES, dpi=_DPI, layout="constrained")
        FigureCanvasAgg(figure)
        axes: Axes = figure.add_subplot()
        draw_data(axes, data, unit)
        _draw_legend(axes, data)
        if data.kind != "pie":
            _set_axis_labels(axes, data, x_label, y_label, unit)
        _draw_title_and_notes(figure, title, data.notes)
        target = io.BytesIO()
        figure.savefig(target, format="png", dpi=_DPI)
    return target.getvalue()


def _set_axis_labels(axes: Axes, data: ChartData, x_label: str, y_label: str, unit: str) -> None:
    value = y_label or (chart_labels.label_column(data.series[0].name) if len(data.series) == 1 else "")
    if unit and unit.casefold() not in value.casefold():
        value = f"{value} ({unit})" if value else unit
    value, x_text = chart_labels.wrap_text(value, _LABEL_WIDTH, 2), chart_labels.wrap_text(x_label, 2 * _LABEL_WIDTH, 1)
    label_options: dict[str, Any] = {"labelpad": 6}
    if data.kind == "barh":
        axes.set_xlabel(value, **label_options)
        axes.set_ylabel(chart_labels.wrap_text(x_label, _LABEL_WIDTH, 2), **label_options)
    else:
        axes.set_xlabel(x_text, **label_options)
        axes.set_ylabel(value, **label_options)


def _draw_legend(axes: Axes, data: ChartData) -> None:
    """Draw a legend above the plot if there are several series and the plot does not name them itself."""
    handles, labels = axes.get_legend_handles_labels()
    if data.kind == "pie" or len(data.series) == 1 or len(labels) < len(data.series):
        return
    names = [chart_labels.wrap_text(label, 24, 1) for label in labels]
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1.0), "borderaxespad": 0.4}
    axes.legend(handles, names, ncols=min(len(names), 4), **place)


def _draw_title_and_notes(figure: Figure, title: str, notes: tuple[str, ...]) -> None:
    """Draw the title above and the notes below the area that matplotlib lays out."""
    heading = chart_labels.wrap_text(title, _TITLE_WIDTH, 3)
    top = 0.015 + 0.058 * (heading.count("\n") + 1) if heading else 0.02
    footer = "; ".join(notes)
    footer = chart_labels.wrap_text(footer[:1].upper() + footer[1:], _NOTE_WIDTH, 2)
    bottom = 0.02 + 0.04 * (footer.count("\n") + 1) if footer else 0.015
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.set(rect=(0.012, bottom, 0.976, 1 - top - bottom - 0.01))  # type: ignore[call-arg]
    figure.text(
        0.02, 0.975, heading, ha="left", va="top", fontsize=12.5, fontweight="bold", linespacing=1.2
    ).set_in_layout(False)
    figure.text(0.02, 0.018, footer, ha="left", va="bottom", fontsize=7.5, color=_FAINT_INK).set_in_layout(False)
