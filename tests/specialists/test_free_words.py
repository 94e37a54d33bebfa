"""Which queries are in the requester's own words, how they go out, and how much choosing them can say."""

from __future__ import annotations

import math
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specialists.turns.free_words import KIND, Budget, free_words

SAID = ("What does Copper cost per tonne in Q3? Compare C++ and node.js, please.", "don't hurry")


@pytest.mark.parametrize(
    ("query", "sent"),
    [
        ("copper COST per tonne", "Copper cost per tonne"),
        ("  tonne,,cost?!  ", "tonne cost"),
        ("c++ node.js", "C++ node.js"),
        ("js node", "js node"),
        ("don't compare", "don't Compare"),
        ("cost\u200bper", "cost per"),
    ],
)
def test_a_query_goes_out_in_the_requesters_spelling(query: str, sent: str) -> None:
    found = free_words(query, SAID)
    assert found is not None
    assert found.text == sent


@pytest.mark.parametrize("query", ["copper price", "184200", "copper cost salaries", "", "?!", "c\u043epper"])
def test_a_word_that_the_requester_did_not_write_is_not_free(query: str) -> None:
    assert free_words(query, SAID) is None


@given(st.lists(st.sampled_from(["copper", "COST", "per", "tonne", "please"]), min_size=1, max_size=6), st.data())
def test_nothing_of_the_models_spelling_is_left(words: list[str], data: st.DataObject) -> None:
    odd = ["".join(data.draw(st.sampled_from([one.upper(), one.lower()])) for one in word) for word in words]
    glue = data.draw(st.sampled_from([" ", "  ", ", ", " - ", '" "']))
    plain, other = free_words(" ".join(words), SAID), free_words(glue.join(odd), SAID)
    assert plain is not None
    assert other == plain


def test_as_many_bits_are_counted_as_choosing_can_say() -> None:
    """All queries that cost at most so many bits are no more than these bits can number."""
    said = ("one two three",)
    series = [words for size in range(1, 6) for words in product(said[0].split(), repeat=size)]
    queries = [free_words(" ".join(words), said) for words in series]
    for limit in range(2, 12):
        cheap = [one for one in queries if one is not None and one.bits + KIND <= limit]
        assert len(cheap) <= 2**limit
    phrase, mixed = free_words("two three", said), free_words("three two", said)
    assert phrase is not None
    assert mixed is not None
    assert phrase.bits == pytest.approx(math.log2(6))
    assert mixed.bits == pytest.approx(2 * math.log2(6))


def test_what_was_spent_is_gone() -> None:
    budget = Budget(64.0)
    spent = 0
    while budget.spend(10.0):
        spent += 1
    assert spent == int((64 - KIND) // (10 + KIND)) == 5
    assert budget.spend(0.0)
