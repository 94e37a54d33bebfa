"""A sheet: the table that a reader makes of a file, as column names and rows of text, with what looks wrong in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from specialists.tools.tables.sql_names import make_names_unique
from specialists.tools.tables.total_row_search import find_total_rows

Row = list[str]
Spans = dict[int, list[tuple[int, int]]]
"""By line: the cells that span several columns, each as its first and last column, counted from 0."""

MAX_COLUMNS = 500
UNIT_SEPARATOR = "\x1f"
"""The separator between cells in files of our own: ASCII's unit separator, which people's files do not hold."""
_MAX_NAME_CHARS = 100
_MAX_LISTED = 5
_HEAD_ROWS = 50
_YEAR = re.compile(r"(19|20)\d\d")
_NUMBER_OR_DATE = re.compile(r"[-+]?[€$£¥]?\s?\d[\d.,:/\-\s]*[%€]?([eE][-+]?\d+)?(T[\d:.Z+\-]+)?")
_MAX_TITLE_ROWS = 8
_MAX_HEADER_ROWS = 4
_NUMBER_WORDS = {2: "two", 3: "three", 4: "four"}
GROUP_SEPARATOR = " / "
"""The text between group and column in a column's name."""


@dataclass(slots=True)
class Sheet:
    """A table of a file. Every row has as many cells as there are names; an empty cell is "".

    Attributes:
        names: The names of the columns.
        rows: The rows, as text.
        title: The name of the sheet in its file; "" for the only one.
        separator: The character between the cells in the file; "" if there was none.
        has_plain_cells: True if no cell holds a line break, a quotation mark or `UNIT_SEPARATOR`.
        facts: How the sheet was read, such as `comma-separated, UTF-8`; only a profile shows them.
        faults: What looks wrong and belongs in the answer's gaps.
        notes: Notes on rows that are not counted, such as totals, on hidden rows, and on guesses; every reply has them.
        lines: The line of the file that each row stands in.
    """

    names: list[str]
    rows: list[Row]
    title: str = ""
    separator: str = ""
    has_plain_cells: bool = False
    facts: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


def make_sheet(rows: list[Row], lines: list[int], spans: Spans | None = None) -> Sheet:
    """Make a sheet from raw rows, none of them blank, and the line number of each: find the header, even out the rows.

    A header of several rows is joined into one, with names such as "group / column". `spans` are the cells that span
    several columns, if they are known.
    """
    spans = spans or {}
    start = _find_last_header_row(rows, lines, spans, _find_first_row(rows))
    header, body, body_lines = rows[start], rows[start + 1 :], lines[start + 1 :]
    titles = rows[:start]
    facts: list[str] = []
    faults: list[str] = []
    depth = 1
    while titles and depth < _MAX_HEADER_ROWS:
        row_spans = spans.get(lines[len(titles) - 1], [])
        if not _is_group_row(titles[-1], header, row_spans):
            break
        header = _prefix_groups(titles.pop(), header, row_spans)
        depth += 1
    if depth > 1:
        facts.append(f"{_NUMBER_WORDS[depth]} rows of headers joined into one")
    if titles:
        above = " / ".join(" ".join(cell for cell in row if cell) for row in titles)
        facts.append(f"{_format_count(len(titles), 'line')} above the header skipped: {above[:120]}")
    if _is_data_row(header, body[:_HEAD_ROWS]):
        body, body_lines = rows[start:], lines[start:]
        header = []
        faults.append("no header row seen: columns are named column1, column2 ...")
    width = _find_table_width(header, body)
    names = _name_columns(header, width, body, faults)
    sheet = Sheet(names=names, rows=body, facts=facts, faults=faults)
    sheet.lines = body_lines
    _drop_repeated_headers(sheet, rows[start] if header else [], body_lines)
    short, long = _even_out_rows(sheet)
    removed_rows = _remove_total_rows(sheet, body_lines)
    _note_uneven_rows(
        sheet, [body_lines[at] for at in short if at not in removed_rows], [body_lines[at] for at in long]
    )
    return sheet


def _find_first_row(rows: list[Row]) -> int:
    """Return the index of the first row that is not a title above the table."""
    filled_counts = [sum(1 for cell in row if cell.strip()) for row in rows[:_HEAD_ROWS]]
    usual_count = Counter(filled_counts).most_common(1)[0][0]
    if usual_count == 1:
        return 0
    first = next((index for index, cells in enumerate(filled_counts) if cells > 1 and cells * 2 >= usual_count), 0)
    for index in range(first + 1, min(first + _MAX_TITLE_ROWS, len(filled_counts))):
        if filled_counts[index] > max(filled_counts[first:index]) and _stands_above_numbers(
            rows[index], rows[index + 1 : index + _HEAD_ROWS]
        ):
            return index
    return first


