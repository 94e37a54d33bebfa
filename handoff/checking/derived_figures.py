"""Works out what follows from one or two figures, and how likely a figure is to follow from some of many by chance."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations, islice

from handoff.checking.numerals import Numeral

Quantity = tuple[float, str]
"""A value and its kind of unit."""

WAYS = ("pairs", "products", "multiples")
"""How figures are worked out, the likeliest first; multiples are those by small counts, months or days."""
CHANCE = 0.3
"""The most chance hits to expect among all values that were tried, for a hit to count."""
MISQUOTED = 0.1
"""What `CHANCE` is for a figure that looks like a misquotation of one that is said."""
_NEAR = 2.0
_SPREAD = 1.386
"""Figures of like size, from half of one to its double (`_NEAR`), lie evenly on a logarithmic scale."""
_MOST = 100
"""Figures that are paired with each other; of more, any short figure follows by chance."""
_FEW = 8
"""Figures of which three are combined: a whole less two parts."""
_TENS = {1.0, 10.0, 100.0, 1000.0}
_LEAST_PART = 0.03
"""The least share of a whole that a part must be, to be taken off."""
_MULTIPLES = (2, 3, 4, 5, 6, 7, 8, 9, 12, 24, 30, 52, 60, 365)
"""What people multiply and divide by without saying so: small counts, months, hours, days. Ten is left out: it may be a
nought too many."""
_ROUND = 0.025
"""The share of itself by which a round number, such as 3,000, may be off."""


def list_distinct_quantities(given: Iterable[Numeral], more: Iterable[Quantity] = ()) -> tuple[Quantity, ...]:
    """Return the quantities of numbers, each once, in every unit that they may be meant in, and at most `_MOST`."""
    found: dict[Quantity, None] = {}
    for one in given:
        found.update(dict.fromkeys(quantities(one)))
        if len(found) > _MOST:
            return tuple(found)[:_MOST]
    found.update(dict.fromkeys(islice(more, _MOST)))
    return tuple(found)[:_MOST]


def quantities(one: Numeral, scales: Sequence[float] = (1.0,)) -> Iterator[Quantity]:
    """Yield the values of a number in its base unit, and as it is written, and in the scales of its text."""
    for value, _ in one.readings:
        signed = -value if one.sign == "-" else value
        yield signed, one.kind
        if one.kind in {"", "money"}:
            yield from ((signed * scale, one.kind) for scale in scales[1:])
        if one.factor != 1.0:
            yield signed / one.factor, "%" if one.kind == "%" else ""


def possible_values(one: Numeral) -> Iterator[tuple[float, float, str]]:
    """Yield the values that a figure may stand for, each with how far it may be off, and its kind."""
    for value, step in one.readings:
        yield value, compute_rounding_error(value, step), one.kind
        if one.factor != 1.0 and one.kind != "%":
            yield value / one.factor, compute_rounding_error(value / one.factor, step / one.factor), ""


def compute_rounding_error(value: float, step: float) -> float:
    """Return how far a figure may be from what it stands for, as it is printed."""
    if step >= 1.0 and value >= 100 * step:
        zeros = step
        while zeros < value and value % (zeros * 10) == 0:
            zeros *= 10
        step = max(step, min(zeros, 2 * _ROUND * value))
    return step / 2 * 1.001 + 1e-9 * value


def follows_from_values(one: Numeral, families: Iterable[tuple[str, Sequence[float]]], chance: float) -> bool:
    """Return True if a figure is among the values of the families, each sorted and of one kind, and hardly by chance.

    Chances add up: the more values were tried before, the less does a later one count.
    """
    expected = 0.0
    wanted = list(possible_values(one))
    for kind, values in families:
        for value, slack, its in wanted:
            if its != kind:
                continue
            tried = bisect_left(values, value * _NEAR) - bisect_left(values, value / _NEAR)
            expected += tried * 2 * slack / value / _SPREAD
            if expected > chance:
                return False
            first = bisect_left(values, value - slack)
            if first < len(values) and values[first] <= value + slack:
                return True
    return False


def derive_families(
    one: Numeral, groups: Iterable[tuple[Quantity, ...]], way: str
) -> Iterator[tuple[str, Sequence[float]]]:
    """Yield what follows from each of some groups of figures in one of the `WAYS`, in the units of a figure."""
    kinds = tuple(dict.fromkeys(kind for _, _, kind in possible_values(one)))
    for group in groups:
        if one.kind != "%":
            families = _derive_values(group, way)
        else:
            families = _derive_shares(group, one.is_points) if way == WAYS[0] else ()
        yield from ((kind, family) for family in families for kind in kinds)


@lru_cache(maxsize=1024)
def _derive_values(group: tuple[Quantity, ...], way: str) -> tuple[list[float], ...]:
    """Return what follows from a group in one way, as sorted lists."""
    if way == "pairs":
        return tuple(map(_sort_magnitudes, (_yield_sums(group), _yield_ratios(group), _yield_parts(group))))
    if way == "products":
        return tuple(
            map(_sort_magnitudes, ([_yield_remainders(group)] if len(group) <= _FEW else []) + [_yield_products(group)])
        )
    return (_sort_magnitudes(_yield_multiples(group)),)


@lru_cache(maxsize=512)
def _derive_shares(group: tuple[Quantity, ...], points: bool) -> tuple[list[float], ...]:  # noqa: FBT001 - of a cached call
    """Return what follows from a group in per cent, or in percentage points."""
    if points:
        return (_sort_magnitudes(_yield_point_differences(group, bare=True)),)
    return tuple(
        map(
            _sort_magnitudes, (_yield_shares(group), _yield_point_differences(group, bare=False), _yield_changes(group))
        )
    )


def _sort_magnitudes(values: Iterable[float]) -> list[float]:
    return sorted(abs(value) for value in values)


def _have_like_units(one: str, other: str) -> bool:
    return one == other or (not one and other != "%") or (not other and one != "%")


def _yield_sums(group: Sequence[Quantity]) -> Iterator[float]:
    for (one, its), (other, others) in combinations(group, 2):
        if _have_like_units(its, others):
            yield one - other
            yield one + other


def _yield_ratios(group: Sequence[Quantity]) -> Iterator[float]:
    for (one, its), (other, others) in combinations(group, 2):
        if one and other and (its == "%") == (others == "%"):
            yield one / other
            yield other / one


def _yield_parts(group: Sequence[Quantity]) -> Iterator[float]:
    for (one, its), (other, others) in combinations(group, 2):
        if (its == "%") != (others == "%"):
            share, whole = (one / 100, other) if its == "%" else (other / 100, one)
            yield whole * share
            yield whole * (1 + share)
            yield whole * (1 - share)
            if share not in {0, -1}:
                yield whole / (1 + share)
                yield whole / share


def _yield_products(group: Sequence[Quantity]) -> Iterator[float]:
    for (one, its), (other, others) in combinations(group, 2):
        if "%" not in {its, others} and not {one, other} & _TENS:
            yield one * other


def _yield_multiples(group: Sequence[Quantity]) -> Iterator[float]:
    for one, its in group:
        if its != "%":
            for many in _MULTIPLES:
                yield one * many
                yield one / many


def _yield_remainders(group: Sequence[Quantity]) -> Iterator[float]:
    """Yield a whole less two parts of some size, and a year of months less a price of a year."""
    plain = [(one, its) for one, its in group if its != "%"]
    for whole, its in plain:
        for (one, _), (other, _) in combinations([each for each in plain if _have_like_units(each[1], its)], 2):
            if min(one, other) > whole * _LEAST_PART and whole > one + other:
                yield whole - one - other
        for other, others in plain:
            if _have_like_units(its, others) and other != whole:
                yield 12 * whole - other


def _yield_shares(group: Sequence[Quantity]) -> Iterator[float]:
    for one, its in group:
        if its == "%":
            yield 100 - one
    for (one, its), (other, others) in combinations(group, 2):
        if one and other and _have_like_units(its, others):
            yield one / other * 100
            yield other / one * 100


def _yield_changes(group: Sequence[Quantity]) -> Iterator[float]:
    for (one, its), (other, others) in combinations(group, 2):
        if one and other and _have_like_units(its, others):
            yield (one - other) / other * 100
            yield (other - one) / one * 100


def _yield_point_differences(group: Sequence[Quantity], *, bare: bool) -> Iterator[float]:
    for (one, its), (other, others) in combinations(group, 2):
        if its == others and (its == "%" or (bare and not its)):
            yield one - other
            if its == "%":
                yield one + other
