"""Finds what is broken in the pages, `python -m tests.pages`: links, headings that links name, and blocks of code."""

from __future__ import annotations

import ast
import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
PAGES = (
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "bot" / "features").glob("*/README.md")),
)
LINK = re.compile(r"\]\((?!\w+://)([^)#\s]*)(?:#([^)\s]+))?\)")
PICTURE = re.compile(r"<img src=\"([^\"]+)\"")
BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
PARSERS: Mapping[str, Callable[[str], Any]] = {
    "yaml": yaml.safe_load,
    "json": json.loads,
    "toml": tomllib.loads,
    "python": ast.parse,
}


def faults_of(page: Path) -> Iterator[str]:
    """Say what is broken in a page, a line each."""
    text = page.read_text(encoding="utf-8")
    prose = BLOCK.sub("", text)
    for link, heading in (*LINK.findall(prose), *((picture, "") for picture in PICTURE.findall(prose))):
        there = page.parent / link if link else page
        if not there.exists():
            yield f"{link}: there is no such file"
        elif heading and heading not in anchors_of(there):
            yield f"{link}#{heading}: there is no such heading"
    for _, language, code in BLOCK.findall(text):
        try:
            PARSERS.get(language, str)(dedent(code))
        except (yaml.YAMLError, ValueError, SyntaxError) as error:
            yield f"a block of {language} cannot be read: {error}"


def anchors_of(page: Path) -> set[str]:
    """Return the names by which links find the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", BLOCK.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def words_of(page: Path) -> int:
    """Count the words of a page, without the lines of its tables."""
    return len(re.sub(r"\||-{3,}", " ", page.read_text(encoding="utf-8")).split())


def main() -> int:
    """Print what is broken. Returns the exit code."""
    found = [f"{page.relative_to(ROOT)}: {fault}" for page in PAGES for fault in faults_of(page)]
    print("\n".join(found), end="\n" if found else "")  # noqa: T201
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
