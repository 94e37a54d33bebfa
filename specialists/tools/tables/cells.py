"""Converts the values of cells to JSON and back, between the child and the bot, and to text for people."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from typing import Any

MAX_CELL_CHARS = 500


def to_json_value(value: Any) -> str | int | float | bool | None:
    """Convert a value to one that JSON can hold. Dates, decimals and other types become text; long texts are cut."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return round_off_float(value)
    if isinstance(value, bytes | bytearray):
        return f"<{len(value):,} bytes>"
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    text = str(value)
    return text if len(text) <= MAX_CELL_CHARS else text[: MAX_CELL_CHARS - 1] + "…"


def round_off_float(value: float) -> float:
    """Round off the errors of binary fractions: 0.30000000000000004 becomes 0.3."""
    return float(f"{value:.14g}") if math.isfinite(value) else value


def restore_cell(value: Any, type_name: str) -> Any:
    """Restore the Python value of a cell that came through JSON, by its DuckDB type."""
    if not isinstance(value, str):
        return value
    if type_name == "DATE":
        return _parse_date(dt.date, value)
    if type_name.startswith("TIMESTAMP"):
        return _parse_date(dt.datetime, value)
    if type_name.startswith("DECIMAL"):
        return decimal.Decimal(value)
    return value


def _parse_date(kind: type[dt.date], value: str) -> Any:
    """Parse a date. A date outside of Python's calendar, which is narrower than DuckDB's, stays text."""
    try:
        return kind.fromisoformat(value)
    except ValueError:
        return value


def _round_number(value: float) -> str:
    """Round a number for people: two decimals from 1,000 on, four from 1 on, four significant digits below 1."""
    if not math.isfinite(value):
        return repr(value)
    size = abs(value)
    rounded_value = round(value, 2) if size >= 1000 else round(value, 4) if size >= 1 else float(f"{value:.4g}")
    return str(int(rounded_value)) if rounded_value.is_integer() and size < 2**53 else repr(rounded_value)


def format_cell(value: Any) -> str:
    """Format a cell as one line of text; numbers with a fraction are rounded."""
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return _round_number(value)
    text = str(to_json_value(value))
    return " ".join(text.split()) if "\n" in text or "\t" in text else text
