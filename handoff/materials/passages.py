"""Finds the passages of a text that match the words of a query, in any language, by pieces of words. Pure.

A word matches its other forms and compounds if they have most of its pieces of four letters. Scripts without spaces are
compared by pairs of characters. The more passages contain a word, the less it counts.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from handoff.contracts import Section
from handoff.materials.outline import describe_place, whole_outline

LONGEST, SHORTEST = 900, 300
"""The characters of a passage: paragraphs shorter than `SHORTEST` are joined, and longer than `LONGEST` are cut."""
MOST_WORDS = 40
"""The most words of a query that are looked for. The shortest ones are ignored."""
PIECE = 4
"""The letters of a piece of a word."""
HELD = 0.5
"""The least share of a word's pieces that a passage must have to contain the word."""
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_ENDS = ("\n", ". ", "\u3002", " ")
_BREAK = re.compile(r"\n\s*\n|\n(?=\s*(?:#{1,6} |[-*•] ))")


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of a text, with its span `start` to `end`. The better it matches, the higher its `score`, from 0 on."""

    start: int
    end: int
    score: float = 0.0


def split(text: str, outline: Sequence[Section] = ()) -> list[tuple[int, int]]:
    """Split a text into the spans of its passages, at sections, paragraphs, lines or, in a long line, anywhere."""
    borders = {0, len(text), *(one.start for one in whole_outline(text, outline) if one.start < len(text))}
    found: list[tuple[int, int]] = []
    for start, end in pairwise(sorted(borders)):
        ends = [*(match.end() for match in _BREAK.finditer(text, start, end)), end]
        begin = start
        for stop in ends:
            if stop - begin < SHORTEST and stop != end and not text.startswith("#", stop):
                continue
            found += _split_paragraph(text, begin, stop)
            begin = stop
    return [(start, end) for start, end in found if text[start:end].strip()]


def _split_paragraph(text: str, start: int, end: int) -> Iterable[tuple[int, int]]:
    """Yield the spans of a paragraph's parts, cut after a line, a sentence or a word if possible."""
    while end - start > LONGEST:
        found = (text.rfind(mark, start + SHORTEST, start + LONGEST) for mark in _ENDS)
        stop = next((at + 1 for at in found if at > 0), start + LONGEST)
        yield start, stop
        start = stop
    if end > start:
        yield start, end


def score_passages(text: str, outline: Sequence[Section], wanted: str) -> list[Passage]:
    """Return all passages of a text in order, each with its score for the query `wanted`."""
    parts = split(text, outline)
    folded = [_fold_text(text[start:end]) for start, end in parts]
    scores = [0.0] * len(parts)
    for pieces in _list_word_pieces(wanted):
        shares = [_share(pieces, one) for one in folded]
        holding = sum(share > 0 for share in shares)
        if not holding:
            continue
        weight = math.log((len(parts) + 1) / (holding + 0.5))
        for index, share in enumerate(shares):
            scores[index] += max(weight, 0.01) * share * share
    return [Passage(start, end, score) for (start, end), score in zip(parts, scores, strict=True)]


def search(text: str, outline: Sequence[Section], wanted: str, most: int) -> list[Passage]:
    """Return the passages that match the query `wanted`, the best first, at most `most`."""
    hits = [one for one in score_passages(text, outline, wanted) if one.score > 0]
    return sorted(hits, key=lambda one: (-one.score, one.start))[:most]


def excerpt(text: str, outline: Sequence[Section], wanted: str, most: int, *, newest: bool = False) -> str:
    """Return an excerpt of at most `most` characters: the best passages in the order of the text, each with its place.

    The beginning is preferred, then the passages that best match `wanted`, then the beginnings of sections. For a
    conversation (`newest`), its end and its first message are preferred, and later messages come before earlier ones.
    """
    passages = score_passages(text, outline, wanted)
    starts = {one.start for one in outline}
    first = [one.start for one in (passages[-1:] if newest else passages[:1])]
    first += [one.start for one in passages if newest and outline and one.start >= outline[0].start][:1]

    def rank(one: Passage) -> tuple[int, float, bool, int]:
        return (
            first.index(one.start) if one.start in first else len(first),
            -one.score,
            not newest and one.start not in starts,
            -one.start if newest else one.start,
        )

    chosen: list[Passage] = []
    left = most
    for one in sorted(passages, key=rank):
        size = one.end - one.start + 30  # with the line that names its place
        if size <= left:
            chosen.append(one)
            left -= size
    return _join_passages(text, outline, sorted(chosen, key=lambda one: one.start)) or text[:most]


def _join_passages(text: str, outline: Sequence[Section], chosen: Sequence[Passage]) -> str:
    lines: list[str] = []
    before, said = 0, ""
    for one in chosen:
        where = describe_place(text, outline, one.start)
        if not lines or one.start != before or (outline and where != said):
            lines.append(f"[{where}]")
        lines.append(text[one.start : one.end].strip("\n"))
        before, said = one.end, where
    return "\n".join(lines)


def _list_word_pieces(wanted: str) -> list[tuple[str, ...]]:
    """Return the pieces of each word of a query, the longest words first, at most `MOST_WORDS` words."""
    found: dict[tuple[str, ...], None] = {}
    for word in _WORD.findall(_fold_text(wanted)):
        for run in _UNSPACED.findall(word):
            pairs = tuple(run[at : at + 2] for at in range(max(1, len(run) - 1)))
            found.update({pairs[at : at + 3]: None for at in range(0, len(pairs), 3)})
        spaced = _UNSPACED.sub("", word)
        if len(spaced) > 1:
            found[_split_word(spaced)] = None
    return sorted(found, key=lambda pieces: -sum(map(len, pieces)))[:MOST_WORDS]


def _split_word(word: str) -> tuple[str, ...]:
    if len(word) <= PIECE or any(sign.isdigit() for sign in word):
        return (word,)
    return tuple(word[at : at + PIECE] for at in range(len(word) - PIECE + 1))


def _share(pieces: tuple[str, ...], folded: str) -> float:
    """Return the share of a word's pieces that a passage has; 0 if it is below `HELD`."""
    held = sum(piece in folded for piece in pieces) / len(pieces)
    return held if held >= HELD else 0.0


def _fold_text(text: str) -> str:
    """Return a text for comparison: in lower case, and without accents and full-width forms."""
    if text.isascii():
        return text.casefold()
    plain = unicodedata.normalize("NFKD", text).casefold()
    return unicodedata.normalize("NFC", "".join(sign for sign in plain if not unicodedata.combining(sign)))
