"""Reads the numbers in a sentence in a form that can be compared: $3.2M and 3,214,000 dollars agree.

A quantity is an interval, as most texts round: 3.2 million is anything that would be written so, "about 40" is wider,
"at least 10" has no upper end.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from handoff.checking.dates import dated, without

_WORDS = dict(
    zip(
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"],
        range(1, 13),
        strict=True,
    )
)
_NUMBER = re.compile(
    r"(?P<currency>US\$|[$€£]|\b(?:USD|EUR|GBP) ?)?"
    r"(?<![\w#/])(?<![A-Za-z][.,-])(?<!\d[.,])(?P<sign>(?<![\w)])[-+\u2212])?"
    rf"(?:(?P<number>\d{{1,3}}(?:[,\u00a0\u202f']\d{{3}})+(?:\.\d+)?|\d+(?:[.,]\d+)?)|(?P<word>{'|'.join(_WORDS)})\b)"
    r"(?![\d]|[.,]\d|-?(?:st|nd|rd|th)\b)"
    r"(?: ?(?P<scale>thousand|million|billion|trillion|mn|bn|[kKMB](?![\w/])|(?<=\d)m(?=\b)))?"
    r"(?:[ \u00a0-]?(?P<unit>%|°C|°F|[A-Za-z€$]+(?: (?:points?|cent)\b)?))?",
)
_SCALES = {"thousand": 1e3, "k": 1e3, "million": 1e6, "m": 1e6, "mn": 1e6, "billion": 1e9, "bn": 1e9, "b": 1e9}
_SCALES["trillion"] = 1e12
_CURRENCIES = {"$": "usd", "US$": "usd", "USD": "usd", "€": "eur", "EUR": "eur", "£": "gbp", "GBP": "gbp"}
_UNITS: dict[str, tuple[str, float]] = {
    **dict.fromkeys(("%", "percent", "per cent", "pct"), ("%", 1.0)),
    **dict.fromkeys(("percentage point", "percentage points", "points", "point", "pp"), ("points", 1.0)),
    **dict.fromkeys(("dollar", "dollars", "usd", "$"), ("usd", 1.0)),
    **dict.fromkeys(("euro", "euros", "eur", "€"), ("eur", 1.0)),
    **dict.fromkeys(("pound", "pounds", "gbp"), ("gbp", 1.0)),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), ("s", 0.001)),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), ("s", 1.0)),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), ("s", 60.0)),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), ("s", 3_600.0)),
    **dict.fromkeys(("day", "days"), ("s", 86_400.0)),
    **dict.fromkeys(("week", "weeks"), ("s", 604_800.0)),
    **dict.fromkeys(("month", "months"), ("months", 1.0)),
    **dict.fromkeys(("year", "years"), ("months", 12.0)),
    **dict.fromkeys(("kb", "kilobytes"), ("bytes", 1e3)),
    **dict.fromkeys(("mb", "megabytes"), ("bytes", 1e6)),
    **dict.fromkeys(("gb", "gigabytes"), ("bytes", 1e9)),
    **dict.fromkeys(("tb", "terabytes"), ("bytes", 1e12)),
    **dict.fromkeys(("g", "gram", "grams"), ("g", 1.0)),
    **dict.fromkeys(("kg", "kilogram", "kilograms"), ("g", 1e3)),
    **dict.fromkeys(("tonne", "tonnes", "ton", "tons"), ("g", 1e6)),
    **dict.fromkeys(("mm",), ("m", 0.001)),
    **dict.fromkeys(("cm",), ("m", 0.01)),
    **dict.fromkeys(("m", "metre", "metres", "meter", "meters"), ("m", 1.0)),
    **dict.fromkeys(("km", "kilometres", "kilometers"), ("m", 1e3)),
    **dict.fromkeys(("mile", "miles"), ("m", 1_609.344)),
    **dict.fromkeys(("x", "times", "fold"), ("times", 1.0)),
    **dict.fromkeys(("°c",), ("celsius", 1.0)),
    **dict.fromkeys(("°f",), ("fahrenheit", 1.0)),
}
_ABOUT = re.compile(
    r"(?:\b(?:about|around|roughly|approximately|approx\.?|nearly|almost|some|circa|ca\.)|[~≈]) ?$", re.IGNORECASE
)
_LEAST = re.compile(
    r"(?:\b(?:at least|more than|over|above|exceeds?|exceeding|no less than|not less than)|[>≥]) ?$", re.IGNORECASE
)
_MOST = re.compile(
    r"(?:\b(?:at most|less than|fewer than|under|below|up to|no more than|not more than|no later than|within)|[<≤]) ?$",
    re.IGNORECASE,
)
_BY = re.compile(
    r"\b(?:by|up|down|gained|lost|added|another|extra|additional|(?:in|de)creas\w+|rise|drop|fall|grew|grown|"
    r"rose|risen|fell|fallen|dropped|declined|climbed) (?:of )?$",
    re.IGNORECASE,
)
_FROM = re.compile(r"\bfrom $", re.IGNORECASE)
_THAN = re.compile(r"\bthan (?:the )?$", re.IGNORECASE)
_PART_OF = re.compile(r"(?:\d|%|\b(?:one|two|three|none|all|half|most)) (?:of|out of) (?:the )?$", re.IGNORECASE)
_LABEL = re.compile(
    r"\b(?:section|figure|fig\.|table|chapter|step|phase|part|page|line|item|tier|level|version|type|appendix|article"
    r"|rule|issue|ticket|option|class|group|team|room|case|no\.|number|python|node|java|redis|plan) $",
    re.IGNORECASE,
)
_RANGE = re.compile(r"^ ?(?:-|–|to|and) ?$")  # noqa: RUF001 - an en dash, as in ranges
_ROUND = 0.025
"""The share of itself by which a round number, such as 3,000, may be off."""
_HEDGE = 0.1
_LONGEST = 40
"""The most characters of a number; a longer one is noise, and too large to compute with."""
_SHARES = {"half": 50.0, "a third": 100 / 3, "two thirds": 200 / 3, "a quarter": 25.0, "three quarters": 75.0}
_SHARE = re.compile(
    r"(?<!first )(?<!second )(?<!last )(?<!other )\b(?P<share>half|a third|two[ -]thirds|a quarter|three[ -]quarters)"
    r"(?= of (?!(?:19|20)\d\d\b))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit as the interval `low` to `high`, in the base unit of its `kind`.

    `kind` is empty for a bare number or a count. `role` tells apart the level ("was 9", "to 9") from what it
    came `from`, what it changed `by`, and what it is a share `of`. `start` and `end` are places in the text.
    """

    low: float
    high: float
    kind: str
    role: str
    start: int
    end: int

    def agrees(self, other: Quantity) -> bool:
        """Return True if both may be the same number, or (for limits such as "within 4 hours") the same limit."""
        if self.low == other.low == -math.inf:
            return abs(self.high - other.high) <= 2 * _ROUND * max(abs(self.high), abs(other.high))
        return self.low <= other.high and other.low <= self.high


