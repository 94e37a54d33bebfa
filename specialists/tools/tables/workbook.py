"""Reads the sheets of Excel and OpenDocument workbooks with calamine.

Some files make calamine abort the process, so this runs only in the child.
"""

from __future__ import annotations

import datetime as dt
import io
from typing import Any

from specialists.tools.tables.hidden_cells import HiddenCells, find_hidden_cells
from specialists.tools.tables.hidden_row_marks import mark_hidden_rows, note_hidden_columns
from specialists.tools.tables.sheet import Sheet, Spans, make_sheet
from specialists.tools.tables.table_errors import TableRefused, describe_error
from specialists.tools.tables.uncomputed_cells import describe_uncomputed_cells

_MAX_SHEETS = 20


def read_workbook_sheets(data: bytes) -> list[Sheet]:
    """Read the sheets that are not empty.

    Raises:
        TableRefused: the workbook is broken, or empty.
    """
    from python_calamine import CalamineError, CalamineWorkbook, SheetVisibleEnum  # noqa: PLC0415 - for workbooks alone

    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(data))
        hidden_cells = find_hidden_cells(data)
        sheets = [
            _read_sheet(book, name, hidden_cells.get(name, HiddenCells())) for name in book.sheet_names[:_MAX_SHEETS]
        ]
        hidden_names = {sheet.name for sheet in book.sheets_metadata if sheet.visible != SheetVisibleEnum.Visible}
    except (CalamineError, ValueError, OSError) as error:
        raise TableRefused(
            f"is a broken workbook ({describe_error(error, 120)}); save it again as .xlsx and attach that"
        ) from None
    filled_sheets = [sheet for sheet in sheets if sheet is not None]
    if not filled_sheets:
        raise TableRefused("is a workbook without any filled sheet")
    uncomputed_faults = describe_uncomputed_cells(data)
    for sheet in filled_sheets:
        sheet.notes += (
            ["the sheet is hidden in the workbook; its rows are counted"] if sheet.title in hidden_names else []
        )
        sheet.faults += [uncomputed_faults[sheet.title]] if sheet.title in uncomputed_faults else []
    if len(book.sheet_names) > _MAX_SHEETS:
        filled_sheets[0].faults.append(f"{len(book.sheet_names)} sheets: only the first {_MAX_SHEETS} were read")
    return filled_sheets


def _read_sheet(book: Any, name: str, hidden_cells: HiddenCells) -> Sheet | None:
    rows, lines = [], []
    worksheet = book.get_sheet_by_name(name)
    table = worksheet.to_python(skip_empty_area=False)
    ranges = worksheet.merged_cell_ranges or []
    has_merged_text = _fill_merged_cells(table, ranges)
    for index, cells in enumerate(table):
        row = [_format_cell_text(cell) for cell in cells]
        if any(row):
            rows.append(row)
            lines.append(index + 1)
    if not rows:
        return None
    first_column = min(next(index for index, cell in enumerate(row) if cell) for row in rows)
    spans: Spans = {}
    for (top, left), (_, right) in ranges:
        if right > left >= first_column:
            spans.setdefault(top + 1, []).append((left - first_column, right - first_column))
    sheet = make_sheet([row[first_column:] for row in rows], lines, spans)
    sheet.title = name
    note_hidden_columns(sheet, {at - first_column for at in hidden_cells.columns})
    mark_hidden_rows(sheet, hidden_cells.rows, by_filter=hidden_cells.has_filter)
    if has_merged_text:
        sheet.facts.append("text of merged cells stands in each of their rows")
    return sheet


def _fill_merged_cells(table: list[list[Any]], ranges: list[tuple[tuple[int, int], tuple[int, int]]]) -> bool:
    """Copy the text of a cell that is merged over several rows into each of them, since only the first row has it.

    Numbers are not copied, as they would be counted once per row; nor are cells that span columns, such as titles.
    Returns True if any text was copied.
    """
    has_copied_text = False
    for (top, left), (bottom, right) in ranges:
        if left == right and bottom < len(table) and left < len(table[top]) and isinstance(table[top][left], str):
            for row in table[top + 1 : bottom + 1]:
                row[left] = table[top][left]
            has_copied_text = True
    return has_copied_text


def _format_cell_text(cell: Any) -> str:
    """Format the cell as a person would type it into a CSV file."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
    if isinstance(cell, dt.datetime):
        midnight = cell.time() == dt.time(0)
        return cell.date().isoformat() if midnight else cell.isoformat(sep=" ")
    return "" if cell is None else str(cell).strip()
