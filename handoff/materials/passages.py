"""Finds the passages of a text that match the words of a query, in any language, by pieces of words. Pure.

A word matches its other forms and compounds if they have at least half of its pieces of four letters. Scripts without
spaces are compared by pairs of characters. The more passages contain a word, the less the word counts.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from handoff.contracts import Section
from handoff.materials.outline import complete_outline, name_place

MAX_PASSAGE_LENGTH, MIN_PASSAGE_LENGTH = 900, 300
"""The characters of a passage: paragraphs shorter than `MIN_PASSAGE_LENGTH` are joined, and longer than
`MAX_PASSAGE_LENGTH` are cut."""
MAX_QUERY_WORDS = 40
"""The most words of a query that are looked for. The shortest ones are ignored."""
PIECE_LENGTH = 4
"""The letters of a piece of a word."""
MIN_PIECE_SHARE = 0.5
"""The least share of a word's pieces that must be in a passage for the passage to count as containing the word."""
_WORD = re.compile(r"[^\W_]+")
_UNSPACED_RUN = re.compile(r"[\u0e00-\u0eff\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_CUT_MARKS = ("\n", ". ", "\u3002", " ")
_PARAGRAPH_BREAK = re.compile(r"\n\s*\n|\n(?=\s*(?:#{1,6} |[-*•] ))")


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of a text, with its span `start` to `end`. A better match has a higher `score`; 0: no match."""

    start: int
    end: int
    score: float = 0.0


def split_passages(text: str, outline: Sequence[Section] = ()) -> list[tuple[int, int]]:
    """Split a text into the spans of its passages: at sections and paragraphs, and if these are long, inside them."""
    borders = {0, len(text), *(one.start for one in complete_outline(text, outline) if one.start < len(text))}
    spans: list[tuple[int, int]] = []
    for start, end in pairwise(sorted(borders)):
        ends = [*(match.end() for match in _PARAGRAPH_BREAK.finditer(text, start, end)), end]
        begin = start
        for stop in ends:
            if stop - begin < MIN_PASSAGE_LENGTH and stop != end and not text.startswith("#", stop):
                continue
            spans += _split_paragraph(text, begin, stop)
            begin = stop
    return [(start, end) for start, end in spans if text[start:end].strip()]


def _split_paragraph(text: str, start: int, end: int) -> Iterable[tuple[int, int]]:
    """Yield the spans of a paragraph's parts, cut after a line, a sentence or a word if possible."""
    while end - start > MAX_PASSAGE_LENGTH:
        cut_indexes = (text.rfind(mark, start + MIN_PASSAGE_LENGTH, start + MAX_PASSAGE_LENGTH) for mark in _CUT_MARKS)
        stop = next((at + 1 for at in cut_indexes if at > 0), start + MAX_PASSAGE_LENGTH)
        yield start, stop
        start = stop
    if end > start:
        yield start, end


def score_passages(text: str, outline: Sequence[Section], query: str) -> list[Passage]:
    """Return all passages of a text in order, each with its score for the query `query`."""
    parts = split_passages(text, outline)
    folded_texts = [_fold_text(text[start:end]) for start, end in parts]
    scores = [0.0] * len(parts)
    for pieces in _list_word_pieces(query):
        shares = [_compute_piece_share(pieces, one) for one in folded_texts]
        matching_count = sum(share > 0 for share in shares)
        if not matching_count:
            continue
        weight = math.log((len(parts) + 1) / (matching_count + 0.5))
        for index, share in enumerate(shares):
            scores[index] += max(weight, 0.01) * share * share
    return [Passage(start, end, score) for (start, end), score in zip(parts, scores, strict=True)]


def find_best_passages(text: str, outline: Sequence[Section], query: str, max_passages: int) -> list[Passage]:
    """Return the passages that match the query `query`, the best first, at most `max_passages`."""
    hits = [one for one in score_passages(text, outline, query) if one.score > 0]
    return sorted(hits, key=lambda one: (-one.score, one.start))[:max_passages]


def make_excerpt(
    text: str, outline: Sequence[Section], query: str, max_length: int, *, prefer_newest: bool = False
) -> str:
    """Return an excerpt of at most `max_length` characters: the best passages in their order, each with its place.

    The beginning is preferred, then the passages that best match `query`, then the beginnings of sections. For a
    conversation (`prefer_newest`), its end and its first message are preferred, and later messages come before earlier
    ones.
    """
    passages = score_passages(text, outline, query)
    starts = {one.start for one in outline}
    preferred_starts = [one.start for one in (passages[-1:] if prefer_newest else passages[:1])]
    preferred_starts += [one.start for one in passages if prefer_newest and outline and one.start >= outline[0].start][
        :1
    ]

    def rank_passage(passage: Passage) -> tuple[int, float, bool, int]:
        return (
            preferred_starts.index(passage.start) if passage.start in preferred_starts else len(preferred_starts),
            -passage.score,
            not prefer_newest and passage.start not in starts,
            -passage.start if prefer_newest else passage.start,
        )

    chosen_passages: list[Passage] = []
    remaining_length = max_length
    for one in sorted(passages, key=rank_passage):
        size = one.end - one.start + 30  # with the line that names its place
        if size <= remaining_length:
            chosen_passages.append(one)
            remaining_length -= size
    return _join_passages(text, outline, sorted(chosen_passages, key=lambda one: one.start)) or text[:max_length]


def _join_passages(text: str, outline: Sequence[Section], passages: Sequence[Passage]) -> str:
    lines: list[str] = []
    before, last_place = 0, ""
    for one in passages:
        where = name_place(text, outline, one.start)
        if not lines or one.start != before or (outline and where != last_place):
            lines.append(f"[{where}]")
        lines.append(text[one.start : one.end].strip("\n"))
        before, last_place = one.end, where
    return "\n".join(lines)


def _list_word_pieces(query: str) -> list[tuple[str, ...]]:
    """Return the pieces of each word of a query, the longest words first, at most `MAX_QUERY_WORDS` words."""
    word_pieces: dict[tuple[str, ...], None] = {}
    for word in _WORD.findall(_fold_text(query)):
        for run in _UNSPACED_RUN.findall(word):
            pairs = tuple(run[at : at + 2] for at in range(max(1, len(run) - 1)))
            word_pieces.update({pairs[at : at + 3]: None for at in range(0, len(pairs), 3)})
        spaced_part = _UNSPACED_RUN.sub("", word)
        if len(spaced_part) > 1:
            word_pieces[_split_word(spaced_part)] = None
    return sorted(word_pieces, key=lambda pieces: -sum(map(len, pieces)))[:MAX_QUERY_WORDS]


def _split_word(word: str) -> tuple[str, ...]:
    if len(word) <= PIECE_LENGTH or any(sign.isdigit() for sign in word):
        return (word,)
    return tuple(word[at : at + PIECE_LENGTH] for at in range(len(word) - PIECE_LENGTH + 1))


def _compute_piece_share(pieces: tuple[str, ...], folded_text: str) -> float:
    """Return the share of a word's pieces that a passage has; 0 if it is below `MIN_PIECE_SHARE`."""
    share = sum(piece in folded_text for piece in pieces) / len(pieces)
    return share if share >= MIN_PIECE_SHARE else 0.0


def _fold_text(text: str) -> str:
    """Return a text for comparison: in lower case, and without accents and full-width forms."""
    if text.isascii():
        return text.casefold()
    plain = unicodedata.normalize("NFKD", text).casefold()
    return unicodedata.normalize("NFC", "".join(sign for sign in plain if not unicodedata.combining(sign)))
