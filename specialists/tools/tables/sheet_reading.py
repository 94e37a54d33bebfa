"""Reads the sheets of a file with the reader for its real format, whatever its name says."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from specialists.formats.contents import UnreadableFile
from specialists.formats.file_kind import NON_TABLE_NAMES, find_kind
from specialists.tools.tables.sheet import Sheet
from specialists.tools.tables.table_errors import TableRefused

_READERS = {
    "workbook": "workbook:read_workbook_sheets",
    "spreadsheet xml": "spreadsheet_xml:read_spreadsheet_xml_sheets",
    "html": "html_tables:read_html_sheets",
    "mail": "html_tables:read_mhtml_sheets",
    "json": "json_tables:read_json_sheets",
}
"""The module and function that read each kind of file. A module is imported when needed, since imports take time."""
_HEAD_BYTES = 256 * 1024
_LARGEST_JSON_BYTES = 4 * 1024 * 1024


def read_sheets(data: bytes, name: str) -> list[Sheet]:
    """Read the sheets of a file.

    Args:
        data: Its bytes, which decide what kind of file it is.
        name: Its name, which decides if the bytes leave doubt.

    Raises:
        TableRefused: it is no table, or a broken one. The message says what it is, and what to attach.
    """
    return _read_sheets_of_kind(data, name, _find_kind(data, name))


def list_sheet_columns(data: bytes, name: str) -> list[tuple[str, list[str]]]:
    """List the sheets of a file as (title, column names); the title of a single sheet is "".

    Only the beginning of a long text is read. Returns [] for a large JSON file and for a file that is no table.
    """
    try:
        kind = _find_kind(data, name)
        if kind == "json" and len(data) > _LARGEST_JSON_BYTES and not name.lower().endswith((".jsonl", ".ndjson")):
            return []
        if (len(data) > _HEAD_BYTES and kind not in _READERS) or name.lower().endswith((".jsonl", ".ndjson")):
            data = data[: data.rfind(b"\n", 0, _HEAD_BYTES) + 1] or data
        sheets = _read_sheets_of_kind(data, name, kind)
    except (TableRefused, ModuleNotFoundError):
        return []
    return [(sheet.title if len(sheets) > 1 else "", sheet.names) for sheet in sheets]


def _find_kind(data: bytes, name: str) -> str:
    try:
        return find_kind(data, name, "")
    except UnreadableFile as refusal:
        raise TableRefused(str(refusal)) from None


def _read_sheets_of_kind(data: bytes, name: str, kind: str) -> list[Sheet]:
    if kind in NON_TABLE_NAMES:
        raise TableRefused(
            f"is really {NON_TABLE_NAMES[kind]}, no table; attach the table as CSV, XLSX, Parquet or JSON"
        )
    if kind not in _READERS:
        from specialists.tools.tables.delimited import read_delimited_sheets  # noqa: PLC0415 - as the others

        return read_delimited_sheets(data, Path(name).suffix.lower())
    module, _, function = _READERS[kind].partition(":")
    read: Callable[[bytes], list[Sheet]] = getattr(import_module(f"specialists.tools.tables.{module}"), function)
    return read(data)
