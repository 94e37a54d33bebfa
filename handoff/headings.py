"""Keeps the headings of a given text below ours, so that none of them can pose as a section of a brief."""

from __future__ import annotations

import re

_HEADING = re.compile(r"^(\s{0,3})(#{1,6})(?=\s|$)", re.MULTILINE)
_CODE = re.compile(r"^([ ]{0,3})(`{3,}|~{3,})[^`\n]*\n(?:.*\n)*?[ ]{0,3}\2[ \t]*$", re.MULTILINE)


def nested(text: str) -> str:
    """The text with its Markdown headings two levels down, six at most. Whole blocks of code stay as they are."""
    parts: list[str] = []
    end = 0
    for block in _CODE.finditer(text):
        parts += [_lowered(text[end : block.start()]), block[0]]
        end = block.end()
    return "".join([*parts, _lowered(text[end:])]).strip()


def _lowered(text: str) -> str:
    return _HEADING.sub(lambda found: found[1] + "#" * min(6, len(found[2]) + 2), text)
