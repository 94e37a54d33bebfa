"""Finds the type of a column of text, and the SQL that converts it.

A kind is guessed from a sample and then proved on every row; a column that has
exceptions stays text and says so, instead of losing them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

SYMBOLS = ("€", "$", "£", "¥", "%", "EUR", "USD", "GBP", "CHF")
NOTHINGS = ("na", "n/a", "#n/a", "null", "none", "nan", "-", "--", "\u2013", "?")
"""Words that people write into cells that they mean to leave empty, in lower case."""

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
    clocks = ", ".join(f"'{form} {clock}'" for clock in ("%I:%M %p", "%I:%M:%S %p", "%H:%M", "%H:%M:%S"))
    clock = r" \d{1,2}:\d{2}(:\d{2})?( [AaPp][Mm])?"
    return Kind(name, "times", pattern + clock, f"try_strptime({{x}}, [{clocks}])", fact)


_DMY_DOT, _SLASH = r"\d{1,2}\.\d{1,2}\.\d{4}", r"\d{1,2}/\d{1,2}/\d{4}"
_SHORT, _DASHES = r"\d{1,2}/\d{1,2}/\d{2}", r"\d{1,2}-\d{1,2}-\d{4}"
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
    r"[-+]?(0|[1-9]\d{0,2}(\.\d{3})+|[1-9]\d{0,17})(,\d+)?",
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
    _date("mdy2", _SHORT, "%m/%d/%y", _MONTH_FIRST),
    _date("dmy2", _SHORT, "%d/%m/%y", _DAY_FIRST),
    _date("ymd", r"\d{4}/\d{1,2}/\d{1,2}", "%Y/%m/%d"),
    _date("dashes", _DASHES, "%d-%m-%Y", "read as day-month-year"),
    _date("mdy dashes", _DASHES, "%m-%d-%Y", "read as month-day-year"),
    _date("month name", r"[A-Za-z]{3} \d{1,2}, \d{4}", "%b %d, %Y"),
    _date("day month", r"\d{1,2} [A-Za-z]{3} \d{4}", "%d %b %Y"),
    _date("whole month name", r"[A-Za-z]{3,9} \d{1,2}, \d{4}", "%B %d, %Y"),
    _date("day whole month", r"\d{1,2} [A-Za-z]{3,9} \d{4}", "%d %B %Y"),
    _date("day-month", r"\d{1,2}-[A-Za-z]{3}-\d{4}", "%d-%b-%Y"),
    _date("day-month2", r"\d{1,2}-[A-Za-z]{3}-\d{2}", "%d-%b-%y"),
    _time("dots time", _DMY_DOT, "%d.%m.%Y"),
    _time("mdy time", _SLASH, "%m/%d/%Y", _MONTH_FIRST),
    _time("dmy time", _SLASH, "%d/%m/%Y", _DAY_FIRST),
)
_COMPILED = {kind.name: re.compile(kind.pattern) for kind in KINDS}
TWINS = {"mdy": "dmy", "mdy2": "dmy2", "dashes": "mdy dashes", "mdy time": "dmy time"}
"""Kinds that the same text may be: both are tried on every row."""

NUMERIC = {"whole", "number", "english", "comma"}
"""The names of the kinds whose values may wear a `Dress`."""

_BELOW_ZERO = re.compile(r"\((.+)\)|(.*\d)-")
_GAPS = " '\u00a0\u2019\u202f"
_WITH_GAPS = rf"[-+]?[1-9]\d{{0,2}}([{_GAPS}]\d{{3}})+([.,]\d+)?"


@dataclass(frozen=True, slots=True)
class Dress:
    """Signs that people put around the numbers of a column, taken off in Python and in DuckDB alike.

    Attributes:
        symbol: The one currency or percent sign that most values carry.
        below_zero: Negative numbers are written as (5), as 5- or with a long minus.
        gaps: Spaces or apostrophes stand between thousands.
    """

    symbol: str = ""
    below_zero: bool = False
    gaps: bool = False

    def off(self, value: str) -> str:
        """Take the signs off a value; text that is no number comes back much as it was."""
        if self.below_zero:
            value = _BELOW_ZERO.sub(r"-\1\2", value).replace("\N{MINUS SIGN}", "-")
        if self.symbol:
            value = value.replace(self.symbol, "").strip()
        if self.gaps and re.fullmatch(_WITH_GAPS, value):
            value = re.sub(f"[{_GAPS}]", "", value)
        return value

    def sql(self, x: str) -> str:
        """Write the SQL that takes the signs off the text `x`."""
        if self.below_zero:
            x = f"replace(regexp_replace({x}, '^(?:{_BELOW_ZERO.pattern})$', '-\\1\\2'), '\N{MINUS SIGN}', '-')"
        if self.symbol:
            x = f"trim(replace({x}, '{self.symbol}', ''), ' ' || chr(160) || chr(8239))"
        if self.gaps:
            gaps, whole = (text.replace("'", "''") for text in (f"[{_GAPS}]", _WITH_GAPS))
            x = f"CASE WHEN regexp_full_match({x}, '{whole}') THEN regexp_replace({x}, '{gaps}', '', 'g') ELSE {x} END"
        return x

    @property
    def facts(self) -> list[str]:
        """List what people should know of the signs."""
        said = {f"{self.symbol} removed": self.symbol, "gaps between thousands": self.gaps}
        said["(5) or 5- read as -5"] = self.below_zero
        return [fact for fact, there in said.items() if there]


def dress_of(sample: Sequence[str]) -> Dress:
    """Find the signs that must come off before these values can be numbers."""
    below = any(_BELOW_ZERO.fullmatch(value) or value.startswith("\N{MINUS SIGN}") for value in sample)
    plain = [Dress(below_zero=True).off(value) for value in sample] if below else sample
    symbol = symbol_of(plain)
    bare = [Dress(symbol).off(value) for value in plain]
    return Dress(symbol, below, gaps=any(re.fullmatch(_WITH_GAPS, value) for value in bare))


def symbol_of(sample: Sequence[str]) -> str:
    """Find the one currency or percent sign that most values carry, or ""."""
    if sum(1 for value in sample if not (value[0].isdigit() and value[-1].isdigit())) <= _MOSTLY * len(sample):
        return ""
    for symbol in SYMBOLS:
        if sum(1 for value in sample if value.startswith(symbol) or value.endswith(symbol)) > _MOSTLY * len(sample):
            return symbol
    return ""


def candidates(sample: Sequence[str], *, commas: bool) -> list[Kind]:
    """List the kinds worth trying on all rows, best first. `commas`: the file writes decimals with a comma."""
    dress = dress_of(sample)
    bare = [dress.off(value) for value in sample]
    scored = []
    for order, kind in enumerate(KINDS):
        if dress.symbol and kind.name not in NUMERIC:
            continue
        values = bare if kind.name in NUMERIC else list(sample)
        fits = sum(1 for value in values if _COMPILED[kind.name].fullmatch(value))
        if fits and fits >= _MOSTLY * len(values):
            scored.append((-fits, _rank(kind, order, values, commas=commas), kind))
    return [kind for _, _, kind in sorted(scored, key=lambda each: each[:2])]


def _rank(kind: Kind, order: int, values: Sequence[str], *, commas: bool) -> int:
    """Rank kinds that fit equally well: plain numbers first, and commas as the file or the values have them."""
    if kind is WHOLE:
        return -2
    if kind is COMMA and (commas or any(re.search(r",\d{1,2}$|,\d{4,}$", value) for value in values)):
        return -1
    if commas and kind is NUMBER and all(re.fullmatch(r"[-+]?\d{1,3}\.\d{3}", value) for value in values):
        return len(KINDS)  # 1.234 in a file with decimal commas is a thousand and more
    return order


def writes_decimal_commas(samples: Sequence[Sequence[str]]) -> bool:
    """Say if some column can only be read as numbers with a decimal comma."""
    for sample in samples:
        dress = dress_of(sample)
        values = [dress.off(value) for value in sample]
        fits = sum(1 for value in values if re.fullmatch(r"[-+]?(\d{1,3}(\.\d{3})+|\d+),(\d{1,2}|\d{4,})", value))
        if values and fits >= _MOSTLY * len(values):
            return True
    return False


def either_way(kind: Kind, sample: Sequence[str]) -> str:
    """Give an example if every number may be a thousand times what it was read as, or a thousandth; else ""."""
    pattern = {NUMBER.name: r"[-+]?[1-9]\d{0,2}\.\d{3}", ENGLISH.name: r"[-+]?[1-9]\d{0,2},\d{3}"}.get(kind.name)
    if not pattern or not all(re.fullmatch(pattern, value) for value in sample):
        return ""
    plain, thousands = sample[0].replace(",", "."), re.sub("[.,]", "", sample[0])
    return f"'{sample[0]}' may be {plain} or {thousands}; read as {plain if kind is NUMBER else thousands}"
