"""Reads OpenDocument texts and presentations, as LibreOffice writes them."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from specialists.formats.contents import Contents, Unreadable
from specialists.reading.plain_text import step_for
from specialists.reading.xml_package import XmlPackage, local_name, value_of

_BLOCKS = frozenset({"p", "h"})
_LEFT_OUT = frozenset({"tracked-changes", "annotation-end", "forms", "sequence-decls", "settings", "bookmark"})
_MOST_REPEATED = 50
_DEEPEST = 60


def read_odt(data: bytes, name: str, contents: Contents) -> None:
    """Read an .odt: headings, paragraphs, lists, tables, notes."""
    del name
    starts = _read_body(data, "text document", contents)
    if not contents.outline:
        step = step_for(len(starts))
        contents.outline = [(f"paragraph {index + 1}", starts[index]) for index in range(0, len(starts), step)]


def read_odp(data: bytes, name: str, contents: Contents) -> None:
    """Read an .odp, slide by slide."""
    del name
    _read_body(data, "presentation", contents)


def _read_body(data: bytes, kind: str, contents: Contents) -> list[int]:
    package = XmlPackage(data, f"OpenDocument {kind}")
    manifest, _ = package.optional("META-INF/manifest.xml")
    if manifest is not None and any(local_name(part) == "encryption-data" for part in manifest.iter()):
        raise Unreadable("is protected by a password; save it without one and attach it again")
    tree = package.tree("content.xml")
    body = None if tree is None else next((part for part in tree if local_name(part) == "body"), None)
    if body is None:
        raise Unreadable(f"is a damaged OpenDocument {kind}; open it, save it again and attach that")
    reader = _DocumentReader(contents)
    reader.blocks(body, 0)
    if not "".join(contents.pieces).strip():
        raise Unreadable(f"is a {kind} without text; if it holds scanned pages, attach them as PDF or pictures")
    if reader.pictures:
        contents.add_gap(f"{reader.pictures:,} picture{'s' * (reader.pictures > 1)} in it not looked at")
    return reader.starts


class _DocumentReader:
    def __init__(self, contents: Contents) -> None:
        self.contents = contents
        self.starts: list[int] = []
        self.slides = self.pictures = 0

    def blocks(self, parent: ET.Element, depth: int, mark: str = "") -> None:
        if depth > _DEEPEST or self.contents.is_full:
            self.contents.add_gap("it is too long or nested too deep to be read whole: a part is missing")
            return
        for block in parent:
            kind = local_name(block)
            if kind in _BLOCKS:
                self._add_paragraph(block, mark)
                mark = " " * len(mark)
            elif kind == "page":
                self._add_slide(block, depth)
            elif kind == "table-row":
                self._add_row(block)
            elif kind == "list-item":
                self.blocks(block, depth + 1, "  " * (mark.count(" ") // 2) + "- ")
            elif kind == "notes":
                if text := _text_in(block):
                    self.contents.add_text(f"[notes] {text}\n")
            elif kind not in _LEFT_OUT:
                self.pictures += kind == "image"
                self.blocks(block, depth + 1, mark)

    def _add_slide(self, page: ET.Element, depth: int) -> None:
        self.slides += 1
        title = next((_text_in(part) for part in page if value_of(part, "class") == "title"), "")
        self.contents.begin_section(f"slide {self.slides}{': ' + title if title else ''}")
        self.contents.add_text(f"\n[slide {self.slides}]\n")
        self.blocks(page, depth + 1)

    def _add_paragraph(self, block: ET.Element, mark: str) -> None:
        notes: list[str] = []
        text = self._collect_text(block, notes, 0).strip()
        if text:
            level = value_of(block, "outline-level") if local_name(block) == "h" else ""
            hashes = "#" * min(int(level) if level.isdigit() else 1, 6) + " " if local_name(block) == "h" else mark
            if local_name(block) == "h":
                self.contents.begin_section(text)
            self.starts.append(self.contents.length)
            self.contents.add_text(f"{hashes}{text}\n")
        for note in notes:
            self.contents.add_text(f"[note] {note}\n")
        for frame in block:
            if local_name(frame) in ("frame", "custom-shape", "g"):
                self.blocks(frame, 1)

    def _collect_text(self, element: ET.Element, notes: list[str], depth: int) -> str:
        pieces = [element.text or ""]
        for part in element if depth < _DEEPEST else ():
            kind = local_name(part)
            if kind in ("note", "annotation"):
                notes.append(" ".join("".join(part.itertext()).split()))
            elif kind == "s":
                count = value_of(part, "c")
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
        words, address = self._collect_text(part, notes, depth + 1), value_of(part, "href")
        told = address.startswith(("http://", "https://", "mailto:")) and address not in words
        return f"{words} ({address.removeprefix('mailto:')})" if told else words

    def _add_row(self, row: ET.Element) -> None:
        cells = []
        for cell in row:
            if local_name(cell) in ("table-cell", "covered-table-cell"):
                text = " ".join(" ".join("".join(part.itertext()) for part in cell).split())
                repeated = value_of(cell, "number-columns-repeated")
                cells += [text] * min(int(repeated) if repeated.isdigit() else 1, _MOST_REPEATED)
        if any(cells):
            self.starts.append(self.contents.length)
            self.contents.add_text(" | ".join(cells).rstrip(" |") + "\n")


def _text_in(element: ET.Element) -> str:
    """Return the paragraphs in an element on one line, without page numbers."""
    texts = [
        "".join(part.itertext())
        for part in element.iter()
        if local_name(part) in _BLOCKS and not any(local_name(one) == "page-number" for one in part.iter())
    ]
    return " ".join(" ".join(texts).split())
