"""Tells a mistyped subcommand from a request: both are words after `/leadhand` that begin with no subcommand. Pure."""

from __future__ import annotations

from collections.abc import Iterable

FEW = 2
"""Words that follow a subcommand; with more, and no job among them, it is a request that begins as one does."""
SHORT = 6
"""Letters of a name up to which one of them may be wrong, or two be swapped; in longer names two may."""


def guess_subcommand(text: str, names: Iterable[str], *, names_job: bool = False) -> str:
    """Return the subcommand that was meant; empty if the text is a request. `names_job`: a job follows the word."""
    words = text.lower().split()
    if not words or (len(words) > 1 + FEW and not names_job):
        return ""
    near = ((edit_distance(words[0].strip(".,:;!?"), name), name) for name in names)
    wrong, name = min(near, default=(len(words[0]), ""))
    return name if wrong <= (1 if len(name) <= SHORT else 2) else ""


def edit_distance(one: str, other: str) -> int:
    """Count the letters to add, leave out, replace or swap with their neighbour that make one word of the other."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        earlier, before, row = before, row, [at]
        for to, wanted in enumerate(other, 1):
            cost = min(row[to - 1] + 1, before[to] + 1, before[to - 1] + (letter != wanted))
            if at > 1 and to > 1 and letter == other[to - 2] and one[at - 2] == wanted:
                cost = min(cost, earlier[to - 2] + 1)
            row.append(cost)
    return row[-1]
