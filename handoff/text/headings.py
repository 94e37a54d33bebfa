"""Demotes the headings of a text inside a prompt, so that none of them can pass for a section of the prompt."""

from __future__ import annotations

import re

_HEADING = re.compile(r"(\s{0,3})(#{1,6})(?=\s|$)")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)")


def demote_headings(text: str) -> str:
    """Move the Markdown headings of a text two levels down, to level six at most. Code blocks stay unchanged.

    A code block that is never closed is treated as text.
    """
    if "#" not in text:
        return text.strip()
    finished_lines: list[str] = []
    code: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.fullmatch(line)
        if not fence:
            fence = mark[1] if mark else ""
            (code if mark else finished_lines).append(line if mark else _demote_heading(line))
            continue
        code.append(line)
        if mark and mark[1].startswith(fence) and not mark[2].strip():
            finished_lines += code
            code, fence = [], ""
    return "\n".join([*finished_lines, *map(_demote_heading, code)]).strip()


def _demote_heading(line: str) -> str:
    match = _HEADING.match(line)
    return line if match is None else f"{match[1]}{'#' * min(6, len(match[2]) + 2)}{line[match.end() :]}"
