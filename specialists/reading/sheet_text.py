"""Reads tables as text: the sheets with their columns, and the first rows of each. Table tools read all rows."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

from specialists.formats.contents import FileContents, UnreadableFile
from specialists.reading.plain_text import decode_file
from specialists.tools.tables.delimited import read_delimited_sheets
from specialists.tools.tables.sheet import Sheet
from specialists.tools.tables.spreadsheet_xml import read_spreadsheet_xml_sheets
from specialists.tools.tables.table_errors import TableRefused
from specialists.tools.tables.workbook import read_workbook_sheets

_MAX_SHEETS = 50
_MAX_SHOWN_ROWS = 200
_MAX_SHOWN_CHARACTERS = 200_000
_LONGEST_CELL = 2_000
_MAX_COLUMNS = 200
_SNIFFED_CHARACTERS = 64 * 1024


def read_workbook(data: bytes, name: str, contents: FileContents) -> None:
    """Read the beginning of every sheet of an .xlsx, .xls or .ods.

    Raises:
        UnreadableFile: it is damaged, or every sheet is empty.
    """
    del name
    from python_calamine import CalamineError, CalamineWorkbook  # noqa: PLC0415

    names = {sheet.title: sheet.names for sheet in _read_sheets(read_workbook_sheets, data)}
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(data))
        sheets = book.sheet_names
        for sheet in sheets[:_MAX_SHEETS]:
            rows = book.get_sheet_by_name(sheet).to_python(skip_empty_area=False)
            formatted_rows = [[_format_cell(cell) for cell in row] for row in rows]
            _add_sheet(f"sheet {sheet}", formatted_rows, contents, names.get(sheet))
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
    sheets = _read_sheets(read_spreadsheet_xml_sheets, data)
    if not sheets:
        raise UnreadableFile("is a damaged or empty workbook; open it, save it again as .xlsx and attach that")
    for sheet in sheets:
        _add_sheet(f"sheet {sheet.title}", [sheet.names, *sheet.rows], contents, sheet.names)


def _read_sheets(parse: Callable[[bytes], list[Sheet]], data: bytes) -> list[Sheet]:
    """Read sheets with a parser of the table tools, so that columns have the names used there; [] if it fails."""
    try:
        return parse(data)
    except TableRefused:
        return []


def read_delimited(data: bytes, name: str, contents: FileContents) -> None:
    """Read the first lines of a CSV or TSV as written, with its columns as the outline."""
    text = decode_file(data, contents)
    lines = text.rstrip("\n").split("\n")
    head = "\n".join(lines[:_MAX_SHOWN_ROWS])[:_SNIFFED_CHARACTERS].encode(errors="replace")
    sheets = _read_sheets(lambda data: read_delimited_sheets(data, PurePosixPath(name.lower()).suffix or ".csv"), head)
    contents.begin_section("columns " + _join_columns(sheets[0].names if sheets else [lines[0]]))
    shown_count, length = 0, 0
    for line in lines:
        length += len(line) + 1
        if shown_count > _MAX_SHOWN_ROWS or length > _MAX_SHOWN_CHARACTERS:
            break
        shown_count += 1
    contents.add_text("\n".join(lines[:shown_count]) + "\n" if shown_count else lines[0][:_MAX_SHOWN_CHARACTERS])
    _report_cut("its lines", shown_count, len(lines), contents)


def _add_sheet(title: str, rows: list[list[str]], contents: FileContents, names: list[str] | None) -> None:
    filled_rows = [(number, row) for number, row in enumerate(rows, start=1) if any(row)]
    if not filled_rows:
        return
    header = next((row for _, row in filled_rows[:20] if sum(map(bool, row)) > 1), filled_rows[0][1])
    contents.begin_section(f"{title}: {_join_columns(names or [cell for cell in header if cell])}")
    contents.add_text(f"[{title}, {len(filled_rows):,} rows]\n")
    shown_count, length = 0, 0
    for number, row in filled_rows[:_MAX_SHOWN_ROWS]:
        line = f"{number}: " + " | ".join(row[:_MAX_COLUMNS]).rstrip(" |")
        length += len(line)
        if length > _MAX_SHOWN_CHARACTERS:
            break
        contents.add_text(line + "\n")
        shown_count += 1
    contents.add_text("\n")
    _report_cut(f"the rows of {title}", shown_count, len(filled_rows), contents)
    if any(len(row) > _MAX_COLUMNS for _, row in filled_rows[:shown_count]):
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
