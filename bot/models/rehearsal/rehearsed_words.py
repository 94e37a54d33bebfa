"""The meanings of a request's words to the rehearsal, from `rehearsed_words.yml`, and comparisons of words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import yaml

from handoff.text.text_words import stem

Fold = Literal["sum", "mean", "median", "max", "min", "share"]
"""How the values of a column become one figure."""
_LISTS: Mapping[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"))
_SHARED = 6


def split_words(text: str) -> list[str]:
    """Split a text into words in lower case, also at underscores and in camel case."""
    return re.findall(r"[^\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).casefold())


def read_words(name: str) -> frozenset[str]:
    """Return the words of a list in `rehearsed_words.yml`."""
    return frozenset(_LISTS[name].split())


def _read_stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, text.split()))


def _read_senses(groups: Mapping[Any, str]) -> dict[str, Any]:
    return {word: name for name, text in groups.items() for word in text.split()}


def _read_phrases(text: str) -> tuple[tuple[str, ...], ...]:
    """Parse phrases separated by commas. Returns each as a tuple of words, the longest first."""
    phrases = (tuple(phrase.split()) for phrase in text.split(","))
    return tuple(sorted(phrases, key=len, reverse=True))


FOLDS: Mapping[str, Fold] = _read_senses(_LISTS["folds"])
UNITS: Mapping[str, str] = _read_senses(_LISTS["units"])
MONTHS: Mapping[str, int] = {name: number for number, names in enumerate(_LISTS["months"], 1) for name in names.split()}
PHRASES = {role: _read_phrases(text) for role, text in _LISTS["phrases"].items()}
MOST, LEAST, TOP, BOTTOM, BY, PER = map(read_words, ("most", "least", "top", "bottom", "by", "per"))
WHICH, NOT, ONLY, AND, ARTICLES, FILLERS = map(read_words, ("which", "not", "only", "and", "articles", "fillers"))
CHART, TREND, CHANGE, NOW, WHY, ADVERBS = map(read_words, ("chart", "trend", "change", "now", "why", "adverbs"))
OVERVIEW, OUTLINE, ASKING, PARTS, MONEY = map(read_words, ("overview", "outline", "asking", "parts", "money"))
SIDES = read_words("sides")
FLOWS, STOCKS, RATES, NEVER_ADDED, AMOUNTS = (
    _read_stems(_LISTS[name]) for name in ("flows", "stocks", "rates", "never_added", "amounts")
)
_ALIKE = tuple(map(_read_stems, _LISTS["alike"]))


def is_close(one: str, other: str) -> bool:
    """Return True if two words have the same stem, or stems with a long beginning in common."""
    one, other = stem(one), stem(other)
    if one == other:
        return True
    shared = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return shared >= _SHARED and shared >= 0.6 * min(len(one), len(other))


def is_synonym(one: str, other: str) -> bool:
    """Return True if `rehearsed_words.yml` lists two words as synonyms."""
    one, other = stem(one), stem(other)
    return any(one in group and other in group for group in _ALIKE)
