"""The tool `draw_chart`: charts of attached tables. The numbers come from SQL, so no model retypes them."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from handoff.contracts import ChartSeries, ChartShape
from specialists.formats.table_detection import TABLE_TOOL_SUFFIXES
from specialists.sandbox.child_process import BUSY_MESSAGE, UNSANDBOXED_MESSAGE, ChildInputs, ChildLimits, run_child
from specialists.tools.charts.chart_data import ChartData, ChartKind, ChartRefused, Series, make_chart_data
from specialists.tools.charts.chart_labels import format_category_number, label_column
from specialists.tools.tables.cells import format_cell
from specialists.tools.tables.table_tools import QueryFailed, QueryResult, run_query
from specialists.tools.tool import Tool, ToolOutcome, Workbench

_DRAWING_SECONDS = 60.0
_LIMITS = ChildLimits(memory_mb=2000, cpu_seconds=40, file_mb=16)
_FONT_LIST_PATTERN = "fontlist-*.json"
_LARGEST_PNG_BYTES = 8 * 1024 * 1024
_MAX_ROWS = 5000
_MAX_POINTS_LISTED = 60
_FAILURE_TEXTS = {
    "time": "Drawing took too long and was stopped.",
    "cpu": "Drawing took too much processor time and was stopped.",
    "busy": BUSY_MESSAGE,
    "unwalled": UNSANDBOXED_MESSAGE,
    "crash": "Drawing failed. Try another kind of chart, or fewer rows.",
    "too_much": "The picture became too large.",
}


class DrawChartArguments(BaseModel):
    """The arguments of `draw_chart`."""

    model_config = ConfigDict(extra="forbid")
    title: str
    kind: ChartKind
    sql: str = Field(description="DuckDB SELECT")
    x: str = Field(description="column")
    y: list[str] = Field(description="numeric columns", min_length=1)
    x_label: str = ""
    y_label: str = ""
    unit: str = Field("", description="of y: EUR, %")


def tools() -> tuple[Tool, ...]:
    """Return the chart tools."""
    return (Tool("draw_chart", "read", DrawChartArguments, draw_chart, endings=TABLE_TOOL_SUFFIXES, query="sql"),)


async def draw_chart(arguments: DrawChartArguments, workbench: Workbench) -> ToolOutcome:
    """Draw rows of a SELECT over the attached tables as a picture that is posted in the thread.

    One row per x. Several lines: several y, or one more text column.
    """
    try:
        rows = await run_query(arguments.sql, workbench, most=_MAX_ROWS)
        data = make_chart_data(arguments.kind, rows.columns, rows.rows, arguments.x, arguments.y)
        if rows.rows_before_limit is not None:
            data = replace(
                data, notes=(*data.notes, f"{len(rows.rows):,} of {rows.rows_before_limit:,} rows of the query")
            )
        picture, lacks_glyphs = await _draw_png(arguments, data)
    except (QueryFailed, ChartRefused) as failure:
        return ToolOutcome(str(failure), failed=True)
    shape = make_chart_shape(
        data, arguments.title, arguments.x_label or label_column(arguments.x), arguments.y_label, arguments.unit
    )
    artifact = await workbench.keep(
        _make_file_name(arguments.title),
        picture,
        media_type="image/png",
        publish_as="file",
        about=arguments.title,
        chart=shape,
    )
    gaps = rows.gaps + _describe_cut_rows(rows)
    if lacks_glyphs:
        gaps += (f"{artifact.name}: this computer has no font for some letters in it, they show as boxes",)
    return ToolOutcome(
        _describe_chart(arguments, data, artifact.name), (artifact,), gaps, rows.sources, notes=rows.notes
    )


def _describe_cut_rows(rows: QueryResult) -> tuple[str, ...]:
    if rows.row_count == len(rows.rows):
        return ()
    return (f"the chart shows the first {len(rows.rows):,} rows only: aggregate in SQL",)


async def _draw_png(arguments: DrawChartArguments, data: ChartData) -> tuple[bytes, bool]:
    """Draw the chart in a child process. Return the PNG, and whether some letters lack a font.

    Raises `ChartRefused`.
    """
    request: dict[str, Any] = {
        "kind": data.kind,
        "x_kind": data.x_kind,
        "x": [x.isoformat() if data.x_kind == "date" else x for x in data.x],
        "series": [[series.name, series.values] for series in data.series],
        "notes": data.notes,
        "title": arguments.title,
        "x_label": arguments.x_label or label_column(arguments.x),
        "y_label": arguments.y_label,
        "unit": arguments.unit,
    }
    reply = await run_child(
        "specialists.tools.charts.chart_child",
        request,
        limits=_LIMITS,
        timeout_seconds=_DRAWING_SECONDS,
        max_reply_bytes=_LARGEST_PNG_BYTES,
        inputs=await make_font_inputs(),
    )
    if reply.failure:
        raise ChartRefused(_FAILURE_TEXTS[reply.failure])
    head, _, picture = reply.output.partition(b"\n")
    answer = json.loads(head)
    if "error" in answer:
        raise ChartRefused(answer["error"])
    return picture, bool(answer["unseen"])


async def make_font_inputs(*readable_paths: Path) -> ChildInputs:
    """Return the inputs of a child process that draws with matplotlib: its list of fonts, and `readable_paths`."""
    fonts = await _prepare_font_folder()
    return (
        ChildInputs(readable_paths=[fonts, *readable_paths], environment=_make_matplotlib_environment(fonts))
        if fonts
        else ChildInputs(readable_paths=list(readable_paths))
    )


async def _prepare_font_folder() -> Path | None:
    """Return the folder with matplotlib's list of fonts, made at first use (seconds); None if it cannot be made."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = home / "leadhand" / "matplotlib"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        has_font_list = any(folder.glob(_FONT_LIST_PATTERN))
    except OSError:
        return None
    if not has_font_list:  # a process that draws may not write there
        await run_child(
            "specialists.tools.charts.font_list",
            {},
            limits=_LIMITS,
            timeout_seconds=_DRAWING_SECONDS,
            max_reply_bytes=1,
            inputs=ChildInputs(writable_paths=[folder], environment=_make_matplotlib_environment(folder)),
        )
    return folder