@lru_cache(maxsize=512)
def quantities(text: str) -> tuple[Quantity, ...]:
    """Return the numbers in a text in order, except dates, ordinals, versions and labels such as "step 4"."""
    plain = without(text, [(start, end) for _, start, end in dated(text)])
    found: list[Quantity] = []
    for match in _NUMBER.finditer(plain):
        quantity = _quantity(match, plain[: match.start()])
        if quantity is None:
            continue
        between = plain[found[-1].end : quantity.start] if found else ""
        ranged = bool(found) and bool(_RANGE.match(between)) and found[-1].kind in {"", quantity.kind}
        if ranged and (between.strip() != "and" or re.search(r"\bbetween $", plain[: found[-1].start], re.IGNORECASE)):
            first = found[-1]
            if first.role != "from":
                scale = 1.0 if first.kind == quantity.kind else _factor(match)
                if scale == 1.0 and first.high * 100 < quantity.low:
                    scale = _scale(match)  # "$3 to $4 million"
                low = min(first.low * scale, quantity.low)
                found[-1] = Quantity(low, quantity.high, quantity.kind, first.role, first.start, quantity.end)
                continue
        if found and found[-1].role == "from" and not found[-1].kind and quantity.kind:
            first, factor = found[-1], _factor(match)
            found[-1] = Quantity(first.low * factor, first.high * factor, quantity.kind, "from", first.start, first.end)
        found.append(quantity)
    found += _shares(plain)
    return tuple(sorted(found, key=lambda one: one.start))


