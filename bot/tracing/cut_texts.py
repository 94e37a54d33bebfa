"""Cuts long texts, so that exports of a trace stay small enough to open. Each cut is marked in the text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

CAPS = (20_000, 4_000, 1_000, 300, 100)
"""Limits in characters for each text: `choose_cap` takes the first with which all texts fit."""

_MARK = 50
"""Characters at most of the mark of a cut. A text that is longer than its limit by less than this is not cut."""


def choose_cap(value: Any, most: int) -> int:
    """Return the limit in characters for each text of a JSON value, so that its long texts have at most `most` in all.

    That is the first of `CAPS` that fits, or the lowest if none does: the number of texts is limited elsewhere. Texts
    no longer than the lowest limit do not count.
    """
    lengths = [length for length in _iterate_lengths(value) if length > CAPS[-1]]
    return next((cap for cap in CAPS if sum(min(length, cap) for length in lengths) <= most), CAPS[-1])


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


def cut(text: str, cap: int) -> str:
    """Cut a text to about `cap` characters. The end of a cut text tells how long it was."""
    if len(text) <= cap + _MARK:
        return text
    return f"{text[:cap]}… [cut here: {len(text):,} characters in all]"


def cut_all(value: Any, cap: int) -> Any:
    """Return a JSON value with each of its texts cut."""
    if isinstance(value, str):
        return cut(value, cap)
    if isinstance(value, dict):
        return {cut(str(name), cap): cut_all(one, cap) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [cut_all(one, cap) for one in value]
    return value
