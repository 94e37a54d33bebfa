"""The word lists of the rehearsal, from `word_lists.yml`, and functions that compare words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import yaml

from handoff.text.text_words import stem_word

Aggregate = Literal["sum", "mean", "median", "max", "min", "share"]
"""The aggregate function that makes one figure of a column's values. `share` is the percentage of the whole."""
_WORD_LISTS: Mapping[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"))
_MIN_SHARED_LETTERS = 6


def split_words(text: str) -> list[str]:
    """Split a text into words in lower case, also at underscores and in camel case."""
    return re.findall(r"[^\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).casefold())


def read_word_list(name: str) -> frozenset[str]:
    """Return the words of a list in `word_lists.yml`."""
    return frozenset(_WORD_LISTS[name].split())


def _read_stems(text: str) -> frozenset[str]:
    return frozenset(map(stem_word, text.split()))


def _index_by_word(groups: Mapping[Any, str]) -> dict[str, Any]:
    return {word: name for name, text in groups.items() for word in text.split()}


def _read_phrases(text: str) -> tuple[tuple[str, ...], ...]:
    """Parse phrases separated by commas. Returns each as a tuple of words, the longest first."""
    phrases = (tuple(phrase.split()) for phrase in text.split(","))
    return tuple(sorted(phrases, key=len, reverse=True))


AGGREGATES: Mapping[str, Aggregate] = _index_by_word(_WORD_LISTS["folds"])
PERIOD_UNITS: Mapping[str, str] = _index_by_word(_WORD_LISTS["units"])
MONTHS: Mapping[str, int] = {
    name: number for number, names in enumerate(_WORD_LISTS["months"], 1) for name in names.split()
}
PHRASES = {role: _read_phrases(text) for role, text in _WORD_LISTS["phrases"].items()}
MOST, LEAST, TOP, BOTTOM, BY, PER = map(read_word_list, ("most", "least", "top", "bottom", "by", "per"))
WHICH, NOT, ONLY, AND, ARTICLES, FILLERS = map(read_word_list, ("which", "not", "only", "and", "articles", "fillers"))
CHART, TREND, CHANGE, NOW, WHY, ADVERBS = map(read_word_list, ("chart", "trend", "change", "now", "why", "adverbs"))
OVERVIEW, OUTLINE, ASKING, PARTS, MONEY = map(read_word_list, ("overview", "outline", "asking", "parts", "money"))
PERIOD_PREPOSITIONS = read_word_list("sides")
FLOWS, STOCKS, RATES, NON_ADDITIVE, AMOUNTS = (
    _read_stems(_WORD_LISTS[name]) for name in ("flows", "stocks", "rates", "never_added", "amounts")
)
_SYNONYMS = tuple(map(_read_stems, _WORD_LISTS["alike"]))


def is_similar(first: str, second: str) -> bool:
    """Return True if two words have the same stem, or stems that share a long beginning: six letters and 60 %."""
    first, second = stem_word(first), stem_word(second)
    if first == second:
        return True
    shared_length = next(
        (at for at, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )
    return shared_length >= _MIN_SHARED_LETTERS and shared_length >= 0.6 * min(len(first), len(second))


def is_synonym(first: str, second: str) -> bool:
    """Return True if `word_lists.yml` lists two words as synonyms."""
    first, second = stem_word(first), stem_word(second)
    return any(first in group and second in group for group in _SYNONYMS)
