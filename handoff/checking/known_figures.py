"""Reads the figures of what tools, material and people said, with their lines, their columns and the sums of these."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, chain, combinations, islice
from statistics import median

from handoff.checking.derived_figures import Quantity, compute_rounding_error, list_distinct_quantities, possible_values
from handoff.checking.figure_layout import (
    SENTENCE_END,
    flatten_to_lines,
    groups_of,
    lines_and_cells,
    lists_of,
    mark_shares,
)
from handoff.checking.numerals import YEARS, Numeral, blank_dates, blank_labels, normalize_digits, numerals

_DIGITS = re.compile(r"\d[\d.,'\xa0]*\d")
_SCALE_WORDS = (
    (1e3, re.compile(r"(?<!\d)(?<!\d )(?:\bTsd\b|T€|k€|\bthousands?\b|\bmilliers\b|\bmiles\b|\$k\b|\b[Kk](?=\)))")),
    (1e6, re.compile(r"(?<!\d)(?<!\d )(?:\bMio\b|M€|\bmillions?\b|\bmillones\b|\bMillionen\b|\bmn\b|\$m\b|\bM(?=\)))")),
)
_FACTORS = {"time": (1e-3, 1.0, 60.0, 3600.0, 86400.0), "length": (1e-3, 1e-2, 1.0, 1e3), "mass": (1e-3, 1.0, 1e3)}
_BOUND = re.compile(
    r"(?:over|above|than|at least|at most|under|below|up to|exceed\w*|über|als|unter|mindestens|höchstens|plus de|"
    r"moins de|au moins|más de|menos de|al menos|oltre|più di|meno di|mais de|超过|超過|[<>≤≥])[\s\xa0]?[€$£]?$",
    re.IGNORECASE,
)
_BOUND_SHARE = 0.05
"""The share of itself by which a round bound may be off."""
_LEAST_DIGITS, _FEW_DIGITS = 2, 3
"""Digits of a figure that can be misquoted; of so few, one other digit says nothing."""
_LONGEST_LIST = 1_000
_LONGEST_GROUP = 60
_LABELLED = 20_000
"""The longest text whose labels and identifiers are told from figures, in characters; a longer one has many figures."""
LENGTH = 160
"""The most characters of a line that is quoted."""
_MOST_GROUPS = 40
_WINDOWED = 24
"""The longest list whose sums of neighbouring rows are known too, such as those of a quarter."""


class TextFigures:
    """The figures of one text. How they stand in lines and lists is worked out only when asked for."""

    def __init__(self, text: str) -> None:
        self._text = flatten_to_lines(text)
        self._shown = blank_dates(normalize_digits(self._text))
        self.numerals = sorted((one for one in numerals(self._shown) if one.readings), key=lambda one: one.start)
        self.digits = frozenset(re.sub(r"\D", "", run) for run in _DIGITS.findall(self._shown))
        self.scales = scales(self._shown)
        """1, and the scales that the text names apart from any number."""
        self.signed = any(one.sign == "-" for one in self.numerals)
        """True if it writes minus signs."""

    @cached_property
    def by_digits(self) -> dict[str, str]:
        """Its figures as it writes them, by their digits without noughts at the end."""
        written = (self._shown[one.start : one.end] for one in self.numerals)
        return {re.sub(r"\D", "", one).rstrip("0"): one for one in written}

    def find_similar_figures(self, figure: str) -> Iterator[tuple[int, str]]:
        """Yield the figures that one may be a misquotation of, each with how unlike it is."""
        digits = "".join(sign for sign in normalize_digits(figure) if sign in "0123456789")
        for unlike, other in _yield_misquotations(digits):
            if (written := self.by_digits.get(other.rstrip("0"))) is not None:
                yield unlike, written

    def lines_of(self, one: Numeral) -> list[str]:
        """Return the first lines that say a figure, as they stand."""
        places = []
        for value, slack, _ in possible_values(one):
            first = bisect_left(self._values, (value - slack, 0))
            within = islice(self._values, first, first + _MOST_GROUPS)
            places += [place for other, place in within if other <= value + slack]
        return [self._line_around(place) for place in sorted(places)]

    def lines_with(self, written: str) -> list[str]:
        """Return the first line that has the figure written in this way."""
        place = self._shown.find(written)
        return [] if place < 0 else [self._line_around(place)]

    def _line_around(self, place: int) -> str:
        """Return the line around a place, or the part of a long one that is nearest to it."""
        first, last = self._text.rfind("\n", 0, place) + 1, self._text.find("\n", place)
        last = len(self._text) if last < 0 else last
        if last - first > LENGTH:
            first = max(first, min(place - LENGTH // 2, last - LENGTH))
        return " ".join(self._text[first : min(last, first + LENGTH)].split())

    @cached_property
    def _values(self) -> list[tuple[float, int]]:
        return sorted((value, one.start) for one in self.numerals for value, _, _ in possible_values(one))

    @cached_property
    def groups(self) -> tuple[tuple[Quantity, ...], ...]:
        """The figures of each sentence, line and column."""
        lines = groups_of(self._shown, self._figures_by_line[0], self.scales)
        return tuple(group[:_LONGEST_GROUP] for group in (*lines, *self.lists))

    @cached_property
    def lists(self) -> tuple[tuple[Quantity, ...], ...]:
        """Its columns, and its lines of several figures."""
        return tuple(lists_of(*self._figures_by_line))

    @cached_property
    def _figures_by_line(self) -> tuple[list[list[Numeral]], list[tuple[int, list[int]]]]:
        bare = blank_labels(self._shown) if len(self._shown) <= _LABELLED else self._shown
        figures = [one for one in self.numerals if bare[one.start] != " " and one.whole not in YEARS]
        by_line, cells = lines_and_cells(self._shown, figures)
        mark_shares(self._shown.split("\n"), by_line, cells)
        return by_line, cells


read_text_figures = lru_cache(maxsize=64)(TextFigures)
"""Read a text that is known."""


def scales(text: str) -> tuple[float, ...]:
    """Return 1 and the scales that a text names apart from any number, as the head of a column does."""
    return (1.0, *(scale for scale, pattern in _SCALE_WORDS if pattern.search(text)))


def totals_of(column: Sequence[Quantity]) -> Iterator[Quantity]:
    """Yield the sum, the mean and the median of what is of one kind in a list, and how many there are."""
    for kind, values in _group_by_kind(column):
        yield sum(values), kind
        yield sum(values) / len(values), kind
        yield median(values), kind
        yield float(len(values)), ""


def subtotals_of(column: Sequence[Quantity]) -> Iterator[Quantity]:
    """Yield sums up to a row, sums of neighbouring rows, and the share of each row in the whole."""
    for kind, values in _group_by_kind(column):
        up_to = list(accumulate(values, initial=0.0))
        yield from ((value, kind) for value in up_to[2:])
        if len(values) <= _WINDOWED:
            for first, last in combinations(range(1, len(up_to)), 2):
                yield up_to[last] - up_to[first - 1], kind
        if up_to[-1] and kind != "%":
            yield from ((value / up_to[-1] * 100, "%") for value in values)


def _group_by_kind(column: Sequence[Quantity]) -> Iterator[tuple[str, list[float]]]:
    for kind in {kind for _, kind in column}:
        values = [value for value, its in column if its == kind]
        if 1 < len(values) <= _LONGEST_LIST:
            yield kind, values


def sentence(text: str, start: int, end: int) -> tuple[int, int]:
    """Return where the sentence around a place begins and ends; a line ends one, too."""
    first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    last = len(text) if last < 0 else last
    for found in SENTENCE_END.finditer(text, first, last):
        if found.end() <= start:
            first = found.end()
        else:
            return first, found.end()
    return first, last


def _yield_misquotations(digits: str) -> Iterator[tuple[int, str]]:
    """Yield the digits that these may misquote: the same (0), two of them swapped (1), of many one other (2)."""
    if len(digits) < _LEAST_DIGITS:
        return
    yield 0, digits
    for place, sign in enumerate(digits[:-1]):
        yield 1, f"{digits[:place]}{digits[place + 1]}{sign}{digits[place + 2 :]}"
    for place, sign in enumerate(digits if len(digits) > _FEW_DIGITS else ""):
        yield from ((2, f"{digits[:place]}{digit}{digits[place + 1 :]}") for digit in "0123456789" if digit != sign)


class KnownFigures:
    """All known figures, whoever said them, against which the figures of one text (`shown`) are checked."""

    def __init__(self, shown: str) -> None:
        self.said: list[TextFigures] = []
        self._text, self._shown = shown, scales(shown)
        self._values: dict[str, list[float]] = {}
        self._signs: dict[float, set[str]] = {}

    @classmethod
    def from_text(cls, text: str) -> KnownFigures:
        """Return what one text says, for figures of another that names no scale."""
        known = cls("")
        known.read([text])
        return known

    def read(self, texts: Iterable[str]) -> None:
        """Add the figures of some texts. Call it before anything is worked out from them."""
        new = [read_text_figures(text) for text in texts]
        self.said += new
        for one in new:
            for numeral in one.numerals:
                for value, _ in numeral.readings:
                    self._add(value, numeral, one)
        for values in self._values.values():
            values.sort()

    @cached_property
    def totals(self) -> tuple[Quantity, ...]:
        """The sums, means and medians of all lists."""
        lists = (column for one in self.said for column in one.lists)
        return tuple(dict.fromkeys(found for column in lists for found in totals_of(column) if found[0]))

    @cached_property
    def all_quantities(self) -> tuple[Quantity, ...]:
        """All figures, each once; of many, the first ones."""
        return list_distinct_quantities(chain.from_iterable(one.numerals for one in self.said))

    @cached_property
    def _value_lists(self) -> list[dict[str, list[float]]]:
        lists = (column for one in self.said for column in one.lists)
        return [
            _group_values_by_kind(self.totals),
            _group_values_by_kind({one for column in lists for one in subtotals_of(column)}),
        ]

    @cached_property
    def _figure_groups(self) -> tuple[tuple[Quantity, ...], ...]:
        return tuple(dict.fromkeys(group for one in self.said for group in one.groups))

    @cached_property
    def _groups_by_figure(self) -> dict[Quantity, list[int]]:
        """The groups that hold a figure, by their places."""
        holding: dict[Quantity, list[int]] = {}
        for place, group in enumerate(self._figure_groups):
            for quantity in group:
                holding.setdefault(quantity, []).append(place)
        return holding

    def _add(self, value: float, numeral: Numeral, source: TextFigures) -> None:
        scaled = source.scales if numeral.kind in {"", "money"} else (1.0,)
        for scale in scaled:
            self._values.setdefault(numeral.kind, []).append(value * scale)
        self._values.setdefault("raw", []).append(value / numeral.factor)
        sign = numeral.sign or ("+" if source.signed else "")
        self._signs.setdefault(value, set()).add(sign)

    def says(self, one: Numeral, text: str) -> bool:
        """Return True if a figure is said as it is, rounded as it is printed, or in another unit."""
        digits = re.sub(r"\D", "", text)
        if len(digits) > 3 and not one.sign and any(digits in each.digits for each in self.said):
            return True
        return any(
            self._contains_value(value, compute_rounding_error(value, step), one) for value, step in one.readings
        )

    def has(self, one: Numeral) -> bool:
        """Return True if a number is said as it is, to its last digit."""
        return any(self._contains_value(value, step / 2 + 1e-9 * value, one) for value, step in one.readings)

    def has_share(self, one: Numeral) -> bool:
        """Return True if a number is what a share that is said makes of a whole: 1.06 for 6 % more, 0.06 for 6 %."""
        ways = (way for value, _ in one.readings for way in (value * 100, (value - 1) * 100, (1 - value) * 100))
        return not one.kind and any(way > 0 and self._contains_near_value("%", way, 1e-6, "") for way in ways)

    def _contains_value(self, value: float, slack: float, one: Numeral) -> bool:
        places = [("raw", value / one.factor, slack / one.factor)]
        if one.kind == "%":
            places = [("%", value, slack), ("", value, slack), ("", value / 100, slack / 100)]
        elif one.kind == "money":
            places = [("money", value, slack), ("", value, slack)]
        elif one.kind:
            places = [(one.kind, value, slack)]
            places += [("", value / factor, slack / factor) for factor in _FACTORS[one.kind]]
        else:
            places += [(kind, value * scale, slack * scale) for kind in ("", "money") for scale in self._shown]
        return any(self._contains_near_value(kind, value, slack, one.sign) for kind, value, slack in places)

    def _contains_near_value(self, kind: str, value: float, slack: float, sign: str) -> bool:
        values = self._values.get(kind, [])
        place = bisect_left(values, value - slack)
        while place < len(values) and values[place] <= value + slack:
            if not sign or self._signs.get(values[place], {""}) & {sign, ""}:
                return True
            place += 1
        return False

    def misquotes(self, one: Numeral) -> bool:
        """Return True if a figure looks like a misquotation of one that is said."""
        return any(True for text in self.said for _ in text.find_similar_figures(self._text[one.start : one.end]))

    def has_opposite_sign(self, one: Numeral) -> bool:
        """Return True if a figure is said only with the other sign."""
        signs = {sign for value, _ in one.readings for sign in self._signs.get(value, set())}
        return bool(one.sign and signs) and not signs & {one.sign, ""}

    def is_round_bound(self, one: Numeral, before: str) -> bool:
        """Return True for a round bound of what is said, such as "above 80" for 81.9."""
        return bool(_BOUND.search(before)) and any(
            self._contains_near_value(kind, value, value * _BOUND_SHARE, "")
            for value, _ in one.readings
            if float(f"{value:.1e}") == value
            for kind in dict.fromkeys((one.kind, ""))
        )

    def yield_list_totals(self, one: Numeral) -> Iterator[tuple[str, Sequence[float]]]:
        """Yield the totals of the lists that are said, then those of parts of them, in the units of a figure."""
        for totals in self._value_lists:
            for kind in dict.fromkeys(kind for _, _, kind in possible_values(one)):
                yield kind, totals.get(kind, [])
                if kind not in {"", "%"}:
                    yield kind, totals.get("", [])

    def groups(self, near: Iterable[Quantity]) -> list[tuple[Quantity, ...]]:
        """Return figures that stand together in a line or a column, first those with most of the figures `near`.

        If there are many groups, only those that hold one of these: a short figure follows from some line by chance.
        """
        shared = Counter(chain.from_iterable(self._groups_by_figure.get(one, ()) for one in near))
        places = [place for place, _ in shared.most_common(_MOST_GROUPS)]
        if len(self._figure_groups) <= _MOST_GROUPS:
            places += [place for place in range(len(self._figure_groups)) if place not in shared]
        return [self._figure_groups[place] for place in places]


def _group_values_by_kind(given: Iterable[Quantity]) -> dict[str, list[float]]:
    """Return the values of each kind, sorted; money is a bare number too."""
    found: dict[str, list[float]] = {}
    for value, kind in given:
        found.setdefault(kind, []).append(abs(value))
        if kind not in {"", "%"}:
            found.setdefault("", []).append(abs(value))
    return {kind: sorted(values) for kind, values in found.items()}
