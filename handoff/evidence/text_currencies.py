"""Finds amounts to which a text gives another currency than its sources. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from handoff.checking.figures import blank_non_figures, extract_figures, is_figure
from handoff.checking.numerals import Numeral, normalize_digits, parse_numerals
from handoff.evidence.figure_cells import find_currencies_beside
from handoff.evidence.place_words import SENTENCE_END

MAX_SOURCE_LENGTH = 40_000
"""The most characters of a source whose currencies are read. A longer one counts as having amounts without currency."""


def yield_currency_faults(
    text: str, known_texts: Sequence[str], find_cells: Callable[[Numeral], object]
) -> Iterator[tuple[str, str]]:
    """Yield pairs (sentence, fault) for amounts to which all of `known_texts` with that amount give another currency.

    An amount is ignored if it is in a table (`find_cells`), or if one of the texts has it without a currency.
    """
    for sentence in SENTENCE_END.split(text):
        for one in extract_figures(blank_non_figures(sentence)):
            beside = find_currencies_beside(sentence, one)
            if len(beside) != 1 or not is_figure(one) or find_cells(one):
                continue
            source_currencies = [each for other in known_texts for each in _list_figure_currencies(other, one)]
            if source_currencies and all(source_currencies) and not beside & set().union(*source_currencies):
                amount_text = sentence[one.start : one.end].strip()
                yield sentence.strip(), f"{amount_text} is in {min(source_currencies[0])}, not in {min(beside)}."
                break


def _list_figure_currencies(text: str, figure: Numeral) -> list[frozenset[str]]:
    """Return for each occurrence of a figure in a text the set of currencies beside it, which may be empty."""
    if len(text) > MAX_SOURCE_LENGTH:
        return [frozenset()]
    figure_values = {value for value, _ in figure.readings}
    return [currencies for values, currencies in _list_amounts(text) if figure_values & values]


@lru_cache(maxsize=64)
def _list_amounts(text: str) -> tuple[tuple[frozenset[float], frozenset[str]], ...]:
    normalized_text = normalize_digits(text)
    return tuple(
        (frozenset(value for value, _ in one.readings), frozenset(find_currencies_beside(normalized_text, one)))
        for one in parse_numerals(normalized_text)
    )
