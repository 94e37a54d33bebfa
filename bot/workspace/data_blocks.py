"""The blocks `data_table` and `data_visualization`, as Slack and its client libraries describe their limits."""

from collections.abc import Mapping
from typing import Any

from bot.workspace.elements import RICH_TEXT
from bot.workspace.schema import (
    Check,
    Complaints,
    add_complaint,
    by_type,
    check_number,
    fields,
    items,
    string,
    typed_fields,
)

MAX_TABLE_ROWS = 101
"""Most rows of a table, its heading included."""
MAX_TABLE_COLUMNS = 20
MAX_CHARTS = 2
"""Most charts in one message."""
MAX_SEGMENTS = MAX_SERIES = 12
MAX_CATEGORIES = 20
MAX_TITLE_CHARS = 50
MAX_LABEL_CHARS = 20

LABEL = string(MAX_LABEL_CHARS, min_length=1)
TEXT = string(min_length=1)
HEADING_CELL = by_type(
    lambda: {
        "raw_text": typed_fields({"text": string(min_length=1)}),
        "raw_number": typed_fields({"value": check_number, "text": TEXT}),
    }
)
DATA_CELL = by_type(
    lambda: {
        "raw_text": typed_fields({"text": string(min_length=1)}),
        "raw_number": typed_fields({"value": check_number, "text": TEXT}),
        "rich_text": RICH_TEXT,
    }
)


def _make_range_check(most: int, *, least: int = 0) -> Check:
    def check(value: Any, pointer: str, complaints: Complaints) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            add_complaint(complaints, f"must be a number from {least} to {most}", pointer)

    return check


def _check_positive(value: Any, pointer: str, complaints: Complaints) -> None:
    _check_figure(value, pointer, complaints)
    if isinstance(value, int | float) and value <= 0:
        add_complaint(complaints, "must be more than 0", pointer)


def _check_figure(value: Any, pointer: str, complaints: Complaints) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        add_complaint(complaints, "must be a number", pointer)


_TABLE = typed_fields(
    {"caption": string(min_length=1), "rows": items(items(DATA_CELL, MAX_TABLE_COLUMNS), MAX_TABLE_ROWS, min_items=2)},
    {
        "block_id": string(255),
        "page_size": _make_range_check(100, least=1),
        "row_header_column_index": _make_range_check(MAX_TABLE_COLUMNS - 1),
    },
)


def check_data_table(value: Any, pointer: str, complaints: Complaints) -> None:
    """Check a `data_table` block: all rows must have the same length, and no heading may be rich text."""
    before = len(complaints)
    _TABLE(value, pointer, complaints)
    if len(complaints) > before:
        return
    heading, *rows = value["rows"]
    items(HEADING_CELL, MAX_TABLE_COLUMNS)(heading, f"{pointer}/rows/0", complaints)
    for index, row in enumerate(rows, 1):
        if len(row) != len(heading):
            add_complaint(complaints, "all rows must have the same number of cells", f"{pointer}/rows/{index}")


POINT = fields({"label": LABEL, "value": _check_figure})
SERIES = fields({"name": LABEL, "data": items(POINT, MAX_CATEGORIES)})
AXES = fields(
    {"categories": items(LABEL, MAX_CATEGORIES)},
    {"x_label": string(MAX_TITLE_CHARS), "y_label": string(MAX_TITLE_CHARS)},
)
_PLOT = typed_fields({"series": items(SERIES, MAX_SERIES), "axis_config": AXES})
CHART: Mapping[str, Check] = {
    "pie": typed_fields({"segments": items(fields({"label": LABEL, "value": _check_positive}), MAX_SEGMENTS)}),
    "bar": _PLOT,
    "line": _PLOT,
    "area": _PLOT,
}
_VISUALIZATION = typed_fields(
    {"title": string(MAX_TITLE_CHARS, min_length=1), "chart": by_type(lambda: CHART)}, {"block_id": string(255)}
)


def check_data_visualization(value: Any, pointer: str, complaints: Complaints) -> None:
    """Check a `data_visualization` block: series must have unique names, and one point for each category."""
    before = len(complaints)
    _VISUALIZATION(value, pointer, complaints)
    if len(complaints) > before or "series" not in value["chart"]:
        return
    chart = value["chart"]
    categories, names = chart["axis_config"]["categories"], [one["name"] for one in chart["series"]]
    if len(set(names)) < len(names):
        add_complaint(complaints, "series must have unique names", f"{pointer}/chart/series")
    if len(set(categories)) < len(categories):
        add_complaint(complaints, "categories must be unique", f"{pointer}/chart/axis_config/categories")
    for index, one in enumerate(chart["series"]):
        if sorted(point["label"] for point in one["data"]) != sorted(categories):
            add_complaint(complaints, "exactly one point for each category", f"{pointer}/chart/series/{index}/data")
