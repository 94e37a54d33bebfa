"""Tells a table that is text from prose, poems and logs, and finds what stands between its cells."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter

TABLES_BY_NAME = frozenset({".csv", ".tsv", ".tab", ".xls", ".xlsx", ".xlsm", ".ods", ".parquet", ".pq"})
"""Endings that say that a text is a table: nothing else is asked."""
TABLE_ENDINGS = TABLES_BY_NAME | {".txt", ".json", ".jsonl", ".ndjson"}
"""Endings of files that the tools for tables read."""
SEPARATORS = (",", ";", "\t", "|")
_SAMPLE = 64 * 1024
_SAMPLE_ROWS = 200
_MOSTLY = 0.8
_FEWEST_ROWS = 3
_LONG_CELL = 6
"""Words of a cell from which on it is part of a sentence."""
_RULES = re.compile(r"[+|\-=: ]+")
_OF_LOG = re.compile(r"\S*\d\d:\d\d:\d\d$")
_NUMBER = re.compile(r"[^\w\s]*\d[\d.,:/'%\- ]*\D{0,3}")


def separator_of(text: str, *, tabs: bool = False) -> str:
    """Find the separator that cuts most lines into the same number of cells, more than one.

    Where none does, it is the comma, or the tab if `tabs`.
    """
    best, best_score = "\t" if tabs else ",", 0.0
    for separator in SEPARATORS:
        usual, share = _usual_width(_parse_rows(text, separator))
        score = share * (1 + min(usual, 20) / 100) if usual > 1 else 0.0
        if score > best_score:
            best, best_score = separator, score
    return best


def is_table_text(text: str) -> bool:
    """Say if a text is a table: its lines have the same number of cells, and these are no parts of sentences."""
    separator = separator_of(text)
    rows = [row for row in _parse_rows(text, separator) if not all(_RULES.fullmatch(cell or "-") for cell in row)]
    usual, share = _usual_width(rows)
    if usual < 2 or share < _MOSTLY or len(rows) < _FEWEST_ROWS:
        return False
    rows = [row for row in rows if len(row) == usual]
    cells = [cell for row in rows for cell in row if cell.strip()]
    if sum(len(cell.split()) > _LONG_CELL for cell in cells) > (1 - _MOSTLY) * len(cells):
        return False
    if separator in ",;":
        return not _is_prose(rows, separator)
    return True


def _is_prose(rows: list[list[str]], separator: str) -> bool:
    """Return whether lines with as many commas each are prose or a log: a blank follows each comma, as in sentences."""
    if (
        separator == ","
        and sum(_OF_LOG.search(row[0]) is not None and row[1][:3].isdigit() for row in rows) > len(rows) / 2
    ):
        return True
    later = [cell for row in rows for cell in row[1:] if cell]
    blanks = sum(cell[0] == " " for cell in later)
    numbers = any(
        sum(_NUMBER.fullmatch(row[at].strip()) is not None for row in rows[1:]) >= _MOSTLY * len(rows[1:])
        for at in range(len(rows[0]))
    )
    return not numbers and (
        blanks * 2 > len(later) or any(row[-1].rstrip().endswith((".", "!", "?")) for row in rows[1:])
    )


def _parse_rows(text: str, separator: str) -> list[list[str]]:
    sample = text[:_SAMPLE]
    if len(text) > _SAMPLE:
        sample = sample[: sample.rfind("\n") + 1] or sample
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=separator)
    try:
        return [row for row, _ in zip(reader, range(_SAMPLE_ROWS), strict=False) if row]
    except csv.Error:
        return []


def _usual_width(rows: list[list[str]]) -> tuple[int, float]:
    """Return the commonest number of cells of a row, and the share of the rows that have it."""
    if not rows:
        return 1, 0.0
    usual, times = Counter(map(len, rows)).most_common(1)[0]
    return usual, times / len(rows)
