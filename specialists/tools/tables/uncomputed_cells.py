"""Finds cells of an .xlsx that our readers read as empty although people see a value: uncomputed formulas, and errors.

A program that writes a workbook often leaves its formulas to Excel, which computes them when somebody opens and saves
the file.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from typing import IO
from xml.etree import ElementTree as ET

_ERROR_CELL = re.compile(rb'<c\b[^>]*\bt="e"')
_EMPTY_FORMULA = re.compile(rb"(?:</f>|<f\b[^>]*/>)\s*(?:<v\s*/>|<v></v>|</c>)")
_MAX_BYTES_READ = 64 * 1024 * 1024
_PIECE_BYTES = 1024 * 1024
_MAX_TAG_BYTES = 512
_MAX_INDEX_BYTES = 4 * 1024 * 1024
WORKBOOK_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, KeyError, ET.ParseError),
    *(ValueError, NotImplementedError, EOFError, OSError, RuntimeError),
)
"""The errors that reading a damaged workbook raises."""
_RELATION_ATTRIBUTE = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


def describe_uncomputed_cells(data: bytes) -> dict[str, str]:
    """Return a fault for each sheet with such cells, by the sheet's name; {} for a file that is no .xlsx.

    Args:
        data: The bytes of a workbook. Only the first 64 MB of its sheets, unpacked, are looked at.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _describe_sheet_faults(archive)
    except WORKBOOK_ERRORS:
        return {}  # the reader of the file reports what is wrong with it


def _describe_sheet_faults(archive: zipfile.ZipFile) -> dict[str, str]:
    faults, remaining_bytes = {}, _MAX_BYTES_READ
    for name, member in list_sheet_members(archive):
        with archive.open(member) as file:
            formulas, errors, byte_count = _count_uncomputed_cells(file, remaining_bytes)
        remaining_bytes -= byte_count
        parts = [f"{formulas:,} formula{'' if formulas == 1 else 's'} never worked out"] if formulas else []
        parts += [f"{errors:,} error{'' if errors == 1 else 's'} such as #N/A or #DIV/0!"] if errors else []
        if parts:
            remedy = "; open it in Excel and save it for their values" if formulas else ""
            faults[name] = f"{' and '.join(parts)}, read as empty cells{remedy}"
    return faults


def list_sheet_members(archive: zipfile.ZipFile) -> list[tuple[str, str]]:
    """List the sheets of an .xlsx as (name, path in the archive). Raises one of `WORKBOOK_ERRORS`."""
    links = {link.get("Id"): link.get("Target", "") for link in _parse_member(archive, "xl/_rels/workbook.xml.rels")}
    members = []
    for sheet in _parse_member(archive, "xl/workbook.xml").iterfind("{*}sheets/{*}sheet"):
        target = links.get(sheet.get(_RELATION_ATTRIBUTE)) or ""
        members.append((sheet.get("name", ""), target[1:] if target.startswith("/") else f"xl/{target}"))
    return [(name, member) for name, member in members if member in archive.namelist()]


def _parse_member(archive: zipfile.ZipFile, member: str) -> ET.Element:
    with archive.open(member) as file:
        return ET.fromstring(file.read(_MAX_INDEX_BYTES))  # noqa: S314 - expat bounds entities; the child bounds the rest


def _count_uncomputed_cells(file: IO[bytes], max_bytes: int) -> tuple[int, int, int]:
    """Return how many formulas have no value, how many cells are errors, and how many bytes were read."""
    formulas = errors = bytes_read = 0
    rest = b""
    while bytes_read < max_bytes and (piece := file.read(_PIECE_BYTES)):
        bytes_read += len(piece)
        buffer = rest + piece
        # A tag at the end of a piece may go on in the next one, so it is counted there: no tag is cut or counted twice.
        end = len(buffer) if len(piece) < _PIECE_BYTES else max(buffer.rfind(b"<c "), len(buffer) - _MAX_TAG_BYTES, 0)
        formulas += len(_EMPTY_FORMULA.findall(buffer, 0, end))
        errors += len(_ERROR_CELL.findall(buffer, 0, end))
        rest = buffer[end:]
    return formulas, errors, bytes_read
