"""Finds queries made of the requester's words alone, which need no approval, and counts the bits that they carry.

A query of nothing but the requester's words still says which of them were chosen. So each such query has a price in
bits: the length of a code that tells all series of such queries apart. Each attempt gets a share of the request's
budget of bits, which bounds what it can say by its choices.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

_WORD_PART = re.compile(r"\w+")
_WORD = re.compile(r"\w+(?:[-.,:/'\u2019&+]\w+)*[+#%]*")
"""A word with what belongs to it: 3.11, C++, don't, state-of-the-art."""
REQUEST_BITS = 256.0
"""The budget of a request: bits that all its attempts together may carry by choosing free words and URLs."""
KIND_BITS = 2.0
"""The bits that say what kind of choice comes next: a page, a phrase, single words, or none."""


@dataclass(frozen=True, slots=True)
class FreeWords:
    """A query in the requester's own words and spelling, and the bits that its choice carries."""

    text: str
    bits: float


class BitBudget:
    """The bits that an attempt has left to spend."""

    def __init__(self, bits: float) -> None:
        self._bits_left = bits - KIND_BITS  # reserved to say that no choice follows

    def spend(self, bits: float) -> bool:
        """Spend the bits of a choice. If too few are left, spend nothing and return False."""
        cost = KIND_BITS + bits
        if cost > self._bits_left:
            return False
        self._bits_left -= cost
        return True


def find_free_words(query: str, texts: Sequence[str]) -> FreeWords | None:
    """Return a query in the requester's spelling, with its price; None if the requester did not write all its words.

    Nothing of the model's own spelling is left: neither case, nor signs, nor spaces.
    """
    text_words = [_WORD.findall(text) for text in texts]
    spellings: dict[str, str] = {}
    for spelling in (spelling for one in text_words for word in one for spelling in (word, *_WORD_PART.findall(word))):
        spellings.setdefault(spelling.casefold(), spelling)
    words = [
        word
        for one in _WORD.findall(query.casefold())
        for word in ([one] if one in spellings else _WORD_PART.findall(one))
    ]
    if not words or not all(word in spellings for word in words):
        return None
    bits = len(words) * math.log2(2 * len(spellings))
    if any(_contains_sequence(words, [word.casefold() for word in one]) for one in text_words):
        bits = min(bits, math.log2(sum(len(one) * (len(one) + 1) // 2 for one in text_words)))
    return FreeWords(" ".join(spellings[word] for word in words), bits)


def _contains_sequence(words: Sequence[str], text_words: Sequence[str]) -> bool:
    size = len(words)
    return any(list(text_words[place : place + size]) == list(words) for place in range(len(text_words) - size + 1))
