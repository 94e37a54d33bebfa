"""Cuts long texts, so that what is made of a trace stays of a size that people can open. It says what it cut."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

CAPS = (20_000, 4_000, 1_000, 300, 100)
"""Characters that one text may have; the first with which all of them fit is taken."""

_MARK = 50
"""Characters that the mark of a cut takes at most: it is not put where it would save nothing."""


def choose_cap(value: Any, most: int) -> int:
    """Return the characters that each text of a JSON value may have, so that its long texts have at most `most` in all.

    That is the first of `CAPS` that fits, or the lowest if none does: the number of texts is bounded elsewhere. Texts
    no longer than the lowest do not count.
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
    """Return a text of at most about `cap` characters. If something is cut, its end says how long it was."""
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
