"""Computes the values that follow from one, two or three figures, and the chance of an accidental match."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations, islice

from handoff.checking.numerals import Numeral

Quantity = tuple[float, str]
"""A value and its kind of unit, as in `Numeral.kind`."""

WAYS = ("pairs", "products", "multiples")
"""The ways of deriving figures, the likeliest first.

- `pairs`: sums, differences, ratios, shares and changes of two figures.
- `products`: products of two figures, and a whole minus two parts.
- `multiples`: a figure times or divided by one of `_MULTIPLES`.
"""
CHANCE = 0.3
"""A match counts only if at most this many accidental matches are expected among all values that were tried."""
MISQUOTED = 0.1
"""The value of `CHANCE` for a figure that looks like a misquotation of a known figure."""
_NEAR = 2.0
"""Accidental matches are estimated from the values between half and double the figure."""
_SPREAD = 1.386
"""The width of that range on a logarithmic scale (ln 4), on which the values are taken to lie evenly."""
_MOST = 100
"""The most figures that are paired with each other: among more, a short figure follows by accident."""
_FEW = 8
"""The most figures of which three are combined (a whole minus two parts)."""
_TENS = {1.0, 10.0, 100.0, 1000.0}
_LEAST_PART = 0.03
"""The least share of a whole that a part must have to be subtracted."""
_MULTIPLES = (2, 3, 4, 5, 6, 7, 8, 9, 12, 24, 30, 52, 60, 365)
"""Factors that people use without saying so: small counts, months, hours, days. Ten is left out, since a figure that is
ten times too large has a zero too many."""
_ROUND = 0.025
"""The relative error that a round number, such as 3,000, may have."""


def list_distinct_quantities(given: Iterable[Numeral], more: Iterable[Quantity] = ()) -> tuple[Quantity, ...]:
    """Return the quantities of the numbers `given`, then those of `more`, each once and at most `_MOST`.

    A number has one quantity for each reading and unit that may be meant.
    """
    found: dict[Quantity, None] = {}
    for one in given:
        found.update(dict.fromkeys(quantities(one)))
        if len(found) > _MOST:
            return tuple(found)[:_MOST]
    found.update(dict.fromkeys(islice(more, _MOST)))
    return tuple(found)[:_MOST]


def quantities(one: Numeral, scales: Sequence[float] = (1.0,)) -> Iterator[Quantity]:
    """Yield the quantities of a number: in its base unit, as it is written, and in the `scales` of its text.

    The first scale is 1.
    """
    for value, _ in one.readings:
        signed = -value if one.sign == "-" else value
        yield signed, one.kind
        if one.kind in {"", "money"}:
            yield from ((signed * scale, one.kind) for scale in scales[1:])
        if one.factor != 1.0:
            yield signed / one.factor, "%" if one.kind == "%" else ""


def possible_values(one: Numeral) -> Iterator[tuple[float, float, str]]:
    """Yield the values that a figure may stand for, as tuples (value, greatest rounding error, kind)."""
    for value, step in one.readings:
        yield value, compute_rounding_error(value, step), one.kind
        if one.factor != 1.0 and one.kind != "%":
            yield value / one.factor, compute_rounding_error(value / one.factor, step / one.factor), ""


def compute_rounding_error(value: float, step: float) -> float:
    """Return the greatest rounding error of a figure whose last digit has the size `step`; zeros at the end count."""
    if step >= 1.0 and value >= 100 * step:
        zeros = step
        while zeros < value and value % (zeros * 10) == 0:
            zeros *= 10
        step = max(step, min(zeros, 2 * _ROUND * value))
    return step / 2 * 1.001 + 1e-9 * value


def follows_from_values(one: Numeral, families: Iterable[tuple[str, Sequence[float]]], chance: float) -> bool:
    """Return True if a figure is among the values of the families, and probably not by accident.

    A family is a pair of a kind and its sorted values. The expected accidental matches add up over the families: when
    they exceed `chance`, no further match counts.
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
    """Yield the values that follow from each group of figures in one of the `WAYS`, as pairs of kind and sorted values.

    The kinds are those that the figure `one` may have.
    """
    kinds = tuple(dict.fromkeys(kind for _, _, kind in possible_values(one)))
    for group in groups:
        if one.kind != "%":
            families = _derive_values(group, way)
        else:
            families = _derive_shares(group, one.is_points) if way == WAYS[0] else ()
        yield from ((kind, family) for family in families for kind in kinds)


@lru_cache(maxsize=1024)
def _derive_values(group: tuple[Quantity, ...], way: str) -> tuple[list[float], ...]:
    """Return the values that follow from a group in one of the `WAYS`, as sorted lists."""
    if way == "pairs":
        return tuple(map(_sort_magnitudes, (_yield_sums(group), _yield_ratios(group), _yield_parts(group))))
    if way == "products":
        return tuple(
            map(_sort_magnitudes, ([_yield_remainders(group)] if len(group) <= _FEW else []) + [_yield_products(group)])
        )
    return (_sort_magnitudes(_yield_multiples(group)),)


@lru_cache(maxsize=512)
def _derive_shares(group: tuple[Quantity, ...], points: bool) -> tuple[list[float], ...]:  # noqa: FBT001 - of a cached call
    """Return the values in per cent, or in percentage points, that follow from a group, as sorted lists."""
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
    """Yield wholes minus two parts of at least `_LEAST_PART`, and twelve monthly amounts minus a yearly amount."""
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
