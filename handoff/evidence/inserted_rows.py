"""Puts the rows of queries into a text where its writer left a place for them, so that none is typed again. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from handoff.evidence.grids import Grid

PLACE = "[[rows]]"
"""Stands for the rows of the last query that brought some; `[[rows 2]]` for those of the second."""
MOST = 30
"""Rows that are put in; the rest is counted."""
_PLACE = re.compile(r"\[\[ ?rows(?: (\d{1,3}))? ?\]\]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class InsertedRows:
    """A text with its rows, and what is wrong with the places that it names, in words for whoever wrote it."""

    text: str
    fault: str = ""


def insert_rows(text: str, grids: Sequence[Grid]) -> InsertedRows:
    """Put rows in where a text has a place for them. `grids` are those of the queries that brought rows, in order."""
    wrong = [found[0] for found in _PLACE.finditer(text) if _find_grid(found, grids) is None]
    if wrong:
        there = f"there are {len(grids)} queries that brought rows" if grids else "no query brought rows"
        return InsertedRows(text, f"{wrong[0]} stands for no rows: {there}.")
    return InsertedRows(_PLACE.sub(lambda found: _render_table(_find_grid(found, grids)), text))


def _find_grid(found: re.Match[str], grids: Sequence[Grid]) -> Grid | None:
    number = int(found[1]) if found[1] else len(grids)
    return grids[number - 1] if 0 < number <= len(grids) else None


def _render_table(grid: Grid | None) -> str:
    """Write rows as a Markdown table, with the conditions that they meet and how many there are more."""
    if grid is None:
        return ""
    lines = [grid.columns, ("---",) * len(grid.columns), *grid.rows[:MOST]]
    table = "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)
    below = [f"{len(grid.rows):,} rows in all" if len(grid.rows) > MOST else "", *grid.filters]
    told = "; ".join(filter(None, below))
    return f"\n{table}\n" + (f"\n_({told})_\n" if told else "")
