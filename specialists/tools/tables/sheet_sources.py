"""Reads the sheets of a file with the reader for its real format, whatever its name says."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from specialists.formats.contents import UnreadableFile
from specialists.formats.file_kind import READABLE_NAMES, find_kind
from specialists.tools.tables.sheet import Sheet
from specialists.tools.tables.table_refused import TableRefused

_READERS = {
    "workbook": "workbook:workbook_sheets",
    "spreadsheet xml": "spreadsheet_xml:spreadsheet_sheets",
    "html": "html_tables:html_sheets",
    "mail": "html_tables:mhtml_sheets",
    "json": "jsonrows:read_json_sheets",
}
"""The module and function that read each kind of file. They are imported when needed, since each query pays for it."""
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
    return _read_kind(data, name, _find_kind(data, name))


def list_columns(data: bytes, name: str) -> list[tuple[str, list[str]]]:
    """List the sheets of a file as (title, column names); the title of a single sheet is "".

    Only the beginning of a long text is read. Returns [] for a large JSON file and for a file that is no table.
    """
    try:
        kind = _find_kind(data, name)
        if kind == "json" and len(data) > _LARGEST_JSON_BYTES and not name.lower().endswith((".jsonl", ".ndjson")):
            return []
        if (len(data) > _HEAD_BYTES and kind not in _READERS) or name.lower().endswith((".jsonl", ".ndjson")):
            data = data[: data.rfind(b"\n", 0, _HEAD_BYTES) + 1] or data
        sheets = _read_kind(data, name, kind)
    except (TableRefused, ModuleNotFoundError):
        return []
    return [(sheet.title if len(sheets) > 1 else "", sheet.names) for sheet in sheets]


def _find_kind(data: bytes, name: str) -> str:
    try:
        return find_kind(data, name, "")
    except UnreadableFile as refusal:
        raise TableRefused(str(refusal)) from None


def _read_kind(data: bytes, name: str, kind: str) -> list[Sheet]:
    if kind in READABLE_NAMES:
        raise TableRefused(
            f"is really {READABLE_NAMES[kind]}, no table; attach the table as CSV, XLSX, Parquet or JSON"
        )
    if kind not in _READERS:
        from specialists.tools.tables.delimited import delimited_sheets  # noqa: PLC0415 - as the others

        return delimited_sheets(data, Path(name).suffix.lower())
    module, _, function = _READERS[kind].partition(":")
    read: Callable[[bytes], list[Sheet]] = getattr(import_module(f"specialists.tools.tables.{module}"), function)
    return read(data)
