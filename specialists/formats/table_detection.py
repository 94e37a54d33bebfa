"""Tells tables in plain text from prose, poems and logs, and finds the separator of their cells."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter

TABLE_SUFFIXES = frozenset({".csv", ".tsv", ".tab", ".xls", ".xlsx", ".xlsm", ".ods", ".parquet", ".pq"})
"""The file endings that suffice to treat a text as a table."""
TABLE_TOOL_SUFFIXES = TABLE_SUFFIXES | {".txt", ".json", ".jsonl", ".ndjson"}
"""The endings of all files that the table tools can read."""
SEPARATORS = (",", ";", "\t", "|")
_SAMPLE_CHARACTERS = 64 * 1024
_SAMPLE_ROWS = 200
_MAJORITY_SHARE = 0.8
_MIN_ROWS = 3
_MAX_CELL_WORDS = 6
"""A cell with more words than this is part of a sentence."""
_SEPARATOR_LINE = re.compile(r"[+|\-=: ]+")
_LOG_TIME = re.compile(r"\S*\d\d:\d\d:\d\d$")
_NUMBER = re.compile(r"[^\w\s]*\d[\d.,:/'%\- ]*\D{0,3}")


def find_separator(text: str, *, prefer_tabs: bool = False) -> str:
    """Return the separator that splits most lines into the same number of cells, at least two.

    If none does, return the comma, or the tab with `prefer_tabs`.
    """
    best, best_score = "\t" if prefer_tabs else ",", 0.0
    for separator in SEPARATORS:
        usual, share = _find_usual_width(_parse_rows(text, separator))
        score = share * (1 + min(usual, 20) / 100) if usual > 1 else 0.0
        if score > best_score:
            best, best_score = separator, score
    return best


def is_table_text(text: str) -> bool:
    """Return True if a text is a table: most lines have the same number of cells, and most cells are short."""
    separator = find_separator(text)
    rows = [
        row for row in _parse_rows(text, separator) if not all(_SEPARATOR_LINE.fullmatch(cell or "-") for cell in row)
    ]
    usual, share = _find_usual_width(rows)
    if usual < 2 or share < _MAJORITY_SHARE or len(rows) < _MIN_ROWS:
        return False
    rows = [row for row in rows if len(row) == usual]
    cells = [cell for row in rows for cell in row if cell.strip()]
    if sum(len(cell.split()) > _MAX_CELL_WORDS for cell in cells) > (1 - _MAJORITY_SHARE) * len(cells):
        return False
    if separator in ",;":
        return not _is_prose(rows, separator)
    return True


def _is_prose(rows: list[list[str]], separator: str) -> bool:
    """Return True if rows of equal width are prose (blanks after separators, or sentence ends) or a log."""
    if (
        separator == ","
        and sum(_LOG_TIME.search(row[0]) is not None and row[1][:3].isdigit() for row in rows) > len(rows) / 2
    ):
        return True
    later = [cell for row in rows for cell in row[1:] if cell]
    blanks = sum(cell[0] == " " for cell in later)
    numbers = any(
        sum(_NUMBER.fullmatch(row[at].strip()) is not None for row in rows[1:]) >= _MAJORITY_SHARE * len(rows[1:])
        for at in range(len(rows[0]))
    )
    return not numbers and (
        blanks * 2 > len(later) or any(row[-1].rstrip().endswith((".", "!", "?")) for row in rows[1:])
    )


def _parse_rows(text: str, separator: str) -> list[list[str]]:
    sample = text[:_SAMPLE_CHARACTERS]
    if len(text) > _SAMPLE_CHARACTERS:
        sample = sample[: sample.rfind("\n") + 1] or sample
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=separator)
    try:
        return [row for row, _ in zip(reader, range(_SAMPLE_ROWS), strict=False) if row]
    except csv.Error:
        return []


def _find_usual_width(rows: list[list[str]]) -> tuple[int, float]:
    """Return (the most common number of cells in a row, the share of rows that have it)."""
    if not rows:
        return 1, 0.0
    usual, times = Counter(map(len, rows)).most_common(1)[0]
    return usual, times / len(rows)
