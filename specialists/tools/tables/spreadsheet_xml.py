"""Reads workbooks in the XML of Excel 2003 (SpreadsheetML), which many programs write and name .xls."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

from specialists.tools.tables.decoding import note_decoding, text_of
from specialists.tools.tables.sheet import MOST_COLUMNS, Row, Sheet, Spans, sheet_of
from specialists.tools.tables.sheet_rows import note_hidden_columns, note_hidden_rows
from specialists.tools.tables.table_refused import TableRefused

_MOST_SHEETS = 20
_MOST_GAP = 100_000
"""Most rows or columns that one index may skip or one cell may span, as a file can state any number."""
_PROLOG = re.compile(r"\A\s*<\?xml[^>]*>")
_SS = "{urn:schemas-microsoft-com:office:spreadsheet}"


def spreadsheet_sheets(data: bytes) -> list[Sheet]:
    """Read the worksheets that are not empty.

    Raises:
        TableRefused: the XML is broken, or every sheet is empty.
    """
    read = text_of(data)
    try:
        sheets = [sheet for sheet in _iterate_worksheets(_PROLOG.sub("", read.text)) if sheet is not None]
    except ET.ParseError as error:
        raise TableRefused(
            f"is a broken workbook ({str(error)[:80]}); save it again as .xlsx and attach that"
        ) from None
    if not sheets:
        raise TableRefused("is a workbook without any filled sheet")
    if len(sheets) > _MOST_SHEETS:
        sheets[0].faults.append(f"{len(sheets)} sheets: only the first {_MOST_SHEETS} were read")
    for sheet in sheets:
        note_decoding(read, sheet)
    return sheets[:_MOST_SHEETS]


def _iterate_worksheets(text: str) -> Iterator[Sheet | None]:
    for _, element in ET.iterparse(io.BytesIO(text.encode(errors="replace"))):  # noqa: S314 - expat bounds entities; the child bounds the rest
        if element.tag == f"{_SS}Worksheet":
            yield _read_worksheet(element)
            element.clear()


def _read_worksheet(worksheet: ET.Element) -> Sheet | None:
    rows: list[Row] = []
    lines: list[int] = []
    spans: Spans = {}
    hidden: set[int] = set()
    line = 0
    for element in worksheet.iterfind(f"{_SS}Table/{_SS}Row"):
        line = _cell_place(element, line + 1)
        hidden.update(_hidden_places(element, line, "Height"))
        row = _read_cells(element, line, spans)
        if any(row):
            rows.append(row)
            lines.append(line)
    if not rows:
        return None
    sheet = sheet_of(rows, lines, spans)
    sheet.title = worksheet.get(f"{_SS}Name", "")
    note_hidden_columns(sheet, _hidden_columns(worksheet))
    note_hidden_rows(sheet, hidden)
    return sheet


def _hidden_columns(worksheet: ET.Element) -> set[int]:
    """Return the indexes of the hidden columns, counted from 0."""
    hidden: set[int] = set()
    at = 0
    for element in worksheet.iterfind(f"{_SS}Table/{_SS}Column"):
        at = _cell_place(element, at + 1)
        hidden.update(each - 1 for each in _hidden_places(element, at, "Width"))
        at += _cell_span(element)
    return hidden


def _hidden_places(element: ET.Element, place: int, size: str) -> range:
    """Return the places of a hidden row or column, with those that it spans; an empty range if it is not hidden."""
    said = element.get(f"{_SS}Hidden") == "1" or (element.get(f"{_SS}{size}") or "1").strip("0.") == ""
    return range(place, place + 1 + _cell_span(element)) if said else range(0)


def _cell_span(element: ET.Element) -> int:
    said = element.get(f"{_SS}Span") or "0"
    return min(int(said), _MOST_GAP) if said.isdecimal() else 0


def _read_cells(element: ET.Element, line: int, spans: Spans) -> Row:
    row: Row = []
    for cell in element.iterfind(f"{_SS}Cell"):
        at = min(_cell_place(cell, len(row) + 1) - 1, MOST_COLUMNS)
        row += [""] * (at - len(row))
        row.append(_cell_text(cell))
        across = min(int(cell.get(f"{_SS}MergeAcross") or 0), MOST_COLUMNS)
        if across and row[-1]:
            spans.setdefault(line, []).append((at, at + across))
        row += [""] * across
    return row


def _cell_place(element: ET.Element, following: int) -> int:
    said = element.get(f"{_SS}Index")
    return min(max(int(said), following), following + _MOST_GAP) if said and said.isdecimal() else following


def _cell_text(cell: ET.Element) -> str:
    data = cell.find(f"{_SS}Data")
    if data is None:
        return ""
    text = "".join(data.itertext()).strip()
    if data.get(f"{_SS}Type") == "DateTime":
        return text.removesuffix(".000").removesuffix("T00:00:00").replace("T", " ")
    if data.get(f"{_SS}Type") == "Boolean":
        return "true" if text == "1" else "false"
    return "" if data.get(f"{_SS}Type") == "Error" else text
