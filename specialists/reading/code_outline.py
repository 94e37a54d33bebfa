"""Finds where functions and classes begin in a program: Python by its parser, other languages by line patterns."""

from __future__ import annotations

import ast
import re
import warnings

_PYTHON_ENDINGS = frozenset({".py", ".pyi", ".pyw"})
_MODIFIERS = (
    r"(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|override|virtual|sealed|"
    r"partial|pub(?:\([\w: ]+\))?|unsafe|open|inline|data|suspend|const|extern|extension) +)*"
)
_DEFINITION = re.compile(
    rf"^\s*{_MODIFIERS}(?P<kind>class|interface|struct|enum|trait|impl(?:<[^>]*>)?|module|namespace|object|protocol|"
    r"record|union|function\*?|func|fun|fn|def|defmodule|defp|sub|procedure|type|macro_rules!|package)"
    r"\s+(?P<name>(?:\([^)]*\)\s*)?[\w$.:<>~!?]+)"
)
_FUNCTION_VALUE = re.compile(r"^\s*(?:export +)?(?:const|let|var) +(?P<name>[\w$]+) *=.*(?:=> *[{(]|\bfunction\b)")
_C_FUNCTION = re.compile(
    r"^(?:    |\t)?(?!return|else|if|for|while|switch|throw|new|case|goto|delete\b)"
    r"(?:[\w:<>,\[\]~]+[ \t*&]+){1,12}(?P<name>[\w:~]+)\s*\([^;]*$"
)
_SHELL_FUNCTION = re.compile(r"^\s*(?P<name>[\w-]+)\s*\(\)\s*\{?")
_SQL_DEFINITION = re.compile(
    r"^\s*create +(?:or +replace +)?(?:temp(?:orary)? +)?(?P<kind>table|view|function|procedure|trigger|index|type) +"
    r"(?:if +not +exists +)?(?P<name>[\w.\"\[\]`]+)",
    re.IGNORECASE,
)
_PATTERNS_BY_ENDING = {
    **dict.fromkeys(
        (*(".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".hh", ".m", ".mm", ".java", ".cs", ".d", ".glsl", ".proto"),),
        (_DEFINITION, _C_FUNCTION),
    ),
    **dict.fromkeys(
        (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".vue", ".svelte", ".dart"), (_DEFINITION, _FUNCTION_VALUE)
    ),
    **dict.fromkeys(
        (
            *(".go", ".rs", ".rb", ".kt", ".kts", ".swift", ".scala", ".php", ".pl", ".pm", ".lua", ".ex", ".exs"),
            *(".groovy", ".vb", ".bas", ".ps1", ".jl", ".zig", ".nim", ".hs", ".ml", ".fs", ".cr", ".f90"),
        ),
        (_DEFINITION,),
    ),
    **dict.fromkeys((".sh", ".bash", ".zsh", ".ksh"), (_SHELL_FUNCTION, _DEFINITION)),
    ".sql": (_SQL_DEFINITION,),
}
_LONGEST_LINE = 500


def list_definitions(text: str, ending: str) -> list[tuple[int, str]] | None:
    """Return pairs of (line, name) where functions, classes and the like begin; lines count from 1.

    `ending` is the file's, in lower case with its dot. None if no known programming language has it.
    """
    if ending in _PYTHON_ENDINGS:
        return _outline_python(text)
    patterns = _PATTERNS_BY_ENDING.get(ending)
    if patterns is None:
        return None
    definitions = []
    for number, line in enumerate(text.split("\n"), start=1):
        match = next(filter(None, (pattern.match(line[:_LONGEST_LINE]) for pattern in patterns)), None)
        if match:
            kind = match.groupdict().get("kind") or ""
            definitions.append((number, f"{kind.lower() if kind.isupper() else kind} {match['name']}".strip()))
    return definitions


def _outline_python(text: str) -> list[tuple[int, str]]:
    warnings.simplefilter("ignore")
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return [
            (number, f"{match[1]} {match[2]}")
            for number, line in enumerate(text.split("\n"), start=1)
            if (match := re.match(r"\s*(?:async +)?(def|class) +(\w+)", line))
        ]
    return _list_tree_definitions(tree, "")


def _list_tree_definitions(node: ast.AST, prefix: str) -> list[tuple[int, str]]:
    """Return pairs of (line, name) of classes, methods and functions, without those local to a function."""
    definitions = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            definitions.append((child.lineno, f"class {prefix}{child.name}"))
            definitions += _list_tree_definitions(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            definitions.append((child.lineno, f"def {prefix}{child.name}"))
        elif isinstance(child, ast.If | ast.Try | ast.With):
            definitions += _list_tree_definitions(child, prefix)
    return definitions
