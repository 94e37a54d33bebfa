"""Indexes the figures of known texts (of tools, material and people), with their lines, columns and totals."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, chain, combinations, islice
from statistics import median

from handoff.checking.derived_figures import (
    Quantity,
    compute_rounding_error,
    list_distinct_quantities,
    yield_possible_values,
)
from handoff.checking.figure_layout import (
    SENTENCE_END,
    find_lines_and_cells,
    flatten_to_lines,
    mark_percent_columns,
    yield_figure_groups,
    yield_figure_lists,
)
from handoff.checking.numerals import YEARS, Numeral, blank_dates, blank_labels, normalize_digits, parse_numerals

_DIGIT_RUN = re.compile(r"\d[\d.,'\xa0]*\d")
_SCALE_WORDS = (
    (1e3, re.compile(r"(?<!\d)(?<!\d )(?:\bTsd\b|T€|k€|\bthousands?\b|\bmilliers\b|\bmiles\b|\$k\b|\b[Kk](?=\)))")),
    (1e6, re.compile(r"(?<!\d)(?<!\d )(?:\bMio\b|M€|\bmillions?\b|\bmillones\b|\bMillionen\b|\bmn\b|\$m\b|\bM(?=\)))")),
)
_UNIT_FACTORS = {"time": (1e-3, 1.0, 60.0, 3600.0, 86400.0), "length": (1e-3, 1e-2, 1.0, 1e3), "mass": (1e-3, 1.0, 1e3)}
_BOUND_WORDS = re.compile(
    r"(?:over|above|than|at least|at most|under|below|up to|exceed\w*|über|als|unter|mindestens|höchstens|plus de|"
    r"moins de|au moins|más de|menos de|al menos|oltre|più di|meno di|mais de|超过|超過|[<>≤≥])[\s\xa0]?[€$£]?$",
    re.IGNORECASE,
)
_BOUND_ERROR = 0.05
"""The relative error that a round bound may have."""
_MIN_DIGITS, _SHORT_FIGURE_DIGITS = 2, 3
"""A misquoted figure has at least `_MIN_DIGITS` digits; more than `_SHORT_FIGURE_DIGITS` if one may differ."""
_MAX_LIST_LENGTH = 1_000
_MAX_GROUP_LENGTH = 60
_MAX_LABELLED_TEXT = 20_000
"""The most characters of a text from which labels and identifiers are removed before its figures are grouped."""
MAX_LINE_LENGTH = 160
"""The most characters of a quoted line."""
_MAX_GROUPS = 40
_MAX_WINDOWED_LIST = 24
"""The most rows of a list for which sums of neighbouring rows, such as the months of a quarter, count as known."""


class TextFigures:
    """The figures of one text. Their layout in lines and lists is computed on first use."""

    def __init__(self, text: str) -> None:
        self._text = flatten_to_lines(text)
        self._blanked_text = blank_dates(normalize_digits(self._text))
        self.numerals = sorted(
            (one for one in parse_numerals(self._blanked_text) if one.readings), key=lambda one: one.start
        )
        self.digits = frozenset(re.sub(r"\D", "", run) for run in _DIGIT_RUN.findall(self._blanked_text))
        self.scales = find_scales(self._blanked_text)
        """The scales of the text, as in `find_scales`."""
        self.has_negatives = any(one.sign == "-" for one in self.numerals)
        """True if the text has negative numbers."""

    @cached_property
    def figures_by_digits(self) -> dict[str, str]:
        """The figures as the text writes them, by their digits without trailing zeros."""
        figure_texts = (self._blanked_text[one.start : one.end] for one in self.numerals)
        return {re.sub(r"\D", "", one).rstrip("0"): one for one in figure_texts}

    def find_similar_figures(self, figure: str) -> Iterator[tuple[int, str]]:
        """Yield the figures that `figure` may misquote, as pairs (unlikeness from 0 to 2, figure as written)."""
        digits = "".join(sign for sign in normalize_digits(figure) if sign in "0123456789")
        for unlike, other in _yield_misquotations(digits):
            if (figure_text := self.figures_by_digits.get(other.rstrip("0"))) is not None:
                yield unlike, figure_text

    def find_lines(self, numeral: Numeral) -> list[str]:
        """Return the lines that contain a figure, in order, at most `_MAX_GROUPS` for each reading of the figure."""
        places = []
        for value, slack, _ in yield_possible_values(numeral):
            first = bisect_left(self._value_positions, (value - slack, 0))
            within = islice(self._value_positions, first, first + _MAX_GROUPS)
            places += [place for other, place in within if other <= value + slack]
        return [self._cut_line_around(place) for place in sorted(places)]

    def find_line_with(self, figure_text: str) -> list[str]:
        """Return the first line that contains this text, as a list of one; an empty list if there is none."""
        place = self._blanked_text.find(figure_text)
        return [] if place < 0 else [self._cut_line_around(place)]

    def _cut_line_around(self, index: int) -> str:
        """Return the line around an index, cut to `MAX_LINE_LENGTH` characters around it if the line is long."""
        first, last = self._text.rfind("\n", 0, index) + 1, self._text.find("\n", index)
        last = len(self._text) if last < 0 else last
        if last - first > MAX_LINE_LENGTH:
            first = max(first, min(index - MAX_LINE_LENGTH // 2, last - MAX_LINE_LENGTH))
        return " ".join(self._text[first : min(last, first + MAX_LINE_LENGTH)].split())

    @cached_property
    def _value_positions(self) -> list[tuple[float, int]]:
        return sorted((value, one.start) for one in self.numerals for value, _, _ in yield_possible_values(one))

    @cached_property
    def groups(self) -> tuple[tuple[Quantity, ...], ...]:
        """The figures of each sentence, line and column, one group each."""
        lines = yield_figure_groups(self._blanked_text, self._figures_by_line[0], self.scales)
        return tuple(group[:_MAX_GROUP_LENGTH] for group in (*lines, *self.lists))

    @cached_property
    def lists(self) -> tuple[tuple[Quantity, ...], ...]:
        """The columns of the text, and its lines of several figures."""
        return tuple(yield_figure_lists(*self._figures_by_line))

    @cached_property
    def _figures_by_line(self) -> tuple[list[list[Numeral]], list[tuple[int, list[int]]]]:
        bare = blank_labels(self._blanked_text) if len(self._blanked_text) <= _MAX_LABELLED_TEXT else self._blanked_text
        figures = [one for one in self.numerals if bare[one.start] != " " and one.integer not in YEARS]
        by_line, cells = find_lines_and_cells(self._blanked_text, figures)
        mark_percent_columns(self._blanked_text.split("\n"), by_line, cells)
        return by_line, cells


read_text_figures = lru_cache(maxsize=64)(TextFigures)
"""Return the `TextFigures` of a text. The last 64 are cached."""


def find_scales(text: str) -> tuple[float, ...]:
    """Return 1.0 and the scales that a text names apart from numbers, such as 1000.0 for "in thousands"."""
    return (1.0, *(scale for scale, pattern in _SCALE_WORDS if pattern.search(text)))


def yield_aggregates(column: Sequence[Quantity]) -> Iterator[Quantity]:
    """Yield the sum, mean, median and count of the quantities of each kind in a list."""
    for kind, values in _group_by_kind(column):
        yield sum(values), kind
        yield sum(values) / len(values), kind
        yield median(values), kind
        yield float(len(values)), ""


def yield_subtotals(column: Sequence[Quantity]) -> Iterator[Quantity]:
    """Yield the subtotals of a list for each kind.

    They are the sums up to each row, the sums of neighbouring rows, and the share of each row in per cent.
    """
    for kind, values in _group_by_kind(column):
        up_to = list(accumulate(values, initial=0.0))
        yield from ((value, kind) for value in up_to[2:])
        if len(values) <= _MAX_WINDOWED_LIST:
            for first, last in combinations(range(1, len(up_to)), 2):
                yield up_to[last] - up_to[first - 1], kind
        if up_to[-1] and kind != "%":
            yield from ((value / up_to[-1] * 100, "%") for value in values)


def _group_by_kind(column: Sequence[Quantity]) -> Iterator[tuple[str, list[float]]]:
    for kind in {kind for _, kind in column}:
        values = [value for value, its in column if its == kind]
        if 1 < len(values) <= _MAX_LIST_LENGTH:
            yield kind, values


def find_sentence_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the start and end of the sentence around `start` to `end`. A sentence ends at the end of its line."""
    first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    last = len(text) if last < 0 else last
    for match in SENTENCE_END.finditer(text, first, last):
        if match.end() <= start:
            first = match.end()
        else:
            return first, match.end()
    return first, last


