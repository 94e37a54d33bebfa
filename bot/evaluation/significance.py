"""The statistics of a comparison: the interval of a share, and whether two runs of the same cases differ by chance."""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import comb, sqrt

Z95 = 1.959964
"""The half-width of a 95 % interval, in standard deviations."""


def wilson(right: int, n: int, z: float = Z95) -> tuple[float, float]:
    """Return the Wilson score interval of a share: `right` of `n`. Of nothing it is from 0 to 1."""
    if not n:
        return 0.0, 1.0
    share, wide = right / n, 1 + z * z / n
    middle = (share + z * z / 2 / n) / wide
    half = z * sqrt(share * (1 - share) / n + z * z / 4 / n / n) / wide
    return max(0.0, middle - half), min(1.0, middle + half)


def mcnemar(only_first: int, only_second: int) -> float:
    """Return McNemar's exact p of the cases that only one of two versions got right; 1 if there are none."""
    n = only_first + only_second
    if not n:
        return 1.0
    tail: int = sum(comb(n, i) for i in range(min(only_first, only_second) + 1))
    return min(1.0, 2.0 * tail / float(2**n))


def paired_bootstrap(
    first: Sequence[float], second: Sequence[float], *, draws: int = 10_000, seed: int = 0
) -> tuple[float, float, float]:
    """Return the mean of second less first, paired by case, with its 95 % interval by bootstrap.

    Raises ValueError if the two are not of one length, or are empty.
    """
    differences = [after - before for before, after in zip(first, second, strict=True)]
    if not differences:
        raise ValueError("a bootstrap needs at least one pair")
    chance, n = random.Random(seed), len(differences)  # noqa: S311 - a resampling is seeded, not secret
    means = sorted(sum(chance.choices(differences, k=n)) / n for _ in range(draws))
    return sum(differences) / n, means[int(0.025 * draws)], means[int(0.975 * draws) - 1]