def _shares(text: str) -> Iterator[Quantity]:
    """Yield shares in words, such as "half of the users", as per cent of what they are about."""
    for match in _SHARE.finditer(text):
        value = _SHARES[match["share"].lower().replace("-", " ")]
        slack = value * (_HEDGE if _ABOUT.search(text[: match.start()]) else 2 * _ROUND)
        yield Quantity(value - slack, value + slack, "%", _role(text[: match.start()]), *match.span())


def _quantity(match: re.Match[str], before: str) -> Quantity | None:
    if len(match["number"] or "") > _LONGEST:
        return None
    kind, factor = _unit(match)
    if _LABEL.search(before) and not kind and not match["scale"]:
        return None
    if (match["word"] or "").lower() == "one" and not kind:
        return None  # "one of them", "the one that": a month is counted, a pronoun is not
    value, step = _value(match)
    value, step = value * factor, step * factor
    slack = step / 2
    if _ABOUT.search(before):
        slack = max(slack, abs(value) * _HEDGE)
    low, high = value - slack, value + slack
    if _LEAST.search(before):
        high = math.inf
    elif _MOST.search(before):
        low = -math.inf
    return Quantity(low, high, kind, _role(before), match.start(), _end(match, kind))


def _role(before: str) -> str:
    before = _ABOUT.sub("", before)
    for role, pattern in (("from", _FROM), ("by", _BY), ("than", _THAN), ("of", _PART_OF)):
        if pattern.search(before) and not (role == "than" and _LEAST.search(before)):
            return role if role != "than" or not _MOST.search(before) else ""
    return ""


def _value(match: re.Match[str]) -> tuple[float, float]:
    """Return the number and the size of its last significant digit."""
    if match["word"]:
        return float(_WORDS[match["word"].lower()]), 0.0
    text = re.sub(r"[\u00a0\u202f']", "", match["number"])
    if re.fullmatch(r"\d+,\d{1,2}", text):
        text = text.replace(",", ".")  # a decimal comma
    text = text.replace(",", "")
    value = float(text)
    scale = _scale(match)
    if "." in text:
        step = 10.0 ** -len(text.partition(".")[2])
    else:
        zeros = len(text) - len(text.rstrip("0"))
        step = min(10.0**zeros, 2 * _ROUND * value) if zeros else 0.0 if scale == 1 else 1.0
    sign = -1 if match["sign"] in {"-", "\u2212"} else 1
    return sign * value * scale, step * scale


def _scale(match: re.Match[str]) -> float:
    scale = match["scale"] or ""
    if scale == "m" and not match["currency"]:
        return 1.0  # metres
    return _SCALES.get(scale.lower(), 1.0)


def _unit(match: re.Match[str]) -> tuple[str, float]:
    if match["currency"]:
        return _CURRENCIES[match["currency"].strip()], 1.0
    if match["scale"] == "m":
        return _UNITS["m"]
    named = (match["unit"] or "").lower()
    return _UNITS.get(named) or _UNITS.get(named.partition(" ")[0]) or ("", 1.0)


def _factor(match: re.Match[str]) -> float:
    return _unit(match)[1] * _scale(match)


def _end(match: re.Match[str], kind: str) -> int:
    """Return where the number ends: its unit is part of it, the noun that it counts is not."""
    named = match["unit"]
    if not named or (kind and named.lower() in _UNITS):
        return match.end()
    first = named.partition(" ")[0]
    return match.start("unit") + (len(first) if first.lower() in _UNITS else 0)


def is_unit(word: str) -> bool:
    """Return True for a unit of time, money, size or share: `month`, `kg`, `euros`."""
    return word.strip().casefold() in _UNITS
