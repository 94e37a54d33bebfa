"""Parses the workings of a text, which are calculations written behind figures, and recalculates them. Pure.

A working looks like this: `37 % [[= (1,569 - 1,145) / 1,145]]`. Its numbers have to be known, and code recalculates
it. People see the figure in the text, and the working behind *Evidence*.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product

from handoff.checking.derived_figures import yield_possible_values
from handoff.checking.numerals import MAX_SMALL_COUNT, YEARS, Numeral, normalize_digits, parse_numerals

WORKING_EXAMPLE = "37 % [[= (1,569 - 1,145) / 1,145]]"
"""The example of a working that models are shown."""
_WORKING = re.compile(r"[ \t\u00a0]*\[\[ ?= ?([^\[\]\n]{1,200}?) ?\]\]")
_MAX_DISTANCE = 40
"""The most characters between a figure and its working, such as its unit."""
_MAX_READINGS = 64
"""The most combinations of readings tried for an expression: a number such as 1.234 has two readings."""
_OPERATOR_SIGNS = str.maketrans(
    {"\u00d7": "*", "\u00b7": "*", "\u00f7": "/", ":": "/", "\u2212": "-", "\u2013": "-", "^": "\x00"}
)
_INVALID_CHARACTER = re.compile(r"[^\d.\s()+*/\x00-]")
_MONEY = re.compile(r"[$€£¥]|\b[A-Z]{3}\b")
_MAX_EXPONENT = 64
_OPERATIONS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: lambda one, other: one + other,
    ast.Sub: lambda one, other: one - other,
    ast.Mult: lambda one, other: one * other,
    ast.Div: lambda one, other: one / other,
    ast.Pow: lambda one, other: one**other,
}
_COMMON_FACTORS = frozenset(
    (24, 28, 30, 31, 48, 52, 60, 90, 120, 180, 360, 364, 365, 366, 1024, 1440, 3600, 86400, 273.15)
)


@dataclass(frozen=True, slots=True)
class Working:
    """A working: the expression behind a figure. `start` to `end` is its span in the text, with leading white space."""

    start: int
    end: int
    expression: str

    def parse_numbers(self) -> list[Numeral]:
        """Return the numbers in the expression, with their positions in it."""
        return parse_numerals(normalize_digits(self.expression))


def find_workings(text: str) -> list[Working]:
    """Return the workings of a text, in order."""
    if "[[" not in text:
        return []
    return [Working(one.start(), one.end(), one[1].strip()) for one in _WORKING.finditer(text)]


def remove_workings(text: str) -> str:
    """Return a text without its workings, as people read it."""
    return _WORKING.sub("", text) if "[[" in text else text


def blank_workings(text: str) -> str:
    """Return a text whose workings are replaced by spaces, so that all positions stay the same."""
    return _WORKING.sub(lambda match: " " * len(match[0]), text) if "[[" in text else text


def match_workings(figures: Sequence[Numeral], workings: Sequence[Working], text: str) -> dict[Numeral, Working]:
    """Map each figure to the working behind it. A working belongs to the last figure before it on the same line."""
    workings_by_figure: dict[Numeral, Working] = {}
    for one in workings:
        before = [each for each in figures if each.end <= one.start and one.start - each.end <= _MAX_DISTANCE]
        if before and "\n" not in text[before[-1].end : one.start]:
            workings_by_figure.setdefault(before[-1], one)
    return workings_by_figure


def equals_figure(working: Working, figure: Numeral) -> bool:
    """Return True if a working comes to the value of a figure, within the figure's rounding error."""
    sign = -1.0 if figure.sign == "-" else 1.0
    possible_values = [(value, slack) for value, slack, _ in yield_possible_values(figure)]
    for value in yield_values(working):
        for each in (value, value * 100) if figure.kind == "%" else (value,):
            if any(
                abs(sign * each - one) <= slack or (not figure.sign and abs(abs(each) - one) <= slack)
                for one, slack in possible_values
            ):
                return True
    return False


def yield_values(working: Working) -> Iterator[float]:
    """Yield the possible values of a working, one for each combination of readings; none for an invalid expression.

    Numbers in per cent are shares: 30 % is 0.3. Other units are ignored: 5 km is 5.
    """
    numbers, expression = working.parse_numbers(), normalize_digits(working.expression)
    names, at, python_expression = [], 0, ""
    for place, one in enumerate(numbers):
        names.append(f"n{place}")
        python_expression += f"{_translate_operators(expression[at : one.start])} {names[-1]} "
        at = one.end
    python_expression += _translate_operators(expression[at:])
    try:
        tree = ast.parse(python_expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return
    choices = [[value / (100.0 if one.kind == "%" else one.factor) for value, _ in one.readings] for one in numbers]
    for combination in islice(product(*choices), _MAX_READINGS):
        value = _evaluate_node(tree, dict(zip(names, combination, strict=True)))
        if value is not None:
            yield value


def _translate_operators(text: str) -> str:
    """Return the text between two numbers as Python operators. Anything else becomes `?`, which is a syntax error."""
    return _INVALID_CHARACTER.sub("?", _MONEY.sub("", text).translate(_OPERATOR_SIGNS)).replace("\x00", "**")


def _evaluate_node(node: ast.expr, numbers: Mapping[str, float]) -> float | None:
    """Evaluate an arithmetic syntax tree; None for any other node, and for a value that cannot be computed."""
    if isinstance(node, ast.Name):
        return numbers.get(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = _evaluate_node(node.operand, numbers)
        return value if value is None or isinstance(node.op, ast.UAdd) else -value
    if not isinstance(node, ast.BinOp) or type(node.op) not in _OPERATIONS:
        return None
    one, other = _evaluate_node(node.left, numbers), _evaluate_node(node.right, numbers)
    if one is None or other is None or (isinstance(node.op, ast.Pow) and abs(other) > _MAX_EXPONENT):
        return None
    try:
        value = _OPERATIONS[type(node.op)](one, other)
    except (ZeroDivisionError, OverflowError):
        return None
    return value if isinstance(value, float) else None  # a root of a negative number is complex


def is_common_number(value: float) -> bool:
    """Return True if a number needs no source: a small count, a year, a power of ten, or a unit or calendar factor."""
    if (
        value in _COMMON_FACTORS
        or value in {0.5, 1.5}
        or (value == int(value) and (value <= MAX_SMALL_COUNT or int(value) in YEARS))
    ):
        return True
    return f"{value:.12g}".replace(".", "").strip("0") == "1"
