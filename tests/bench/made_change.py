"""A repository and a change of it, drawn by a seed: so many files, so many lines of diff, in three languages."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from tests.code.made_repository import commit, run_git

SEED = 12
FILES, LINES = 40, 2_000
_WORDS = ("order", "basket", "price", "customer", "stock", "invoice", "parcel", "refund", "rate", "batch", "ledger")
_VERBS = ("load", "store", "count", "merge", "check", "split", "send", "round", "find", "close")
_SHAPES = {
    "py": (
        "def {v}_{a}({b}, limit={n}):",
        "    {a} = {v}({b}, limit)",
        "    if {a} > {n}:",
        "        return {a} - {n}",
    ),
    "js": (
        "export function {v}{a}({b}, limit = {n}) {{",
        "  const {a} = {v}({b}, limit);",
        "  return {a} - {n};",
        "}}",
    ),
    "go": ("func {v}{a}({b} int, limit int) int {{", "\t{a} := {v}({b}, limit)", "\treturn {a} - {n}", "}}"),
}


def made_change(folder: Path, seed: int = SEED) -> tuple[str, str]:
    """Make a repository with a branch `topic`, and give the two revisions and the diff between them."""
    drawn = random.Random(seed)
    before = {f"src/{name}": list(_file(drawn, name)) for name in _names(drawn)}
    commit(folder, "Before", {name: "\n".join(lines) + "\n" for name, lines in before.items()}, day=1)
    run_git(folder, "checkout", "-q", "-b", "topic")
    changed = {name: "\n".join(_change_lines(drawn, name, lines)) + "\n" for name, lines in before.items()}
    commit(folder, "After", changed, day=2)
    run_git(folder, "checkout", "-q", "main")
    return "main...topic", run_git(folder, "diff", "main...topic")


def _names(rng: random.Random) -> list[str]:
    endings = list(_SHAPES)
    return [f"{rng.choice(_WORDS)}_{number:02}.{endings[number % len(endings)]}" for number in range(FILES)]


def _file(rng: random.Random, name: str, lines: int = 120) -> Iterator[str]:
    shapes = _SHAPES[name.rpartition(".")[2]]
    for number in range(lines):
        words = {"v": rng.choice(_VERBS), "a": rng.choice(_WORDS), "b": rng.choice(_WORDS)}
        yield shapes[number % len(shapes)].format(**words, n=rng.randint(2, 999))


def _change_lines(rng: random.Random, name: str, lines: list[str]) -> list[str]:
    """Replace three runs of lines, so that each file has its share of the diff's lines."""
    after = list(lines)
    for start in (10, 50, 90):
        run = rng.randint(4, 6)
        after[start : start + run] = list(_file(rng, name, run))
    return after
