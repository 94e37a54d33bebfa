"""Finds the numbers in code or SQL that a model made up: a tool reply that repeats them is no evidence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from handoff.checking.numerals import normalize_digits, parse_numerals
from handoff.checking.workings import is_common_number

_NUMBER_LITERAL = re.compile(r"(?<![\w.])(\d[\d_]*(?:\.\d+)?)(?:[eE]([+-]?\d+))?(?![\w])")
_BARE_NUMBER = re.compile(r"(?<![\w.,])\d+(?:\.\d+)?(?![\w,])")
_DATE = re.compile(r"\d{4}-\d\d(?:-\d\d)?(?:[ T]\d\d:\d\d(?::\d\d)?)?|\b(?:date|datetime)\([^()]*\)")
_SQL_START = re.compile(r"\s*(?:WITH|SELECT|FROM|VALUES)\b", re.IGNORECASE)
_SELECT_LIST = re.compile(r"\bSELECT\b(.*?)(?=\bFROM\b|\bSELECT\b|$)", re.IGNORECASE | re.DOTALL)
_VALUES_CLAUSE = re.compile(r"\bVALUES\b[^;]*", re.IGNORECASE)
_ALIAS = re.compile(r"\s+(?:AS\s+)?(?:[^\W\d]\w*|\"[^\"]*\")\s*$", re.IGNORECASE)
_COLUMN_NAME = re.compile(r"[^\W\d]\w*|\*(?!\s*[\d(])")
_ADDED_CONSTANT = re.compile(r"[)\w\"]\s*[+-]\s*(\d[\d_]*(?:\.\d+)?)(?![\w.]|\s*[*/%])")
"""A number that a query adds to a column or subtracts from it."""
_STRING_LITERAL = re.compile(r"'[^']*'|\"[^\"]*\"")


def find_hardcoded_numbers(code: str, known_texts: Iterable[str]) -> tuple[str, ...]:
    """Return the numbers in code or SQL, as written, that are in no text of `known_texts`.

    In a query only two kinds of numbers count: those in selected columns that read no table column, and those that are
    added to a column or subtracted from it. Other numbers choose or group rows. Small counts, years, powers of ten, and
    factors of units and calendars never count. A number is known, too, if it is the factor of a known percentage (1.19
    for 19 %), or one more or less than a known number (the end of a range).
    """
    texts = _yield_constant_parts(code) if _SQL_START.match(code) else [code]
    literals = (each for text in texts for each in _yield_literals(_DATE.sub(" ", text)))
    uncommon_literals = {literal: value for literal, value in literals if not is_common_number(value)}
    if not uncommon_literals:
        return ()
    texts = [normalize_digits(each) for each in known_texts]
    known_values = {round(value, 9) for each in texts for one in parse_numerals(each) for value, _ in one.readings}
    # 412.6 billion is 412.6 in code.
    known_values |= {float(match[0]) for each in texts for match in _BARE_NUMBER.finditer(each)}
    return tuple(literal for literal, value in uncommon_literals.items() if not _is_derivable(value, known_values))


def _yield_constant_parts(query: str) -> Iterator[str]:
    """Yield the parts of a query whose values do not come from a table.

    These are columns without a table column, numbers added to a column, and rows of VALUES.
    """
    for match in _SELECT_LIST.finditer(query):
        for column in _split_at_commas(match[1]):
            bare = _ALIAS.sub("", f" {column.strip()}")
            if not _COLUMN_NAME.search(re.sub(r"'[^']*'", " ", bare)):
                yield bare
            elif constants := _ADDED_CONSTANT.findall(_STRING_LITERAL.sub(" ", bare)):
                yield " ".join(constants)
    yield from (match[0] for match in _VALUES_CLAUSE.finditer(query))


def _split_at_commas(text: str) -> Iterator[str]:
    """Yield the items of a list, split at commas outside strings and brackets."""
    depth = start = 0
    for at, sign in enumerate(_STRING_LITERAL.sub(lambda match: " " * len(match[0]), text)):
        depth += (sign == "(") - (sign == ")")
        if depth < 0:  # the end of a subquery
            yield text[start:at]
            return
        if sign == "," and not depth:
            yield text[start:at]
            start = at + 1
    yield text[start:]


def _yield_literals(text: str) -> Iterator[tuple[str, float]]:
    """Yield the numbers of code as pairs (text as written, value). Numbers in strings are parsed in any format."""
    for match in _NUMBER_LITERAL.finditer(_STRING_LITERAL.sub(" ", text)):
        yield match[0], float(match[1].replace("_", "")) * 10.0 ** int(match[2] or 0)
    for string in _STRING_LITERAL.finditer(text):
        normalized_text = normalize_digits(string[0][1:-1])
        yield from (
            (normalized_text[one.start : one.end], one.readings[0][0])
            for one in parse_numerals(normalized_text)
            if one.readings
        )


def _is_derivable(value: float, known_values: set[float]) -> bool:
    derived_values = (value, value * 100, (value - 1) * 100, (1 - value) * 100, value / 100, value - 1, value + 1)
    return any(round(way, 9) in known_values or round(way, 2) in known_values for way in derived_values)
