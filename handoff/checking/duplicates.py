"""Sends long passages that several results share word for word to the model once; the others point to them.

Nothing is lost by it: the first words of a removed passage and the title of the result that has it stay, as the same
sentence may be about one vendor here and another there. What is said in other words, or briefly, is for the model to
put together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

LONG = 200
"""Characters from which on pointing to a passage is shorter than repeating it."""
FIRST = 8
"""Words of the passage that stay."""

_PARTS = re.compile(r"(\n\s*\n|\n(?=\s*(?:[-*+]|\d+[.)])\s))")
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")


def remove_duplicates(
    contents: Mapping[str, str], order: Sequence[str], titles: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, int]]:
    """Return the contents by name, with repeated passages replaced by a pointer.

    A passage that an earlier content in `order` has is replaced by the title of that content. The second value counts
    the replaced passages, by name. Code, tables and headings stay as they are, and so does a passage that one content
    repeats itself.
    """
    said: dict[str, str] = {}
    kept: dict[str, str] = {}
    lost: dict[str, int] = {}
    for name in order:
        parts = _PARTS.split(contents[name])
        fenced, gone = False, 0
        ours: dict[str, str] = {}
        for place in range(0, len(parts), 2):
            text = parts[place]
            if not fenced and _is_long_passage(text):
                key = " ".join(_BULLET.sub("", text, count=1).split())
                if (other := said.get(key)) is not None:
                    bullet = _BULLET.match(text)
                    start = " ".join(key.split()[:FIRST])
                    parts[place] = f"{bullet[0] if bullet else ''}(word for word as in “{other}”: {start} …)"
                    gone += 1
                else:
                    ours[key] = titles.get(name, name)
            fenced ^= text.count("```") % 2 == 1
        said.update(ours)
        kept[name] = "".join(parts)
        if gone:
            lost[name] = gone
    return {name: kept[name] for name in contents}, lost


def _is_long_passage(text: str) -> bool:
    return len(text) >= LONG and not text.lstrip().startswith(("#", "|")) and "```" not in text
