"""The signs that people put around numbers: currencies, percent, brackets, and gaps between thousands."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass

SYMBOLS = (
    *("US$", "CA$", "HK$", "NT$", "A$", "R$", "S$", "€", "$", "£", "¥", "₹", "₽", "₺", "₩", "₪", "₴", "฿", "₫", "₱"),
    *("%", "‰", "Rs.", "Rs", "元", "円", "원"),
    *("EUR", "USD", "GBP", "CHF", "JPY", "SEK", "NOK", "DKK", "PLN", "CZK", "CAD", "AUD", "INR", "CNY", "RMB", "HUF"),
    *("Euro", "Fr.", "kr", "zł", "Kč", "Ft"),
    *("kg", "km", "cm", "mm", "kWh", "MWh", "MB", "GB", "TB", "ms", "h", "°C"),
    *("pcs", "Stk.", "Stück"),
)
"""Units that may stand before or after a number. A unit that contains a shorter one comes before it."""

SHARES = ("%", "‰")
_MINUS = "\N{MINUS SIGN}\N{EN DASH}\N{FIGURE DASH}\N{HYPHEN}\N{NON-BREAKING HYPHEN}"
"""Signs other than a hyphen that stand for minus before a number."""
_UNSEEN = "\u00ad\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"
_GAPS = " '\u00a0\u2019\u202f\u2009\u2007"
_BLANK = "[ \u00a0\u202f\u2009\u2007\t]"
_OF_DIGITS = {
    letter: str(digit)
    for zero in (0xFF10, 0x0660, 0x06F0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66, 0x0E50)
    for digit, letter in enumerate(map(chr, range(zero, zero + 10)))
}
_OF_MARKS = dict(
    zip("\uff0c\uff0e\uff0d\uff0b\uff05\uff04\uffe5\uff08\uff09\uff0f\u066b\u066c\u066a", ",.-+%$¥()/.,%", strict=True)
)
_PLAIN = {ord(letter): plain for letter, plain in {**_OF_DIGITS, **_OF_MARKS, **dict.fromkeys(_UNSEEN, "")}.items()}
_WITH_GAPS = rf"[-+]?[1-9]\d{{0,2}}([{_GAPS}]\d{{3}})+([.,]\d+)?"
_BRACKETS = re.compile(r"\((.+)\)|(.*\d)-")
_OPEN, _CLOSE = rf"^([-+(]*){_BLANK}+", rf"{_BLANK}+([-)]?)$"


@dataclass(frozen=True, slots=True)
class NumberSigns:
    """Signs that people put around the numbers of a column; they are removed alike in Python and in DuckDB.

    Attributes:
        symbol: The one currency, percent sign or unit of the values; "" for none.
        below_zero: True if negative numbers are written as (5), as 5- or with a long minus.
        gaps: True if spaces or apostrophes stand between thousands.
    """

    symbol: str = ""
    below_zero: bool = False
    gaps: bool = False

    def strip_signs(self, value: str) -> str:
        """Remove the signs from a value. Text that is no number stays much as it was."""
        value = plain_digits(value)
        if self.symbol:
            value = re.sub(_CLOSE, r"\1", re.sub(_OPEN, r"\1", value.replace(self.symbol, "")))
        if self.below_zero:
            whole = _BRACKETS.fullmatch(value)
            value = f"-{whole[1] or whole[2]}" if whole else value
            value = f"-{value[1:]}" if value[:1] in _MINUS and value else value
        if self.gaps and re.fullmatch(_WITH_GAPS, value):
            value = re.sub(f"[{_GAPS}]", "", value)
        return value

    def sql(self, x: str) -> str:
        """Return the SQL that removes the signs from the SQL text expression `x`."""
        if self.symbol:
            x = f"replace({x}, '{self.symbol}', '')"
            for pattern in (_OPEN, _CLOSE):
                x = f"regexp_replace({x}, '{pattern}', '\\1')"
        if self.below_zero:
            x = f"regexp_replace(regexp_replace({x}, '^(?:{_BRACKETS.pattern})$', '-\\1\\2'), '^[{_MINUS}]', '-')"
        if self.gaps:
            gaps, whole = (text.replace("'", "''") for text in (f"[{_GAPS}]", _WITH_GAPS))
            x = f"CASE WHEN regexp_full_match({x}, '{whole}') THEN regexp_replace({x}, '{gaps}', '', 'g') ELSE {x} END"
        return x

    @property
    def facts(self) -> list[str]:
        """The removed signs, in words for people."""
        said = {f"{self.symbol} removed": self.symbol, "gaps between thousands": self.gaps}
        said["(5) or 5- read as -5"] = self.below_zero
        return [fact for fact, there in said.items() if there]


def plain_digits(value: str) -> str:
    """Replace full-width, Arabic and Indian digits and number marks by ASCII, and remove invisible characters."""
    return value if value.isascii() else value.translate(_PLAIN)


def holds_unseen(value: str) -> bool:
    """Return True if a value holds invisible characters, such as marks of the direction of writing."""
    return not value.isascii() and not set(value).isdisjoint(_UNSEEN)


def plain_digits_sql(x: str) -> str:
    """Return the SQL that does to the SQL text expression `x` what `plain_digits` does to a value."""
    letters, plain = ("".join(each) for each in zip(*{**_OF_DIGITS, **_OF_MARKS}.items(), strict=True))
    return f"translate({x}, '{letters}{_UNSEEN}', '{plain}')"


def find_number_signs(sample: Sequence[str]) -> NumberSigns:
    """Find the signs that have to be removed before these values are numbers. Units are not removed if they differ."""
    sample = [plain_digits(value) for value in sample]
    worn = units_of(sample)
    symbol = worn[0] if len(worn) == 1 else ""
    bare = [NumberSigns(symbol).strip_signs(value) for value in sample]
    below = any(_BRACKETS.fullmatch(value) or value.startswith(tuple(_MINUS)) for value in bare)
    plain = [NumberSigns(below_zero=True).strip_signs(value) for value in bare] if below else bare
    return NumberSigns(symbol, below, gaps=any(re.fullmatch(_WITH_GAPS, value) for value in plain))


def units_of(sample: Sequence[str]) -> list[str]:
    """List the units of the numbers among these values, the most frequent first."""
    times: dict[str, int] = {}
    for value in sample:
        if value[0].isdigit() and value[-1].isdigit():
            continue
        worn = next(
            (symbol for symbol in SYMBOLS if symbol in value and _compile_symbol_pattern(symbol).fullmatch(value)), ""
        )
        if worn:
            times[worn] = times.get(worn, 0) + 1
    return sorted(times, key=lambda symbol: -times[symbol])


@functools.cache
def _compile_symbol_pattern(symbol: str) -> re.Pattern[str]:
    """Compile the pattern of a number with a symbol; on demand, as a table uses few of the symbols."""
    sign = re.escape(symbol)
    return re.compile(rf"[-+({_MINUS}]*{_BLANK}*{sign}{_BLANK}*[-+({_MINUS}]*[\d.].*|.*\d[-)]?{_BLANK}*{sign}[-)]?")
