"""Cuts long texts, so that exports of a trace stay small enough to open. Each cut is marked in the text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

TEXT_CHAR_LIMITS = (20_000, 4_000, 1_000, 300, 100)
"""Limits in characters for each text: `choose_text_limit` takes the first with which all texts fit."""

_MAX_MARK_CHARS = 50
"""Most characters of the mark of a cut. A text that exceeds its limit by this much or less is not cut."""


def choose_text_limit(value: Any, max_total: int) -> int:
    """Return the most characters for each text of a JSON value, so that its long texts have `max_total` at most in all.

    That is the first of `TEXT_CHAR_LIMITS` that fits, or the lowest if none does; then the total exceeds `max_total`.
    Texts no longer than the lowest limit do not count.
    """
    lengths = [length for length in _iterate_lengths(value) if length > TEXT_CHAR_LIMITS[-1]]
    return next(
        (cap for cap in TEXT_CHAR_LIMITS if sum(min(length, cap) for length in lengths) <= max_total),
        TEXT_CHAR_LIMITS[-1],
    )


def _iterate_lengths(value: Any) -> Iterator[int]:
    if isinstance(value, str):
        yield len(value)
    elif isinstance(value, dict):
        for name, one in value.items():
            yield len(str(name))
            yield from _iterate_lengths(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _iterate_lengths(one)


def cut_text(text: str, max_chars: int) -> str:
    """Cut a text to about `max_chars` characters. The end of a cut text tells how long it was."""
    if len(text) <= max_chars + _MAX_MARK_CHARS:
        return text
    return f"{text[:max_chars]}… [cut here: {len(text):,} characters in all]"


def cut_all_texts(value: Any, max_chars: int) -> Any:
    """Return a JSON value with each of its texts cut."""
    if isinstance(value, str):
        return cut_text(value, max_chars)
    if isinstance(value, dict):
        return {cut_text(str(name), max_chars): cut_all_texts(one, max_chars) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [cut_all_texts(one, max_chars) for one in value]
    return value