def _stands_above_numbers(row: Row, body: list[Row]) -> bool:
    """Return whether a row is all words and stands above numbers, as only a header does."""
    words = [index for index, cell in enumerate(row) if cell.strip()]
    if any(_NUMBER_OR_DATE.fullmatch(row[index].strip()) for index in words):
        return False
    return any(_is_mostly_numbers(body, index) for index in words)


def _rename_years(row: Row, body: list[Row]) -> Row:
    """Return a row with years written as `year 2024` if they name columns: several, and no years below them."""
    years = [index for index, cell in enumerate(row) if _is_year(cell.strip())]
    below = [each[index].strip() for each in body for index in years if index < len(each)]
    if len(years) < 2 or any(_is_year(cell) for cell in below):
        return row
    return [f"year {cell}" if index in years else cell for index, cell in enumerate(row)]


def _find_last_header_row(rows: list[Row], lines: list[int], spans: Spans, start: int) -> int:
    """Return the index of the lowest row of a header that begins at `start`: each row but the last names groups."""
    for index in range(start, min(start + _MAX_HEADER_ROWS - 1, len(rows) - 2)):
        below = rows[index + 1]
        if not (
            _is_group_row(rows[index], below, spans.get(lines[index], []))
            and _stands_above_numbers(
                _rename_years(below, rows[index + 2 : index + _HEAD_ROWS]), rows[index + 2 : index + _HEAD_ROWS]
            )
        ):
            return index
        start = index + 1
    return start


def _is_group_row(upper_row: Row, header: Row, spans: Sequence[tuple[int, int]]) -> bool:
    """Return whether the row above a header names groups of columns: cells span several, or have empty ones after them.

    A line of text above a table, by contrast, fills cells side by side, or only one.
    """
    width = max(len(upper_row), len(header))
    upper_row = [*(cell.strip() for cell in upper_row), *[""] * (width - len(upper_row))]
    header = [*(cell.strip() for cell in header), *[""] * (width - len(header))]
    header = ["" if cell == group else cell for group, cell in zip(upper_row, header, strict=True)]
    filled_indexes = [index for index, cell in enumerate(upper_row) if cell]
    if any(_NUMBER_OR_DATE.fullmatch(upper_row[index]) and not _is_year(upper_row[index]) for index in filled_indexes):
        return False
    if any(first in filled_indexes and any(header[first + 1 : last + 1]) for first, last in spans):
        widest_span = max(last - first + 1 for first, last in spans)
        return len(filled_indexes) > 1 or widest_span < sum(map(bool, header))
    names = [cell.casefold() for cell in header if cell]
    if len(filled_indexes) < 2 or not any(cell and not group for group, cell in zip(upper_row, header, strict=True)):
        return False  # no cell is left empty for a group to go on
    if len(set(names)) < len(names):
        return True
    has_gaps = all(
        after - at > 1 or not header[at] for at, after in pairwise([*filled_indexes, width]) if at != filled_indexes[-1]
    )
    last_reaches = any(header[filled_indexes[-1] + 1 :]) or not header[filled_indexes[-1]]
    return has_gaps and (last_reaches or len(filled_indexes) > 2) and len(names) >= len(filled_indexes)


def _is_year(text: str) -> bool:
    return _YEAR.fullmatch(text) is not None


def _prefix_groups(groups: Row, header: Row, spans: Sequence[tuple[int, int]]) -> Row:
    """Put the group of each column before its name. A group ends where the next begins, or where its span ends."""
    last_columns = dict(spans)
    joined_names, group, last_column = [], "", -1
    for index in range(max(len(header), len(groups))):
        group_text = "".join(groups[index : index + 1]).strip()
        name = "".join(header[index : index + 1]).strip()
        if group_text:
            group, last_column = group_text, last_columns.get(index, index) if last_columns else MAX_COLUMNS
        current_group = group if index <= last_column else ""
        joined_names.append(
            GROUP_SEPARATOR.join(filter(None, (current_group, name)))
            if name and name != current_group
            else name or group_text
        )
    return joined_names


def _is_data_row(header: Row, body: list[Row]) -> bool:
    """Return whether the first row is data and no header: it has numbers or dates in the same columns as the others."""
    if not body:
        return False
    number_columns = [index for index in range(len(header)) if _is_mostly_numbers(body, index)]
    first = [header[index].strip() for index in number_columns]
    if not number_columns or all(_YEAR.fullmatch(cell) for cell in first):
        return False
    return all(_NUMBER_OR_DATE.fullmatch(cell) for cell in first)


