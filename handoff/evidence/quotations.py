"""Finds quotations in source texts, and extracts the quotations that a text makes. Pure.

A quotation is found if a source has the same words. These differences are ignored: white space, hyphenation at line
ends, typography (quotation marks, dashes, ligatures, full-width letters, Markdown marks), and the case of the first
letter. Any other word, number or sign makes it another text. An omission or insertion, such as "..." or
"[the supplier]", stands for any text of up to `MAX_GAP_CHARACTERS` characters.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from handoff.evidence.place_words import SENTENCE_END, find_named_places

MAX_GAP_CHARACTERS = 2_000
"""The most characters that an ellipsis may stand for, counted in the plain form of the source."""
MAX_QUOTATION_LENGTH = 2_000
"""The most characters of a quotation. Quotation marks further apart than this are not a pair."""
_HYPHENATION = re.compile(r"[\u00ad\u2010-]\s*\n\s*")
"""The hyphen and line break inside a word that is broken at the end of a line."""
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_IGNORED_CHARACTERS = re.compile(r"[\s\u00ad\u200b-\u200f\u2060\ufeff*_`~]+")
_EQUAL_CHARACTERS = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2039\u203a\u00b4", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u300c\u300d\u300e\u300f\u2033", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    }
)
_ELLIPSIS = re.compile(r"\[[^\][]{0,80}\]|\((?:\.{3}|\u2026)\)|\.{3,}|\u2026")
_EDGE_PUNCTUATION = " \t\n.,;:!?\u3002\u3001\uff0c\uff01\uff1f\u2026-\u2013\u2014\"'\u201c\u201d"


@dataclass(frozen=True, slots=True)
class Quotation:
    """A quotation that a text makes."""

    words: str
    """The quoted words."""
    start: int
    """The index of the opening mark in the text."""
    end: int
    """The index after the closing mark."""
    line: str
    """The line of the quotation, without the quotation itself; for a block quote, the line before it."""
    before: str = ""
    """The part of the line between the quotation before and this one."""
    after: str = ""
    """The part of the line between this quotation and the next one."""


def _make_plain_text(text: str, *, is_joined: bool) -> str:
    """Return the plain form of a text for comparison: with equal characters unified, and ignored ones removed.

    With `is_joined`, words that are hyphenated at line ends are joined.
    """
    text = _HYPHENATION.sub("", text) if is_joined else text
    return _IGNORED_CHARACTERS.sub("", unicodedata.normalize("NFKC", text).translate(_EQUAL_CHARACTERS))


@dataclass(frozen=True)
class SearchableText:
    """A source text in which quotations are looked for. Its plain form is computed once."""

    text: str

    def find_quotation(self, quotation: str) -> int | None:
        """Return the index of the first character of a quotation in the text; None if the text does not contain it."""
        pieces = [piece.strip(_EDGE_PUNCTUATION) for piece in _ELLIPSIS.split(quotation)]
        plain_pieces = [plain for piece in pieces if (plain := _make_plain_text(piece, is_joined=False))]
        if not plain_pieces:
            return None
        for is_joined in (True, False):
            lines = self._joined_lines if is_joined else self._unjoined_lines
            if (at := _find_pieces(lines.plain, plain_pieces)) is not None:
                return self._find_text_index(lines, at, is_joined=is_joined)
        return None

    @cached_property
    def _joined_lines(self) -> _PlainLines:
        return _make_plain_lines(self.text, is_joined=True)

    @cached_property
    def _unjoined_lines(self) -> _PlainLines:
        return _make_plain_lines(self.text, is_joined=False)

    def _find_text_index(self, lines: _PlainLines, plain_index: int, *, is_joined: bool) -> int:
        """Return the index in the text of the character that is at the index `plain_index` of its plain form."""
        number = bisect_right(lines.plain_ends, plain_index)
        low = start = lines.ends[number - 1] if number else 0
        high = lines.ends[number]
        inside = plain_index - (lines.plain_ends[number - 1] if number else 0)
        while low < high:
            middle = (low + high) // 2
            if len(_make_plain_text(self.text[start : middle + 1], is_joined=is_joined)) > inside:
                high = middle
            else:
                low = middle + 1
        return low


@dataclass(frozen=True, slots=True)
class _PlainLines:
    """The plain form of a text. `ends` and `plain_ends` are the ends of its lines, in the text and in `plain`."""

    plain: str
    ends: tuple[int, ...]
    plain_ends: tuple[int, ...]


def _make_plain_lines(text: str, *, is_joined: bool) -> _PlainLines:
    lines = _LINE.findall(text)
    plain = [_make_plain_text(line, is_joined=is_joined) for line in lines]
    return _PlainLines("".join(plain), tuple(accumulate(map(len, lines))), tuple(accumulate(map(len, plain))))


def find_quotation(text: str, quotation: str) -> int | None:
    """Return the index of the first character of a quotation in a text; None if the text does not contain it."""
    return SearchableText(text).find_quotation(quotation)


def _find_pieces(plain: str, pieces: list[str]) -> int | None:
    """Return the index of the first piece if the gaps between all are at most `MAX_GAP_CHARACTERS`; None otherwise."""
    first, rest = pieces[0], pieces[1:]
    for at in _yield_piece_indices(plain, first):
        end = at + len(first)
        for piece in rest:
            piece_start = plain.find(piece, end, end + MAX_GAP_CHARACTERS + len(piece))
            if piece_start < 0:
                break
            end = piece_start + len(piece)
        else:
            return at
    return None


def _yield_piece_indices(plain: str, piece: str) -> Iterator[int]:
    """Yield the indices of a piece in a text, ignoring the case of its first letter."""
    for first in dict.fromkeys((piece[0], piece[0].lower(), piece[0].upper())):
        at = plain.find(first + piece[1:])
        while at >= 0:
            yield at
            at = plain.find(first + piece[1:], at + 1)


_QUOTATION_MARKS = (
    ("\u201c", "\u201d"), ("\u201e", "\u201c\u201d"), ("\u00ab", "\u00bb"), ("\u00bb", "\u00ab"), ("\u2039", "\u203a"),
    ("\u300c", "\u300d"), ("\u300e", "\u300f"), ("\u300a", "\u300b"), ('"', '"'), ("\uff02", "\uff02"),
)  # fmt: skip
_QUOTED_TEXT = re.compile(
    "|".join(
        f"{re.escape(a)}([^{re.escape(a + b)}]{{1,{MAX_QUOTATION_LENGTH}}})[{re.escape(b)}]"
        for a, b in _QUOTATION_MARKS
    )
)
_OPENING_MARK = re.compile(f"[{''.join(dict.fromkeys(re.escape(one) for one, _ in _QUOTATION_MARKS))}]")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]+`", re.DOTALL)
_BLOCK_QUOTE = re.compile(r"(?:^[ \t]*>[^\n]*(?:\n|\Z))+", re.MULTILINE)


def extract_quotations(text: str) -> list[Quotation]:
    """Return the quotations of a Markdown text, in quotation marks of any language or as block quotes, outside code."""
    blank = _CODE.sub(lambda code: " " * len(code[0]), text)
    quotations = []
    for block in _BLOCK_QUOTE.finditer(blank):
        words = re.sub(r"^[ \t]*>[ \t]?", "", block[0], flags=re.MULTILINE).strip()
        before = blank[: block.start()].rstrip().rpartition("\n")[2]
        quotations.append(Quotation(words, block.start(), block.end(), before, before))
    blank = _BLOCK_QUOTE.sub(lambda block: re.sub(r"[^\n]", " ", block[0]), blank)
    last_end = 0
    for match in _QUOTED_TEXT.finditer(blank):
        words = next(filter(None, match.groups()))
        if "\n\n" not in words:
            start, end = blank.rfind("\n", 0, match.start()) + 1, blank.find("\n", match.end())
            rest_of_line = blank[match.end() : end if end >= 0 else len(blank)]
            line = f"{blank[start : match.start()]} {rest_of_line}"
            before, after = blank[max(start, last_end) : match.start()], _OPENING_MARK.split(rest_of_line)[0]
            quotations.append(Quotation(words, match.start(), match.end(), line, before, after))
        last_end = match.end()
    return sorted(quotations, key=lambda one: one.start)


_WORD = re.compile(r"[^\W\d_]+")
_CLAUSE_END = re.compile(r"[,;\u2013\u2014](?=\s)")
_BRACKETED_TEXT = re.compile(r"\s*\(([^()\n]{1,80})\)")
_SPEAKER = re.compile(r"^[ \t>*\-\u2022]*(?P<name>[^\W\d_][^\W_]{2,}(?:[ .'\-]{1,2}[^\W_]+){0,3})\s?\**[:\uff1a](?=\s)")
"""The name at the beginning of a line of a conversation, as in `Ana: I agree.`"""
_MAX_VERB_WORDS, _MAX_PLACE_WORDS = 1, 3
"""The most words between a file's name and its quotation: as in "says", or with a place as in "says in section 2"."""