def _make_matplotlib_environment(folder: Path) -> dict[str, str]:
    return {"MPLCONFIGDIR": str(folder)}


def _make_file_name(title: str) -> str:
    words = re.sub(r"\W+", "-", title.casefold()).strip("-")[:60].strip("-")
    return f"{words or 'chart'}.png"


def _describe_chart(arguments: DrawChartArguments, data: ChartData, name: str) -> str:
    """Describe the picture and its numbers for the model; only the range of each series if there are many points."""
    turned_note = " (horizontal, because of the labels)" if data.kind != arguments.kind else ""
    unit = f" in {arguments.unit}" if arguments.unit else ""
    lines = [f"{name} is kept and will be posted: a {data.kind} chart{turned_note} of {len(data.x)} values of x{unit}."]
    lines += [_describe_numbers(data, series) for series in data.series]
    lines += [f"Note in the picture: {note}" for note in data.notes]
    return "\n".join(lines)


def _describe_numbers(data: ChartData, series: Series) -> str:
    pairs = list(zip(data.x, series.values, strict=True))
    if len(pairs) * len(data.series) <= _MAX_POINTS_LISTED:
        return f"{series.name}: " + ", ".join(f"{_format_x(data, x)} {format_cell(value)}" for x, value in pairs)
    present_points = [(value, x) for x, value in pairs if value is not None]
    if not present_points:
        return f"{series.name}: no values"
    (low, low_at), (high, high_at) = (
        min(present_points, key=lambda each: each[0]),
        max(present_points, key=lambda each: each[0]),
    )
    return (
        f"{series.name}: {len(present_points)} values, first {_format_x(data, present_points[0][1])} "
        f"{format_cell(present_points[0][0])}, "
        f"last {_format_x(data, present_points[-1][1])} {format_cell(present_points[-1][0])}, "
        f"lowest {_format_x(data, low_at)} {format_cell(low)}, highest {_format_x(data, high_at)} {format_cell(high)}"
    )


def _format_x(data: ChartData, value: Any) -> str:
    if data.x_kind != "date":
        return format_cell(value)
    return f"{value:%Y-%m-%d}" if not (value.hour or value.minute) else f"{value:%Y-%m-%d %H:%M}"


def make_chart_shape(data: ChartData, title: str, x_label: str, y_label: str, unit: str) -> ChartShape | None:
    """Make the form of a chart that Slack can draw; None for a scatter chart, or if a value is missing."""
    if data.kind == "scatter" or any(value is None for one in data.series for value in one.values):
        return None
    return ChartShape(
        kind="bar" if data.kind == "barh" else data.kind,
        title=title,
        categories=tuple(_format_category(data, x) for x in data.x),
        series=tuple(ChartSeries(name=one.name, values=_drop_missing(one.values)) for one in data.series),
        x_label="" if data.kind == "pie" else x_label,
        y_label=f"{y_label} ({unit})" if y_label and unit and unit not in y_label else y_label or unit,
        notes=data.notes,
    )


def _drop_missing(values: tuple[float | None, ...]) -> tuple[float, ...]:
    return tuple(value for value in values if value is not None)


def _format_category(data: ChartData, x: Any) -> str:
    """Format a category. Dates become months if all are firsts of a month, else days, with times if there are any."""
    if data.x_kind == "text":
        return str(x)
    if data.x_kind == "number":
        return format_category_number(x)
    if all(one.day == 1 and not (one.hour or one.minute) for one in data.x):
        return f"{x:%Y-%m}"
    midnight = all(not (one.hour or one.minute) for one in data.x)
    return f"{x:%Y-%m-%d}" if midnight else f"{x:%Y-%m-%d %H:%M}"
