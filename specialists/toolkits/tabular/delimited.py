"""Reads CSV, TSV and their relatives: finds the separator, and notices when rows go missing."""

from __future__ import annotations

import csv
import io
from collections import Counter

from specialists.toolkits.tabular.refused import TableRefused
from specialists.toolkits.tabular.sheet import BETWEEN, Row, Sheet, sheet_of
from specialists.toolkits.tabular.sniff import text_of

_SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_SAMPLE = 64 * 1024
_SAMPLE_ROWS = 200
_LONGEST_CELL = 1024 * 1024


def delimited_sheets(data: bytes, extension: str) -> list[Sheet]:
    """Read the one sheet of the file.

    Raises:
        TableRefused: there is no text in it, or nothing that could be a table.
    """
    text, encoding = text_of(data)
    if not text.strip():
        raise TableRefused("is empty")
    separator = _separator(text, extension)
    notes: list[str] = []
    try:
        rows, lines = _rows(text, separator, notes, quoted=True)
    except csv.Error:
        try:
            rows, lines = _rows(text, separator, [], quoted=False)
        except csv.Error:
            raise TableRefused(
                "has a cell of more than a million letters; cut it, and attach the table again"
            ) from None
        notes = ["a quotation mark is opened and never closed: quotation marks were read as plain characters"]
    sheet = sheet_of(rows, lines)
    sheet.separator = separator
    sheet.plain = '"' not in text and BETWEEN not in text
    sheet.faults[:0] = notes
    if "\ufffd" in text:
        sheet.faults.append(f"{text.count(chr(0xFFFD)):,} characters could not be decoded as {encoding}")
    sheet.facts.insert(0, f"{_SEPARATORS[separator]}-separated, {encoding}")
    return [sheet]


def _separator(text: str, extension: str) -> str:
    """Find the separator that cuts most lines into the same number of cells, more than one."""
    sample = text[:_SAMPLE]
    if len(text) > _SAMPLE:
        sample = sample[: sample.rfind("\n") + 1] or sample
    best, best_score = "\t" if extension in {".tsv", ".tab"} else ",", 0.0
    for separator in _SEPARATORS:
        reader = csv.reader(io.StringIO(sample, newline=""), delimiter=separator)
        try:
            widths = [len(row) for row, _ in zip(reader, range(_SAMPLE_ROWS), strict=False) if row]
        except csv.Error:
            continue
        usual, times = Counter(widths).most_common(1)[0] if widths else (1, 0)
        score = times / len(widths) * (1 + min(usual, 20) / 100) if usual > 1 else 0.0
        if score > best_score:
            best, best_score = separator, score
    return best


def _rows(text: str, separator: str, faults: list[str], *, quoted: bool) -> tuple[list[Row], list[int]]:
    """Read all rows that are not blank, and the line each begins at. Raises `csv.Error` for a quote left open."""
    csv.field_size_limit(_LONGEST_CELL)
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=separator,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        strict=False,
    )
    rows, lines, swallowed, before = [], [], [], 0
    for row in reader:
        line, before = before + 1, reader.line_num
        if any(row) and (row[0].strip() or "".join(row).strip()):
            rows.append(row)
            lines.append(line)
            if quoted and before > line and _swallows(row, separator):
                swallowed.append(line)
    if quoted and rows and "\n" in rows[-1][-1] and text.count('"') % 2 == 1:
        raise csv.Error("the last cell ended with the file, not with its closing quotation mark")
    if swallowed:
        total = text.count("\n") + (not text.endswith("\n"))
        faults.append(
            f"{total:,} lines gave {len(rows):,} rows: a quoted cell runs over several lines that look like rows "
            f"of their own (from line {', '.join(map(str, swallowed[:5]))}); check the quotation marks there"
        )
    return rows, lines


def _swallows(row: Row, separator: str) -> bool:
    """Say if a cell of several lines holds lines that are cut like rows."""
    enough = max(len(row) - 1, 1)
    return any(line.count(separator) >= enough for cell in row if "\n" in cell for line in cell.split("\n")[1:])
