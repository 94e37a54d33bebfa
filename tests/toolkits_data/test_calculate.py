"""The calculator: right answers, helpful faults, and attacks that end within its second."""

from __future__ import annotations

import sys

import pytest

from specialists.tools.tables.calculate_tools import CalculateArguments, calculate, tools
from specialists.tools.tool import ToolOutcome

from .conftest import Bench


async def run(bench: Bench, code: str) -> ToolOutcome:
    return await calculate(CalculateArguments(code=code), bench({}))


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("x = [3, 1, 2]\nprint(sorted(x))\nsum(x)", "[1, 2, 3]\n6"),
        ("from datetime import date\n(date(2026, 3, 1) - date(2025, 7, 1)).days", "243"),
        ("from decimal import Decimal\nDecimal('0.1') + Decimal('0.2')", "0.3"),
        ("0.1 + 0.2, 100 * 1.1, 4.35 * 100, sum([0.01] * 10000)", "(0.3, 110.0, 435.0, 100.0)"),
        ("print(1234567.89 * 1.19)\nsum([0.1] * 10)", "1469135.7891\n1.0"),
        ("1 / 3, 1e22 / 3, -2 ** 0.5", "(0.3333333333333333, 3.3333333333333335e+21, -1.4142135623730951)"),
        ("import datetime\ndatetime.date(2026, 3, 1)", "2026-03-01"),
        ("2 ** 20000", "an integer of about 6,021 digits"),
    ],
)
async def test_values_and_prints_come_back(bench: Bench, code: str, text: str) -> None:
    told = await run(bench, code)
    assert (told.failed, told.text) == (False, text)


@pytest.mark.parametrize(
    ("code", "expected_words"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("x = 3", "No value: end with an expression, or print."),
        ("1 +", "SyntaxError"),
        ("print('so far')\nnope", "so far"),
        ("import statistics", "only math, datetime"),
        ("query_table(1)", "another tool is called by itself, not from code"),
        ("import os\nos.listdir('/')", "PermissionError"),
        ("import os\nos.environ['HOME']", "Error"),
        ("open('/etc/passwd').read()", "PermissionError"),
        ("import subprocess", "ModuleNotFoundError"),
        ("__import__('os').system('id')", "Error"),
        ("().__class__.__base__.__subclasses__()", "Error"),
        ("while True: pass", "Stopped at the limit"),
        ("10 ** 10 ** 10", "Stopped at the limit"),
        ("'x' * 10 ** 10", "Stopped at the limit"),
        ("x = []\nwhile True: x.append(x[:])", "Stopped at the limit"),
        ("def f(n): return f(n + 1)\nf(0)", "RecursionError"),
        ("for i in range(10 ** 7): print('x' * 100)", "Stopped at the limit"),
    ],
)
async def test_faults_and_attacks_end_as_text_within_the_limit(bench: Bench, code: str, expected_words: str) -> None:
    told = await run(bench, code)
    assert told.failed
    assert expected_words in told.text
    assert "root:" not in told.text
    assert len(told.text) < 9000


async def test_long_values_are_cut(bench: Bench) -> None:
    told = await run(bench, "list(range(100000))")
    assert not told.failed
    assert len(told.text) < 4100
    assert "characters in all" in told.text


def test_a_tool_is_described_in_few_words() -> None:
    (tool,) = tools()
    assert tool.spec.parameters["required"] == ["code"]
    assert len(tool.spec.description) < 250
    assert "specialists.tools.tables.calculate_tools" in sys.modules
