"""Finds places in code in a text, such as `app.py:12`, `app.py line 12` or `app.py#L3-L9`, and links to them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import quote

from handoff.contracts import Finding, Material

MAX_LINE_DISTANCE = 2
"""The most lines between two places that count as near, since models miscount the lines of a diff by one or two."""
_PATH = r"(?P<path>[\w@+~-][\w@+~./-]*\.\w{1,12}|(?:[\w@+~.-]+/)+[\w@+~.-]+|(?:Make|Docker)file)"
_LINE_RANGE = r"(?P<first>\d{1,7})(?:\s*(?:[-\u2013]|to)\s*L?(?P<last>\d{1,7}))?"
CODE_PLACE = re.compile(rf"{_PATH}(?::|#|,?\s+(?:at\s+)?lines?\s+|#?L){{1,2}}{_LINE_RANGE}(?![\d.])")


@dataclass(frozen=True, slots=True)
class CodePlace:
    """A range of lines in a file, from `first` to `last`, counted from 1."""

    path: str
    first: int
    last: int

    def is_near(self, other: CodePlace) -> bool:
        """Return True if both are in the same file and at most `MAX_LINE_DISTANCE` lines apart.

        A path that ends with the other path counts as the same file.
        """
        same = self.path == other.path or f"/{self.path}".endswith(f"/{other.path}")
        same = same or f"/{other.path}".endswith(f"/{self.path}")
        return same and self.first <= other.last + MAX_LINE_DISTANCE and other.first <= self.last + MAX_LINE_DISTANCE

    def overlaps(self, other: CodePlace) -> bool:
        """Return True if both share a line of the same file."""
        return self.is_near(other) and self.first <= other.last and other.first <= self.last


def find_code_place(text: str) -> CodePlace | None:
    """Return the first place in code that a text names; None if it names none."""
    match = CODE_PLACE.search(text)
    if match is None:
        return None
    first = int(match["first"])
    return CodePlace(match["path"].removeprefix("./"), first, max(first, int(match["last"] or first)))


_PATH_FIELD, _LINE_FIELD = "{path}", "{line}"


def find_line_link(finding: Finding, materials: Iterable[Material]) -> str:
    """Return the web address of the line that a finding is about; empty if no diff on the web contains its file."""
    place = find_code_place(finding.where)
    if place is None:
        return ""
    for material in materials:
        if not material.lines:
            continue
        paths = {one.name.partition(" line ")[0] for one in material.outline}
        path = next((one for one in paths if one == place.path or one.endswith(f"/{place.path}")), "")
        if path:
            return material.lines.replace(_PATH_FIELD, quote(path)).replace(_LINE_FIELD, str(place.first))
    return ""


def yield_line_links(findings: Iterable[Finding], materials: Iterable[Material]) -> Iterator[str]:
    """Yield the web addresses of the lines that findings are about, for those that have one."""
    there = [one for one in materials if one.lines]
    if there:
        yield from filter(None, (find_line_link(one, there) for one in findings))
