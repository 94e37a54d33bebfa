"""The kinds of values that a column of text may hold, and the choice of candidates for a column.

A kind is guessed from a sample and then checked on every row. A column with exceptions stays text, and a fault says so,
so that no value is lost.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from specialists.tools.tables.date_kinds import DATE_KINDS, MONTH_KINDS, are_year_spans, make_mixed_kinds
from specialists.tools.tables.number_format import detect_number_format, to_ascii_digits
from specialists.tools.tables.value_kind import ValueKind

EMPTY_WORDS = ("na", "n/a", "#n/a", "null", "none", "nan", "-", "--", "\u2013", "?")
"""Words, in lower case, that people write into a cell without a value."""

_MIN_FITTING_SHARE = 0.6

BOOLEAN_KIND = ValueKind("truth", "true or false", r"(?i:true|false)", "TRY_CAST(lower({x}) AS BOOLEAN)")
WHOLE_KIND = ValueKind("whole", "whole numbers", r"[-+]?(0|[1-9]\d{0,17})", "TRY_CAST({x} AS BIGINT)")
NUMBER_KIND = ValueKind(
    "number",
    "numbers",
    r"[-+]?((0|[1-9]\d{0,17})(\.\d*)?|\.\d+)([eE][-+]?\d{1,3})?",
    "TRY_CAST({x} AS DOUBLE)",
)
ENGLISH_NUMBER_KIND = ValueKind(
    "english",
    "numbers",
    r"[-+]?(0|[1-9]\d{0,2}(,\d{3})+|[1-9]\d{0,17})(\.\d+)?",
    "TRY_CAST(replace({x}, ',', '') AS DOUBLE)",
    "commas between thousands",
)
DECIMAL_COMMA_KIND = ValueKind(
    "comma",
    "numbers",
    r"[-+]?(0|[1-9]\d{0,2}(\.\d{3})+|[1-9]\d{0,17})(,\d+)?",
    "TRY_CAST(replace(replace({x}, '.', ''), ',', '.') AS DOUBLE)",
    "decimal commas",
)
INDIAN_NUMBER_KIND = ValueKind(
    "indian",
    "numbers",
    r"[-+]?(0|[1-9]\d?(,\d{2})*,\d{3}|[1-9]\d{0,2})(\.\d+)?",
    "TRY_CAST(replace({x}, ',', '') AS DOUBLE)",
    "lakhs and crores: 1,25,000 read as 125000",
)
KINDS: tuple[ValueKind, ...] = (
    BOOLEAN_KIND,
    WHOLE_KIND,
    NUMBER_KIND,
    ENGLISH_NUMBER_KIND,
    DECIMAL_COMMA_KIND,
    INDIAN_NUMBER_KIND,
    *DATE_KINDS,
    *MONTH_KINDS,
)
_PATTERNS = {kind.name: re.compile(kind.pattern) for kind in KINDS}

NUMERIC_KIND_NAMES = {"whole", "number", "english", "comma", "indian"}
"""The names of the kinds whose values may have currency or percent signs, which `NumberFormat` strips."""


def list_candidate_kinds(sample: Sequence[str], *, decimal_commas: bool) -> list[ValueKind]:
    """List the kinds worth trying on all rows, best first. `decimal_commas`: the file writes decimals with a comma."""
    number_format = detect_number_format(sample)
    bare_values = [number_format.strip_signs(value) for value in sample]
    sample = [to_ascii_digits(value) for value in sample]
    scored_kinds = []
    for order, kind in enumerate(KINDS):
        if number_format.unit and kind.name not in NUMERIC_KIND_NAMES:
            continue
        values = bare_values if kind.name in NUMERIC_KIND_NAMES else list(sample)
        fits = sum(1 for value in values if _PATTERNS[kind.name].fullmatch(value))
        if fits and fits >= _MIN_FITTING_SHARE * len(values):
            scored_kinds.append((-fits, _rank_kind(kind, order, values, decimal_commas=decimal_commas), kind))
    candidates = [kind for _, _, kind in sorted(scored_kinds, key=lambda each: each[:2])]
    if any(kind.name == "month iso" for kind in candidates) and are_year_spans(sample):
        candidates = [kind for kind in candidates if kind.name != "month iso"]
    return candidates + (make_mixed_kinds(sample) if not number_format.unit else [])


def _rank_kind(kind: ValueKind, order: int, values: Sequence[str], *, decimal_commas: bool) -> int:
    """Return the rank of a kind among those that fit equally well, smallest first.

    Whole numbers come first, then decimal commas if the file or a value shows them, then the order of `KINDS`.
    """
    if kind is WHOLE_KIND:
        return -2
    if kind is DECIMAL_COMMA_KIND and (
        decimal_commas or any(re.search(r",\d{1,2}$|,\d{4,}$", value) for value in values)
    ):
        return -1
    if decimal_commas and kind is NUMBER_KIND and all(re.fullmatch(r"[-+]?\d{1,3}\.\d{3}", value) for value in values):
        return len(KINDS)  # in a file with decimal commas 1.234 is 1234
    return order


def has_decimal_commas(samples: Sequence[Sequence[str]]) -> bool:
    """Return whether at least one column can only be read as numbers with a decimal comma."""
    for sample in samples:
        number_format = detect_number_format(sample)
        values = [number_format.strip_signs(value) for value in sample]
        fits = sum(1 for value in values if re.fullmatch(r"[-+]?(\d{1,3}(\.\d{3})+|\d+),(\d{1,2}|\d{4,})", value))
        if values and fits >= _MIN_FITTING_SHARE * len(values):
            return True
    return False


_SCALE_WORD = r"(?i:k|m|mn|mio|mill|b|bn|mrd|t|tsd|cr|l)\.?|[万萬億亿千만천억]|\s[^\W\d]{1,15}\.?"
_NUMBER_LIKE_TEXT = re.compile(
    r"[-+(\u2212~\u2248<>=]*\s*(?:[A-Z]{2,3}\.?|[^\w\s]{1,3}|ca\.|approx\.|about|circa)?\s*[-+]?"
    rf"(?!0\d)\d+(?:[.,'_\u2019\u00a0\u2009\u202f ]\d+)*(?:{_SCALE_WORD})?\s*[^\w\s]{{0,3}}"
)
_DATE_LIKE_TEXT = re.compile(
    r"(?=.*\d{4}|.*[^\W\d]{3}|\d\d\D\d\d\D\d\d)(?:\w{2,12}\.?,?\s)?"
    r"\d{1,4}\s?[-/.]\s?(?:\d{1,2}|[^\W\d]{3,12})\s?[-/.]\s?\d{1,4}\D?(?:\s.*)?|"
    r"\d{1,2}(?:\.|er|º|ª)?\s[^\W\d]{3,15}\.?\s[12]\d{3}(?:\s?[^\W\d]{1,3}\.?)?"
)
_CODE_WITH_DIGITS = re.compile(r"\d+|[^\W\d_]+[-_]?\d+|\d+[^\W\d_]+\d.*|\d+(?:\.\d+){2,}|\+\d.*")
"""Codes with digits, which are never added up: plain digits, names with a number, versions, telephone numbers."""


def guess_text_kind(sample: Sequence[str]) -> str:
    """Return what most values of a text column look like: `dates`, `numbers` or ""."""
    plain = [to_ascii_digits(value) for value in sample]
    for words, pattern in (("dates", _DATE_LIKE_TEXT), ("numbers", _NUMBER_LIKE_TEXT)):
        numbers = words == "numbers"
        fits = sum(
            1
            for value in plain
            if (pattern.fullmatch(value) and not (_CODE_WITH_DIGITS.fullmatch(value) and numbers))
            or (numbers and value.isnumeric() and not value.isascii())  # such as ½ or 三千
        )
        if plain and fits >= _MIN_FITTING_SHARE * len(plain):
            return words
    return ""


def describe_ambiguous_number(kind: ValueKind, sample: Sequence[str]) -> str:
    """Return a note with an example if each number can be read in two ways, such as 1.234 or 1234; otherwise ""."""
    pattern = {NUMBER_KIND.name: r"[-+]?[1-9]\d{0,2}\.\d{3}", ENGLISH_NUMBER_KIND.name: r"[-+]?[1-9]\d{0,2},\d{3}"}.get(
        kind.name
    )
    if not pattern or not all(re.fullmatch(pattern, value) for value in sample):
        return ""
    plain, thousands = sample[0].replace(",", "."), re.sub("[.,]", "", sample[0])
    return f"'{sample[0]}' may be {plain} or {thousands}; read as {plain if kind is NUMBER_KIND else thousands}"
