"""Searches an answer for figures in any notation, for words, and for internals that must not be in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal, InvalidOperation

from handoff.checking.figures import find_unsupported_figures

DOUBT_MARK = "\u26a0"
"""The sign in an answer after a figure or statement that no source has."""
_MAX_MARK_DISTANCE = 4
"""Characters after a figure within which its mark has to stand; a unit may stand between."""
_NUMBER_PATTERN = re.compile(r"\d{1,3}(?:[ \u00a0\u202f'\u2019]\d{3})+(?:[.,]\d+)?|\d[\d.,]*\d|\d")
_LEAK_PATTERN = re.compile(
    r"<tool_call>|\"(?:arguments|subtasks|parameters)\"\s*:|\breturn_result\b|\(\w+, confidence \d{1,3}\)"
    r"|^# (?:Instruction|Results|Gaps|Request|Plan|Task)\b",
    re.MULTILINE,
)


def contains_figure(text: str, figure: str) -> bool:
    """Return True if a text contains a figure that rounds to `figure` at its decimals. Signs are ignored."""
    expected_value = Decimal(figure.lstrip("-+"))
    step = Decimal(1).scaleb(min(0, int(expected_value.as_tuple().exponent)))
    return any(value.quantize(step) == expected_value for value in _iterate_figures(text) if value < 10**20)


def _iterate_figures(text: str) -> Iterator[Decimal]:
    for number in _NUMBER_PATTERN.findall(text):
        for figure_text in _list_number_readings(re.sub(r"[ \u00a0\u202f'\u2019]", "", number)):
            try:
                yield Decimal(figure_text)
            except InvalidOperation:
                continue


def _list_number_readings(number: str) -> Iterable[str]:
    """Return the ways to read a number: with a decimal point, a decimal comma, or either as thousands separator."""
    return dict.fromkeys(
        (
            number.replace(",", ""),
            number.replace(".", "").replace(",", "."),
            re.sub(r"[.,](?=\d{3}(?:\D|$))", "", number).replace(",", "."),
        )
    )


def contains_words(text: str, words: str) -> bool:
    """Return True if a text contains these words; case, spaces and markup are ignored."""
    return _flatten_text(words) in _flatten_text(text)


def count_occurrences(text: str, words: str) -> int:
    """Return how often a text contains these words; case, spaces and markup are ignored."""
    return _flatten_text(text).count(_flatten_text(words))


def find_leak(text: str) -> str:
    """Return the first tool call, schema or heading of a prompt in an answer; empty if there is none."""
    match = _LEAK_PATTERN.search(text)
    return match[0] if match else ""


def find_unmarked_figures(text: str, source_texts: Iterable[str]) -> tuple[str, ...]:
    """Return the figures of an answer that do not follow from `source_texts` and have no mark."""
    return tuple(
        one.text
        for one in find_unsupported_figures(text, source_texts)
        if not text[one.end : one.end + _MAX_MARK_DISTANCE].lstrip(" %€$£").startswith(DOUBT_MARK)
    )


def _flatten_text(text: str) -> str:
    return " ".join(re.sub(r"[*_`\u00a0\u202f]", lambda sign: " " if sign[0] > "\x7f" else "", text).split()).casefold()
