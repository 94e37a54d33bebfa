"""Reads workbooks in the XML of Excel 2003 (SpreadsheetML), which many programs write and name .xls."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

from specialists.tools.tables.decoding import decode_table, note_decoding
from specialists.tools.tables.hidden_row_marks import mark_hidden_rows, note_hidden_columns
from specialists.tools.tables.sheet import MAX_COLUMNS, Row, Sheet, Spans, make_sheet
from specialists.tools.tables.table_errors import TableRefused

_MAX_SHEETS = 20
_MAX_SKIPPED = 100_000
"""Most rows or columns that one index may skip or one cell may span, as a file can state any number."""
_XML_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*>")
_NAMESPACE = "{urn:schemas-microsoft-com:office:spreadsheet}"


def read_spreadsheet_xml_sheets(data: bytes) -> list[Sheet]:
    """Read the worksheets that are not empty.

    Raises:
        TableRefused: the XML is broken, or every sheet is empty.
    """
    decoded_text = decode_table(data)
    try:
        sheets = [
            sheet for sheet in _iterate_worksheets(_XML_DECLARATION.sub("", decoded_text.text)) if sheet is not None
        ]
    except ET.ParseError as error:
        raise TableRefused(
            f"is a broken workbook ({str(error)[:80]}); save it again as .xlsx and attach that"
        ) from None
    if not sheets:
        raise TableRefused("is a workbook without any filled sheet")
    if len(sheets) > _MAX_SHEETS:
        sheets[0].faults.append(f"{len(sheets)} sheets: only the first {_MAX_SHEETS} were read")
    for sheet in sheets:
        note_decoding(decoded_text, sheet)
    return sheets[:_MAX_SHEETS]


def _iterate_worksheets(text: str) -> Iterator[Sheet | None]:
    for _, element in ET.iterparse(io.BytesIO(text.encode(errors="replace"))):  # noqa: S314 - expat bounds entities; the child bounds the rest
        if element.tag == f"{_NAMESPACE}Worksheet":
            yield _read_worksheet(element)
            element.clear()


def _read_worksheet(worksheet: ET.Element) -> Sheet | None:
    rows: list[Row] = []
    lines: list[int] = []
    spans: Spans = {}
    hidden_rows: set[int] = set()
    line = 0
    for element in worksheet.iterfind(f"{_NAMESPACE}Table/{_NAMESPACE}Row"):
        line = _read_index(element, line + 1)
        hidden_rows.update(_find_hidden_indexes(element, line, "Height"))
        row = _read_cells(element, line, spans)
        if any(row):
            rows.append(row)
            lines.append(line)
    if not rows:
        return None
    sheet = make_sheet(rows, lines, spans)
    sheet.title = worksheet.get(f"{_NAMESPACE}Name", "")
    note_hidden_columns(sheet, _find_hidden_columns(worksheet))
    mark_hidden_rows(sheet, hidden_rows)
    return sheet


def _find_hidden_columns(worksheet: ET.Element) -> set[int]:
    """Return the indexes of the hidden columns, counted from 0."""
    hidden_columns: set[int] = set()
    column = 0
    for element in worksheet.iterfind(f"{_NAMESPACE}Table/{_NAMESPACE}Column"):
        column = _read_index(element, column + 1)
        hidden_columns.update(each - 1 for each in _find_hidden_indexes(element, column, "Width"))
        column += _read_span(element)
    return hidden_columns


def _find_hidden_indexes(element: ET.Element, index: int, size_attribute: str) -> range:
    """Return the places of a hidden row or column, with those that it spans; an empty range if it is not hidden."""
    is_hidden = (
        element.get(f"{_NAMESPACE}Hidden") == "1"
        or (element.get(f"{_NAMESPACE}{size_attribute}") or "1").strip("0.") == ""
    )
    return range(index, index + 1 + _read_span(element)) if is_hidden else range(0)


def _read_span(element: ET.Element) -> int:
    return min(_read_number(element, "Span"), _MAX_SKIPPED)


def _read_number(element: ET.Element, attribute: str) -> int:
    """Return a number of a row, column or cell; 0 if it is missing or no whole number of at most 12 digits."""
    text = element.get(f"{_NAMESPACE}{attribute}") or ""
    return int(text) if text.isdecimal() and len(text) <= 12 else 0


def _read_cells(element: ET.Element, line: int, spans: Spans) -> Row:
    row: Row = []
    for cell in element.iterfind(f"{_NAMESPACE}Cell"):
        column = min(_read_index(cell, len(row) + 1) - 1, MAX_COLUMNS)
        row += [""] * (column - len(row))
        row.append(_read_cell_text(cell))
        merged_count = min(_read_number(cell, "MergeAcross"), MAX_COLUMNS)
        if merged_count and row[-1]:
            spans.setdefault(line, []).append((column, column + merged_count))
        row += [""] * merged_count
    return row


def _read_index(element: ET.Element, next_index: int) -> int:
    return min(max(_read_number(element, "Index"), next_index), next_index + _MAX_SKIPPED)


def _read_cell_text(cell: ET.Element) -> str:
    data = cell.find(f"{_NAMESPACE}Data")
    if data is None:
        return ""
    text = "".join(data.itertext()).strip()
    if data.get(f"{_NAMESPACE}Type") == "DateTime":
        return text.removesuffix(".000").removesuffix("T00:00:00").replace("T", " ")
    if data.get(f"{_NAMESPACE}Type") == "Boolean":
        return "true" if text == "1" else "false"
    return "" if data.get(f"{_NAMESPACE}Type") == "Error" else text
