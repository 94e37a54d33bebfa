"""Docstrings name parameters, fields and exceptions as the code calls them."""

import ast
import builtins
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
RAISES = re.compile(r"\braises? ((?:[A-Z]\w+(?:, | and | or )?)+)", re.IGNORECASE)


@cache
def modules() -> dict[Path, ast.Module]:
    paths = [path for package in ("bot", "handoff", "specialists") for path in (ROOT / package).rglob("*.py")]
    return {path.relative_to(ROOT): ast.parse(path.read_text(encoding="utf-8")) for path in sorted(paths)}


def iterate_docstrings() -> Iterator[tuple[str, ast.AST, str]]:
    """Each function and class with its place and docstring."""
    for path, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, (*FUNCTIONS, ast.ClassDef)) and (text := ast.get_docstring(node)):
                yield f"{path}:{node.lineno} {node.name}", node, text


def sections(text: str) -> Iterator[tuple[str, str]]:
    """The entries of a docstring's sections: (section, name)."""
    section = ""
    for line in text.splitlines():
        if line and not line.startswith(" "):
            section = line.removesuffix(":") if line.endswith(":") else ""
        elif section and (entry := re.match(r" {4}\*{0,2}(\w+): ", line)):
            yield section, entry[1]


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    inner = node.args
    rest = [one for one in (inner.vararg, inner.kwarg) if one is not None]
    return {one.arg for one in (*inner.posonlyargs, *inner.args, *inner.kwonlyargs, *rest)}


def known_names(node: ast.AST) -> set[str] | None:
    """The names that a docstring's `Args` and `Attributes` may have; None for a class that inherits some."""
    if isinstance(node, FUNCTIONS):
        return parameters(node)
    assert isinstance(node, ast.ClassDef)
    if node.bases:
        return None
    fields = {one.target.id for one in node.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)}
    methods = [one for one in node.body if isinstance(one, FUNCTIONS)]
    starts = [one for one in methods if one.name == "__init__"]
    set_there = {one.attr for start in starts for one in ast.walk(start) if isinstance(one, ast.Attribute)}
    return fields.union({one.name for one in methods}, set_there, *map(parameters, starts))


def test_arguments_and_attributes_are_called_as_in_the_code() -> None:
    strange = [
        f"{place}: {name}"
        for place, node, text in iterate_docstrings()
        if (known := known_names(node)) is not None
        for section, name in sections(text)
        if section in {"Args", "Attributes"} and name not in known
    ]
    assert strange == []


def test_exceptions_are_called_as_in_the_code() -> None:
    known = {*dir(builtins), "CancelledError"}
    for tree in modules().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                known.add(node.name)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                known.update((one.asname or one.name).rpartition(".")[2] for one in node.names)
            elif isinstance(node, ast.Attribute):
                known.add(node.attr)
    strange = [
        f"{place}: {name}"
        for place, _, text in iterate_docstrings()
        for name in [
            *(name for section, name in sections(text) if section == "Raises"),
            *(name for found in RAISES.finditer(text) for name in re.findall(r"[A-Z]\w+", found[1])),
        ]
        if name not in known
    ]
    assert strange == []