def _yield_misquotations(digits: str) -> Iterator[tuple[int, str]]:
    """Yield the digits that `digits` may misquote, as pairs (unlikeness, digits).

    The unlikeness is 0 for the same digits, 1 for two swapped ones, and 2 for one different digit.
    """
    if len(digits) < _MIN_DIGITS:
        return
    yield 0, digits
    for place, sign in enumerate(digits[:-1]):
        yield 1, f"{digits[:place]}{digits[place + 1]}{sign}{digits[place + 2 :]}"
    for place, sign in enumerate(digits if len(digits) > _SHORT_FIGURE_DIGITS else ""):
        yield from ((2, f"{digits[:place]}{digit}{digits[place + 1 :]}") for digit in "0123456789" if digit != sign)


class KnownFigures:
    """The figures of all known texts, against which the figures of one text (`checked_text`) are checked."""

    def __init__(self, checked_text: str) -> None:
        self.texts: list[TextFigures] = []
        self._text, self._scales = checked_text, find_scales(checked_text)
        self._values: dict[str, list[float]] = {}
        self._signs: dict[float, set[str]] = {}

    @classmethod
    def from_text(cls, text: str) -> KnownFigures:
        """Return the known figures of one text, to check figures of texts that name no scale."""
        known_figures = cls("")
        known_figures.add_texts([text])
        return known_figures

    def add_texts(self, texts: Iterable[str]) -> None:
        """Add the figures of texts. Cached properties and `list_groups` ignore texts added after their first use."""
        new = [read_text_figures(text) for text in texts]
        self.texts += new
        for one in new:
            for numeral in one.numerals:
                for value, _ in numeral.readings:
                    self._add_value(value, numeral, one)
        for values in self._values.values():
            values.sort()

    @cached_property
    def totals(self) -> tuple[Quantity, ...]:
        """The sums, means, medians and counts of all lists, without zeros."""
        lists = (column for one in self.texts for column in one.lists)
        return tuple(dict.fromkeys(total for column in lists for total in yield_aggregates(column) if total[0]))

    @cached_property
    def known_quantities(self) -> tuple[Quantity, ...]:
        """The quantities of all figures, each once; only the first ones if there are many."""
        return list_distinct_quantities(chain.from_iterable(one.numerals for one in self.texts))

    @cached_property
    def _totals_by_kind(self) -> list[dict[str, list[float]]]:
        lists = (column for one in self.texts for column in one.lists)
        return [
            _group_values_by_kind(self.totals),
            _group_values_by_kind({one for column in lists for one in yield_subtotals(column)}),
        ]

    @cached_property
    def _figure_groups(self) -> tuple[tuple[Quantity, ...], ...]:
        return tuple(dict.fromkeys(group for one in self.texts for group in one.groups))

    @cached_property
    def _groups_by_figure(self) -> dict[Quantity, list[int]]:
        """The indices of the groups that contain a quantity, by quantity."""
        holding: dict[Quantity, list[int]] = {}
        for place, group in enumerate(self._figure_groups):
            for quantity in group:
                holding.setdefault(quantity, []).append(place)
        return holding

    def _add_value(self, value: float, numeral: Numeral, source: TextFigures) -> None:
        scales = source.scales if numeral.kind in {"", "money"} else (1.0,)
        for scale in scales:
            self._values.setdefault(numeral.kind, []).append(value * scale)
        self._values.setdefault("raw", []).append(value / numeral.factor)
        sign = numeral.sign or ("+" if source.has_negatives else "")
        self._signs.setdefault(value, set()).add(sign)

    def contains_figure(self, numeral: Numeral, figure_text: str) -> bool:
        """Return True if the known texts contain a figure: exactly, rounded, or in another unit.

        `figure_text` is the figure as written.
        """
        digits = re.sub(r"\D", "", figure_text)
        if len(digits) > 3 and not numeral.sign and any(digits in each.digits for each in self.texts):
            return True
        return any(
            self._contains_value(value, compute_rounding_error(value, step), numeral)
            for value, step in numeral.readings
        )

    def contains_exactly(self, numeral: Numeral) -> bool:
        """Return True if the known texts contain a number to its last digit: trailing zeros do not count as rounded."""
        return any(self._contains_value(value, step / 2 + 1e-9 * value, numeral) for value, step in numeral.readings)

    def contains_share(self, numeral: Numeral) -> bool:
        """Return True if a number is the factor of a known share: for 6 %, these are 0.06, 1.06 and 0.94."""
        ways = (way for value, _ in numeral.readings for way in (value * 100, (value - 1) * 100, (1 - value) * 100))
        return not numeral.kind and any(way > 0 and self._contains_near_value("%", way, 1e-6, "") for way in ways)

    def _contains_value(self, value: float, slack: float, numeral: Numeral) -> bool:
        places = [("raw", value / numeral.factor, slack / numeral.factor)]
        if numeral.kind == "%":
            places = [("%", value, slack), ("", value, slack), ("", value / 100, slack / 100)]
        elif numeral.kind == "money":
            places = [("money", value, slack), ("", value, slack)]
        elif numeral.kind:
            places = [(numeral.kind, value, slack)]
            places += [("", value / factor, slack / factor) for factor in _UNIT_FACTORS[numeral.kind]]
        else:
            places += [(kind, value * scale, slack * scale) for kind in ("", "money") for scale in self._scales]
        return any(self._contains_near_value(kind, value, slack, numeral.sign) for kind, value, slack in places)

    def _contains_near_value(self, kind: str, value: float, slack: float, sign: str) -> bool:
        values = self._values.get(kind, [])
        place = bisect_left(values, value - slack)
        while place < len(values) and values[place] <= value + slack:
            if not sign or self._signs.get(values[place], {""}) & {sign, ""}:
                return True
            place += 1
        return False

    def may_misquote(self, numeral: Numeral) -> bool:
        """Return True if a figure looks like a misquotation of a known figure."""
        return any(
            True for text in self.texts for _ in text.find_similar_figures(self._text[numeral.start : numeral.end])
        )

    def has_opposite_sign(self, numeral: Numeral) -> bool:
        """Return True if the known texts contain a figure only with the opposite sign."""
        signs = {sign for value, _ in numeral.readings for sign in self._signs.get(value, set())}
        return bool(numeral.sign and signs) and not signs & {numeral.sign, ""}

    def is_round_bound(self, numeral: Numeral, text_before: str) -> bool:
        """Return True if a figure is a round bound of a known one, such as "above 80" for 81.9.

        `text_before` is the text before the figure.
        """
        return bool(_BOUND_WORDS.search(text_before)) and any(
            self._contains_near_value(kind, value, value * _BOUND_ERROR, "")
            for value, _ in numeral.readings
            if float(f"{value:.1e}") == value
            for kind in dict.fromkeys((numeral.kind, ""))
        )

    def yield_list_totals(self, numeral: Numeral) -> Iterator[tuple[str, Sequence[float]]]:
        """Yield the totals of all known lists, then their subtotals, as pairs of kind and sorted values.

        The kinds are those that the figure `numeral` may have.
        """
        for totals in self._totals_by_kind:
            for kind in dict.fromkeys(kind for _, _, kind in yield_possible_values(numeral)):
                yield kind, totals.get(kind, [])
                if kind not in {"", "%"}:
                    yield kind, totals.get("", [])

    def list_groups(self, preferred_figures: Iterable[Quantity]) -> list[tuple[Quantity, ...]]:
        """Return the groups of figures in a line or column, those with most of `preferred_figures` first.

        If there are more than `_MAX_GROUPS` groups, only groups with one of `preferred_figures` are returned: a short
        figure follows by accident from one of many groups.
        """
        group_counts = Counter(chain.from_iterable(self._groups_by_figure.get(one, ()) for one in preferred_figures))
        places = [place for place, _ in group_counts.most_common(_MAX_GROUPS)]
        if len(self._figure_groups) <= _MAX_GROUPS:
            places += [place for place in range(len(self._figure_groups)) if place not in group_counts]
        return [self._figure_groups[place] for place in places]


def _group_values_by_kind(quantities: Iterable[Quantity]) -> dict[str, list[float]]:
    """Return the sorted magnitudes by kind. Values with a unit other than per cent count as bare numbers as well."""
    values_by_kind: dict[str, list[float]] = {}
    for value, kind in quantities:
        values_by_kind.setdefault(kind, []).append(abs(value))
        if kind not in {"", "%"}:
            values_by_kind.setdefault("", []).append(abs(value))
    return {kind: sorted(values) for kind, values in values_by_kind.items()}
