"""Marks figures of an answer that no source has, where they stand, so that nobody takes them for found. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from handoff.answering.fixed_words import phrase
from handoff.checking.figures import Figure

MARK = "⚠"
_CURRENCY = re.compile(r"[$€£¥][ \u00a0]?$")
_UNIT = re.compile(r"[ \u00a0\u202f]?[%€£¥$]")
_KEPT = re.compile(r"```.*?(?:```|\Z)|`[^`\n]+`|\]\([^)\s]*\)|\bhttps?://\S+", re.DOTALL)
"""Code and links: a mark inside would break them."""


def named(text: str, figures: Iterable[Figure]) -> tuple[str, ...]:
    """Return figures of a text as they stand there, with the sign of a currency or per cent beside them, each once."""
    found = []
    for one in figures:
        before, after = _CURRENCY.search(text[: one.start]), _UNIT.match(text[one.end :])
        found.append(f"{before[0] if before else ''}{one.text}{after[0] if after else ''}")
    return tuple(dict.fromkeys(found))


def without(text: str, figures: Iterable[str]) -> str:
    """Return the text without these figures: where it is a source, it is none for them."""
    for figure in sorted(figures, key=len, reverse=True):
        text = re.sub(_exactly(figure), " ", text) if figure.strip() else text
    return text


def marked(text: str, figures: Iterable[str], request: str) -> str:
    """Return the text with a mark after each of these figures, and one line below that says what the mark means.

    A figure that stands in code or links alone is named in that line.
    """
    wanted = [one for one in dict.fromkeys(figures) if one.strip() and one in text]
    if not wanted:
        return text
    pattern = re.compile("|".join(_exactly(one) for one in sorted(wanted, key=len, reverse=True)))
    seen: set[str] = set()

    def put(found: re.Match[str]) -> str:
        seen.add(found[0])
        return f"{found[0]} {MARK}"

    parts, end = [], 0
    for kept in _KEPT.finditer(text):
        parts += [pattern.sub(put, text[end : kept.start()]), kept[0]]
        end = kept.end()
    parts.append(pattern.sub(put, text[end:]))
    hidden = [one for one in wanted if one not in seen]
    named = f"{', '.join(hidden)}: " if hidden else ""
    return f"{''.join(parts).rstrip()}\n\n_{MARK} {named}{phrase('unsupported', request)}_"


def _exactly(figure: str) -> str:
    """Return a pattern for the figure that no longer number matches."""
    before = r"(?<![\d])(?<!\d[.,])" if figure[0].isdigit() else ""
    after = r"(?!\d|[.,]\d)" if figure[-1].isdigit() else ""
    return f"{before}{re.escape(figure)}{after}"
