"""Reads the tables of an HTML page, which many programs save as .xls, and of a web archive (MHTML)."""

from __future__ import annotations

from dataclasses import dataclass, field
from email import message_from_bytes
from html.parser import HTMLParser

from specialists.tools.tables.decoding import decode_table, note_decoding
from specialists.tools.tables.hidden_row_marks import mark_hidden_rows
from specialists.tools.tables.sheet import MAX_COLUMNS, Row, Sheet, Spans, make_sheet
from specialists.tools.tables.table_errors import TableRefused

_MAX_TABLES = 20
_MAX_SPAN = 1_000
_IGNORED_TAGS = frozenset({"script", "style", "template", "noscript", "svg"})
_BREAK_TAGS = frozenset({"br", "p", "div", "li"})


def read_html_sheets(data: bytes) -> list[Sheet]:
    """Read the tables of a page that have more than one row and column.

    Raises:
        TableRefused: the page has no such table.
    """
    decoded_text = decode_table(data)
    parser = _TableParser()
    parser.feed(decoded_text.text)
    parser.close()
    tables = [each for each in parser.tables if len(each.rows) > 1 and max(map(len, each.rows)) > 1]
    if not tables:
        raise TableRefused("is an HTML page without a table; attach the table as CSV, XLSX, Parquet or JSON")
    sheets = [_make_sheet(each, number) for number, each in enumerate(tables[:_MAX_TABLES], start=1)]
    if len(tables) > _MAX_TABLES:
        sheets[0].faults.append(f"{len(tables)} tables on the page: only the first {_MAX_TABLES} were read")
    for sheet in sheets:
        sheet.facts.insert(0, f"a table of an HTML page, {decoded_text.encoding}")
        note_decoding(decoded_text, sheet)
    return sheets


def read_mhtml_sheets(data: bytes) -> list[Sheet]:
    """Read the tables of a web archive, as Excel saves it. Raises `TableRefused` if no part has a table."""
    sheets: list[Sheet] = []
    try:
        parts = [part for part in message_from_bytes(data).walk() if part.get_content_type() == "text/html"]
    except RecursionError:
        parts = []
    for part in parts:
        payload = part.get_payload(decode=True)
        try:
            sheets += read_html_sheets(payload) if isinstance(payload, bytes) else []
        except TableRefused:
            continue  # such as a frame: another part may hold the table
    if not sheets:
        raise TableRefused("is a web archive without a table; attach the table as CSV, XLSX, Parquet or JSON")
    return sheets


@dataclass(slots=True)
class _OpenTable:
    """A table while its tags are read.

    Attributes:
        rows: Its rows so far.
        spans: The cells that span several columns.
        title: Its caption.
        hidden_rows: The rows that are hidden, counted from 1.
        rowspan_cells: The cells that reach down into further rows, by column: their text, and how many rows are left.
        cell_texts: The pieces of text of the open cell; None if no cell is open.
        colspan: How many columns the open cell spans.
        rowspan: How many rows the open cell spans.
    """

    rows: list[Row] = field(default_factory=list)
    spans: Spans = field(default_factory=dict)
    title: str = ""
    hidden_rows: set[int] = field(default_factory=set)
    rowspan_cells: dict[int, tuple[str, int]] = field(default_factory=dict)
    cell_texts: list[str] | None = None
    colspan: int = 1
    rowspan: int = 1

    def begin_row(self) -> None:
        self.end_cell()
        self.rows.append([])
        self.add_rowspan_cells()

    def add_rowspan_cells(self) -> None:
        """Add the cells that reach down into this row from above, at their columns."""
        row = self.rows[-1]
        while (reaching := self.rowspan_cells.get(len(row))) is not None:
            text, rows_left = reaching
            if rows_left > 1:
                self.rowspan_cells[len(row)] = (text, rows_left - 1)
            else:
                del self.rowspan_cells[len(row)]
            row.append(text)

    def end_cell(self) -> None:
        if self.cell_texts is None:
            return
        text, self.cell_texts = " ".join("".join(self.cell_texts).split()), None
        row = self.rows[-1]
        column, width = len(row), min(self.colspan, MAX_COLUMNS - len(row))
        if width > 1 and text:
            self.spans.setdefault(len(self.rows), []).append((column, column + width - 1))
        for offset in range(width):
            row.append(text if offset == 0 else "")
            if self.rowspan > 1:
                self.rowspan_cells[column + offset] = (
                    text if offset == 0 and not _is_number(text) else "",
                    self.rowspan - 1,
                )
        self.add_rowspan_cells()


class _TableParser(HTMLParser):
    """Collects the cells of all tables of a page. A table inside another is collected as a table of its own."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: list[_OpenTable] = []
        self._open_tables: list[_OpenTable] = []
        self._ignored_depth = 0
        self._in_caption = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a table, a row or a cell."""
        self._ignored_depth += tag in _IGNORED_TAGS
        if tag == "table":
            self._open_tables.append(_OpenTable())
            self.tables.append(self._open_tables[-1])
        if not self._open_tables:
            return
        table, attributes = self._open_tables[-1], dict(attrs)
        if tag == "tr":
            table.begin_row()
            if "display:none" in (attributes.get("style") or "").replace(" ", "").lower() or "hidden" in attributes:
                table.hidden_rows.add(len(table.rows))
        elif tag in ("td", "th"):
            if not table.rows:
                table.begin_row()
            table.end_cell()
            table.cell_texts = []
            table.colspan, table.rowspan = (
                _parse_span(attributes.get("colspan")),
                _parse_span(attributes.get("rowspan")),
            )
        elif tag == "caption":
            self._in_caption = True
        elif tag in _BREAK_TAGS and table.cell_texts is not None:
            table.cell_texts.append(" ")

    def handle_endtag(self, tag: str) -> None:
        """End a table, a row or a cell."""
        self._ignored_depth -= tag in _IGNORED_TAGS and self._ignored_depth > 0
        if tag == "caption":
            self._in_caption = False
        elif self._open_tables and tag in ("td", "th", "tr"):
            self._open_tables[-1].end_cell()
        elif self._open_tables and tag == "table":
            self._open_tables.pop().end_cell()

    def handle_data(self, data: str) -> None:
        """Add text to the open cell or caption."""
        if not self._open_tables or self._ignored_depth:
            return
        if self._in_caption:
            self._open_tables[-1].title += data
        elif self._open_tables[-1].cell_texts is not None:
            self._open_tables[-1].cell_texts.append(data)


def _make_sheet(table: _OpenTable, number: int) -> Sheet:
    filled_rows = [(line, row) for line, row in enumerate(table.rows, start=1) if any(row)]
    sheet = make_sheet([row for _, row in filled_rows], [line for line, _ in filled_rows], table.spans)
    sheet.title = " ".join(table.title.split())[:60] or f"table {number}"
    mark_hidden_rows(sheet, table.hidden_rows)
    return sheet


def _parse_span(value: str | None) -> int:
    return min(int(value), _MAX_SPAN) if value and value.isdecimal() and int(value) > 0 else 1


def _is_number(text: str) -> bool:
    return text.strip("-+()%$€£ ")[:1].isdigit()
