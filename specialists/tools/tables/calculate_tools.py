"""Arithmetic and small programs, in a sandboxed Python (Monty) that reaches no file and no network."""

from __future__ import annotations

import json
import re
import shutil
import sysconfig
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from specialists.sandbox.child_process import BUSY_MESSAGE, UNSANDBOXED_MESSAGE, ChildInputs, ChildLimits, run_child
from specialists.tools.extras import describe_unavailable_tool, explain_install
from specialists.tools.tables.calculate_child import CODE_SECONDS, MEMORY_BYTES
from specialists.tools.tool import Tool, ToolOutcome, Workbench

_LIMITS = ChildLimits(memory_mb=1500, cpu_seconds=6)
_CALL_SECONDS = 12.0
_MAX_REPLY_BYTES = 8 * 1024 * 1024
_TIMEOUT_MESSAGE = "That took too long and was stopped."
NO_VALUE_MESSAGE = "No value: end with an expression, or print."
_FAILURE_MESSAGES = {
    "time": _TIMEOUT_MESSAGE,
    "cpu": _TIMEOUT_MESSAGE,
    "crash": "That ended the calculator itself. Work with less at a time.",
    "too_much": "That gave more than can be passed on.",
    "busy": BUSY_MESSAGE,
    "unwalled": UNSANDBOXED_MESSAGE,
}
_MAX_OUTPUT_CHARS = 4_000
_LONG_FLOAT = re.compile(r"(?<![\w.])-?\d+\.\d+(?:e[+-]?\d+)?(?![\w.])")
_DECIMAL_REPR = re.compile(r"Decimal\('([^']*)'\)")
_ROUNDING_ERROR_DIGITS = 15
_PRINTED_TERM = re.compile(r"print\((.*)\)", re.DOTALL)
_SQL_TERM = re.compile(r"(?=.{1,200}\Z)(?:sum|avg|min|max|count)\([\w\s.*+/-]+\)", re.IGNORECASE)
"""Matches an aggregate, such as `sum(price)`, that SQL reads as the model meant it in Python."""
_TABLE_ERRORS = (
    "NameError",
    "ModuleNotFoundError",
    "ImportError",
    "SyntaxError",
    "FileNotFoundError",
    "PermissionError",
)
"""Errors of code that tries to use a table, which the calculator does not have."""


class CalculateArguments(BaseModel):
    """The arguments of `calculate`."""

    model_config = ConfigDict(extra="forbid")
    code: str = Field(description="Python; the last line is an expression", max_length=20_000)


def tools() -> tuple[Tool, ...]:
    """Return the tool `calculate`."""
    return (Tool("calculate", "read", CalculateArguments, calculate, public=True),)


async def calculate(arguments: CalculateArguments, workbench: Workbench) -> ToolOutcome:
    """Work out numbers in Python (math, datetime, decimal, re, json). Gives what is printed and the last value.

    No files, network or packages; for attached tables use query_table.
    """
    program = _find_sandbox_program()
    if program is None:
        return ToolOutcome(f"Calculating is not installed here. {explain_install('calculate')}", failed=True)
    reply = await run_child(
        "specialists.tools.tables.calculate_child",
        {"code": arguments.code, "program": str(program)},
        limits=_LIMITS,
        timeout_seconds=_CALL_SECONDS,
        max_reply_bytes=_MAX_REPLY_BYTES,
        inputs=ChildInputs(program=program),
    )
    if reply.failure:
        return ToolOutcome(_FAILURE_MESSAGES[reply.failure], failed=True)
    answer: dict[str, Any] = json.loads(reply.output)
    if "error" not in answer:
        output = _format_output(answer["value"], answer["printed"])
        return ToolOutcome(output or NO_VALUE_MESSAGE, failed=not output)
    text = _explain_error(answer["error"], answer["printed"])
    if answer["of_code"] and any(kind in text for kind in _TABLE_ERRORS):
        text += _suggest_query_table(arguments.code, workbench)
    return ToolOutcome(text, failed=True)


def _find_sandbox_program() -> Path | None:
    """Find the program of the sandbox, which its package puts beside Python; None if it is not installed."""
    installed_program = Path(sysconfig.get_path("scripts"), "monty")
    program_path = str(installed_program) if installed_program.is_file() else shutil.which("monty")
    return Path(program_path) if program_path and not describe_unavailable_tool("calculate", "pydantic_monty") else None


def _suggest_query_table(code: str, workbench: Workbench) -> str:
    """Return a hint to use `query_table` in place of failed code; "" if no table is attached.

    Models write names of columns into code, although code has no access to tables. If the code is a single term such as
    `sum(price)`, the hint has a query with that term.
    """
    from specialists.tools.tables.table_tools import name_tables  # noqa: PLC0415 - only where code failed

    names = list(name_tables(workbench.artifacts))
    if not names:
        return ""
    table = next((name for name in names if re.search(rf"\b{name}\b", code)), names[0])
    term = _PRINTED_TERM.sub(r"\1", code.strip()).replace(f"{table}.", "")
    expression = term if _SQL_TERM.fullmatch(term) else "..."
    sql = f"SELECT {expression} FROM {table} and the WHERE or GROUP BY that is asked for"  # noqa: S608 - for a model to read
    return f"\nCode sees no table. Tables attached: {', '.join(names)}. Call query_table with {sql}"


def _format_output(last_value: str, printed_text: str) -> str:
    parts = [_cut_output(_round_off_numbers(printed_text.rstrip())), _cut_output(_round_off_numbers(last_value))]
    return "\n".join(part for part in parts if part)


def _round_off_numbers(text: str) -> str:
    """Round off the errors of binary fractions, which models would copy: 110.00000000000001 becomes 110.0."""
    return _LONG_FLOAT.sub(lambda match: _round_off_number(match[0]), _DECIMAL_REPR.sub(r"\1", text))


def _round_off_number(number: str) -> str:
    if _count_digits(number) < _ROUNDING_ERROR_DIGITS:
        return number
    for digits, max_digits in ((15, 13), (13, 10)):  # the error of one rounding, and that of many additions
        rounded_number = repr(float(f"{float(number):.{digits}g}"))
        if _count_digits(rounded_number) <= max_digits:
            return rounded_number
    return number


def _count_digits(number: str) -> int:
    """Count the significant digits of a number."""
    return len(number.partition("e")[0].replace(".", "").strip("-0"))


def _explain_error(error: str, printed_text: str) -> str:
    text = _cut_output(error)
    if "ModuleNotFoundError" in text:
        text += " (only math, datetime, decimal, re, json, itertools, collections are there: write it with those)"
    if "NameError" in text:
        text += " (names must be set in the code; another tool is called by itself, not from code)"
    if "time limit" in text or "MemoryError" in text:
        text = f"Stopped at the limit of {CODE_SECONDS:g} s and {MEMORY_BYTES // 2**20} MB: {text}"
    return f"{_cut_output(printed_text.rstrip())}\n{text}".strip()


def _cut_output(text: str) -> str:
    return (
        text if len(text) <= _MAX_OUTPUT_CHARS else f"{text[:_MAX_OUTPUT_CHARS]} ... ({len(text):,} characters in all)"
    )
