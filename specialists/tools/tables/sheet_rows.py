"""Notes the columns and marks the rows of a sheet that its workbook hides, so that a query can leave them out."""

from __future__ import annotations

from collections.abc import Collection

from specialists.tools.tables.sheet import Sheet
from specialists.tools.tables.sql_names import make_names_unique

HIDDEN_COLUMN = "hidden_row"
"""The column that says of each row whether the workbook hides it; added only if some rows are hidden."""
_MAX_NAMED = 5


def note_hidden_columns(sheet: Sheet, hidden: Collection[int]) -> None:
    """Note which columns are hidden; `hidden` are their indexes, counted from 0."""
    unseen = [sheet.names[at] for at in sorted(hidden) if 0 <= at < len(sheet.names)]
    if unseen:
        shown = ", ".join(unseen[:_MAX_NAMED]) + (" ..." if len(unseen) > _MAX_NAMED else "")
        what = "1 column is" if len(unseen) == 1 else f"{len(unseen)} columns are"
        sheet.notes.append(f"{what} hidden in the workbook, and read all the same: {shown}")


def mark_hidden_rows(sheet: Sheet, hidden: Collection[int], *, by_filter: bool = False) -> None:
    """Note how many rows are hidden, and add a column that marks them.

    Args:
        sheet: The sheet, with the line of each of its rows.
        hidden: The lines that are hidden, counted from 1.
        by_filter: True if a filter of the sheet hides them.
    """
    number = sum(line in hidden for line in sheet.lines)
    if not number:
        return
    column = make_names_unique([HIDDEN_COLUMN], {name.casefold() for name in sheet.names})[0]
    how = "by a filter " if by_filter else ""
    sheet.notes.append(
        f"{number:,} of {len(sheet.lines):,} rows {'is' if number == 1 else 'are'} hidden {how}in the workbook; "
        f"{'it is' if number == 1 else 'they are'} counted "
        f"(the column {column} marks them: WHERE NOT {column} leaves them out)"
    )
    sheet.names.append(column)
    for row, line in zip(sheet.rows, sheet.lines, strict=True):
        row.append("true" if line in hidden else "false")
