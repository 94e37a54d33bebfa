"""Reads how a figure was worked out, where its writer says so, and works it out again. Pure.

A working stands behind its figure: `37 % [[= (1,569 - 1,145) / 1,145]]`. Its numbers have to be known; code does the
sum. People see the figure, and the working behind *Evidence*.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product

from handoff.checking.derived_figures import possible_values
from handoff.checking.numerals import SMALL, YEARS, Numeral, normalize_digits, numerals

EXAMPLE = "37 % [[= (1,569 - 1,145) / 1,145]]"
"""How a working is told to models."""
_WORKING = re.compile(r"[ \t\u00a0]*\[\[ ?= ?([^\[\]\n]{1,200}?) ?\]\]")
_NEAR = 40
"""Characters that may stand between a figure and its working, such as its unit."""
_MOST_READINGS = 64
"""Ways to read the numbers of an expression of which each may mean two things, as 1.234 does."""
_SIGNS = str.maketrans(
    {"\u00d7": "*", "\u00b7": "*", "\u00f7": "/", ":": "/", "\u2212": "-", "\u2013": "-", "^": "\x00"}
)
_OTHER = re.compile(r"[^\d.\s()+*/\x00-]")
_MONEY = re.compile(r"[$€£¥]|\b[A-Z]{3}\b")
_POWER = 64
_OPERATIONS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: lambda one, other: one + other,
    ast.Sub: lambda one, other: one - other,
    ast.Mult: lambda one, other: one * other,
    ast.Div: lambda one, other: one / other,
    ast.Pow: lambda one, other: one**other,
}
_COMMON = frozenset((24, 28, 30, 31, 48, 52, 60, 90, 120, 180, 360, 364, 365, 366, 1024, 1440, 3600, 86400, 273.15))


@dataclass(frozen=True, slots=True)
class Working:
    """An expression behind a figure, from `start` to `end` of its text, with the white space before it."""

    start: int
    end: int
    expression: str

    def numbers(self) -> list[Numeral]:
        """Return the numbers of the expression, with their places in it."""
        return numerals(normalize_digits(self.expression))


def find_workings(text: str) -> list[Working]:
    """Return the workings of a text, in order."""
    if "[[" not in text:
        return []
    return [Working(one.start(), one.end(), one[1].strip()) for one in _WORKING.finditer(text)]


def remove_workings(text: str) -> str:
    """Return a text as people read it."""
    return _WORKING.sub("", text) if "[[" in text else text


def blank_workings(text: str) -> str:
    """Return a text with its workings blanked out, every other character in its place."""
    return _WORKING.sub(lambda found: " " * len(found[0]), text) if "[[" in text else text


def match_workings(figures: Sequence[Numeral], workings: Sequence[Working], text: str) -> dict[Numeral, Working]:
    """Return the workings by the figures that they stand behind: the last one before each, on its line."""
    found: dict[Numeral, Working] = {}
    for one in workings:
        before = [each for each in figures if each.end <= one.start and one.start - each.end <= _NEAR]
        if before and "\n" not in text[before[-1].end : one.start]:
            found.setdefault(before[-1], one)
    return found


def equals_figure(working: Working, figure: Numeral) -> bool:
    """Return True if an expression has the value of a figure, as exactly as that is printed."""
    sign = -1.0 if figure.sign == "-" else 1.0
    wanted = [(value, slack) for value, slack, _ in possible_values(figure)]
    for value in values_of(working):
        for each in (value, value * 100) if figure.kind == "%" else (value,):
            if any(
                abs(sign * each - one) <= slack or (not figure.sign and abs(abs(each) - one) <= slack)
                for one, slack in wanted
            ):
                return True
    return False


def values_of(working: Working) -> Iterator[float]:
    """Yield the values that an expression may have, one for each way to read its numbers; none if it is no expression.

    Numbers in per cent are shares: 30 % is 0.3. Units are not counted with: an expression has bare numbers.
    """
    numbers, expression = working.numbers(), normalize_digits(working.expression)
    names, at, written = [], 0, ""
    for place, one in enumerate(numbers):
        names.append(f"n{place}")
        written += f"{_parse_operators(expression[at : one.start])} {names[-1]} "
        at = one.end
    written += _parse_operators(expression[at:])
    try:
        tree = ast.parse(written.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return
    choices = [[value / (100.0 if one.kind == "%" else one.factor) for value, _ in one.readings] for one in numbers]
    for chosen in islice(product(*choices), _MOST_READINGS):
        value = _evaluate_node(tree, dict(zip(names, chosen, strict=True)))
        if value is not None:
            yield value


def _parse_operators(between: str) -> str:
    """Return what stands between two numbers as Python writes it; what is no operator spoils the expression."""
    return _OTHER.sub("?", _MONEY.sub("", between).translate(_SIGNS)).replace("\x00", "**")


def _evaluate_node(node: ast.expr, numbers: Mapping[str, float]) -> float | None:
    """Work out a tree of sums; None for anything else, and for what cannot be worked out."""
    if isinstance(node, ast.Name):
        return numbers.get(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = _evaluate_node(node.operand, numbers)
        return value if value is None or isinstance(node.op, ast.UAdd) else -value
    if not isinstance(node, ast.BinOp) or type(node.op) not in _OPERATIONS:
        return None
    one, other = _evaluate_node(node.left, numbers), _evaluate_node(node.right, numbers)
    if one is None or other is None or (isinstance(node.op, ast.Pow) and abs(other) > _POWER):
        return None
    try:
        value = _OPERATIONS[type(node.op)](one, other)
    except (ZeroDivisionError, OverflowError):
        return None
    return value if isinstance(value, float) else None  # a root of a negative number is complex


def needs_no_source(value: float) -> bool:
    """Return True if a number needs no source: a small count, a year, a power of ten, one of units or calendars."""
    if value in _COMMON or value in {0.5, 1.5} or (value == int(value) and (value <= SMALL or int(value) in YEARS)):
        return True
    return f"{value:.12g}".replace(".", "").strip("0") == "1"
