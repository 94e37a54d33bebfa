"""Splits an answer into the sentences that a verifier checks, and cuts excerpts around figures. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from handoff.evidence.place_words import SENTENCE_END

MAX_STATEMENTS = 80
"""The most sentences of an answer that are checked; the others are ignored."""
MIN_WORDS, MIN_CHARACTERS = 3, 6
"""The least words of a sentence that can be checked, and its least characters in a script without spaces."""
_CODE_BLOCK = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.DOTALL | re.MULTILINE)
_SKIPPED_LINE = re.compile(r"\s*(?:#{1,6} |\||[-*_]{3,}\s*$)")
"""Lines that are no sentences: headings, rules, and rows of tables, which code inserts and checks."""
_LIST_MARK = re.compile(r"^\s*(?:>\s*)?(?:[-*\u2022]|\d{1,3}[.)])\s+")
_CONTEXT_LENGTH = 40
"""The number of characters before and after a figure in an excerpt."""
_UNSPACED_LETTER = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")


def split_statements(answer: str) -> list[str]:
    """Return the sentences of an answer in order, each once, without headings, tables and code."""
    return list(dict.fromkeys(_split_sentences(answer)))[:MAX_STATEMENTS]


def find_figure_context(figure: str, answer: str) -> str:
    """Return an excerpt of the sentence or table row around a figure; "" if the figure stands alone or is not found."""
    figure_pattern = re.compile(
        rf"(?<![\d.,]){re.escape(figure)}(?![.,]?\d)" if figure[:1].isdigit() else re.escape(figure)
    )
    whole = " ".join(answer.replace("**", "").strip(" \t\n*_#.").split())
    for line in answer.replace("**", "").split("\n"):
        row = " · ".join(cell.strip() for cell in line.strip("| \t").split("|")) if line.lstrip()[:1] == "|" else ""
        for sentence in [row] if row else SENTENCE_END.split(_LIST_MARK.sub("", line)):
            text = " ".join(sentence.strip(" \t*_#.").split())
            if text in {figure, whole}:
                return ""
            if (match := figure_pattern.search(text)) is not None:
                return _cut_at_words(text, match.start(), match.end())
    return ""


def _cut_at_words(text: str, start: int, end: int) -> str:
    """Return a span of a text with about `_CONTEXT_LENGTH` characters on both sides, cut at words."""
    first, last = max(0, start - _CONTEXT_LENGTH), min(len(text), end + _CONTEXT_LENGTH)
    first = text.find(" ", first, start) + 1 if first else 0
    last = text.rfind(" ", end, last) if last < len(text) and " " in text[end:last] else last
    return f"{'… ' if first else ''}{text[first:last]}{' …' if last < len(text) else ''}"


def _split_sentences(answer: str) -> Iterator[str]:
    for line in _CODE_BLOCK.sub("", answer).split("\n"):
        if _SKIPPED_LINE.match(line):
            continue
        for sentence in SENTENCE_END.split(_LIST_MARK.sub("", line).replace("**", "")):
            text = sentence.strip(" \t*_")
            is_long_enough = (
                len(text) >= MIN_CHARACTERS if _UNSPACED_LETTER.search(text) else len(text.split()) >= MIN_WORDS
            )
            if is_long_enough:
                yield text
