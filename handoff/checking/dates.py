"""Reads the dates in a sentence in a form that can be compared: 12 March 2026 and 2026-03-12 are the same."""

from __future__ import annotations

import re
from functools import lru_cache

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?"
)
_YEAR = r"(?:19|20)\d\d"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?"
_DATES = (
    re.compile(rf"\b(?P<y>{_YEAR})-(?P<m>0[1-9]|1[0-2])(?:-(?P<d>0[1-9]|[12]\d|3[01]))?\b"),
    re.compile(rf"\b(?P<d>{_DAY})(?: of)? (?P<m>{_MONTH})(?:,? (?P<y>{_YEAR}))?"),
    re.compile(rf"\b(?P<m>{_MONTH}) (?P<d>{_DAY})(?!\d)(?:,? (?P<y>{_YEAR}))?"),
    re.compile(rf"\b(?P<q>[QH][1-4])[ /]?(?:of )?(?P<y>{_YEAR})?\b"),
    re.compile(rf"\b(?P<m>{_MONTH})(?:,? (?P<y>{_YEAR}))"),
    re.compile(rf"\b(?P<m>(?!May\b){_MONTH}|(?:(?<=[Ii]n )|(?<=of )|(?<=[Ss]ince )|(?<=[Uu]ntil )|(?<=\())May\b)"),
    re.compile(rf"(?<![\w.,$€£/-])(?P<y>{_YEAR})(?![\w%]|[.,]\d|-\d| ?(?:%|percent|dollars|USD|EUR))"),
)

Date = tuple[int, str, int]
"""Year, month (`03`) or part of a year (`Q3`), and day; 0 and empty if they are not named."""


@lru_cache(maxsize=512)
def dated(text: str) -> tuple[tuple[Date, int, int], ...]:
    """Return the dates in a text in order, each with its start and end."""
    found: list[tuple[Date, int, int]] = []
    for pattern in _DATES:
        for match in pattern.finditer(text):
            if any(match.start() < end and start < match.end() for _, start, end in found):
                continue
            parts = match.groupdict()
            month = parts.get("m") or ""
            if month and not month.isdigit():
                month = f"{_MONTHS.index(month[:3].lower()) + 1:02}"
            day = int(re.sub(r"\D", "", parts.get("d") or "0"))
            found.append(((int(parts.get("y") or 0), month or parts.get("q") or "", day), *match.span()))
    return tuple(sorted(found, key=lambda one: one[1]))


def without(text: str, spans: list[tuple[int, int]]) -> str:
    """Return the text with those spans blanked out, and every other character in its place."""
    for start, end in spans:
        text = text[:start] + " " * (end - start) + text[end:]
    return text