def _is_mostly_numbers(body: list[Row], index: int) -> bool:
    cells = [row[index].strip() for row in body if index < len(row) and row[index].strip()]
    return bool(cells) and sum(1 for cell in cells if _NUMBER_OR_DATE.fullmatch(cell)) >= 0.8 * len(cells)


def _find_table_width(header: Row, body: list[Row]) -> int:
    usual = Counter(len(row) for row in body).most_common(1)
    return max(len(header), usual[0][0] if usual else 0)


def _name_columns(header: Row, width: int, body: list[Row], faults: list[str]) -> list[str]:
    """Return column names that differ in more than upper and lower case, as SQL needs them."""
    while width > 1 and not "".join(header[width - 1 : width]).strip():
        if any(len(row) >= width and row[width - 1].strip() for row in body):
            break
        width -= 1  # a separator at the end of every line makes an empty column
    if width > MAX_COLUMNS:
        faults.append(f"{width:,} columns: only the first {MAX_COLUMNS} were read")
        width = MAX_COLUMNS
    plain = [" ".join("".join(header[index : index + 1]).split())[:_MAX_NAME_CHARS] for index in range(width)]
    nameless = [index + 1 for index, name in enumerate(plain) if not name]
    if header and nameless:
        faults.append(f"no header for column {_shorten_list(nameless)}: named column{nameless[0]} and so on")
    candidates = [name or f"column{index + 1}" for index, name in enumerate(plain)]
    names = make_names_unique(candidates)
    renamed_columns = [name for name, want in zip(names, candidates, strict=True) if name != want]
    if renamed_columns:
        faults.append(f"header names occur twice: renamed to {_shorten_list(renamed_columns)}")
    return names


def _drop_repeated_headers(sheet: Sheet, header: Row, lines: list[int]) -> None:
    """Drop headers in the middle, as in a file that was joined from several."""
    repeated_rows = [index for index, row in enumerate(sheet.rows) if row == header] if header else []
    if repeated_rows:
        line_list = _shorten_list([lines[index] for index in repeated_rows])
        sheet.faults.append(
            f"the header occurs again (line {line_list}): {_format_count(len(repeated_rows), 'row')} left out"
        )
        for index in reversed(repeated_rows):
            del sheet.rows[index], lines[index]


def _even_out_rows(sheet: Sheet) -> tuple[list[int], list[int]]:
    """Give each row as many cells as there are names. Return the indexes of rows that had fewer, and that lost some."""
    width = len(sheet.names)
    short, long = [], []
    for index, row in enumerate(sheet.rows):
        if len(row) == width:
            continue
        if len(row) < width:
            short.append(index)
            row.extend([""] * (width - len(row)))
        else:
            if any(cell.strip() for cell in row[width:]) and width < MAX_COLUMNS:
                long.append(index)
            del row[width:]
    return short, long


def _note_uneven_rows(sheet: Sheet, short: list[int], long: list[int]) -> None:
    """Add faults that name the lines with fewer or more cells than the header."""
    if short:
        sheet.faults.append(
            f"{_format_count(len(short), 'row')} with fewer cells than the header (line {_shorten_list(short)}): "
            "filled up empty"
        )
    if long:
        sheet.faults.append(
            f"{_format_count(len(long), 'row')} with more cells than the header (line {_shorten_list(long)}): "
            "the cells beyond it were dropped"
        )


def _remove_total_rows(sheet: Sheet, lines: list[int]) -> set[int]:
    """Remove totals, and notes below the table, from the rows, and note that. Return their indexes."""
    if not sheet.rows:
        sheet.faults.append("header only: there are no rows")
        return set()
    uncounted_rows = find_total_rows(sheet.rows, lines, len(sheet.names))
    sheet.notes += uncounted_rows.notes
    sheet.faults += uncounted_rows.faults
    if uncounted_rows.rows:
        sheet.rows = [row for index, row in enumerate(sheet.rows) if index not in uncounted_rows.rows]
        sheet.lines = [line for index, line in enumerate(lines) if index not in uncounted_rows.rows]
    return uncounted_rows.rows


def _shorten_list(things: list[int] | list[str]) -> str:
    shown_text = ", ".join(str(thing) for thing in things[:_MAX_LISTED])
    return shown_text + (" ..." if len(things) > _MAX_LISTED else "")


def _format_count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
