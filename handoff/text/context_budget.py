"""Fits pieces of text into the token budget of one model call. The least important pieces are shortened first.

Everything that is left out is named. Pieces that fit stay unchanged.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from handoff.contracts import PackedSize

MAX_FILL_SHARE = 0.85
"""The share of a budget that pieces may fill, since tokens are only estimated from characters."""
MAX_EXCERPT_TRIES = 5
"""The most tries to shorten a piece with its `make_excerpt`, since an excerpt's tokens are known only afterwards."""
MIN_BEGINNING_LENGTH = 1_000
"""The least characters of a beginning that replaces a longer text."""
_ASCII_PER_TOKEN, _OTHER_PER_TOKEN = 3, 2
"""The characters per token of words and code, in ASCII and in other alphabets."""
_DIGITS = b"0123456789"
_SINGLE_TOKENS = re.compile(
    r"[0-9\u0900-\u0dff\u0e00-\u0eff\u1100-\u11ff\u2e80-\ud7ff\uf900-\ufaff\uff00-\uffef\U00010000-\U0010ffff]+"
)
"""Digits, and characters of scripts in which a character counts as one token."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of the text for a model call, in one or more forms of different length."""

    name: str
    forms: tuple[str, ...]
    """The forms of its text, from the whole to the shortest. A piece with a single form is never shortened."""
    weight: int = 0
    """Its importance: the lightest pieces are shortened first, and the longest among equal ones."""
    make_excerpt: Callable[[int], str] | None = None
    """Returns the best parts of the text in at most that many characters, for `fill_budget`; None: only the forms
    exist."""


@dataclass(frozen=True, slots=True)
class PackedTexts:
    """The texts that fit, in the order of their pieces, and the size of the whole."""

    texts: tuple[str, ...]
    size: PackedSize

    @property
    def text(self) -> str:
        """The texts that are not empty, one below the other."""
        return "\n".join(text for text in self.texts if text)


def make_beginnings(text: str) -> tuple[str, ...]:
    """Return a text whole, its first half, its first quarter and so on, down to `MIN_BEGINNING_LENGTH` characters."""
    forms, length = [text], len(text)
    while (length := length // 2) >= MIN_BEGINNING_LENGTH:
        forms.append(f"{text[:length]}\n(… cut here)")
    return tuple(forms)


def estimate_token_count(text: str) -> int:
    """Estimate the tokens of a text. The error is -15 to +40 per cent for prose, tables, code, JSON and Japanese."""
    if text.isascii():
        plain = len(text.encode().translate(None, _DIGITS))
        return len(text) - plain + math.ceil(plain / _ASCII_PER_TOKEN)
    letters = _SINGLE_TOKENS.sub("", text)
    plain = len(letters) if letters.isascii() else len(letters.encode("ascii", "ignore"))
    return len(text) - len(letters) + math.ceil(plain / _ASCII_PER_TOKEN + (len(letters) - plain) / _OTHER_PER_TOKEN)


def fits_budget(size: int, budget: int) -> bool:
    """Return True if `size` tokens fit into the share `MAX_FILL_SHARE` of a budget."""
    return size <= budget * MAX_FILL_SHARE


def pack_pieces(pieces: Sequence[Piece], budget: int) -> PackedTexts:
    """Pack pieces into a budget of tokens: shorten them one by one, the lightest first, until all fit."""
    form_indexes = [0] * len(pieces)
    sizes = [estimate_token_count(piece.forms[0]) for piece in pieces]
    order = sorted(range(len(pieces)), key=lambda place: (pieces[place].weight, -sizes[place], place))
    total = sum(sizes)
    for place in order:
        while not fits_budget(total, budget) and form_indexes[place] < len(pieces[place].forms) - 1:
            form_indexes[place] += 1
            total -= sizes[place]
            sizes[place] = estimate_token_count(pieces[place].forms[form_indexes[place]])
            total += sizes[place]
    texts = tuple(piece.forms[form] for piece, form in zip(pieces, form_indexes, strict=True))
    left_out = tuple(_describe_cut(piece, form) for piece, form in zip(pieces, form_indexes, strict=True) if form)
    return PackedTexts(texts, PackedSize(tokens=sum(sizes), budget=budget, left_out=left_out))


def fill_budget(pieces: Sequence[Piece], budget: int) -> PackedTexts:
    """Pack pieces into a budget of tokens, and use all of it, unlike `pack_pieces`.

    Pieces are taken in full, the heaviest first and the shortest among equal ones, as long as the shortest forms of all
    others fit as well. The other pieces share the remaining room, each with the best parts of its text.
    """
    texts = [piece.forms[-1] for piece in pieces]
    sizes = [estimate_token_count(text) for text in texts]
    wholes = [estimate_token_count(piece.forms[0]) for piece in pieces]
    order = sorted(range(len(pieces)), key=lambda place: (-pieces[place].weight, wholes[place], place))
    shortened_places = []
    for place in order:
        if fits_budget(sum(sizes) - sizes[place] + wholes[place], budget):
            texts[place], sizes[place] = pieces[place].forms[0], wholes[place]
        elif len(pieces[place].forms) > 1:
            shortened_places.append(place)
    for number, place in enumerate(shortened_places):
        room = int((budget * MAX_FILL_SHARE - sum(sizes)) / (len(shortened_places) - number)) + sizes[place]
        text = _shorten_piece(pieces[place], room, wholes[place])
        if (size := estimate_token_count(text)) > sizes[place]:
            texts[place], sizes[place] = text, size
    left_out = [
        f"{piece.name}: {len(text):,} of {len(piece.forms[0]):,} characters" if text else _describe_cut(piece, -1)
        for piece, text in zip(pieces, texts, strict=True)
        if text != piece.forms[0]
    ]
    return PackedTexts(tuple(texts), PackedSize(tokens=sum(sizes), budget=budget, left_out=tuple(left_out)))


def _shorten_piece(piece: Piece, max_tokens: int, whole_tokens: int) -> str:
    """Return the longest form or part of a piece that fits into `max_tokens` tokens; its shortest form if none fits.

    `whole_tokens` is the number of tokens of the whole text.
    """
    form = next((form for form in piece.forms[1:] if estimate_token_count(form) <= max_tokens), piece.forms[-1])
    most = int(len(piece.forms[0]) * max_tokens / max(1, whole_tokens))
    for _ in range(MAX_EXCERPT_TRIES if piece.make_excerpt is not None and most > 0 else 0):
        text = piece.make_excerpt(most) if piece.make_excerpt is not None else ""
        if estimate_token_count(text) <= max_tokens:
            return text if len(text) > len(form) else form
        most = int(most * 0.8)
    return form


def _describe_cut(piece: Piece, form_index: int) -> str:
    whole, kept_length = len(piece.forms[0]), len(piece.forms[form_index])
    return (
        f"{piece.name}: {kept_length:,} of {whole:,} characters"
        if kept_length
        else f"{piece.name}: all {whole:,} characters"
    )
