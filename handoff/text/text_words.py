"""Splits a text into words and sentences, to compare texts roughly in any language. Pure."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        a an the this that these those it its they their them there here he she his her we our you your i is are was
        were be been being am do does did done has have had having will shall of in on at to for from by with within
        and or as than then so also about into over under out per via both all each any some such own same very just
        only still already now currently overall total totally around roughly approximately nearly almost exactly
        least most more less fewer up down
        """,
    )
)
"""English stop words."""

_WORD = re.compile(r"[^\W_]+(?:[.&'\u2019/-][^\W_]+)*")
_WORD_OR_NUMBER = re.compile(r"\w+")
_UNSPACED_LETTER = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""A letter of an East Asian script, whose words are compared by pairs of letters."""
_CODE_BLOCK = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\([^)]*\)")
_MARKDOWN_MARKS = re.compile(r"^\s*(?:[-*+•]\s+|\d+[.)]\s+|>\s*)|[*_`]{1,3}|\[\d+\]")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^\Wa-z_]|[\"“(*_$€£])|(?<=[\u3002\uff01\uff1f])|\n+")
_ABBREVIATION = re.compile(r"\b(e\.g|i\.e|approx|vs|Inc|Ltd|Co|Corp|No|Mr|Mrs|Dr|St|U\.S)\.", re.IGNORECASE)
_DOT_PLACEHOLDER = "\u2024"
"""The stand-in for the point of an abbreviation while sentences are split."""


@lru_cache(maxsize=512)
def extract_words(text: str) -> frozenset[str]:
    """Return the words of a text without stop words and English endings; in unspaced scripts, pairs of letters."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    words: set[str] = set()
    for word in _WORD.findall(plain):
        if _UNSPACED_LETTER.search(word):
            words |= {word[place : place + 2] for place in range(max(1, len(word) - 1))}
        elif word not in STOP_WORDS:
            words.add(stem_word(re.sub(r"['\u2019]s$", "", word)))
    return frozenset(words)


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a Markdown text without Markdown marks. Headings, tables and code are left out."""
    prose = _LINK.sub(r"\1", _CODE_BLOCK.sub("\n", text)).splitlines()
    lines = [_MARKDOWN_MARKS.sub("", line).strip() for line in prose if not line.lstrip().startswith(("#", "|"))]
    joined_text = _ABBREVIATION.sub(lambda match: match[0][:-1] + _DOT_PLACEHOLDER, "\n".join(lines))
    parts = (part.replace(_DOT_PLACEHOLDER, ".").strip() for part in _SENTENCE.split(joined_text))
    return [part for part in parts if part]


def normalize_words(text: str) -> str:
    """Return the words and numbers of a text in order, in lower case, with a space between them."""
    return " ".join([word.casefold() for word in _WORD_OR_NUMBER.findall(text)])


def stem_word(word: str) -> str:
    """Return a lower-case word without its English ending."""
    if any(sign.isdigit() for sign in word):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            bare = word[: -len(ending)]
            is_doubled = ending in {"ing", "ed"} and bare[-1:] == bare[-2:-1] and bare[-1] not in "ls"
            return bare[:-1] if is_doubled else bare
    return word
