"""Reads a Markdown text line by line, each line with the heading above it, and each table cell as a statement."""

from __future__ import annotations

import re
from collections.abc import Iterator

from handoff.checking.quantities import quantities

FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
"""A block of code."""
LABEL = 60
"""Characters of a line that may be the label of the lines below it."""

_BULLET = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+")
_MARKS = re.compile(r"[*_`#]+")
_BOLD = re.compile(r"\*\*[^*]+\*\*:?")
_RULE = re.compile(r"[\s|:-]+")


def lines_under_headings(text: str) -> Iterator[tuple[str, str]]:
    """Yield each line with text as (heading and label above it, line); the first is empty if there is none. Skip code.

    A label is a line in bold, or a line that ends with a colon; that kind covers only the list right below it.
    """
    heading, label, columns = "", "", list[str]()
    listed = gap = False
    for raw in FENCED.sub("\n", text).splitlines():
        line = raw.strip()
        if line.startswith("|"):
            cells = [_plain(cell) for cell in line.strip("|").split("|")]
            if columns and not _RULE.fullmatch(line):
                yield from ((f"{heading} {label}".strip(), said) for said in _row(columns, cells))
            columns = columns or cells
            continue
        columns = []
        if line.startswith("#"):
            heading, label = _plain(line), ""
        elif named := _label(line):
            label, listed = named, line.endswith(":")
        elif line:
            if gap and listed and not _BULLET.match(raw):
                label = ""
            yield f"{heading} {label}".strip(), raw
        gap = not line


def _label(line: str) -> str:
    """Return the label that a line is; empty if the line says something itself."""
    bare = _BULLET.sub("", line)
    if len(bare) > LABEL or not (_BOLD.fullmatch(bare) or bare.endswith(":")):
        return ""
    plain = _plain(bare).rstrip(":")
    return "" if plain.endswith((".", "!", "?")) or quantities(plain) else plain


def _row(columns: list[str], cells: list[str]) -> Iterator[str]:
    """Yield a statement for each cell of a row: `Norway churn: 4.2 %`."""
    for column, cell in zip(columns[1:], cells[1:], strict=False):
        if cell:
            yield f"{cells[0]} {column}: {cell}"


def _plain(text: str) -> str:
    return _MARKS.sub("", text).strip()
