"""Finds amounts to which a text gives another currency than its sources. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from handoff.checking.figures import blank_non_figures, figures_of, is_figure
from handoff.checking.numerals import Numeral, normalize_digits, numerals
from handoff.evidence.figure_cells import currencies_beside
from handoff.evidence.place_words import SENTENCE_END

READ = 40_000
"""The most characters of a source whose currencies are read. A longer one counts as having amounts without currency."""


def currency_faults(text: str, known: Sequence[str], is_cell: Callable[[Numeral], object]) -> Iterator[tuple[str, str]]:
    """Yield the sentences that give an amount another currency than all texts of `known` with that amount.

    They are pairs (sentence, fault). An amount is ignored if it is in a table (`is_cell`), or if a text has it without
    a currency.
    """
    for sentence in SENTENCE_END.split(text):
        for one in figures_of(blank_non_figures(sentence)):
            beside = currencies_beside(sentence, one)
            if len(beside) != 1 or not is_figure(one) or is_cell(one):
                continue
            said = [each for other in known for each in _currencies_of(other, one)]
            if said and all(said) and not beside & set().union(*said):
                written = sentence[one.start : one.end].strip()
                yield sentence.strip(), f"{written} is in {min(said[0])}, not in {min(beside)}."
                break


def _currencies_of(text: str, figure: Numeral) -> list[frozenset[str]]:
    """Return for each occurrence of a figure in a text the set of currencies beside it, which may be empty."""
    if len(text) > READ:
        return [frozenset()]
    wanted = {value for value, _ in figure.readings}
    return [currencies for values, currencies in _list_amounts(text) if wanted & values]


@lru_cache(maxsize=64)
def _list_amounts(text: str) -> tuple[tuple[frozenset[float], frozenset[str]], ...]:
    shown = normalize_digits(text)
    return tuple(
        (frozenset(value for value, _ in one.readings), frozenset(currencies_beside(shown, one)))
        for one in numerals(shown)
    )
