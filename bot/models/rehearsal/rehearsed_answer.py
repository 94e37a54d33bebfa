"""The rehearsal's synthesizer: puts results one after the other, without saying anything twice."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.models.rehearsal.rehearsed_brief import WORKED_OUT, sections

_RESULT = re.compile(r'^## (?P<title>.*)\n<result id="(?P<name>[^"]*)" sure="\d+"/>[ \t]*$', re.MULTILINE)
_PICTURE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
"""A picture alone on its line: it is in the thread as a file, and a message cannot show it."""

_ASIDE = re.compile(r"\n\s*\n(?:Sources|Files)[:,] [^\n]*(?=\s*\Z|\s*\n\n(?:Sources|Files)[:,] [^\n]*\s*\Z)")
"""The lines below a result for sources and files: the answer's own small print and files show them already."""

_HEADINGS = (
    "Request",
    "Plan",
    "Results",
    "Gaps",
    "Findings, gravest first: keep the severity, place and suggestion of each",
    "Left out for length",
    "Instruction",
    "First",
    "Your last answer",
)


@dataclass(frozen=True, slots=True)
class _Part:
    title: str
    name: str
    content: str


def write_answer(text: str) -> str:
    """The answer for a synthesizer's message."""
    found = sections(text, _HEADINGS)
    parts = _parts(found.get("Results", ""))
    chosen = sorted(parts, key=lambda part: part.name != "text")  # a text for the reader first
    blocks: list[str] = []
    seen: set[str] = set()
    for part in chosen:
        fresh = _fresh(part.content, seen)
        if not fresh:
            continue
        if len(chosen) > 1 and not fresh[0].startswith(("#", WORKED_OUT)):
            fresh.insert(0, f"## {part.title}")
        blocks += fresh
    if not blocks:
        blocks = ["None of the steps brought a result."]
    gaps = found.get("Gaps", "").strip()
    if gaps:
        blocks += ["## What is missing", gaps]
    return "\n\n".join(blocks)


def _parts(results: str) -> list[_Part]:
    heads = list(_RESULT.finditer(results))
    ends = [head.start() for head in heads[1:]] + [len(results)]
    return [
        _Part(head["title"], head["name"], _raised(_ASIDE.sub("", results[head.end() : end])))
        for head, end in zip(heads, ends[: len(heads)], strict=True)
    ]


def _raised(content: str) -> str:
    """A content with its headings at the levels that they had before they were put below those of the message."""
    return re.sub(r"^##(?=#+ )", "", content.strip(), flags=re.MULTILINE)


def _fresh(content: str, seen: set[str]) -> list[str]:
    """The blocks of a content that were not shown before, headings without anything under them left out."""
    fresh: list[str] = []
    for block in re.split(r"\n\s*\n", content):
        plain = re.sub(r"\W+", " ", block).casefold().strip()
        if not plain or _PICTURE.fullmatch(block.strip()) or (plain in seen and not block.lstrip().startswith("#")):
            continue
        seen.add(plain)
        while fresh and 0 < _level(block.strip()) <= _level(fresh[-1]):
            fresh.pop()
        fresh.append(block.strip())
    while fresh and _level(fresh[-1]):
        fresh.pop()
    return fresh


def _level(block: str) -> int:
    """The level of a block that is a heading and nothing else, or 0."""
    return len(block) - len(block.lstrip("#")) if block.startswith("#") and "\n" not in block else 0
