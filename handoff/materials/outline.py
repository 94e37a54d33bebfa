"""Says where a place in a text is, and finds the part of a text that a model asks for. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from handoff.contracts import Material, Section

_PAGE = re.compile(r"page \d+", re.IGNORECASE)
_NUMBER = re.compile(r"(?:(line|page|at)\s*)?(\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a text, from `start` to `end`."""

    start: int
    end: int


def place(text: str, outline: Sequence[Section], at: int) -> str:
    """Say what a place in a text is cited by: its page, heading or other section, else its line."""
    found = bisect_right(outline, at, key=lambda one: one.start)
    return outline[found - 1].name if found else f"line {text.count(chr(10), 0, at) + 1:,}"


def in_short(material: Material, most: int) -> str:
    """Give an outline on one line of at most `most` characters; empty if there is none."""
    names = [one.name for one in material.outline]
    if not names:
        return ""
    if all(_PAGE.fullmatch(name) for name in names):
        return f"{len(names):,} pages" if len(names) > 1 else "1 page"
    kept: list[str] = []
    length = 0
    for name in names:
        length += len(name) + 2
        if length > most:
            return f"{', '.join(kept)}, … ({len(names):,} in all)" if kept else f"{len(names):,} sections"
        kept.append(name)
    return ", ".join(kept)


def find_part(text: str, outline: Sequence[Section], wanted: str, most: int) -> Part | None:
    """Find a part by the name of a section, or by `line 120`, `page 3` or `at 12000`, which is a character.

    It has at most `most` characters. Return None if there is no such part. An empty name is the beginning.
    """
    name = " ".join(wanted.split()).casefold()
    names = [" ".join(one.name.split()).casefold() for one in outline]
    chosen = [index for index, one in enumerate(names) if one == name] if name else []
    chosen = chosen or [index for index, one in enumerate(names) if name and one.startswith(name)]
    chosen = chosen or [index for index, one in enumerate(names) if len(name) > 2 and name in one]
    if chosen:
        start = outline[chosen[0]].start
        end = outline[chosen[0] + 1].start if chosen[0] + 1 < len(outline) else len(text)
        return Part(start, min(end, start + most)) if end > start else None
    number = _NUMBER.fullmatch(name) if name else None
    start = 0 if not name else _numbered(text, number[1], int(number[2])) if number else -1
    return Part(start, min(len(text), start + most)) if 0 <= start < len(text) else None


def _numbered(text: str, kind: str | None, number: int) -> int:
    """Return the character that a number means; -1 if there is none."""
    if kind == "at":
        return number
    if kind != "line":
        return -1
    start = 0
    for _ in range(number - 1):
        start = text.find("\n", start) + 1
        if not start:
            return -1
    return start
