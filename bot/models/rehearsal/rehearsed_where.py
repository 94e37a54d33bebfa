"""Chooses the rows that a rehearsed question is about: by a period or a value that its words name."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterable
from dataclasses import dataclass

from bot.models.rehearsal.rehearsed_profile import Column, Table, values_in

_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_MONTHS |= {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_PERIODS = (
    re.compile(rf"\b(?P<month>{'|'.join(_MONTHS)})\.?,?\s+{_YEAR}\b", re.IGNORECASE),
    re.compile(rf"\b{_YEAR}-(?P<month>0[1-9]|1[0-2])\b"),
    re.compile(rf"\bq(?P<quarter>[1-4])[\s-]*{_YEAR}\b", re.IGNORECASE),
    re.compile(rf"\b(?:in|of|for|during)\s+{_YEAR}\b", re.IGNORECASE),
)
_SPAN = re.compile(r"\b(since|from|between|until|till|to|after|before|than|versus|vs)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Where:
    """A condition in SQL and in words, both empty if all rows count. `of_time`: it names a period."""

    sql: str = ""
    words: str = ""
    of_time: bool = False

    def clause(self, *more: str) -> str:
        """Write the WHERE clause of this and other conditions, with a space behind it; empty if there is none."""
        every = [each for each in (*more, self.sql) if each]
        return f"WHERE {' AND '.join(every)} " if every else ""


def where(table: Table, groups: Iterable[Column], when: Column | None, text: str) -> Where:
    """The rows that a text is about: of the one period it names, and of each value of what is not compared."""
    parts: list[tuple[str, str]] = []
    period = _period(when, text) if when is not None and when.is_date else None
    if period is not None:
        parts.append(period)
    compared = {column.name for column in groups}
    for column in table.columns:
        named = values_in(column, text)
        if column.name not in compared and len(named) == 1:
            value = named[0].replace("'", "''")
            parts.append((f"{column.sql} = '{value}'", f"where {column.name} is {named[0]}"))
    return Where(" AND ".join(sql for sql, _ in parts), ", ".join(words for _, words in parts), period is not None)


def _period(when: Column, text: str) -> tuple[str, str] | None:
    """Return the one month, quarter or year that a text names; None if it names several, or a start or an end."""
    found = [match for pattern in _PERIODS for match in pattern.finditer(text)]
    years = {match["year"] for match in found}
    if not found or len(years) > 1 or _SPAN.search(text) or len(re.findall(r"\b(?:19|20)\d\d\b", text)) > 1:
        return None
    named, year = found[0].groupdict(), found[0]["year"]
    if quarter := named.get("quarter"):
        start, length = int(quarter) * 3 - 2, 3
        words = f"in Q{quarter} {year}"
    elif month := named.get("month"):
        start, length = int(month) if month.isdigit() else _MONTHS[month.lower()], 1
        words = f"in {calendar.month_name[start]} {year}"
    else:
        start, length, words = 1, 12, f"in {year}"
    first = f"DATE '{year}-{start:02}-01'"
    return f"{when.sql} >= {first} AND {when.sql} < {first} + INTERVAL {length} MONTH", words
