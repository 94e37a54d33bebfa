"""Finds the rows and columns that an .xlsx or .ods hides: calamine reads them, but people do not see them."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.etree import ElementTree as ET

from specialists.tools.tables.uncomputed_cells import BROKEN, sheet_members

_LOOKED_AT = 64 * 1024 * 1024
_PIECE = 1024 * 1024
_MOST_ROWS, _MOST_COLUMNS = 1_048_576, 16_384
_ROW = re.compile(rb"<(?:\w+:)?row\b[^>]*>")
_COLUMN = re.compile(rb"<(?:\w+:)?col\b[^>]*>")
_HIDDEN = re.compile(rb'\bhidden="(?:1|true)"|\s(?:ht|width)="0(?:\.0+)?"')
"""Matches a row or column that is hidden, by its attribute or because its height or width is 0."""
_HIDDEN_UNLESS_SAID = re.compile(rb'<(?:\w+:)?sheetFormatPr\b[^>]*\bzeroHeight="(?:1|true)"')
_FILTERED = re.compile(rb"<(?:\w+:)?filterColumn\b")
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"


@dataclass(slots=True)
class HiddenCells:
    """The hidden cells of a sheet: `rows` counted from 1, `columns` from 0. `filtered`: the sheet has a filter."""

    rows: set[int] = field(default_factory=set)
    columns: set[int] = field(default_factory=set)
    filtered: bool = False


def hidden_in(data: bytes) -> dict[str, HiddenCells]:
    """Return the hidden rows and columns of each sheet, by its name; {} for an .xls, which is not looked into.

    Args:
        data: The bytes of a workbook. Only the first 64 MB of its sheets, unpacked, are looked at.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if "content.xml" in archive.namelist():
                with archive.open("content.xml") as file:
                    return dict(_open_document(io.BytesIO(file.read(_LOOKED_AT))))
            left = _LOOKED_AT
            found = {}
            for name, member in sheet_members(archive):
                with archive.open(member) as file:
                    sheet = file.read(left)
                left -= len(sheet)
                found[name] = _find_hidden_in_excel(sheet)
            return found
    except BROKEN:
        return {}  # the reader of the file reports what is wrong with it


def _find_hidden_in_excel(sheet: bytes) -> HiddenCells:
    found = HiddenCells(filtered=_FILTERED.search(sheet) is not None)
    if _HIDDEN.search(sheet) is None and b"zeroHeight" not in sheet[:_PIECE]:
        return found
    unless_said = _HIDDEN_UNLESS_SAID.search(sheet[:_PIECE]) is not None
    line = 0
    for tag in _ROW.finditer(sheet):
        line = _attribute_number(tag[0], b"r") or line + 1
        if _HIDDEN.search(tag[0]) or (unless_said and b"hidden=" not in tag[0] and b"ht=" not in tag[0]):
            found.rows.add(line)
    for tag in _COLUMN.finditer(sheet[:_PIECE]):
        if _HIDDEN.search(tag[0]):
            first, last = _attribute_number(tag[0], b"min"), _attribute_number(tag[0], b"max")
            found.columns.update(range(first - 1, min(last, _MOST_COLUMNS)))
    return found


def _attribute_number(tag: bytes, name: bytes) -> int:
    found = re.search(rb"\s" + name + rb'="(\d{1,7})"', tag)
    return int(found[1]) if found else 0


def _open_document(content: io.BytesIO) -> Iterator[tuple[str, HiddenCells]]:
    found, line, column, name = HiddenCells(), 0, 0, ""
    for event, element in ET.iterparse(content, ("start", "end")):  # noqa: S314 - expat bounds entities
        if event == "start":
            if element.tag == f"{_TABLE}table":
                found, line, column, name = HiddenCells(), 0, 0, element.get(f"{_TABLE}name", "")
            continue
        unseen = element.get(f"{_TABLE}visibility") in ("collapse", "filter")
        if element.tag == f"{_TABLE}table-row":
            times = _repetition_count(element, "rows", _MOST_ROWS - line)
            if unseen and len(element):
                found.rows.update(range(line + 1, line + times + 1))
                found.filtered |= element.get(f"{_TABLE}visibility") == "filter"
            line += times
            element.clear()
        elif element.tag == f"{_TABLE}table-column":
            times = _repetition_count(element, "columns", _MOST_COLUMNS - column)
            if unseen:
                found.columns.update(range(column, column + times))
            column += times
        elif element.tag == f"{_TABLE}table":
            yield name, found


def _repetition_count(element: ET.Element, what: str, most: int) -> int:
    said = element.get(f"{_TABLE}number-{what}-repeated", "1")
    return min(int(said), most) if said.isdecimal() else 1
