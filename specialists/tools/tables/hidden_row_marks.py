"""Notes the columns and marks the rows of a sheet that its workbook hides, so that a query can leave them out."""

from __future__ import annotations

from collections.abc import Collection

from specialists.tools.tables.sheet import Sheet
from specialists.tools.tables.sql_names import make_names_unique

HIDDEN_COLUMN = "hidden_row"
"""The column that says of each row whether the workbook hides it; added only if some rows are hidden."""
_MAX_NAMED_COLUMNS = 5


def note_hidden_columns(sheet: Sheet, hidden_columns: Collection[int]) -> None:
    """Note which columns are hidden; `hidden_columns` are their indexes, counted from 0."""
    hidden_names = [sheet.names[at] for at in sorted(hidden_columns) if 0 <= at < len(sheet.names)]
    if hidden_names:
        shown_names = ", ".join(hidden_names[:_MAX_NAMED_COLUMNS]) + (
            " ..." if len(hidden_names) > _MAX_NAMED_COLUMNS else ""
        )
        subject = "1 column is" if len(hidden_names) == 1 else f"{len(hidden_names)} columns are"
        sheet.notes.append(f"{subject} hidden in the workbook, and read all the same: {shown_names}")


def mark_hidden_rows(sheet: Sheet, hidden_lines: Collection[int], *, by_filter: bool = False) -> None:
    """Note how many rows are hidden, and add a column that marks them.

    Args:
        sheet: The sheet, with the line of each of its rows.
        hidden_lines: The lines that are hidden, counted from 1.
        by_filter: True if a filter of the sheet hides them.
    """
    hidden_count = sum(line in hidden_lines for line in sheet.lines)
    if not hidden_count:
        return
    column = make_names_unique([HIDDEN_COLUMN], {name.casefold() for name in sheet.names})[0]
    how = "by a filter " if by_filter else ""
    sheet.notes.append(
        f"{hidden_count:,} of {len(sheet.lines):,} rows {'is' if hidden_count == 1 else 'are'} hidden "
        f"{how}in the workbook; "
        f"{'it is' if hidden_count == 1 else 'they are'} counted "
        f"(the column {column} marks them: WHERE NOT {column} leaves them out)"
    )
    sheet.names.append(column)
    for row, line in zip(sheet.rows, sheet.lines, strict=True):
        row.append("true" if line in hidden_lines else "false")
