"""Prints every sentence that the bot says, to be read in a row: `python -m tests.sentences [FOLDER ...]`.

A sentence is a text in the code of three words or more that is no docstring, no pattern and no query. What stands for a
value is shown as {...}. Pages say theirs in scripts and HTML, and the rehearsal in Markdown.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("bot", "handoff", "specialists")
_NO_SENTENCE = re.compile(r"^\s*(SELECT|WITH|INSERT|KEYS|local |redis\.)|\\b|\(\?|\^\S|^[\w-]+/[\w-]+$")
_SCRIPT_TEXT = re.compile(r""""([^"\n]+)"|`([^`]+)`""")
_HTML_TEXT = re.compile(r">([^<>{}]+)<|(?:title|placeholder|aria-label)=\"([^\"]+)\"")
_MARKUP = re.compile(r"\s*(?:[.#:\[,(]|[ML] ?[\d{])")
"""How selectors, pieces of code and paths of pictures begin."""
_OTHERS = ("*.js", "*.html", "rehearsal_*.md")
_WORDS = re.compile(r"[A-Za-z][a-z']*")


def sentences(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the sentences of a file with their lines."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if id(node) in documented or id(node) in inside:
            continue
        text = _text(node)
        if len(_WORDS.findall(text)) >= 3 and " " in text.strip() and not _NO_SENTENCE.search(text):
            yield node.lineno, " ".join(text.split())


def other_sentences(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the sentences of a page's script, of HTML or of Markdown with their lines."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield from ((number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip())
        return
    for found in (_SCRIPT_TEXT if path.suffix == ".js" else _HTML_TEXT).finditer(text):
        said = re.sub(r"\$\{[^}]*\}", "{...}", found[1] or found[2] or "")
        if len(_WORDS.findall(said)) >= 3 and " " in said.strip() and not _MARKUP.match(said):
            yield text.count("\n", 0, found.start()) + 1, " ".join(said.split())


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{...}" for part in node.values)
    return ""


def main(folders: list[str]) -> int:
    """Print the sentences of these folders, with file and line. Returns the exit code."""
    for folder in folders or FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for line, text in sentences(path):
                print(f"{path.relative_to(ROOT)}:{line}: {text}")  # noqa: T201
        for path in sorted(path for kind in _OTHERS for path in (ROOT / folder).rglob(kind)):
            for line, text in other_sentences(path):
                print(f"{path.relative_to(ROOT)}:{line}: {text}")  # noqa: T201
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
