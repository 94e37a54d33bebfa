"""Which type the text of a column is: what it looks like, and the SQL that converts it.

A kind is guessed from a sample and then proved on every row; a column that has
exceptions stays text and says so, instead of losing them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

SYMBOLS = ("€", "$", "£", "¥", "%", "EUR", "USD", "GBP", "CHF")
NOTHINGS = ("na", "n/a", "#n/a", "null", "none", "nan", "-", "--", "\u2013", "?")
"""What people write into cells that they mean to leave empty, in lower case."""

_MOSTLY = 0.6


@dataclass(frozen=True, slots=True)
class Kind:
    """`pattern` is for Python and DuckDB alike; `sql` converts `{x}`, the trimmed text, or gives NULL."""

    name: str
    words: str
    pattern: str
    sql: str
    fact: str = ""


def _date(name: str, pattern: str, form: str, fact: str = "") -> Kind:
    return Kind(name, "dates", pattern, f"try_strptime({{x}}, '{form}')::DATE", fact)


def _time(name: str, pattern: str, form: str, fact: str = "") -> Kind:
    forms = f"['{form} %H:%M', '{form} %H:%M:%S']"
    return Kind(name, "times", pattern + r" \d{1,2}:\d{2}(:\d{2})?", f"try_strptime({{x}}, {forms})", fact)


_DMY_DOT, _SLASH = r"\d{1,2}\.\d{1,2}\.\d{4}", r"\d{1,2}/\d{1,2}/\d{4}"
_ISO = r"\d{4}-\d{2}-\d{2}"
_CLOCK = r"[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?"
_MONTH_FIRST, _DAY_FIRST = "read as month/day/year", "read as day/month/year"

TRUTH = Kind("truth", "true or false", r"(?i:true|false)", "TRY_CAST(lower({x}) AS BOOLEAN)")
WHOLE = Kind("whole", "whole numbers", r"[-+]?(0|[1-9]\d{0,17})", "TRY_CAST({x} AS BIGINT)")
NUMBER = Kind(
    "number",
    "numbers",
    r"[-+]?((0|[1-9]\d{0,17})(\.\d*)?|\.\d+)([eE][-+]?\d{1,3})?",
    "TRY_CAST({x} AS DOUBLE)",
)
ENGLISH = Kind(
    "english",
    "numbers",
    r"[-+]?(0|[1-9]\d{0,2}(,\d{3})+|[1-9]\d{0,2})(\.\d+)?",
    "TRY_CAST(replace({x}, ',', '') AS DOUBLE)",
    "commas between thousands",
)
COMMA = Kind(
    "comma",
    "numbers",
    r"[-+]?(0|[1-9]\d{0,2}(\.\d{3})+|[1-9]\d*)(,\d+)?",
    "TRY_CAST(replace(replace({x}, '.', ''), ',', '.') AS DOUBLE)",
    "decimal commas",
)
MOMENT = Kind("moment", "times", f"{_ISO}({_CLOCK})?", "TRY_CAST({x} AS TIMESTAMP)")
ZONED = Kind(
    "zoned",
    "times",
    f"{_ISO}{_CLOCK}(Z|[-+]\\d{{2}}(:?\\d{{2}})?)",
    "TRY_CAST({x} AS TIMESTAMPTZ) AT TIME ZONE 'UTC'",
    "times in UTC",
)
KINDS: tuple[Kind, ...] = (
    TRUTH,
    WHOLE,
    NUMBER,
    ENGLISH,
    COMMA,
    Kind("iso", "dates", _ISO, "TRY_CAST({x} AS DATE)"),
    MOMENT,
    ZONED,
    _date("dots", _DMY_DOT, "%d.%m.%Y"),
    _date("dots2", r"\d{1,2}\.\d{1,2}\.\d{2}", "%d.%m.%y"),
    _date("mdy", _SLASH, "%m/%d/%Y", _MONTH_FIRST),
    _date("dmy", _SLASH, "%d/%m/%Y", _DAY_FIRST),
    _date("mdy2", r"\d{1,2}/\d{1,2}/\d{2}", "%m/%d/%y", _MONTH_FIRST),
    _date("ymd", r"\d{4}/\d{1,2}/\d{1,2}", "%Y/%m/%d"),
    _date("dashes", r"\d{1,2}-\d{1,2}-\d{4}", "%d-%m-%Y", "read as day-month-year"),
    _date("month name", r"[A-Za-z]{3} \d{1,2}, \d{4}", "%b %d, %Y"),
    _date("day month", r"\d{1,2} [A-Za-z]{3} \d{4}", "%d %b %Y"),
    _time("dots time", _DMY_DOT, "%d.%m.%Y"),
    _time("mdy time", _SLASH, "%m/%d/%Y", _MONTH_FIRST),
    _time("dmy time", _SLASH, "%d/%m/%Y", _DAY_FIRST),
)
_COMPILED = {kind.name: re.compile(kind.pattern) for kind in KINDS}
TWINS = {"mdy": "dmy", "mdy time": "dmy time"}
"""Kinds that the same text may be: both are tried on every row."""

_NUMERIC = {"whole", "number", "english", "comma"}


def symbol_of(sample: Sequence[str]) -> str:
    """The one currency or percent sign that most values carry, or ""."""
    if sum(1 for value in sample if not (value[0].isdigit() and value[-1].isdigit())) <= _MOSTLY * len(sample):
        return ""
    for symbol in SYMBOLS:
        if sum(1 for value in sample if value.startswith(symbol) or value.endswith(symbol)) > _MOSTLY * len(sample):
            return symbol
    return ""


def candidates(sample: Sequence[str], *, commas: bool) -> list[Kind]:
    """The kinds worth trying on all rows, best first. `commas`: the file writes decimals with a comma."""
    symbol = symbol_of(sample)
    values = [value.replace(symbol, "").strip() for value in sample] if symbol else list(sample)
    scored = []
    for order, kind in enumerate(KINDS):
        if symbol and kind.name not in _NUMERIC:
            continue
        fits = sum(1 for value in values if _COMPILED[kind.name].fullmatch(value))
        if fits and fits >= _MOSTLY * len(values):
            scored.append((-fits, _rank(kind, order, values, commas=commas), kind))
    return [kind for _, _, kind in sorted(scored, key=lambda each: each[:2])]


def _rank(kind: Kind, order: int, values: Sequence[str], *, commas: bool) -> int:
    """Between kinds that fit as well: plain numbers first, and commas as the file or the values have them."""
    if kind is COMMA and (commas or any(re.search(r",\d{1,2}$|,\d{4,}$", value) for value in values)):
        return -1
    if commas and kind is NUMBER and all(re.fullmatch(r"[-+]?\d{1,3}\.\d{3}", value) for value in values):
        return len(KINDS)  # 1.234 in a file with decimal commas is a thousand and more
    return order


def writes_decimal_commas(samples: Sequence[Sequence[str]]) -> bool:
    """Whether some column can only be read as numbers with a decimal comma."""
    for sample in samples:
        symbol = symbol_of(sample)
        values = [value.replace(symbol, "").strip() for value in sample] if symbol else sample
        fits = sum(1 for value in values if re.fullmatch(r"[-+]?(\d{1,3}(\.\d{3})+|\d+),(\d{1,2}|\d{4,})", value))
        if values and fits >= _MOSTLY * len(values):
            return True
    return False
