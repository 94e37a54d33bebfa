"""The periods that a request names: a month, quarter or year, a start, an end, or several to compare."""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass, replace
from datetime import date

_NAMES = {
    1: "january jan januar enero",
    2: "february feb februar febrero",
    3: "march mar märz marzo",
    4: "april apr abril",
    5: "may mai mayo",
    6: "june jun juni junio",
    7: "july jul juli julio",
    8: "august aug agosto",
    9: "september sep sept septiembre",
    10: "october oct oktober okt octubre",
    11: "november nov noviembre",
    12: "december dec dezember dez diciembre",
}
_MONTHS = {name: number for number, names in _NAMES.items() for name in names.split()}
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})"
_FORMS = (
    re.compile(rf"\b{_YEAR}-(?P<number>0[1-9]|1[0-2])\b(?!-)"),
    re.compile(rf"\b(?:in |im |en )?{_MONTH}\.?,?(?: de)?(?: of)? {_YEAR}\b", re.IGNORECASE),
    re.compile(rf"\bq(?P<quarter>[1-4])(?:[\s/-]*(?:of )?{_YEAR})?\b", re.IGNORECASE),
    # Without a year only where it stands as a month does: "may" and "mar" are other words too.
    re.compile(rf"\b(?:in|im|en|of|since|until|for|to|from|than|and|or|with) {_MONTH}\b", re.IGNORECASE),
    re.compile(rf"(?<![\d.,$-]){_YEAR}(?![\d.,-]\d)\b"),
)
_BEFORE = re.compile(
    r"\b(?P<word>since|seit|desde|from|ab|after|nach|before|vor|until|till|through|to|bis|hasta|between|and|und|y)\s*"
    r"(?:(?:in|the|of|dem|den)\s+)?$",
    re.IGNORECASE,
)
_SINCE = frozenset({"since", "seit", "desde", "from", "ab", "between"})
_UNTIL = frozenset({"until", "till", "through", "to", "bis", "hasta"})
_AND = frozenset({"and", "und", "y"})
_FIRST, _LAST = date.min, date.max


@dataclass(frozen=True, slots=True)
class Period:
    """From `start` to the day before `end`, in words, and where in the text it stands."""

    start: date
    end: date
    words: str
    span: tuple[int, int]

    def sql(self, column: str) -> str:
        """Its condition on a column of dates or times."""
        parts = [f"{column} >= DATE '{self.start}'"] if self.start > _FIRST else []
        parts += [f"{column} < DATE '{self.end}'"] if self.end < _LAST else []
        return " AND ".join(parts)


def periods_in(text: str, first: date, last: date) -> list[Period]:
    """The periods that a text names, for data from `first` to `last`: two of a span become one.

    A month or quarter without its year counts only if the data has it once.
    """
    found: list[Period] = []
    for form in _FORMS:
        for match in form.finditer(text):
            if any(match.start() < one.span[1] and one.span[0] < match.end() for one in found):
                continue
            period = _read(match, first, last)
            if period is not None:
                found.append(period)
    return _with_words_before(sorted(found, key=lambda one: one.span), text)


def _read(match: re.Match[str], first: date, last: date) -> Period | None:
    named = match.groupdict()
    number = int(named["number"]) if named.get("number") else _MONTHS.get((named.get("month") or "").lower(), 0)
    quarter = named.get("quarter") or ""
    length = 1 if number else 3 if quarter else 12
    begins = number or (int(quarter) * 3 - 2 if quarter else 1)
    year = int(named["year"]) if named.get("year") else _only_year(begins, length, first, last)
    if not year:
        return None
    words = f"{calendar.month_name[begins]} {year}" if number else f"Q{quarter} {year}" if quarter else f"{year}"
    span = match.span("month") if named.get("month") else match.span()
    span = (span[0], match.end()) if named.get("year") else span
    return Period(date(year, begins, 1), _months_on(year, begins, length), f"in {words}", span)


def _only_year(month: int, length: int, first: date, last: date) -> int:
    """The one year in which the data has such a period; 0 if there is none, or several."""
    years = [
        year
        for year in range(first.year, last.year + 1)
        if date(year, month, 1) <= last and _months_on(year, month, length) > first
    ]
    return years[0] if len(years) == 1 else 0


def _months_on(year: int, month: int, months: int) -> date:
    later = year * 12 + month - 1 + months
    return date(later // 12, later % 12 + 1, 1)


def _with_words_before(found: list[Period], text: str) -> list[Period]:
    """The periods with the words before them: `since`, `until`, `from ... to ...`."""
    made: list[Period] = []
    for period in found:
        before = _BEFORE.search(text[: period.span[0]])
        word = before["word"].lower() if before else ""
        span = (before.start() if before else period.span[0], period.span[1])
        bare = period.words.partition(" ")[2]
        open_start = made[-1] if made and made[-1].end == _LAST else None
        if open_start is not None and word in _UNTIL | _AND:
            words, span = f"{open_start.words} to {bare}", (open_start.span[0], period.span[1])
            made[-1] = replace(open_start, end=period.end, words=words, span=span)
        elif word in _SINCE:
            made.append(Period(period.start, _LAST, f"from {bare}", span))
        elif word in {"after", "nach"}:
            made.append(Period(period.end, _LAST, f"after {bare}", span))
        elif word in {"before", "vor"}:
            made.append(Period(_FIRST, period.start, f"before {bare}", span))
        elif word in _UNTIL - {"to"}:
            made.append(Period(_FIRST, period.end, f"until {bare}", span))
        else:
            made.append(replace(period, span=span) if word in _AND else period)
    return made
