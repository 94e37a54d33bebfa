"""Reads Markdown and similar formats unchanged. Their headings are the outline, each with its line."""

from __future__ import annotations

import re

from specialists.formats.contents import FileContents
from specialists.reading.plain_text import add_with_line_outline, add_with_outline, decode_file

_MARKED_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(\S.*?)[ \t]*#*$|={1,5} (\w.*)$")
_UNDERLINE = re.compile(r"([=\-~^*\"#])\1{2,}\s*$")
_FENCE = re.compile(r" {0,3}(```|~~~)")


def read_markdown(data: bytes, name: str, contents: FileContents) -> None:
    """Read a text whose headings have `#` or `=` before them, or a line of signs below them."""
    del name
    text = decode_file(data, contents)
    headings = list_headings(text.split("\n"))
    if not headings:
        add_with_line_outline(text, contents)
        return
    add_with_outline(text, headings, contents)


def list_headings(lines: list[str]) -> list[tuple[int, str]]:
    """Return the headings of a text as (line, heading), lines counted from 1.

    Code blocks and front matter are skipped.
    """
    headings, fence = [], ""
    body_start = lines.index("---", 1) + 1 if lines[0] == "---" and "---" in lines[1:] else 0
    for number, line in enumerate(lines[body_start:], start=body_start + 1):
        if mark := _FENCE.match(line):
            fence = "" if fence == mark[1] else fence or mark[1]
        elif fence:
            continue
        elif heading := _MARKED_HEADING.match(line):
            headings.append((number, heading[1] or heading[2]))
        elif number > 1 and _UNDERLINE.match(line) and _can_be_heading(lines, number - 2, len(line.rstrip())):
            headings.append((number - 1, lines[number - 2].strip()))
    return headings


def _can_be_heading(lines: list[str], index: int, rule_length: int) -> bool:
    """Return True if a line may be an underlined heading: it stands alone, and is no table row or list item."""
    title = lines[index].strip()
    is_alone = index == 0 or not lines[index - 1].strip() or lines[index - 1][:3] == lines[index + 1][:3]
    is_row_or_item = "|" in title or title.startswith(("-", "*", "+")) or not any(map(str.isalnum, title))
    return is_alone and not is_row_or_item and rule_length >= 3
