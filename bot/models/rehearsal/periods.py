"""The period that a request names: a month, quarter or year."""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import date

from bot.models.rehearsal.word_lists import MONTHS

_YEAR = r"(?P<year>(?:19|20)\d\d)"
_MONTH = rf"(?P<month>{'|'.join(sorted(MONTHS, key=len, reverse=True))})"
_PERIOD_PATTERNS = (
    re.compile(rf"\b{_YEAR}-(?P<number>0[1-9]|1[0-2])\b(?!-)"),
    re.compile(rf"\b{_MONTH}\.?,?(?: de)?(?: of)? {_YEAR}\b", re.IGNORECASE),
    re.compile(rf"\bq(?P<quarter>[1-4])(?:[\s/-]*(?:of )?{_YEAR})?\b", re.IGNORECASE),
    # A month without a year counts only after one of these words: "may" and "mar" have other meanings too.
    re.compile(rf"\b(?:in|im|en|of|since|until|for|to|from|and) {_MONTH}\b", re.IGNORECASE),
    re.compile(rf"(?<![\d.,$-]){_YEAR}(?![\d.,-]\d)\b"),
)


@dataclass(frozen=True, slots=True)
class Period:
    """A period from `start` to the day before `end`. `phrase` name it; `span` is its (start, end) in the text."""

    start: date
    end: date
    phrase: str
    span: tuple[int, int]

    def render_condition(self, column: str) -> str:
        """Return the SQL condition that a column of dates or times lies in the period."""
        return f"{column} >= DATE '{self.start}' AND {column} < DATE '{self.end}'"


def find_period(text: str, first_day: date, last_day: date) -> Period | None:
    """Return the period that a text names, for data from `first_day` to `last_day`; None if it names none or several.

    A month or quarter without a year counts only if the data has it in one year.
    """
    periods: list[Period] = []
    for pattern in _PERIOD_PATTERNS:
        for match in pattern.finditer(text):
            is_separate = all(match.end() <= one.span[0] or one.span[1] <= match.start() for one in periods)
            if is_separate and (period := _make_period(match, first_day, last_day)) is not None:
                periods.append(period)
    return periods[0] if len(periods) == 1 else None


def _make_period(match: re.Match[str], first_day: date, last_day: date) -> Period | None:
    """Return the period of a match; None if it names no year and the data has it in several years, or in none."""
    groups = match.groupdict(default="")
    month = int(groups.get("number") or MONTHS.get(groups.get("month", "").lower(), 0))
    quarter = int(groups.get("quarter") or 0)
    first_month, month_count = month or (quarter * 3 - 2 if quarter else 1), 1 if month else 3 if quarter else 12
    years = [int(groups["year"])] if groups.get("year") else range(first_day.year, last_day.year + 1)
    spans = [(date(year, first_month, 1), _add_months(year, first_month, month_count)) for year in years]
    if not groups.get("year"):
        spans = [(start, end) for start, end in spans if start <= last_day and end > first_day]
    if len(spans) != 1:
        return None
    start, end = spans[0]
    part = f"{calendar.month_name[month]} " if month else f"Q{quarter} " if quarter else ""
    return Period(
        start, end, f"in {part}{start.year}", (match.start("month" if groups.get("month") else 0), match.end())
    )


def _add_months(year: int, month: int, months: int) -> date:
    month_index = year * 12 + month - 1 + months
    return date(month_index // 12, month_index % 12 + 1, 1)
