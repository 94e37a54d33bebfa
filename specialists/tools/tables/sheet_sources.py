"""Reads the sheets of a file with the reader of what it is, whatever it is called."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from specialists.formats.contents import Unreadable
from specialists.formats.file_kind import PEOPLE_CALL, kind_of
from specialists.tools.tables.sheet import Sheet
from specialists.tools.tables.table_refused import TableRefused

_READERS = {
    "workbook": "workbook:workbook_sheets",
    "spreadsheet xml": "spreadsheet_xml:spreadsheet_sheets",
    "html": "html_tables:html_sheets",
    "mail": "html_tables:mhtml_sheets",
    "json": "jsonrows:json_sheets",
}
"""The module and function that reads a kind. Imported for its own files only: each query pays for it."""
_HEAD = 256 * 1024
_LARGEST_JSON = 4 * 1024 * 1024


def sheets_of(data: bytes, name: str) -> list[Sheet]:
    """Read the sheets of a file.

    Args:
        data: The bytes, which say what it is.
        name: Its name, asked where the bytes leave doubt.

    Raises:
        TableRefused: it is no table, or a broken one. Says what it is, and what to attach.
    """
    return _read(data, name, _find_kind(data, name))


def columns_of(data: bytes, name: str) -> list[tuple[str, list[str]]]:
    """List the sheets of a file, each by its title ("" for one alone) and the names of its columns. Never raises.

    Of long texts only the beginning is looked at; of a large JSON nothing is known, nor of what is no table.
    """
    try:
        kind = _find_kind(data, name)
        if kind == "json" and len(data) > _LARGEST_JSON and not name.lower().endswith((".jsonl", ".ndjson")):
            return []
        if (len(data) > _HEAD and kind not in _READERS) or name.lower().endswith((".jsonl", ".ndjson")):
            data = data[: data.rfind(b"\n", 0, _HEAD) + 1] or data
        sheets = _read(data, name, kind)
    except (TableRefused, ModuleNotFoundError):
        return []
    return [(sheet.title if len(sheets) > 1 else "", sheet.names) for sheet in sheets]


def _find_kind(data: bytes, name: str) -> str:
    try:
        return kind_of(data, name, "")
    except Unreadable as refusal:
        raise TableRefused(str(refusal)) from None


def _read(data: bytes, name: str, kind: str) -> list[Sheet]:
    if kind in PEOPLE_CALL:
        raise TableRefused(f"is really {PEOPLE_CALL[kind]}, no table; attach the table as CSV, XLSX, Parquet or JSON")
    if kind not in _READERS:
        from specialists.tools.tables.delimited import delimited_sheets  # noqa: PLC0415 - as the others

        return delimited_sheets(data, Path(name).suffix.lower())
    module, _, function = _READERS[kind].partition(":")
    read: Callable[[bytes], list[Sheet]] = getattr(import_module(f"specialists.tools.tables.{module}"), function)
    return read(data)