def find_named_file(quotation: Quotation, names: Iterable[str]) -> str:
    """Return the file in `names` that the text names as a quotation's source; empty if it names none or several."""
    names = list(names)
    if bracket := _BRACKETED_TEXT.match(quotation.after):
        return _get_only_name(name for name in names if _find_name_ends(bracket[1], name))
    sentence = SENTENCE_END.split(quotation.before)[-1]
    if not (file_name := _get_only_name(name for name in names if _find_name_ends(sentence, name))):
        return ""
    rest = sentence[_find_name_ends(sentence, file_name)[-1] :]
    return (
        file_name
        if len(_WORD.findall(rest)) <= (_MAX_PLACE_WORDS if find_named_places(rest) else _MAX_VERB_WORDS)
        else ""
    )


def find_speaker_fault(quotation: Quotation, text: str) -> str:
    """Return a fault if the quotation names a speaker but only other speakers say it in `text`; empty otherwise."""
    lines = [(match["name"], line) for line in text.splitlines() if (match := _SPEAKER.match(line))]
    names = dict.fromkeys(name for name, _ in lines)
    if len(names) <= 1 or not (named_speaker := _find_named_speaker(quotation, names)):
        return ""
    true_speakers = [name for name, line in lines if find_quotation(line, quotation.words) is not None]
    if (
        not true_speakers
        or named_speaker in true_speakers
        or any(_find_name_ends(f"{quotation.before} {quotation.after}", name) for name in true_speakers)
    ):
        return ""
    return f"is said by {true_speakers[0]}, not by {named_speaker}"


def _find_named_speaker(quotation: Quotation, names: Iterable[str]) -> str:
    clause = _CLAUSE_END.split(SENTENCE_END.split(quotation.before)[-1])[-1]
    bracket = _BRACKETED_TEXT.match(quotation.after)
    for name in names:
        if re.fullmatch(rf"\W*{re.escape(name)}\W+(?:[^\W\d_]+\W*)?", clause) or (bracket and bracket[1] == name):
            return name
    return ""


def _find_name_ends(text: str, name: str) -> list[int]:
    """Return the end of each mention of a name in a text, without mentions inside longer names, as a.md in data.md."""
    matches = re.finditer(rf"(?<![\w.-]){re.escape(name)}(?![A-Za-z0-9_-]|\.\w)", text, re.IGNORECASE)
    return [one.end() for one in matches]


def _get_only_name(names: Iterator[str]) -> str:
    name_list = list(names)
    return name_list[0] if len(name_list) == 1 else ""
