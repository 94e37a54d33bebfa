"""Finds the rows and columns that an .xlsx or .ods hides: calamine reads them, but people do not see them."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.etree import ElementTree as ET

from specialists.tools.tables.uncomputed_cells import WORKBOOK_ERRORS, list_sheet_members

_MAX_BYTES_READ = 64 * 1024 * 1024
_HEAD_BYTES = 1024 * 1024
_MAX_ROWS, _MAX_COLUMNS = 1_048_576, 16_384
_ROW_TAG = re.compile(rb"<(?:\w+:)?row\b[^>]*>")
_COLUMN_TAG = re.compile(rb"<(?:\w+:)?col\b[^>]*>")
_HIDDEN_ATTRIBUTE = re.compile(rb'\bhidden="(?:1|true)"|\s(?:ht|width)="0(?:\.0+)?"')
"""Matches a row or column that is hidden, by its attribute or because its height or width is 0."""
_ROWS_HIDDEN_BY_DEFAULT = re.compile(rb'<(?:\w+:)?sheetFormatPr\b[^>]*\bzeroHeight="(?:1|true)"')
_FILTER_TAG = re.compile(rb"<(?:\w+:)?filterColumn\b")
_TABLE_NAMESPACE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"


@dataclass(slots=True)
class HiddenCells:
    """The hidden cells of a sheet: `rows` counted from 1, `columns` from 0. `has_filter`: the sheet has a filter."""

    rows: set[int] = field(default_factory=set)
    columns: set[int] = field(default_factory=set)
    has_filter: bool = False


def find_hidden_cells(data: bytes) -> dict[str, HiddenCells]:
    """Return the hidden rows and columns of each sheet, by its name; {} for an .xls, which is not looked into.

    Args:
        data: The bytes of a workbook. Only the first 64 MB of its sheets, unpacked, are looked at.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if "content.xml" in archive.namelist():
                with archive.open("content.xml") as file:
                    return dict(_find_hidden_in_ods(io.BytesIO(file.read(_MAX_BYTES_READ))))
            remaining_bytes = _MAX_BYTES_READ
            hidden_by_sheet = {}
            for name, member in list_sheet_members(archive):
                with archive.open(member) as file:
                    sheet = file.read(remaining_bytes)
                remaining_bytes -= len(sheet)
                hidden_by_sheet[name] = _find_hidden_in_excel(sheet)
            return hidden_by_sheet
    except WORKBOOK_ERRORS:
        return {}  # the reader of the file reports what is wrong with it


def _find_hidden_in_excel(sheet: bytes) -> HiddenCells:
    hidden_cells = HiddenCells(has_filter=_FILTER_TAG.search(sheet) is not None)
    if _HIDDEN_ATTRIBUTE.search(sheet) is None and b"zeroHeight" not in sheet[:_HEAD_BYTES]:
        return hidden_cells
    hides_rows_by_default = _ROWS_HIDDEN_BY_DEFAULT.search(sheet[:_HEAD_BYTES]) is not None
    line = 0
    for tag in _ROW_TAG.finditer(sheet):
        line = _read_number(tag[0], b"r") or line + 1
        if _HIDDEN_ATTRIBUTE.search(tag[0]) or (
            hides_rows_by_default and b"hidden=" not in tag[0] and b"ht=" not in tag[0]
        ):
            hidden_cells.rows.add(line)
    for tag in _COLUMN_TAG.finditer(sheet[:_HEAD_BYTES]):
        if _HIDDEN_ATTRIBUTE.search(tag[0]):
            first, last = _read_number(tag[0], b"min"), _read_number(tag[0], b"max")
            hidden_cells.columns.update(range(first - 1, min(last, _MAX_COLUMNS)))
    return hidden_cells


def _read_number(tag: bytes, name: bytes) -> int:
    match = re.search(rb"\s" + name + rb'="(\d{1,7})"', tag)
    return int(match[1]) if match else 0


def _find_hidden_in_ods(content: io.BytesIO) -> Iterator[tuple[str, HiddenCells]]:
    hidden_cells, line, column, name = HiddenCells(), 0, 0, ""
    for event, element in ET.iterparse(content, ("start", "end")):  # noqa: S314 - expat bounds entities
        if event == "start":
            if element.tag == f"{_TABLE_NAMESPACE}table":
                hidden_cells, line, column, name = HiddenCells(), 0, 0, element.get(f"{_TABLE_NAMESPACE}name", "")
            continue
        is_hidden = element.get(f"{_TABLE_NAMESPACE}visibility") in ("collapse", "filter")
        if element.tag == f"{_TABLE_NAMESPACE}table-row":
            repetitions = _read_repetitions(element, "rows", _MAX_ROWS - line)
            if is_hidden and len(element):
                hidden_cells.rows.update(range(line + 1, line + repetitions + 1))
                hidden_cells.has_filter |= element.get(f"{_TABLE_NAMESPACE}visibility") == "filter"
            line += repetitions
            element.clear()
        elif element.tag == f"{_TABLE_NAMESPACE}table-column":
            repetitions = _read_repetitions(element, "columns", _MAX_COLUMNS - column)
            if is_hidden:
                hidden_cells.columns.update(range(column, column + repetitions))
            column += repetitions
        elif element.tag == f"{_TABLE_NAMESPACE}table":
            yield name, hidden_cells


def _read_repetitions(element: ET.Element, unit: str, most: int) -> int:
    text = element.get(f"{_TABLE_NAMESPACE}number-{unit}-repeated", "1")
    return min(int(text), most) if text.isdecimal() else 1
