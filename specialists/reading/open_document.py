"""Reads OpenDocument texts and presentations, as LibreOffice writes them."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from specialists.formats.contents import FileContents, UnreadableFile
from specialists.reading.plain_text import choose_outline_step
from specialists.reading.xml_package import XmlPackage, read_attribute, read_local_name

_PARAGRAPH_ELEMENTS = frozenset({"p", "h"})
_IGNORED_ELEMENTS = frozenset({"tracked-changes", "annotation-end", "forms", "sequence-decls", "settings", "bookmark"})
_MAX_REPEATED_CELLS = 50
_MAX_LEVELS = 60


def read_odt(data: bytes, name: str, contents: FileContents) -> None:
    """Read an .odt: headings, paragraphs, lists, tables, notes."""
    del name
    starts = _read_body(data, "text document", contents)
    if not contents.outline:
        step = choose_outline_step(len(starts))
        contents.outline = [(f"paragraph {index + 1}", starts[index]) for index in range(0, len(starts), step)]


def read_odp(data: bytes, name: str, contents: FileContents) -> None:
    """Read an .odp, slide by slide."""
    del name
    _read_body(data, "presentation", contents)


def _read_body(data: bytes, kind: str, contents: FileContents) -> list[int]:
    package = XmlPackage(data, f"OpenDocument {kind}")
    manifest, _ = package.parse_optional_member("META-INF/manifest.xml")
    if manifest is not None and any(read_local_name(part) == "encryption-data" for part in manifest.iter()):
        raise UnreadableFile("is protected by a password; save it without one and attach it again")
    tree = package.parse_member("content.xml")
    body = None if tree is None else next((part for part in tree if read_local_name(part) == "body"), None)
    if body is None:
        raise UnreadableFile(f"is a damaged OpenDocument {kind}; open it, save it again and attach that")
    reader = _DocumentReader(contents)
    reader.add_blocks(body, 0)
    if not "".join(contents.pieces).strip():
        raise UnreadableFile(f"is a {kind} without text; if it holds scanned pages, attach them as PDF or pictures")
    if reader.picture_count:
        contents.add_gap(f"{reader.picture_count:,} picture{'s' * (reader.picture_count > 1)} in it not looked at")
    return reader.paragraph_starts


class _DocumentReader:
    def __init__(self, contents: FileContents) -> None:
        self.contents = contents
        self.paragraph_starts: list[int] = []
        self.slide_count = self.picture_count = 0

    def add_blocks(self, parent: ET.Element, depth: int, item_mark: str = "") -> None:
        if depth > _MAX_LEVELS or self.contents.is_full:
            self.contents.add_gap("it is too long or nested too deep to be read whole: a part is missing")
            return
        for block in parent:
            kind = read_local_name(block)
            if kind in _PARAGRAPH_ELEMENTS:
                self._add_paragraph(block, item_mark)
                item_mark = " " * len(item_mark)
            elif kind == "page":
                self._add_slide(block, depth)
            elif kind == "table-row":
                self._add_row(block)
            elif kind == "list-item":
                self.add_blocks(block, depth + 1, "  " * (item_mark.count(" ") // 2) + "- ")
            elif kind == "notes":
                if text := _join_paragraphs(block):
                    self.contents.add_text(f"[notes] {text}\n")
            elif kind not in _IGNORED_ELEMENTS:
                self.picture_count += kind == "image"
                self.add_blocks(block, depth + 1, item_mark)

    def _add_slide(self, page: ET.Element, depth: int) -> None:
        self.slide_count += 1
        title = next((_join_paragraphs(part) for part in page if read_attribute(part, "class") == "title"), "")
        self.contents.begin_section(f"slide {self.slide_count}{': ' + title if title else ''}")
        self.contents.add_text(f"\n[slide {self.slide_count}]\n")
        self.add_blocks(page, depth + 1)

    def _add_paragraph(self, block: ET.Element, mark: str) -> None:
        notes: list[str] = []
        text = self._collect_text(block, notes, 0).strip()
        if text:
            level = read_attribute(block, "outline-level") if read_local_name(block) == "h" else ""
            hashes = "#" * min(int(level) if level.isdigit() else 1, 6) + " " if read_local_name(block) == "h" else mark
            if read_local_name(block) == "h":
                self.contents.begin_section(text)
            self.paragraph_starts.append(self.contents.length)
            self.contents.add_text(f"{hashes}{text}\n")
        for note in notes:
            self.contents.add_text(f"[note] {note}\n")
        for frame in block:
            if read_local_name(frame) in ("frame", "custom-shape", "g"):
                self.add_blocks(frame, 1)

    def _collect_text(self, element: ET.Element, notes: list[str], depth: int) -> str:
        pieces = [element.text or ""]
        for part in element if depth < _MAX_LEVELS else ():
            kind = read_local_name(part)
            if kind in ("note", "annotation"):
                notes.append(" ".join("".join(part.itertext()).split()))
            elif kind == "s":
                count = read_attribute(part, "c")
                pieces.append(" " * min(int(count) if count.isdigit() else 1, 100))
            elif kind in ("tab", "line-break"):
                pieces.append("\t" if kind == "tab" else "\n")
            elif kind == "a":
                pieces.append(self._render_link(part, notes, depth))
            elif kind not in ("frame", "custom-shape", "g"):
                pieces.append(self._collect_text(part, notes, depth + 1))
            pieces.append(part.tail or "")
        return "".join(pieces)

    def _render_link(self, part: ET.Element, notes: list[str], depth: int) -> str:
        words, address = self._collect_text(part, notes, depth + 1), read_attribute(part, "href")
        shows_address = address.startswith(("http://", "https://", "mailto:")) and address not in words
        return f"{words} ({address.removeprefix('mailto:')})" if shows_address else words

    def _add_row(self, row: ET.Element) -> None:
        cells = []
        for cell in row:
            if read_local_name(cell) in ("table-cell", "covered-table-cell"):
                text = " ".join(" ".join("".join(part.itertext()) for part in cell).split())
                repeat_count = read_attribute(cell, "number-columns-repeated")
                cells += [text] * min(int(repeat_count) if repeat_count.isdigit() else 1, _MAX_REPEATED_CELLS)
        if any(cells):
            self.paragraph_starts.append(self.contents.length)
            self.contents.add_text(" | ".join(cells).rstrip(" |") + "\n")


def _join_paragraphs(element: ET.Element) -> str:
    """Return the paragraphs in an element on one line, without page numbers."""
    texts = [
        "".join(part.itertext())
        for part in element.iter()
        if read_local_name(part) in _PARAGRAPH_ELEMENTS
        and not any(read_local_name(one) == "page-number" for one in part.iter())
    ]
    return " ".join(" ".join(texts).split())
