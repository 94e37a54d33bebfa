"""Reads tables as text: the sheets with their columns, and the first rows of each. Table tools do the counting."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

from specialists.formats.contents import FileContents, UnreadableFile
from specialists.reading.plain_text import decode_file
from specialists.tools.tables.delimited import delimited_sheets
from specialists.tools.tables.sheet import Sheet
from specialists.tools.tables.spreadsheet_xml import spreadsheet_sheets
from specialists.tools.tables.table_refused import TableRefused
from specialists.tools.tables.workbook import workbook_sheets

_MAX_SHEETS = 50
_ROWS_SHOWN = 200
_CHARACTERS_SHOWN = 200_000
_LONGEST_CELL = 2_000
_MAX_COLUMNS = 200
_SNIFFED_BYTES = 64 * 1024


def read_workbook(data: bytes, name: str, contents: FileContents) -> None:
    """Read the beginning of every sheet of an .xlsx, .xls or .ods.

    Raises:
        UnreadableFile: it is damaged, or every sheet is empty.
    """
    del name
    from python_calamine import CalamineError, CalamineWorkbook  # noqa: PLC0415

    names = {sheet.title: sheet.names for sheet in _read_sheets(workbook_sheets, data)}
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(data))
        sheets = book.sheet_names
        for sheet in sheets[:_MAX_SHEETS]:
            rows = book.get_sheet_by_name(sheet).to_python(skip_empty_area=False)
            written = [[_format_cell(cell) for cell in row] for row in rows]
            _add_sheet(f"sheet {sheet}", written, contents, names.get(sheet))
    except (CalamineError, ValueError, OSError):
        raise UnreadableFile("is a damaged workbook; open it, save it again as .xlsx and attach that") from None
    if not contents.outline:
        raise UnreadableFile("is a workbook without any filled sheet; attach the one that is filled")
    if len(sheets) > _MAX_SHEETS:
        contents.add_gap(f"only the first {_MAX_SHEETS} of {len(sheets)} sheets are read")


def read_spreadsheet_xml(data: bytes, name: str, contents: FileContents) -> None:
    """Read the beginning of every sheet of a workbook that Excel 2003 saved as XML.

    Raises:
        UnreadableFile: it is damaged, or every sheet is empty.
    """
    del name
    sheets = _read_sheets(spreadsheet_sheets, data)
    if not sheets:
        raise UnreadableFile("is a damaged or empty workbook; open it, save it again as .xlsx and attach that")
    for sheet in sheets:
        _add_sheet(f"sheet {sheet.title}", [sheet.names, *sheet.rows], contents, sheet.names)


def _read_sheets(parse: Callable[[bytes], list[Sheet]], data: bytes) -> list[Sheet]:
    """Read the sheets with the parser of the table tools, so that columns have the same names; empty if it refuses."""
    try:
        return parse(data)
    except TableRefused:
        return []


def read_delimited(data: bytes, name: str, contents: FileContents) -> None:
    """Read the first lines of a CSV or TSV as written, with its columns as the outline."""
    text = decode_file(data, contents)
    lines = text.rstrip("\n").split("\n")
    head = "\n".join(lines[:_ROWS_SHOWN])[:_SNIFFED_BYTES].encode(errors="replace")
    sheets = _read_sheets(lambda data: delimited_sheets(data, PurePosixPath(name.lower()).suffix or ".csv"), head)
    contents.begin_section("columns " + _join_columns(sheets[0].names if sheets else [lines[0]]))
    shown, length = 0, 0
    for line in lines:
        length += len(line) + 1
        if shown > _ROWS_SHOWN or length > _CHARACTERS_SHOWN:
            break
        shown += 1
    contents.add_text("\n".join(lines[:shown]) + "\n" if shown else lines[0][:_CHARACTERS_SHOWN])
    _report_cut("its lines", shown, len(lines), contents)


def _add_sheet(title: str, rows: list[list[str]], contents: FileContents, names: list[str] | None) -> None:
    filled = [(number, row) for number, row in enumerate(rows, start=1) if any(row)]
    if not filled:
        return
    header = next((row for _, row in filled[:20] if sum(map(bool, row)) > 1), filled[0][1])
    contents.begin_section(f"{title}: {_join_columns(names or [cell for cell in header if cell])}")
    contents.add_text(f"[{title}, {len(filled):,} rows]\n")
    shown, length = 0, 0
    for number, row in filled[:_ROWS_SHOWN]:
        line = f"{number}: " + " | ".join(row[:_MAX_COLUMNS]).rstrip(" |")
        length += len(line)
        if length > _CHARACTERS_SHOWN:
            break
        contents.add_text(line + "\n")
        shown += 1
    contents.add_text("\n")
    _report_cut(f"the rows of {title}", shown, len(filled), contents)
    if any(len(row) > _MAX_COLUMNS for _, row in filled[:shown]):
        contents.add_gap(f"only the first {_MAX_COLUMNS} columns of {title} are in its text")


def _report_cut(subject: str, shown_count: int, total: int, contents: FileContents) -> None:
    if shown_count < total:
        contents.add_text(f"[{shown_count:,} of {total:,} shown: the table tools read them all]\n")
        contents.add_gap(
            f"{shown_count:,} of {subject} are in its text, out of {total:,}: the table tools read them all"
        )


def _join_columns(columns: list[str]) -> str:
    return ", ".join(" ".join(column.split())[:40] for column in columns[:30])


def _format_cell(cell: Any) -> str:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
    if isinstance(cell, dt.datetime):
        return cell.date().isoformat() if cell.time() == dt.time(0) else cell.isoformat(sep=" ")
    return "" if cell is None else " ".join(str(cell).split())[:_LONGEST_CELL]
