"""What single words of a request mean to the rehearsal, as `rehearsed_words.yml` says, and how to compare words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import yaml

from handoff.text.text_words import stem

Fold = Literal["sum", "mean", "median", "max", "min", "share"]
"""How the values of a column become one figure."""
_LISTS: Mapping[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"))


def word_set(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, text.split()))


def _each(groups: Mapping[Any, str]) -> dict[str, Any]:
    return {word: name for name, text in groups.items() for word in text.split()}


FOLDS: Mapping[str, Fold] = _each(_LISTS["folds"])
SIDES: Mapping[str, str] = _each(_LISTS["sides"])
MONTHS: Mapping[str, int] = {name: number for number, names in enumerate(_LISTS["months"], 1) for name in names.split()}
UNITS: Mapping[str, str] = _each(_LISTS["units"])
MOST, LEAST, BY, PER, WHICH, NOT, AND, OFTEN, OFTENEST, PASSIVE, PARTS = (
    word_set(_LISTS[name])
    for name in ("most", "least", "by", "per", "which", "not", "and", "often", "oftenest", "passive", "parts")
)
CHART, TREND, CHANGE, NOW, ADVERBS, WHY, FILLERS, ONLY, OVERVIEW, OUTLINE, ASKING = (
    word_set(_LISTS[name])
    for name in (
        "chart",
        "trend",
        "change",
        "now",
        "adverbs",
        "why",
        "fillers",
        "only",
        "overview",
        "outline",
        "asking",
    )
)
FLOWS, STOCKS, RATES, NEVER_ADDED = (_stems(_LISTS[name]) for name in ("flows", "stocks", "rates", "never_added"))
ALIKE = tuple(map(_stems, _LISTS["alike"]))
_SHARED = 6


def close(one: str, other: str) -> bool:
    """Return True if two words are of one family: the same stem, or a long beginning in common."""
    one, other = stem(one), stem(other)
    if one == other:
        return True
    shared = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return shared >= _SHARED and shared >= 0.6 * min(len(one), len(other))


def alike(one: str, other: str) -> bool:
    """Return True if two words are used for one another."""
    one, other = stem(one), stem(other)
    return any(one in group and other in group for group in ALIKE)
