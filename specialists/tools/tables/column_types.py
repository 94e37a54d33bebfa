"""Finds the type of a column of text, and the SQL that converts it.

A kind is guessed from a sample and then checked on every row. A column with exceptions stays text, and a fault says so,
so that no value is lost.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from specialists.tools.tables.date_kinds import DATE_KINDS, MONTH_KINDS, are_seasons, make_mixed_kinds
from specialists.tools.tables.number_dress import detect_number_format, to_ascii_digits
from specialists.tools.tables.value_kind import ValueKind

EMPTY_WORDS = ("na", "n/a", "#n/a", "null", "none", "nan", "-", "--", "\u2013", "?")
"""Words, in lower case, that people write into a cell without a value."""

_MOSTLY_SHARE = 0.6

BOOLEAN_KIND = ValueKind("truth", "true or false", r"(?i:true|false)", "TRY_CAST(lower({x}) AS BOOLEAN)")
WHOLE_KIND = ValueKind("whole", "whole numbers", r"[-+]?(0|[1-9]\d{0,17})", "TRY_CAST({x} AS BIGINT)")
NUMBER_KIND = ValueKind(
    "number",
    "numbers",
    r"[-+]?((0|[1-9]\d{0,17})(\.\d*)?|\.\d+)([eE][-+]?\d{1,3})?",
    "TRY_CAST({x} AS DOUBLE)",
)
ENGLISH_KIND = ValueKind(
    "english",
    "numbers",
    r"[-+]?(0|[1-9]\d{0,2}(,\d{3})+|[1-9]\d{0,17})(\.\d+)?",
    "TRY_CAST(replace({x}, ',', '') AS DOUBLE)",
    "commas between thousands",
)
COMMA_KIND = ValueKind(
    "comma",
    "numbers",
    r"[-+]?(0|[1-9]\d{0,2}(\.\d{3})+|[1-9]\d{0,17})(,\d+)?",
    "TRY_CAST(replace(replace({x}, '.', ''), ',', '.') AS DOUBLE)",
    "decimal commas",
)
INDIAN_KIND = ValueKind(
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
    ENGLISH_KIND,
    COMMA_KIND,
    INDIAN_KIND,
    *DATE_KINDS,
    *MONTH_KINDS,
)
_PATTERNS = {kind.name: re.compile(kind.pattern) for kind in KINDS}

NUMERIC_KINDS = {"whole", "number", "english", "comma", "indian"}
"""The names of the kinds whose values may have currency or percent signs, see `NumberFormat`."""


def list_candidate_kinds(sample: Sequence[str], *, decimal_commas: bool) -> list[ValueKind]:
    """List the kinds worth trying on all rows, best first. `decimal_commas`: the file writes decimals with a comma."""
    dress = detect_number_format(sample)
    bare = [dress.strip_signs(value) for value in sample]
    sample = [to_ascii_digits(value) for value in sample]
    scored = []
    for order, kind in enumerate(KINDS):
        if dress.unit and kind.name not in NUMERIC_KINDS:
            continue
        values = bare if kind.name in NUMERIC_KINDS else list(sample)
        fits = sum(1 for value in values if _PATTERNS[kind.name].fullmatch(value))
        if fits and fits >= _MOSTLY_SHARE * len(values):
            scored.append((-fits, _rank_kind(kind, order, values, decimal_commas=decimal_commas), kind))
    found = [kind for _, _, kind in sorted(scored, key=lambda each: each[:2])]
    if any(kind.name == "month iso" for kind in found) and are_seasons(sample):
        found = [kind for kind in found if kind.name != "month iso"]
    return found + (make_mixed_kinds(sample) if not dress.unit else [])


def _rank_kind(kind: ValueKind, order: int, values: Sequence[str], *, decimal_commas: bool) -> int:
    """Return the rank of a kind among those that fit equally well, smallest first: whole numbers, then usual commas."""
    if kind is WHOLE_KIND:
        return -2
    if kind is COMMA_KIND and (decimal_commas or any(re.search(r",\d{1,2}$|,\d{4,}$", value) for value in values)):
        return -1
    if decimal_commas and kind is NUMBER_KIND and all(re.fullmatch(r"[-+]?\d{1,3}\.\d{3}", value) for value in values):
        return len(KINDS)  # in a file with decimal commas 1.234 is 1234
    return order


def writes_decimal_commas(samples: Sequence[Sequence[str]]) -> bool:
    """Return whether at least one column can only be read as numbers with a decimal comma."""
    for sample in samples:
        dress = detect_number_format(sample)
        values = [dress.strip_signs(value) for value in sample]
        fits = sum(1 for value in values if re.fullmatch(r"[-+]?(\d{1,3}(\.\d{3})+|\d+),(\d{1,2}|\d{4,})", value))
        if values and fits >= _MOSTLY_SHARE * len(values):
            return True
    return False


_SCALE_WORD = r"(?i:k|m|mn|mio|mill|b|bn|mrd|t|tsd|cr|l)\.?|[万萬億亿千만천억]|\s[^\W\d]{1,15}\.?"
_LIKE_NUMBER = re.compile(
    r"[-+(\u2212~\u2248<>=]*\s*(?:[A-Z]{2,3}\.?|[^\w\s]{1,3}|ca\.|approx\.|about|circa)?\s*[-+]?"
    rf"(?!0\d)\d+(?:[.,'_\u2019\u00a0\u2009\u202f ]\d+)*(?:{_SCALE_WORD})?\s*[^\w\s]{{0,3}}"
)
_LIKE_DATE = re.compile(
    r"(?=.*\d{4}|.*[^\W\d]{3}|\d\d\D\d\d\D\d\d)(?:\w{2,12}\.?,?\s)?"
    r"\d{1,4}\s?[-/.]\s?(?:\d{1,2}|[^\W\d]{3,12})\s?[-/.]\s?\d{1,4}\D?(?:\s.*)?|"
    r"\d{1,2}(?:\.|er|º|ª)?\s[^\W\d]{3,15}\.?\s[12]\d{3}(?:\s?[^\W\d]{1,3}\.?)?"
)
_CODE_WITH_DIGITS = re.compile(r"\d+|[^\W\d_]+[-_]?\d+|\d+[^\W\d_]+\d.*|\d+(?:\.\d+){2,}|\+\d.*")
"""Codes with digits, which are never added up: plain digits, names with a number, versions, telephone numbers."""


def guess_text_kind(sample: Sequence[str]) -> str:
    """Return what most values of a text column look like: `dates`, `numbers` or ""."""
    plain = [to_ascii_digits(value) for value in sample]
    for words, pattern in (("dates", _LIKE_DATE), ("numbers", _LIKE_NUMBER)):
        numbers = words == "numbers"
        fits = sum(
            1
            for value in plain
            if (pattern.fullmatch(value) and not (_CODE_WITH_DIGITS.fullmatch(value) and numbers))
            or (numbers and value.isnumeric() and not value.isascii())  # such as ½ or 三千
        )
        if plain and fits >= _MOSTLY_SHARE * len(plain):
            return words
    return ""


def find_ambiguous_number(kind: ValueKind, sample: Sequence[str]) -> str:
    """Return an example if each number can be read in two ways, such as 1.234 as 1.234 or 1234; otherwise ""."""
    pattern = {NUMBER_KIND.name: r"[-+]?[1-9]\d{0,2}\.\d{3}", ENGLISH_KIND.name: r"[-+]?[1-9]\d{0,2},\d{3}"}.get(
        kind.name
    )
    if not pattern or not all(re.fullmatch(pattern, value) for value in sample):
        return ""
    plain, thousands = sample[0].replace(",", "."), re.sub("[.,]", "", sample[0])
    return f"'{sample[0]}' may be {plain} or {thousands}; read as {plain if kind is NUMBER_KIND else thousands}"
