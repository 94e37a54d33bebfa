"""The signs that people put around numbers: currencies, percent, brackets, and gaps between thousands."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass

UNITS = (
    *("US$", "CA$", "HK$", "NT$", "A$", "R$", "S$", "€", "$", "£", "¥", "₹", "₽", "₺", "₩", "₪", "₴", "฿", "₫", "₱"),
    *("%", "‰", "Rs.", "Rs", "元", "円", "원"),
    *("EUR", "USD", "GBP", "CHF", "JPY", "SEK", "NOK", "DKK", "PLN", "CZK", "CAD", "AUD", "INR", "CNY", "RMB", "HUF"),
    *("Euro", "Fr.", "kr", "zł", "Kč", "Ft"),
    *("kg", "km", "cm", "mm", "kWh", "MWh", "MB", "GB", "TB", "ms", "h", "°C"),
    *("pcs", "Stk.", "Stück"),
)
"""Units that may stand before or after a number. A unit that contains a shorter one comes before it."""

SHARE_SIGNS = ("%", "‰")
_MINUS_SIGNS = "\N{MINUS SIGN}\N{EN DASH}\N{FIGURE DASH}\N{HYPHEN}\N{NON-BREAKING HYPHEN}"
"""Signs other than a hyphen that stand for minus before a number."""
_INVISIBLE_CHARACTERS = (
    "\u00ad\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"
)
_THOUSANDS_GAPS = " '\u00a0\u2019\u202f\u2009\u2007"
_BLANK = "[ \u00a0\u202f\u2009\u2007\t]"
_FOREIGN_DIGITS = {
    letter: str(digit)
    for zero in (0xFF10, 0x0660, 0x06F0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66, 0x0E50)
    for digit, letter in enumerate(map(chr, range(zero, zero + 10)))
}
_FOREIGN_MARKS = dict(
    zip("\uff0c\uff0e\uff0d\uff0b\uff05\uff04\uffe5\uff08\uff09\uff0f\u066b\u066c\u066a", ",.-+%$¥()/.,%", strict=True)
)
_ASCII_TRANSLATION = {
    ord(letter): plain
    for letter, plain in {**_FOREIGN_DIGITS, **_FOREIGN_MARKS, **dict.fromkeys(_INVISIBLE_CHARACTERS, "")}.items()
}
_NUMBER_WITH_GAPS = rf"[-+]?[1-9]\d{{0,2}}([{_THOUSANDS_GAPS}]\d{{3}})+([.,]\d+)?"
_NEGATIVE_IN_BRACKETS = re.compile(r"\((.+)\)|(.*\d)-")
_LEADING_BLANK, _TRAILING_BLANK = rf"^([-+(]*){_BLANK}+", rf"{_BLANK}+([-)]?)$"


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """Signs that people put around the numbers of a column; they are removed alike in Python and in DuckDB.

    Attributes:
        unit: The one currency, percent sign or unit of the values; "" for none.
        has_odd_negatives: True if negative numbers are written as (5), as 5- or with a long minus.
        has_gaps: True if spaces or apostrophes stand between thousands.
    """

    unit: str = ""
    has_odd_negatives: bool = False
    has_gaps: bool = False

    def strip_signs(self, value: str) -> str:
        """Remove the signs from a value. From text that is no number, the unit is removed, too."""
        value = to_ascii_digits(value)
        if self.unit:
            value = re.sub(_TRAILING_BLANK, r"\1", re.sub(_LEADING_BLANK, r"\1", value.replace(self.unit, "")))
        if self.has_odd_negatives:
            match = _NEGATIVE_IN_BRACKETS.fullmatch(value)
            value = f"-{match[1] or match[2]}" if match else value
            value = f"-{value[1:]}" if value[:1] in _MINUS_SIGNS and value else value
        if self.has_gaps and re.fullmatch(_NUMBER_WITH_GAPS, value):
            value = re.sub(f"[{_THOUSANDS_GAPS}]", "", value)
        return value

    def write_strip_sql(self, x: str) -> str:
        """Return the SQL that removes the signs from the SQL text expression `x`."""
        if self.unit:
            x = f"replace({x}, '{self.unit}', '')"
            for pattern in (_LEADING_BLANK, _TRAILING_BLANK):
                x = f"regexp_replace({x}, '{pattern}', '\\1')"
        if self.has_odd_negatives:
            x = (
                f"regexp_replace(regexp_replace({x}, '^(?:{_NEGATIVE_IN_BRACKETS.pattern})$', '-\\1\\2'), "
                f"'^[{_MINUS_SIGNS}]', '-')"
            )
        if self.has_gaps:
            gaps, whole = (text.replace("'", "''") for text in (f"[{_THOUSANDS_GAPS}]", _NUMBER_WITH_GAPS))
            x = f"CASE WHEN regexp_full_match({x}, '{whole}') THEN regexp_replace({x}, '{gaps}', '', 'g') ELSE {x} END"
        return x

    @property
    def facts(self) -> list[str]:
        """The removed signs, in words for people."""
        is_applied = {f"{self.unit} removed": self.unit, "gaps between thousands": self.has_gaps}
        is_applied["(5) or 5- read as -5"] = self.has_odd_negatives
        return [fact for fact, there in is_applied.items() if there]


def to_ascii_digits(value: str) -> str:
    """Replace full-width, Arabic and Indian digits and number marks by ASCII, and remove invisible characters."""
    return value if value.isascii() else value.translate(_ASCII_TRANSLATION)


def has_invisible_characters(value: str) -> bool:
    """Return True if a value holds invisible characters, such as marks of the direction of writing."""
    return not value.isascii() and not set(value).isdisjoint(_INVISIBLE_CHARACTERS)


def write_ascii_digits_sql(x: str) -> str:
    """Return the SQL that does to the SQL text expression `x` what `to_ascii_digits` does to a value."""
    letters, plain = ("".join(each) for each in zip(*{**_FOREIGN_DIGITS, **_FOREIGN_MARKS}.items(), strict=True))
    return f"translate({x}, '{letters}{_INVISIBLE_CHARACTERS}', '{plain}')"


def detect_number_format(sample: Sequence[str]) -> NumberFormat:
    """Find the signs that have to be removed before these values are numbers. Units are not removed if they differ."""
    sample = [to_ascii_digits(value) for value in sample]
    units = list_units(sample)
    symbol = units[0] if len(units) == 1 else ""
    bare_values = [NumberFormat(symbol).strip_signs(value) for value in sample]
    has_odd_negatives = any(
        _NEGATIVE_IN_BRACKETS.fullmatch(value) or value.startswith(tuple(_MINUS_SIGNS)) for value in bare_values
    )
    plain = (
        [NumberFormat(has_odd_negatives=True).strip_signs(value) for value in bare_values]
        if has_odd_negatives
        else bare_values
    )
    return NumberFormat(
        symbol, has_odd_negatives, has_gaps=any(re.fullmatch(_NUMBER_WITH_GAPS, value) for value in plain)
    )


def list_units(sample: Sequence[str]) -> list[str]:
    """List the units of the numbers among these values, the most frequent first."""
    counts: dict[str, int] = {}
    for value in sample:
        if value[0].isdigit() and value[-1].isdigit():
            continue
        unit = next(
            (symbol for symbol in UNITS if symbol in value and _compile_unit_pattern(symbol).fullmatch(value)), ""
        )
        if unit:
            counts[unit] = counts.get(unit, 0) + 1
    return sorted(counts, key=lambda symbol: -counts[symbol])


@functools.cache
def _compile_unit_pattern(unit: str) -> re.Pattern[str]:
    """Compile the pattern of a number with a symbol; on demand, as a table uses few of the symbols."""
    sign = re.escape(unit)
    return re.compile(
        rf"[-+({_MINUS_SIGNS}]*{_BLANK}*{sign}{_BLANK}*[-+({_MINUS_SIGNS}]*[\d.].*|.*\d[-)]?{_BLANK}*{sign}[-)]?"
    )
