"""The tools' own lines on the figures of a result, kept with it so that the arbiter sees more than words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from handoff.checking.claims import words
from handoff.contracts import Result

MOST = 8
LENGTH = 160
"""The most lines that are kept of all replies (`MOST`), and the most characters of each (`LENGTH`)."""
READ = 40_000
"""Characters of a reply that are searched."""
SHOWN = 3
"""The most lines that go with one statement."""

_NUMBER = re.compile(r"\d[\d,.\u00a0\u202f]*\d")
"""Numbers of two digits or more: a single digit is everywhere."""


def behind(result: Result, replies: Sequence[str]) -> tuple[str, ...]:
    """Return the lines of the tools' replies that hold a figure of the result, as they stand, each once."""
    figures = _figures("\n".join([result.content, *(finding.message for finding in result.findings)]))
    found: dict[str, None] = {}
    for reply in replies:
        for line in reply[:READ].splitlines():
            if figures & _figures(line):
                found[_short(line, figures)] = None
                if len(found) == MOST:
                    return tuple(found)
    return tuple(found)


def of_statement(statement: str, evidence: Sequence[str]) -> tuple[str, ...]:
    """Return the evidence on a statement: lines with the same figure first, then lines that share two words."""
    figures, subject = _figures(statement), words(statement)
    exact = [line for line in evidence if figures & _figures(line)]
    near = [line for line in evidence if line not in exact and len(subject & words(line)) >= 2]
    return tuple([*exact, *near][:SHOWN])


def _figures(text: str) -> frozenset[str]:
    return frozenset(re.sub(r"[,\u00a0\u202f]", "", found).rstrip(".") for found in _NUMBER.findall(text))


def _short(line: str, figures: frozenset[str]) -> str:
    """Return the line, or the part of a long one around the first matching figure."""
    line = " ".join(line.split())
    if len(line) <= LENGTH:
        return line
    place = next((found.start() for found in _NUMBER.finditer(line) if _figures(found[0]) & figures), 0)
    start = max(0, min(place - LENGTH // 2, len(line) - LENGTH))
    return line[start : start + LENGTH]
