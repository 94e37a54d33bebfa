"""Extracts the text of an HTML page as a person reads it: headings, lists, table rows, link addresses."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from specialists.formats.contents import FileContents, UnreadableFile
from specialists.reading.plain_text import decode_file

_IGNORED_ELEMENTS = frozenset({"script", "style", "template", "noscript", "svg", "math", "object", "iframe"})
_HEADING_LEVELS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
_BLOCK_ELEMENTS = frozenset(
    (
        *("p", "div", "section", "article", "header", "footer", "main", "nav", "aside", "ul", "ol", "dl", "dt", "dd"),
        *("table", "tr", "pre", "blockquote", "form", "fieldset", "figure", "figcaption", "address", "hr", "body"),
        *("caption", "thead", "tbody", "details", "summary", "option"),
    )
)
_STRUCK_ELEMENTS = frozenset({"del", "s", "strike"})
_ITEM_MARK = re.compile(r"\s*(?:-|\d+\.)\s*")
_WHITESPACE = re.compile(r"[ \t\n\r\f\v]+")
_LINK = re.compile(r"(?:https?://|mailto:)\S+", re.IGNORECASE)
_LONGEST_LINK = 500
_FIRST_NUMBERS = {"ul": 0, "ol": 1}
"""The number of a list's first item; 0 for lists without numbers."""


def read_html(data: bytes, name: str, contents: FileContents) -> None:
    """Read a page.

    Raises:
        UnreadableFile: it has no text.
    """
    del name
    add_page_text(decode_file(data, contents), contents)
    if not "".join(contents.pieces).strip():
        raise UnreadableFile("is a page without text, perhaps one that a script fills; save it as PDF and attach that")


def add_page_text(html: str, contents: FileContents) -> None:
    """Add a page's text to the contents, and its headings to the outline."""
    parser = _PageParser(contents)
    parser.feed(html)
    parser.close()
    parser.end_line()
    contents.add_text("\n")


class _PageParser(HTMLParser):
    """Writes a page line by line: inline elements are collected in a line, block elements end it."""

    def __init__(self, contents: FileContents) -> None:
        super().__init__(convert_charrefs=True)
        self._contents = contents
        self._line: list[str] = []
        self._heading = 0
        self._open_ignored: list[str] = []
        self._pre_depth = 0
        self._is_in_title = False
        self._links: list[tuple[str, int]] = []
        self._cell_count = 0
        self._next_item_numbers: list[int] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Handle the start of an element."""
        if tag in _IGNORED_ELEMENTS:
            self._open_ignored.append(tag)
        elif tag in _HEADING_LEVELS or tag in ("title", "li"):
            self.end_line()
            self._heading = _HEADING_LEVELS.get(tag, self._heading)
            self._is_in_title = tag == "title"
            self._line += [self._make_item_mark()] if tag == "li" else []
        elif tag in ("td", "th"):
            self._line += [" | "] if self._cell_count else []
            self._cell_count += 1
        elif tag in _BLOCK_ELEMENTS:
            self._begin_block(tag)
        elif tag == "br":
            self.end_line()
        else:
            self._open_inline(tag, dict(attrs))

    def _make_item_mark(self) -> str:
        """Return the mark before a list item: its number in a numbered list, otherwise a dash."""
        if not self._next_item_numbers or not self._next_item_numbers[-1]:
            return "- "
        self._next_item_numbers[-1] += 1
        return f"{self._next_item_numbers[-1] - 1}. "

    def _begin_block(self, tag: str) -> None:
        if tag in _FIRST_NUMBERS:
            self._next_item_numbers.append(_FIRST_NUMBERS[tag])
        if tag == "tr":
            self.end_line()
            self._cell_count = 0
        elif _ITEM_MARK.fullmatch("".join(self._line)):
            pass  # the text of an item goes on after its mark
        elif not self._cell_count or tag == "table":
            self.end_line()
        else:
            self._line.append(" ")
        self._pre_depth += tag == "pre"

    def _open_inline(self, tag: str, attributes: dict[str, str | None]) -> None:
        if tag == "a" and (match := _LINK.match(attributes.get("href") or "")):
            self._links.append((match[0][:_LONGEST_LINK], len(self._line)))
        elif tag in _STRUCK_ELEMENTS:
            self._line.append("~~")
        elif tag == "img" and (words := (attributes.get("alt") or "").strip()):
            self._line.append(f"[picture: {words}]")
        elif tag == "input" and attributes.get("type") not in ("hidden", "submit", "password"):
            self._line.append(f" [{attributes.get('name') or 'field'}: {attributes.get('value') or ''}] ")

    def handle_endtag(self, tag: str) -> None:
        """Handle the end of an element."""
        if tag in _IGNORED_ELEMENTS:
            if tag in self._open_ignored:
                del self._open_ignored[self._open_ignored.index(tag) :]
        elif tag in _HEADING_LEVELS or tag == "title":
            self.end_line()
            self._heading = 0
        elif tag == "a" and self._links:
            address, place = self._links.pop()
            if address not in "".join(self._line[place:]):
                self._line.append(f" ({address.removeprefix('mailto:')})")
        elif tag in _STRUCK_ELEMENTS:
            self._line.append("~~")
        elif tag in _BLOCK_ELEMENTS or tag == "li":
            self._end_block(tag)

    def _end_block(self, tag: str) -> None:
        if tag in _FIRST_NUMBERS and self._next_item_numbers:
            self._next_item_numbers.pop()
        self._pre_depth -= tag == "pre" and self._pre_depth > 0
        if tag in ("tr", "table") or not self._cell_count:
            self.end_line()
        self._cell_count = 0 if tag == "tr" else self._cell_count

    def handle_data(self, data: str) -> None:
        """Add text."""
        if self._open_ignored or self._contents.is_full:
            return
        if self._pre_depth:
            first, *lines = data.split("\n")
            self._line.append(first)
            for line in lines:
                self.end_line()
                self._line.append(line)
        else:
            self._line.append(_WHITESPACE.sub(" ", data))

    def end_line(self) -> None:
        """Write the line, if there is anything on it."""
        line = "".join(self._line)
        line = line.rstrip() if self._pre_depth else re.sub(" {2,}", " ", line).strip()
        self._line, self._links = [], []
        if not line.strip(" |-"):
            return
        if self._is_in_title:
            self._is_in_title = False
            self._contents.add_text(f"{line}\n")
        elif self._heading:
            self._contents.begin_section(line)
            self._contents.add_text(f"\n{'#' * self._heading} {line}\n")
        else:
            self._contents.add_text(f"{line}\n")
