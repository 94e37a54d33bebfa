"""Computes the values that follow from one, two or three figures, and the chance of an accidental match."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations, islice

from handoff.checking.numerals import Numeral

Quantity = tuple[float, str]
"""A value and its kind of unit, as in `Numeral.kind`."""

DERIVATIONS = ("pairs", "products", "multiples")
"""The ways of deriving figures, the likeliest first.

- `pairs`: sums, differences, ratios, shares and changes of two figures.
- `products`: products of two figures, and a whole minus two parts.
- `multiples`: a figure times or divided by one of `_USUAL_FACTORS`.
"""
MAX_ACCIDENTAL_MATCHES = 0.3
"""The most accidental matches that may be expected among all values tried; if more are, a match does not count."""
MAX_ACCIDENTAL_MISQUOTES = 0.1
"""The value of `MAX_ACCIDENTAL_MATCHES` for a figure that looks like a misquotation of a known figure."""
_RANGE_FACTOR = 2.0
"""Accidental matches are estimated from the values between half and double the figure."""
_LOG_RANGE = 1.386
"""The width of that range on a logarithmic scale (ln 4), on which the values are taken to lie evenly."""
_MAX_QUANTITIES = 100
"""The most figures that are paired with each other: among more, any short figure follows from some pair."""
_MAX_TRIPLE_GROUP = 8
"""The most figures of which three are combined (a whole minus two parts)."""
_POWERS_OF_TEN = {1.0, 10.0, 100.0, 1000.0}
_MIN_PART_SHARE = 0.03
"""The least share of a whole that a part must have to be subtracted."""
_USUAL_FACTORS = (2, 3, 4, 5, 6, 7, 8, 9, 12, 24, 30, 52, 60, 365)
"""Factors that people use without saying so: small counts, months, hours, days. Ten is left out, since a figure
that is ten times too large is a usual mistake."""
_ROUND_NUMBER_ERROR = 0.025
"""The relative error that a round number, such as 3,000, may have in either direction."""


def list_distinct_quantities(
    numerals: Iterable[Numeral], extra_quantities: Iterable[Quantity] = ()
) -> tuple[Quantity, ...]:
    """Return the quantities of `numerals`, then `extra_quantities`, each once and at most `_MAX_QUANTITIES`.

    A number has one quantity for each reading and unit that may be meant.
    """
    quantities: dict[Quantity, None] = {}
    for one in numerals:
        quantities.update(dict.fromkeys(yield_quantities(one)))
        if len(quantities) > _MAX_QUANTITIES:
            return tuple(quantities)[:_MAX_QUANTITIES]
    quantities.update(dict.fromkeys(islice(extra_quantities, _MAX_QUANTITIES)))
    return tuple(quantities)[:_MAX_QUANTITIES]


def yield_quantities(numeral: Numeral, scales: Sequence[float] = (1.0,)) -> Iterator[Quantity]:
    """Yield the quantities of a number: in its base unit, as it is written, and in the `scales` of its text.

    The first scale is 1.
    """
    for value, _ in numeral.readings:
        signed_value = -value if numeral.sign == "-" else value
        yield signed_value, numeral.kind
        if numeral.kind in {"", "money"}:
            yield from ((signed_value * scale, numeral.kind) for scale in scales[1:])
        if numeral.factor != 1.0:
            yield signed_value / numeral.factor, "%" if numeral.kind == "%" else ""


def yield_possible_values(numeral: Numeral) -> Iterator[tuple[float, float, str]]:
    """Yield the values that a figure may stand for, as tuples (value, greatest rounding error, kind)."""
    for value, step in numeral.readings:
        yield value, compute_rounding_error(value, step), numeral.kind
        if numeral.factor != 1.0 and numeral.kind != "%":
            yield value / numeral.factor, compute_rounding_error(value / numeral.factor, step / numeral.factor), ""


def compute_rounding_error(value: float, step: float) -> float:
    """Return the greatest rounding error of a figure whose last digit has the size `step`.

    Zeros at the end of a whole number count as rounded, with a relative error of at most `_ROUND_NUMBER_ERROR`.
    """
    if step >= 1.0 and value >= 100 * step:
        zeros = step
        while zeros < value and value % (zeros * 10) == 0:
            zeros *= 10
        step = max(step, min(zeros, 2 * _ROUND_NUMBER_ERROR * value))
    return step / 2 * 1.001 + 1e-9 * value


def follows_from_values(
    numeral: Numeral, families: Iterable[tuple[str, Sequence[float]]], max_accidents: float
) -> bool:
    """Return True if one of the families has the value of a figure, and probably not by accident.

    A family is a pair of a kind and its sorted values. The expected accidental matches add up over the families: when
    they exceed `max_accidents`, no further match counts.
    """
    expected = 0.0
    possible_values = list(yield_possible_values(numeral))
    for kind, values in families:
        for value, slack, its in possible_values:
            if its != kind:
                continue
            nearby_count = bisect_left(values, value * _RANGE_FACTOR) - bisect_left(values, value / _RANGE_FACTOR)
            expected += nearby_count * 2 * slack / value / _LOG_RANGE
            if expected > max_accidents:
                return False
            first = bisect_left(values, value - slack)
            if first < len(values) and values[first] <= value + slack:
                return True
    return False


def derive_value_families(
    numeral: Numeral, groups: Iterable[tuple[Quantity, ...]], derivation: str
) -> Iterator[tuple[str, Sequence[float]]]:
    """Yield the values of each group of figures by one of the `DERIVATIONS`: pairs of kind and sorted values.

    The kinds are those that the figure `numeral` may have.
    """
    kinds = tuple(dict.fromkeys(kind for _, _, kind in yield_possible_values(numeral)))
    for group in groups:
        if numeral.kind != "%":
            families = _derive_values(group, derivation)
        else:
            families = _derive_shares(group, numeral.is_points) if derivation == DERIVATIONS[0] else ()
        yield from ((kind, family) for family in families for kind in kinds)


@lru_cache(maxsize=1024)
def _derive_values(group: tuple[Quantity, ...], derivation: str) -> tuple[list[float], ...]:
    """Return the values that follow from a group in one of the `DERIVATIONS`, as sorted lists."""
    if derivation == "pairs":
        return tuple(map(_sort_magnitudes, (_yield_sums(group), _yield_ratios(group), _yield_percentages_of(group))))
    if derivation == "products":
        return tuple(
            map(
                _sort_magnitudes,
                ([_yield_remainders(group)] if len(group) <= _MAX_TRIPLE_GROUP else []) + [_yield_products(group)],
            )
        )
    return (_sort_magnitudes(_yield_multiples(group)),)


@lru_cache(maxsize=512)
def _derive_shares(group: tuple[Quantity, ...], as_points: bool) -> tuple[list[float], ...]:  # noqa: FBT001 - of a cached call
    """Return the values in per cent, or in percentage points, that follow from a group, as sorted lists."""
    if as_points:
        return (_sort_magnitudes(_yield_point_differences(group, with_bare=True)),)
    return tuple(
        map(
            _sort_magnitudes,
            (_yield_shares(group), _yield_point_differences(group, with_bare=False), _yield_changes(group)),
        )
    )


def _sort_magnitudes(values: Iterable[float]) -> list[float]:
    return sorted(abs(value) for value in values)


def _have_like_units(one: str, other: str) -> bool:
    return one == other or (not one and other != "%") or (not other and one != "%")


def _yield_sums(group: Sequence[Quantity]) -> Iterator[float]:
    for (one, kind), (other, others) in combinations(group, 2):
        if _have_like_units(kind, others):
            yield one - other
            yield one + other


def _yield_ratios(group: Sequence[Quantity]) -> Iterator[float]:
    for (one, its), (other, others) in combinations(group, 2):
        if one and other and (its == "%") == (others == "%"):
            yield one / other
            yield other / one


def _yield_percentages_of(group: Sequence[Quantity]) -> Iterator[float]:
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
        if "%" not in {its, others} and not {one, other} & _POWERS_OF_TEN:
            yield one * other


def _yield_multiples(group: Sequence[Quantity]) -> Iterator[float]:
    for one, its in group:
        if its != "%":
            for many in _USUAL_FACTORS:
                yield one * many
                yield one / many


def _yield_remainders(group: Sequence[Quantity]) -> Iterator[float]:
    """Yield wholes minus two parts of at least `_MIN_PART_SHARE`, and twelve monthly amounts minus a yearly amount."""
    plain = [(one, its) for one, its in group if its != "%"]
    for whole, its in plain:
        for (one, _), (other, _) in combinations([each for each in plain if _have_like_units(each[1], its)], 2):
            if min(one, other) > whole * _MIN_PART_SHARE and whole > one + other:
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


def _yield_point_differences(group: Sequence[Quantity], *, with_bare: bool) -> Iterator[float]:
    for (one, its), (other, others) in combinations(group, 2):
        if its == others and (its == "%" or (with_bare and not its)):
            yield one - other
            if its == "%":
                yield one + other
