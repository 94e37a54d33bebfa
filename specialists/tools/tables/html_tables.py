"""Reads the tables of an HTML page, which many programs save as .xls, and of a web archive (MHTML)."""

from __future__ import annotations

from dataclasses import dataclass, field
from email import message_from_bytes
from html.parser import HTMLParser

from specialists.tools.tables.decoding import note_decoding, text_of
from specialists.tools.tables.sheet import MOST_COLUMNS, Row, Sheet, Spans, sheet_of
from specialists.tools.tables.sheet_rows import note_hidden_rows
from specialists.tools.tables.table_refused import TableRefused

_MOST_TABLES = 20
_MOST_ROWS_SPANNED = 1_000
_UNREAD = frozenset({"script", "style", "template", "noscript", "svg"})
_BREAKS = frozenset({"br", "p", "div", "li"})


def html_sheets(data: bytes) -> list[Sheet]:
    """Read the tables of a page that have more than one row and column.

    Raises:
        TableRefused: the page has no such table.
    """
    read = text_of(data)
    parser = _Tables()
    parser.feed(read.text)
    parser.close()
    found = [each for each in parser.found if len(each.rows) > 1 and max(map(len, each.rows)) > 1]
    if not found:
        raise TableRefused("is an HTML page without a table; attach the table as CSV, XLSX, Parquet or JSON")
    sheets = [_make_sheet(each, number) for number, each in enumerate(found[:_MOST_TABLES], start=1)]
    if len(found) > _MOST_TABLES:
        sheets[0].faults.append(f"{len(found)} tables on the page: only the first {_MOST_TABLES} were read")
    for sheet in sheets:
        sheet.facts.insert(0, f"a table of an HTML page, {read.encoding}")
        note_decoding(read, sheet)
    return sheets


def mhtml_sheets(data: bytes) -> list[Sheet]:
    """Read the tables of a web archive, as Excel saves it. Raises `TableRefused` if no part has a table."""
    sheets: list[Sheet] = []
    try:
        parts = [part for part in message_from_bytes(data).walk() if part.get_content_type() == "text/html"]
    except RecursionError:
        parts = []
    for part in parts:
        payload = part.get_payload(decode=True)
        try:
            sheets += html_sheets(payload) if isinstance(payload, bytes) else []
        except TableRefused:
            continue  # such as a frame: another part may hold the table
    if not sheets:
        raise TableRefused("is a web archive without a table; attach the table as CSV, XLSX, Parquet or JSON")
    return sheets


@dataclass(slots=True)
class _Table:
    """A table while its tags are read.

    Attributes:
        rows: Its rows so far.
        spans: The cells that span several columns.
        title: Its caption.
        hidden: The rows that are hidden, counted from 1.
        below: The cells that reach down into further rows, by column: their text, and how many rows are left.
        cell: The pieces of text of the open cell; None if no cell is open.
        width: How many columns the open cell spans.
        height: How many rows the open cell spans.
    """

    rows: list[Row] = field(default_factory=list)
    spans: Spans = field(default_factory=dict)
    title: str = ""
    hidden: set[int] = field(default_factory=set)
    below: dict[int, tuple[str, int]] = field(default_factory=dict)
    cell: list[str] | None = None
    width: int = 1
    height: int = 1

    def begin_row(self) -> None:
        self.end_cell()
        self.rows.append([])
        self.fill()

    def fill(self) -> None:
        """Add the cells that reach down into this row from above, at their columns."""
        row = self.rows[-1]
        while (reaching := self.below.get(len(row))) is not None:
            text, left = reaching
            if left > 1:
                self.below[len(row)] = (text, left - 1)
            else:
                del self.below[len(row)]
            row.append(text)

    def end_cell(self) -> None:
        if self.cell is None:
            return
        text, self.cell = " ".join("".join(self.cell).split()), None
        row = self.rows[-1]
        at, width = len(row), min(self.width, MOST_COLUMNS - len(row))
        if width > 1 and text:
            self.spans.setdefault(len(self.rows), []).append((at, at + width - 1))
        for place in range(width):
            row.append(text if place == 0 else "")
            if self.height > 1:
                self.below[at + place] = (text if place == 0 and not _is_number(text) else "", self.height - 1)
        self.fill()


class _Tables(HTMLParser):
    """Collects the cells of all tables of a page. A table inside another is collected as a table of its own."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[_Table] = []
        self._open: list[_Table] = []
        self._unread = 0
        self._caption = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a table, a row or a cell."""
        self._unread += tag in _UNREAD
        if tag == "table":
            self._open.append(_Table())
            self.found.append(self._open[-1])
        if not self._open:
            return
        table, said = self._open[-1], dict(attrs)
        if tag == "tr":
            table.begin_row()
            if "display:none" in (said.get("style") or "").replace(" ", "").lower() or "hidden" in said:
                table.hidden.add(len(table.rows))
        elif tag in ("td", "th"):
            if not table.rows:
                table.begin_row()
            table.end_cell()
            table.cell = []
            table.width, table.height = _parse_span(said.get("colspan")), _parse_span(said.get("rowspan"))
        elif tag == "caption":
            self._caption = True
        elif tag in _BREAKS and table.cell is not None:
            table.cell.append(" ")

    def handle_endtag(self, tag: str) -> None:
        """End a table, a row or a cell."""
        self._unread -= tag in _UNREAD and self._unread > 0
        if tag == "caption":
            self._caption = False
        elif self._open and tag in ("td", "th", "tr"):
            self._open[-1].end_cell()
        elif self._open and tag == "table":
            self._open.pop().end_cell()

    def handle_data(self, data: str) -> None:
        """Add text to the open cell or caption."""
        if not self._open or self._unread:
            return
        if self._caption:
            self._open[-1].title += data
        elif self._open[-1].cell is not None:
            self._open[-1].cell.append(data)


def _make_sheet(table: _Table, number: int) -> Sheet:
    there = [(line, row) for line, row in enumerate(table.rows, start=1) if any(row)]
    sheet = sheet_of([row for _, row in there], [line for line, _ in there], table.spans)
    sheet.title = " ".join(table.title.split())[:60] or f"table {number}"
    note_hidden_rows(sheet, table.hidden)
    return sheet


def _parse_span(said: str | None) -> int:
    return min(int(said), _MOST_ROWS_SPANNED) if said and said.isdecimal() and int(said) > 0 else 1


def _is_number(text: str) -> bool:
    return text.strip("-+()%$€£ ")[:1].isdigit()
