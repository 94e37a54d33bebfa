"""The statistics, against values that are known by hand or from statsmodels and scipy."""

import pytest

from bot.evaluation.significance import mcnemar, paired_bootstrap, wilson


@pytest.mark.parametrize(
    ("right", "n", "low", "high"),
    [(24, 24, 0.862, 1.0), (37, 40, 0.801, 0.974), (32, 40, 0.652, 0.895), (0, 10, 0.0, 0.278), (0, 0, 0.0, 1.0)],
)
def test_the_interval_of_a_share(right: int, n: int, low: float, high: float) -> None:
    assert wilson(right, n) == pytest.approx((low, high), abs=0.0006)


@pytest.mark.parametrize(
    ("first", "second", "p"),
    [(0, 6, 2 / 64), (0, 5, 2 / 32), (8, 3, 0.2265625), (3, 8, 0.2265625), (0, 0, 1.0), (4, 4, 1.0)],
)
def test_six_against_none_is_the_least_that_is_beyond_chance(first: int, second: int, p: float) -> None:
    assert mcnemar(first, second) == pytest.approx(p)


def test_a_difference_that_all_cases_have_has_no_spread() -> None:
    assert paired_bootstrap([1.0, 2.0, 3.0], [2.0, 3.0, 4.0]) == (1.0, 1.0, 1.0)


def test_a_difference_that_may_be_chance_has_zero_in_its_interval() -> None:
    mean, low, high = paired_bootstrap([0, 1, 0, 1, 0, 1], [1, 0, 0, 1, 1, 0], seed=1)
    assert mean == 0
    assert low < 0 < high


def test_pairs_must_be_pairs() -> None:
    with pytest.raises(ValueError, match="shorter"):
        paired_bootstrap([1.0], [])
    with pytest.raises(ValueError, match="at least one pair"):
        paired_bootstrap([], [])
