"""Finds the months and years that a sentence or a cell names, such as March 2026, März, 2026-03 or 3月. Pure.

It knows the names of months in several languages. In any other language no month is found, so none is called wrong.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

_MONTHS = (
    (
        "january jan januar jänner janvier janv enero ene gennaio gen janeiro januari styczeń stycznia styczniu"
        " января январь январе يناير"
    ),
    (
        "february feb februar février févr febrero febbraio fevereiro fev februari luty lutego lutym"
        " февраля февраль феврале فبراير"
    ),
    "march mar märz mrz mars marzo março maart marzec marcu марта март марте مارس",
    "april apr avril avr abril abr aprile kwiecień kwietnia kwietniu апреля апрель апреле أبريل ابريل إبريل",
    "may mai mayo maggio mag maio mei maj maju мая май мае مايو",
    "june jun juni juin junio giugno giu junho czerwiec czerwca czerwcu июня июнь июне يونيو يونيه",
    "july jul juli juillet juil julio luglio lug julho lipiec lipca lipcu июля июль июле يوليو يوليه",
    "august aug août agosto ago augustus sierpień sierpnia sierpniu augusti августа август августе أغسطس اغسطس",
    (
        "september sep sept septembre septiembre settembre set setembro wrzesień września wrześniu"
        " сентября сентябрь сентябре سبتمبر"
    ),
    (
        "october oct oktober okt octobre octubre ottobre ott outubro out październik października październiku"
        " октября октябрь октябре أكتوبر اكتوبر"
    ),
    "november nov novembre noviembre novembro listopad listopada listopadzie ноября ноябрь ноябре نوفمبر",
    (
        "december dec dezember dez décembre déc diciembre dic dicembre dezembro grudzień grudnia grudniu"
        " декабря декабрь декабре ديسمبر"
    ),
)
_MONTH_NUMBERS = {name: number for number, names in enumerate(_MONTHS, start=1) for name in names.split()}
_AMBIGUOUS_NAMES = frozenset([
    "may", "march", "august", "mar", "mag", "ago", "set", "out", "dec", "gen", "jan", "lug", "giu", "sep", "nov", "ene",
])  # fmt: skip
"""Names of months that are other words as well, such as "may". They count only with a capital letter."""
_YEAR = r"(?:19|20)\d\d"
_MONTH_NAME = re.compile(
    r"(?:(?<![^\W\d_])|(?<=(?<![^\W\d_])[\u0648\u0628\u0644]))"  # "and", "in" and "for" are letters before a word
    rf"(?P<name>{'|'.join(sorted(_MONTH_NUMBERS, key=len, reverse=True))})\.?(?![^\W\d_])"
    rf"(?:\s+(?:de\s+|del\s+|do\s+)?(?P<year>{_YEAR}))?",
    re.IGNORECASE,
)
_ISO_MONTH = re.compile(rf"(?<!\d)(?P<year>{_YEAR})[-/.](?P<month>0?[1-9]|1[0-2])(?![\d])")
_EAST_ASIAN_MONTH = re.compile(rf"(?:(?P<year>{_YEAR})年\s?)?(?<!\d)(?P<month>1[0-2]|[1-9])[月\uc6d4]")
_BARE_YEAR = re.compile(rf"(?<![\d.,/-])(?P<year>{_YEAR})(?![\d%/-]|[.,]\d)")
_PERIOD_CELL = re.compile(rf"(?P<year>{_YEAR})(?:[-/.](?P<month>0[1-9]|1[0-2])(?:[-/.]01(?:[ T]00:00(?::00)?)?)?)?")
_MONTH_COLUMN = re.compile(r"month|monat|mois|\bmes\b|mese|mês|maand|miesi[aą]c|月", re.IGNORECASE)
_YEAR_COLUMN = re.compile(r"year|jahr|ann[ée]e|\baño|anno|\bano\b|jaar|\brok\b|年", re.IGNORECASE)


class CalendarPeriod(NamedTuple):
    """A month of a year, a month of any year (`year` 0), or a whole year (`month` 0)."""

    year: int
    month: int

    def overlaps(self, other: CalendarPeriod) -> bool:
        """Return True if both may be the same period, or one a part of the other: a 0 fits any year or month."""
        return all(not one or not its or one == its for one, its in zip(self, other, strict=True))


class NamedPeriod(NamedTuple):
    """A period that a text names, with the span `start` to `end` of its name."""

    period: CalendarPeriod
    start: int
    end: int


@lru_cache(maxsize=512)
def find_periods(text: str) -> tuple[NamedPeriod, ...]:
    """Return the months and years that a text names, in order."""
    text = unicodedata.normalize("NFC", text)
    periods: list[NamedPeriod] = []
    for one in _MONTH_NAME.finditer(text):
        name = one["name"].replace("\u0130", "I").replace("\u0131", "i")  # the pattern takes these for an i
        if name.casefold() in _AMBIGUOUS_NAMES and not name[0].isupper():
            continue
        period = CalendarPeriod(int(one["year"] or 0), _MONTH_NUMBERS[name.casefold()])
        periods.append(NamedPeriod(period, one.start(), one.end()))
    for pattern in (_ISO_MONTH, _EAST_ASIAN_MONTH):
        periods += [
            NamedPeriod(CalendarPeriod(int(one["year"] or 0), int(one["month"])), one.start(), one.end())
            for one in pattern.finditer(text)
        ]
    for one in _BARE_YEAR.finditer(text):
        if not any(each.start <= one.start() < each.end for each in periods):
            periods.append(NamedPeriod(CalendarPeriod(int(one["year"]), 0), one.start(), one.end()))
    return tuple(sorted(periods, key=lambda each: each.start))


def parse_period(cell: str, column: str) -> CalendarPeriod | None:
    """Parse a cell that is a month or year and nothing else; None for any other. `column` is the name of its column."""
    text = cell.strip()
    if match := _PERIOD_CELL.fullmatch(text):
        if match["month"] or _YEAR_COLUMN.search(column):
            return CalendarPeriod(int(match["year"]), int(match["month"] or 0))
        return None
    if text.isdigit() and 1 <= int(text) <= 12 and _MONTH_COLUMN.search(column):
        return CalendarPeriod(0, int(text))
    periods = find_periods(text) if len(text) <= 20 else ()
    return periods[0].period if len(periods) == 1 and (periods[0].start, periods[0].end) == (0, len(text)) else None
