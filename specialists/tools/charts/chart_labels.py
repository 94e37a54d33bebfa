"""Formats numbers, dates and names for a chart."""

from __future__ import annotations

import datetime as dt
import textwrap
import unicodedata
from collections.abc import Callable, Sequence

_MAGNITUDES = ((1e12, "T"), (1e9, "B"), (1e6, "M"))
_INVISIBLE_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn"}


def format_tick(value: float, largest: float) -> str:
    """Format a number for an axis with the largest magnitude `largest`: 12,000 or 1.2M; 1e-05 only at extremes."""
    if largest >= 1000 * _MAGNITUDES[0][0] or largest < 1e-4:
        return f"{value:.3g}"
    for size, letter in _MAGNITUDES:
        if largest >= size:
            text = f"{value / size:,.2f}".rstrip("0").rstrip(".").replace("-", "\N{MINUS SIGN}")
            return text + letter if value else "0"
    text = f"{value:,.6f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text.replace("-", "\N{MINUS SIGN}")


def format_label(value: float, largest: float, unit: str) -> str:
    """Format a number to stand beside a bar or point: a few significant digits, and a percent sign if `unit` is %."""
    ending = "%" if unit == "%" else ""
    if largest >= _MAGNITUDES[-1][0]:
        smallest_scaled = next(size for size, _ in _MAGNITUDES if largest >= size) / 100
        return (
            format_tick(value, largest) + ending
            if not value or abs(value) >= smallest_scaled
            else format_label(value, abs(value), unit)
        )
    digits = 0 if largest >= 1000 or float(value).is_integer() else 1 if largest >= 10 else 2
    if largest < 0.1:
        return f"{value:.3g}" + ending
    return f"{value:,.{digits}f}".replace("-", "\N{MINUS SIGN}") + ending


def format_category_number(value: float) -> str:
    """Format a number that names a category, with 15 digits, so that different numbers have different names."""
    return f"{value:.15g}"


def format_share(value: float, whole: float) -> str:
    """Format `value` as a percentage of `whole`: 0% only for 0, 100% only for `whole`; `<1%` and `>99%` beside them."""
    if 0 < value < 0.005 * whole:
        return "<1%"
    if 0.995 * whole < value < whole:
        return ">99%"
    return f"{value / whole:.0%}"


def label_dates(dates: Sequence[dt.datetime]) -> list[str]:
    """Label each date by year, month, day or time, as the dates need; the first one of a year also names the year."""
    monthly = all(date.day == 1 and not (date.hour or date.minute) for date in dates)
    yearly = monthly and all(date.month == 1 for date in dates) and len({date.year for date in dates}) == len(dates)
    if yearly and len(dates) > 1:
        return [f"{date.year}" for date in dates]
    with_time = any(date.hour or date.minute for date in dates)
    date_format = f"{'%b' if monthly else '%-d %b'}{' %H:%M' if with_time else ''}"
    labels = []
    for index, date in enumerate(dates):
        begins_year = not index or date.year != dates[index - 1].year
        labels.append(date.strftime(date_format) + (f"\n{date.year}" if begins_year else ""))
    return labels


def wrap_text(text: str, width: int, most_lines: int) -> str:
    """Wrap a text into lines of at most `width` characters; text beyond `most_lines` is replaced by an ellipsis."""
    lines = textwrap.wrap(text, width, break_long_words=True)
    if len(lines) > most_lines:
        lines = [*lines[: most_lines - 1], lines[most_lines - 1][: width - 1].rstrip() + "…"]
    return "\n".join(lines)


def shorten_middle(text: str, length: int) -> str:
    """Shorten a text to `length` characters by cutting out its middle, since names may differ at either end."""
    text = " ".join(text.split())
    return text if len(text) <= length else f"{text[: length // 2].rstrip()}…{text[-(length // 2 - 1) :].lstrip()}"


def label_column(name: str) -> str:
    """Turn a column's name into a label: churned_customers becomes Churned customers."""
    words = " ".join(name.replace("_", " ").split())
    return words[:1].upper() + words[1:]


def drop_unprintable(text: str, is_drawable: Callable[[str], bool]) -> tuple[str, bool]:
    """Remove control characters, and symbols that no font can draw (such as emoji), from a text.

    Returns the text, and whether letters remain that no font can draw.
    """
    kept_letters, has_missing_letters = [], False
    for letter in text:
        category = unicodedata.category(letter)
        if category in _INVISIBLE_CATEGORIES:
            kept_letters.append(" " if letter in "\n\t" else "")
        elif is_drawable(letter):
            kept_letters.append(letter)
        elif not category.startswith(("S", "M")):
            kept_letters.append(letter)
            has_missing_letters = True
    return " ".join("".join(kept_letters).split()), has_missing_letters
