"""The period that a request names: a month, quarter or year, what comes before or after it."""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
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
    re.compile(rf"\b{_MONTH}\.?,?(?: de)?(?: of)? {_YEAR}\b", re.IGNORECASE),
    re.compile(rf"\bq(?P<quarter>[1-4])(?:[\s/-]*(?:of )?{_YEAR})?\b", re.IGNORECASE),
    # Without a year only where it stands as a month does: "may" and "mar" are other words too.
    re.compile(rf"\b(?:in|im|en|of|since|until|for|to|from|and) {_MONTH}\b", re.IGNORECASE),
    re.compile(rf"(?<![\d.,$-]){_YEAR}(?![\d.,-]\d)\b"),
)
_BEFORE = re.compile(r"\b(?P<word>[^\W\d_]+)\s+(?:(?:in|the|of|dem|den)\s+)?$", re.IGNORECASE)
_FROM, _UNTIL = ("since", "from", "seit", "ab", "desde"), ("until", "till", "through", "bis", "hasta")


@dataclass(frozen=True, slots=True)
class Period:
    """From `start` to the day before `end`, in words, and where in the text it stands."""

    start: date
    end: date
    words: str
    span: tuple[int, int]

    def sql(self, column: str) -> str:
        """Its condition on a column of dates or times."""
        parts = [f"{column} >= DATE '{self.start}'"] if self.start > date.min else []
        parts += [f"{column} < DATE '{self.end}'"] if self.end < date.max else []
        return " AND ".join(parts)


def period_in(text: str, first: date, last: date) -> Period | None:
    """Return the period that a text names, for data from `first` to `last`; None for none, and for several.

    A month or quarter without its year counts only if the data has it once.
    """
    found: list[Period] = []
    for form in _FORMS:
        for match in form.finditer(text):
            apart = all(match.end() <= one.span[0] or one.span[1] <= match.start() for one in found)
            if apart and (period := _read(match, first, last)) is not None:
                found.append(period)
    return _with_word_before(found[0], text) if len(found) == 1 else None


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
    begin = match.start("month") if named.get("month") else match.start()
    return Period(date(year, begins, 1), _months_on(year, begins, length), words, (begin, match.end()))


def _only_year(month: int, length: int, first: date, last: date) -> int:
    """Return the one year in which the data has such a period; 0 if there is none, or several."""
    years = [
        year
        for year in range(first.year, last.year + 1)
        if date(year, month, 1) <= last and _months_on(year, month, length) > first
    ]
    return years[0] if len(years) == 1 else 0


def _months_on(year: int, month: int, months: int) -> date:
    later = year * 12 + month - 1 + months
    return date(later // 12, later % 12 + 1, 1)


def _with_word_before(period: Period, text: str) -> Period:
    """Return the period with the word before it, which may leave its start or its end open."""
    before = _BEFORE.search(text[: period.span[0]])
    word = before["word"].lower() if before else ""
    start, end, words = {
        **dict.fromkeys(_FROM, (period.start, date.max, "from")),
        **dict.fromkeys(_UNTIL, (date.min, period.end, "until")),
        **dict.fromkeys(("after", "nach"), (period.end, date.max, "after")),
        **dict.fromkeys(("before", "vor"), (date.min, period.start, "before")),
    }.get(word, (period.start, period.end, "in"))
    begin = before.start() if before and words != "in" else period.span[0]
    return Period(start, end, f"{words} {period.words}", (begin, period.span[1]))
