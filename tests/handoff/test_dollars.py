"""Sums of money read alike everywhere."""

import pytest

from handoff.text.dollars import in_dollars


@pytest.mark.parametrize(
    ("amount", "words"),
    [(0.0, "$0.00"), (0.00004, "$0.0000"), (0.0061, "$0.0061"), (0.01, "$0.01"), (12.345, "$12.35")],
)
def test_a_sum_is_told_to_the_cent_and_a_small_one_below_it(amount: float, words: str) -> None:
    assert in_dollars(amount) == words
