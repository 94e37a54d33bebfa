"""Front matter that others wrote for other readers: their keys line by line, where it is not valid YAML, and in short.

Agents and skills of other makers often have a colon in a description, which YAML refuses and their own reader takes.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from specialists.files.frontmatter import MarkdownPage

_KEY = re.compile(r"([A-Za-z][\w-]*):[ \t]*(.*)")
_CASES = re.compile(r"(?:\\n|\s)*(?:<example>|\bexamples?:).*", re.IGNORECASE | re.DOTALL)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def read_plainly(page: MarkdownPage, keys: Collection[str]) -> dict[str, object]:
    """Read the known keys of a page's front matter, each a text or a list of texts; other lines go on with the last."""
    found: dict[str, list[str]] = {}
    last = ""
    for line in page.front.splitlines():
        match = _KEY.fullmatch(line.rstrip())
        if match is not None and match[1] in keys:
            last = match[1]
            found[last] = [match[2]]
        elif last:
            found[last].append(line.strip())
    return {key: _parse_value(lines) for key, lines in found.items()}


def _parse_value(lines: list[str]) -> object:
    items = [line[1:].strip() for line in lines[1:] if line.startswith("-")]
    if not lines[0] and items:
        return [_strip_quotes(item) for item in items]
    return _strip_quotes(" ".join(filter(None, lines)).removeprefix("|").removeprefix(">").strip())


def _strip_quotes(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def shorten_description(text: str, most: int) -> str:
    """Return the first sentences of a description, without its examples, within so many characters.

    Where that is less than half of them, the next sentence is cut.
    """
    line = " ".join(_CASES.sub("", text).replace("\\n", " ").split()) or " ".join(text.split())
    if len(line) <= most:
        return line
    short = ""
    for sentence in _SENTENCE.split(line):
        if len(short) + len(sentence) + 1 > most:
            break
        short = f"{short} {sentence}".strip()
    return short if 2 * len(short) >= most else f"{line[: most - 1].rstrip()}…"
