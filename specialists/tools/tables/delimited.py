"""Reads CSV, TSV and similar text: finds the separator, and notices rows that a quotation mark swallowed."""

from __future__ import annotations

import csv
import io
import re

from specialists.formats.table_detection import TABLE_SUFFIXES, find_separator, is_table_text
from specialists.tools.tables.decoding import decode_table, note_decoding
from specialists.tools.tables.sheet import UNIT_SEPARATOR, Row, Sheet, make_sheet
from specialists.tools.tables.table_errors import TableRefused

_SEPARATOR_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_MAX_CELL_CHARS = 1024 * 1024
_HEAD_CHARS = 64 * 1024
_RULE_CELL = re.compile(r"\s*:?-*:?\s*")
_RULE_LINE = re.compile(r"[+|\-=: ]+")


def read_delimited_sheets(data: bytes, extension: str) -> list[Sheet]:
    """Read a file of delimited text as one sheet. Without a table's `extension`, the text has to look like a table.

    Raises:
        TableRefused: there is no text in it, or it is prose, a log or other text that is no table.
    """
    decoded_text = decode_table(data)
    text = decoded_text.text
    if extension not in TABLE_SUFFIXES and not is_table_text(text):
        raise TableRefused("is a text, not a table: read it as a text, or attach the table as CSV, XLSX or JSON")
    separator = find_separator(text, prefer_tabs=extension in {".tsv", ".tab"})
    notes: list[str] = []
    try:
        rows, lines = _parse_rows(text, separator, notes, is_quoted=True)
    except csv.Error:
        try:
            rows, lines = _parse_rows(text, separator, [], is_quoted=False)
        except csv.Error:
            raise TableRefused(
                "has a cell of more than a million letters; cut it, and attach the table again"
            ) from None
        notes = ["a quotation mark is opened and never closed: quotation marks were read as plain characters"]
    sheet = make_sheet(rows, lines)
    sheet.separator = separator
    sheet.has_plain_cells = '"' not in text and UNIT_SEPARATOR not in text
    sheet.faults[:0] = notes
    note_decoding(decoded_text, sheet)
    sheet.facts.insert(0, f"{_SEPARATOR_NAMES[separator]}-separated, {decoded_text.encoding}")
    return [sheet]


def _parse_rows(text: str, separator: str, faults: list[str], *, is_quoted: bool) -> tuple[list[Row], list[int]]:
    """Return the rows that are not blank, and the line that each begins at; add suspicious quotes to `faults`.

    Raises `csv.Error` for a quotation mark that is never closed, and for a cell longer than `_MAX_CELL_CHARS`.
    """
    csv.field_size_limit(_MAX_CELL_CHARS)
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=separator,
        quoting=csv.QUOTE_MINIMAL if is_quoted else csv.QUOTE_NONE,
        strict=False,
    )
    rows, lines, swallowing_lines, last_line = [], [], [], 0
    is_framed = separator == "|" and _is_framed(text)
    for cells in reader:
        row = [cell.strip() for cell in cells[1:-1]] if is_framed else cells
        line, last_line = last_line + 1, reader.line_num
        if is_framed and all(_RULE_CELL.fullmatch(cell) for cell in row):
            continue
        if any(row) and (row[0].strip() or "".join(row).strip()):
            rows.append(row)
            lines.append(line)
            if is_quoted and last_line > line and _has_rows_in_cell(row, separator):
                swallowing_lines.append(line)
    if is_quoted and rows and "\n" in rows[-1][-1] and text.count('"') % 2 == 1:
        raise csv.Error("the last cell ended with the file, not with its closing quotation mark")
    if swallowing_lines:
        total = text.count("\n") + (not text.endswith("\n"))
        faults.append(
            f"{total:,} lines gave {len(rows):,} rows: a quoted cell runs over several lines that look like rows "
            f"of their own (from line {', '.join(map(str, swallowing_lines[:5]))}); check the quotation marks there"
        )
    return rows, lines


def _is_framed(text: str) -> bool:
    """Return whether each row begins and ends with a bar, as in Markdown."""
    lines = [line.strip() for line in text[:_HEAD_CHARS].split("\n")[:-1] or [text] if line.strip()]
    return all(len(line) > 1 and line[0] == line[-1] == "|" for line in lines if not _RULE_LINE.fullmatch(line))


def _has_rows_in_cell(row: Row, separator: str) -> bool:
    """Return whether a cell of several lines holds lines with as many separators as a row."""
    separator_count = max(len(row) - 1, 1)
    return any(
        line.count(separator) >= separator_count for cell in row if "\n" in cell for line in cell.split("\n")[1:]
    )
