"""What fits into one model call: pieces of text within a budget of tokens, the least important let go first.

Nothing is let go without being named. A pack that fits is left exactly as it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from handoff.contracts import Packed

FULL = 0.8
"""The share of a budget from which on things are let go: counting tokens by characters is no exact art."""
LEAST = 1_000
"""Characters of the shortest beginning that stands for a long text."""
_PLAIN = 4.0
_OTHER = 1.5
"""Characters a token, in ASCII and in other scripts, on the safe side."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of a pack. `forms` go from the whole to the shortest; a piece of one form always stays.

    `weight` says how important it is: the lightest are shortened first, of equal ones the longest.
    """

    name: str
    forms: tuple[str, ...]
    weight: int = 0


@dataclass(frozen=True, slots=True)
class Pack:
    """The texts in the order of their pieces, and what came of packing them."""

    texts: tuple[str, ...]
    packed: Packed

    @property
    def text(self) -> str:
        """All of it, one below the other."""
        return "\n".join(text for text in self.texts if text)


def beginnings(text: str) -> tuple[str, ...]:
    """A long text as the forms of a piece: the whole and ever shorter beginnings, down to `LEAST` characters."""
    forms, length = [text], len(text)
    while (length := length // 2) >= LEAST:
        forms.append(f"{text[:length]}\n(… cut here)")
    return tuple(forms)


def tokens(text: str) -> int:
    """About how many tokens a text takes, rather too many than too few."""
    if text.isascii():
        return math.ceil(len(text) / _PLAIN)
    plain = len(text.encode("ascii", "ignore"))
    return math.ceil(plain / _PLAIN + (len(text) - plain) / _OTHER)


def fits(size: int, budget: int) -> bool:
    """Whether so many tokens may go in without anything being let go."""
    return size <= budget * FULL


def pack(pieces: Sequence[Piece], budget: int) -> Pack:
    """The pieces in the longest forms with which they fit, shortened one by one. `budget` is in tokens."""
    chosen = [0] * len(pieces)
    sizes = [tokens(piece.forms[0]) for piece in pieces]
    order = sorted(range(len(pieces)), key=lambda place: (pieces[place].weight, -sizes[place], place))
    for place in order:
        while not fits(sum(sizes), budget) and chosen[place] < len(pieces[place].forms) - 1:
            chosen[place] += 1
            sizes[place] = tokens(pieces[place].forms[chosen[place]])
    texts = tuple(piece.forms[form] for piece, form in zip(pieces, chosen, strict=True))
    left_out = tuple(_named(piece, form) for piece, form in zip(pieces, chosen, strict=True) if form)
    return Pack(texts, Packed(tokens=sum(sizes), budget=budget, left_out=left_out))


def _named(piece: Piece, form: int) -> str:
    whole, kept = len(piece.forms[0]), len(piece.forms[form])
    return f"{piece.name}: {kept:,} of {whole:,} characters" if kept else f"{piece.name}: all {whole:,} characters"
