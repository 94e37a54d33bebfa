"""Keeps the headings of a given text below ours, so that none of them can pose as a section of a brief."""

from __future__ import annotations

import re

_HEADING = re.compile(r"(\s{0,3})(#{1,6})(?=\s|$)")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)")


def nested(text: str) -> str:
    """The text with its Markdown headings two levels down, six at most. Whole blocks of code stay as they are.

    Where a block is never closed, all that follows its beginning is taken for text.
    """
    told: list[str] = []
    code: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.fullmatch(line)
        if not fence:
            fence = mark[1] if mark else ""
            (code if mark else told).append(line if mark else _lowered(line))
            continue
        code.append(line)
        if mark and mark[1].startswith(fence) and not mark[2].strip():
            told += code
            code, fence = [], ""
    return "\n".join([*told, *map(_lowered, code)]).strip()


def _lowered(line: str) -> str:
    found = _HEADING.match(line)
    return line if found is None else f"{found[1]}{'#' * min(6, len(found[2]) + 2)}{line[found.end() :]}"
