"""The rehearsal's synthesizer: puts results one after the other, without saying anything twice."""

from __future__ import annotations

import re

from bot.models.rehearsal.rehearsed_brief import WORKED_OUT, raise_headings, sections

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


def write_answer(text: str) -> str:
    """The answer for a synthesizer's message."""
    found = sections(text, _HEADINGS)
    _, *parts = _RESULT.split(found.get("Results", ""))
    results = sorted(zip(parts[::3], parts[1::3], parts[2::3], strict=True), key=lambda one: one[1] != "text")
    blocks: list[str] = []
    seen: set[str] = set()
    for title, _, content in results:  # a text for the reader first
        fresh = _fresh(raise_headings(_ASIDE.sub("", content)), seen)
        if len(results) > 1 and fresh and not fresh[0].startswith(("#", WORKED_OUT)):
            fresh.insert(0, f"## {title}")
        blocks += fresh
    gaps = found.get("Gaps", "").strip()
    missing = ["## What is missing", gaps] if gaps else []
    return "\n\n".join([*(blocks or ["None of the steps brought a result."]), *missing])


def _fresh(content: str, seen: set[str]) -> list[str]:
    """The blocks of a content that were not shown before, headings without anything under them left out."""
    fresh: list[str] = []
    for block in (one.strip() for one in re.split(r"\n\s*\n", content)):
        plain = re.sub(r"\W+", " ", block).casefold().strip()
        if not plain or _PICTURE.fullmatch(block) or (plain in seen and not block.startswith("#")):
            continue
        seen.add(plain)
        while fresh and 0 < _level(block) <= _level(fresh[-1]):
            fresh.pop()
        fresh.append(block)
    while fresh and _level(fresh[-1]):
        fresh.pop()
    return fresh


def _level(block: str) -> int:
    """The level of a block that is a heading and nothing else, or 0."""
    return len(block) - len(block.lstrip("#")) if block.startswith("#") and "\n" not in block else 0
