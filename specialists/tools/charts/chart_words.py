"""Words numbers, dates and names for a chart."""

from __future__ import annotations

import datetime as dt
import textwrap
import unicodedata
from collections.abc import Callable, Sequence

_STEPS = ((1e12, "T"), (1e9, "B"), (1e6, "M"))
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn"}


def format_tick(value: float, largest: float) -> str:
    """Word a number on an axis whose largest is `largest`: 12,000 or 1.2M, never 1.2e6."""
    if largest >= 1000 * _STEPS[0][0] or largest < 1e-4:
        return f"{value:.3g}"
    for size, letter in _STEPS:
        if largest >= size:
            text = f"{value / size:,.2f}".rstrip("0").rstrip(".").replace("-", "\N{MINUS SIGN}")
            return text + letter if value else "0"
    text = f"{value:,.6f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text.replace("-", "\N{MINUS SIGN}")


def format_label(value: float, largest: float, unit: str) -> str:
    """Word a number beside a bar or point: three or four digits that matter, with a percent sign if it is one."""
    ending = "%" if unit == "%" else ""
    if largest >= _STEPS[-1][0]:
        near = next(size for size, _ in _STEPS if largest >= size) / 100
        return (
            format_tick(value, largest) + ending
            if not value or abs(value) >= near
            else format_label(value, abs(value), unit)
        )
    digits = 0 if largest >= 1000 or float(value).is_integer() else 1 if largest >= 10 else 2
    if largest < 0.1:
        return f"{value:.3g}" + ending
    return f"{value:,.{digits}f}".replace("-", "\N{MINUS SIGN}") + ending


def share(value: float, whole: float) -> str:
    """Word a part in percent: 0% or 100% only if it is nothing or all."""
    if 0 < value < 0.005 * whole:
        return "<1%"
    if 0.995 * whole < value < whole:
        return ">99%"
    return f"{value / whole:.0%}"


def date_labels(dates: Sequence[dt.datetime]) -> list[str]:
    """Label each date with what changes from one to the next, and with the year when it begins."""
    monthly = all(date.day == 1 and not (date.hour or date.minute) for date in dates)
    yearly = monthly and all(date.month == 1 for date in dates) and len({date.year for date in dates}) == len(dates)
    if yearly and len(dates) > 1:
        return [f"{date.year}" for date in dates]
    with_time = any(date.hour or date.minute for date in dates)
    day = f"{'%b' if monthly else '%-d %b'}{' %H:%M' if with_time else ''}"
    labels = []
    for index, date in enumerate(dates):
        new_year = not index or date.year != dates[index - 1].year
        labels.append(date.strftime(day) + (f"\n{date.year}" if new_year else ""))
    return labels


def wrap_text(text: str, width: int, most_lines: int) -> str:
    """Wrap a text in lines of about `width` characters, cut with an ellipsis after `most_lines`."""
    lines = textwrap.wrap(text, width, break_long_words=True)
    if len(lines) > most_lines:
        lines = [*lines[: most_lines - 1], lines[most_lines - 1][: width - 1].rstrip() + "…"]
    return "\n".join(lines)


def shorten_middle(text: str, length: int) -> str:
    """Shorten a text to `length` characters, begin and end: what tells names apart may stand at either."""
    text = " ".join(text.split())
    return text if len(text) <= length else f"{text[: length // 2].rstrip()}…{text[-(length // 2 - 1) :].lstrip()}"


def column_label(name: str) -> str:
    """Turn a column's name into a label: churned_customers is Churned customers."""
    words = " ".join(name.replace("_", " ").split())
    return words[:1].upper() + words[1:]


def drop_unprintable(text: str, drawable: Callable[[str], bool]) -> tuple[str, bool]:
    """Take out of a text what no font can draw and nobody misses (emoji, control characters).

    The second value says whether letters remain that no font can draw.
    """
    kept, missing = [], False
    for letter in text:
        category = unicodedata.category(letter)
        if category in _INVISIBLE:
            kept.append(" " if letter in "\n\t" else "")
        elif drawable(letter):
            kept.append(letter)
        elif not category.startswith(("S", "M")):
            kept.append(letter)
            missing = True
    return " ".join("".join(kept).split()), missing
