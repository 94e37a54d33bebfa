"""Reads a Word document: paragraphs with the numbers people see, tables, notes, comments, headers and footers.

Tracked insertions are part of the text, tracked deletions are not. Hidden text is left out, and a gap says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from xml.etree import ElementTree as ET

from specialists.formats.contents import FileContents, UnreadableFile
from specialists.reading.picture_file import shrink_picture
from specialists.reading.plain_text import choose_outline_step
from specialists.reading.word_numbers import ParagraphNumbering
from specialists.reading.xml_package import XmlPackage, read_attribute, read_local_name

_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
_HEADER_WORDS = {"header": "header", "footer": "footer"}
_NOTE_WORDS = {"footnotes": "note", "endnotes": "end note", "comments": "comment"}
_WRAPPER_ELEMENTS = frozenset({"sdt", "sdtContent", "customXml", "ins", "moveTo", "smartTag"})
_MAX_LEVELS = 40


def read_docx(data: bytes, name: str, contents: FileContents) -> None:
    """Read a .docx.

    Raises:
        UnreadableFile: it is damaged, or nothing is written in it.
    """
    _WordReader(XmlPackage(data, "Word document"), contents).read_document(name)


class _WordReader:
    def __init__(self, package: XmlPackage, contents: FileContents) -> None:
        main = "word/document.xml"
        document = package.parse_member(main)
        body = None if document is None else next((part for part in document if read_local_name(part) == "body"), None)
        if body is None:
            raise UnreadableFile("is a damaged Word document; open it, save it again and attach that")
        self._body = body
        self._package = package
        self._contents = contents
        self._targets = package.list_relationships(main)
        self._paragraph_reader = ParagraphReader(
            {key: target for key, (kind, target) in self._targets.items() if kind == "hyperlink"}
        )
        styles, are_styles_broken = package.parse_optional_member("word/styles.xml")
        numbering, is_numbering_broken = package.parse_optional_member("word/numbering.xml")
        if are_styles_broken or is_numbering_broken:
            contents.add_gap("its styles are damaged: headings and numbers may be missing")
        self._levels, self._list_by_style = _read_styles(styles)
        self._numbers = ParagraphNumbering(numbering)
        self._paragraph_starts: list[int] = []

    def read_document(self, name: str) -> None:
        self._add_blocks(self._body, 0)
        if not self._paragraph_starts and not self._add_pictures(name):
            raise UnreadableFile(
                "is a Word document without text; scanned pages can be read as PDF or pictures, so attach them as those"
            )
        if not self._contents.outline and self._paragraph_starts:
            step = choose_outline_step(len(self._paragraph_starts))
            self._contents.outline = [
                (f"paragraph {index + 1}", self._paragraph_starts[index])
                for index in range(0, len(self._paragraph_starts), step)
            ]
        for kind, target in self._targets.values():
            if kind in _NOTE_WORDS:
                self._add_notes(target, _NOTE_WORDS[kind])
        self._add_headers_and_footers()
        for gap in self._paragraph_reader.list_gaps():
            self._contents.add_gap(gap)

    def _add_pictures(self, name: str) -> bool:
        """Add the pictures of a document without text, such as a scan. Returns False if none could be added."""
        picture_count = 0
        for kind, target in self._targets.values():
            picture = (
                shrink_picture(self._package.read_member(target))
                if kind == "image" and self._package.has_member(target)
                else None
            )
            if picture and self._contents.add_picture(f"{name} picture {picture_count + 1}", *picture):
                picture_count += 1
                self._contents.begin_section(f"picture {picture_count}")
                self._contents.add_text(f"[picture {picture_count}]\n")
        return bool(picture_count)

    def _add_blocks(self, parent: ET.Element, depth: int) -> None:
        for block in parent:
            if self._contents.is_full or depth > _MAX_LEVELS:
                self._contents.add_gap("it is too long or nested too deep to be read whole: its end is missing")
                return
            kind = read_local_name(block)
            if kind == "p":
                self._add_paragraph(block)
            elif kind == "tbl":
                self._add_table(block)
            elif kind in _WRAPPER_ELEMENTS:
                self._add_blocks(block, depth + 1)

    def _add_paragraph(self, paragraph: ET.Element) -> None:
        text, boxes = self._paragraph_reader.read_paragraph(paragraph)
        level, number = self._read_heading_and_number(paragraph)
        line = f"{number} {text}".strip() if text.strip() else ""
        if line and level:
            self._contents.begin_section(line)
            line = f"{'#' * level} {line}"
        if line:
            self._paragraph_starts.append(self._contents.length)
            self._contents.add_text(f"{line}\n")
        for box in boxes:
            self._add_blocks(box, 1)

    def _read_heading_and_number(self, paragraph: ET.Element) -> tuple[int, str]:
        """Return (heading level or 0, the number or bullet that Word shows before the paragraph)."""
        properties = _find_child(paragraph, "pPr")
        style = read_attribute(_find_child(properties, "pStyle"), "val")
        level = self._levels.get(style, 0)
        if outline := read_attribute(_find_child(properties, "outlineLvl"), "val"):
            level = int(outline) + 1 if outline in "012345" else level
        numbering = _find_child(properties, "numPr")
        instance = read_attribute(_find_child(numbering, "numId"), "val")
        depth = read_attribute(_find_child(numbering, "ilvl"), "val")
        if not instance and style in self._list_by_style:
            instance, style_depth = self._list_by_style[style]
            depth = depth or style_depth
        return level, self._numbers.make_next_number(instance, int(depth) if depth.isdigit() else 0) if instance else ""

    def _add_table(self, table: ET.Element) -> None:
        for row in _list_table_parts(table, "tr"):
            cells = []
            for cell in _list_table_parts(row, "tc"):
                texts = [
                    self._paragraph_reader.read_paragraph(paragraph)[0]
                    for paragraph in cell.iter()
                    if read_local_name(paragraph) == "p"
                ]
                cells.append(" ".join(" ".join(texts).split()))
            if any(cells):
                self._paragraph_starts.append(self._contents.length)
                self._contents.add_text(" | ".join(cells) + "\n")
        self._contents.add_text("\n")

    def _add_notes(self, target: str, word: str) -> None:
        tree, is_broken = self._package.parse_optional_member(target)
        if is_broken:
            self._contents.add_gap(f"its {word}s are damaged and not read")
        for note in tree if tree is not None else ():
            texts = [
                self._paragraph_reader.read_paragraph(paragraph)[0]
                for paragraph in note.iter()
                if read_local_name(paragraph) == "p"
            ]
            text = " ".join(" ".join(texts).split())
            author = read_attribute(note, "author")
            if text:
                number = self._paragraph_reader.assign_number(word, read_attribute(note, "id"))
                label = f"{word} {number}{f' by {author}' if author else ''}"
                self._contents.begin_section(label)
                self._contents.add_text(f"[{label}] {text}\n")

    def _add_headers_and_footers(self) -> None:
        added_texts = set()
        for kind, target in self._targets.values():
            tree, _ = self._package.parse_optional_member(target) if kind in _HEADER_WORDS else (None, False)
            if tree is None:
                continue
            texts = [
                self._paragraph_reader.read_paragraph(paragraph)[0]
                for paragraph in tree.iter()
                if read_local_name(paragraph) == "p"
            ]
            text = " ".join(" ".join(texts).split())
            if text and text not in added_texts:
                added_texts.add(text)
                self._contents.add_text(f"[{_HEADER_WORDS[kind]}] {text}\n")


def _read_styles(styles: ET.Element | None) -> tuple[dict[str, int], dict[str, tuple[str, str]]]:
    """Return (levels of heading styles, (list instance, depth) of numbered styles), both by style id."""
    levels, list_by_style = {}, {}
    for style in styles if styles is not None else ():
        key, name = read_attribute(style, "styleId"), read_attribute(_find_child(style, "name"), "val")
        properties = _find_child(style, "pPr")
        if match := _HEADING.match(name):
            levels[key] = int(match[1])
        elif name.lower() == "title":
            levels[key] = 1
        elif (outline := read_attribute(_find_child(properties, "outlineLvl"), "val")) and outline in "012345":
            levels[key] = int(outline) + 1
        if instance := read_attribute(_find_child(_find_child(properties, "numPr"), "numId"), "val"):
            list_by_style[key] = (
                instance,
                read_attribute(_find_child(_find_child(properties, "numPr"), "ilvl"), "val"),
            )
    return levels, list_by_style


def _find_child(element: ET.Element | None, name: str) -> ET.Element | None:
    return None if element is None else next((part for part in element if read_local_name(part) == name), None)


def _list_table_parts(element: ET.Element, name: str) -> list[ET.Element]:
    """Return the rows of a table or the cells of a row, also those in content controls and tracked insertions."""
    parts = []
    for part in element:
        if read_local_name(part) == name:
            parts.append(part)
        elif read_local_name(part) in _WRAPPER_ELEMENTS:
            parts += _list_table_parts(part, name)
    return parts


_DELETED_ELEMENTS = frozenset({"del", "moveFrom"})
_IGNORED_ELEMENTS = frozenset({"instrText", "delText", "Fallback", "pPr", "rPr", "sdtPr", "tblPr", "trPr", "tcPr"})
_ELEMENT_CHARACTERS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_REFERENCE_WORDS = {"footnoteReference": "note", "endnoteReference": "end note", "commentReference": "comment"}
_PICTURE_ELEMENTS = frozenset({"pic", "imagedata"})
_FALSE_VALUES = ("0", "false", "off")


class ParagraphReader:
    """Reads the text of paragraphs, and counts what is left out of it."""

    def __init__(self, links: Mapping[str, str]) -> None:
        """`links` maps the ids of links to their addresses."""
        self._links = links
        self._deletion_count = self._hidden_count = self._pictures = 0
        self._numbers: dict[tuple[str, str], int] = {}

    def read_paragraph(self, paragraph: ET.Element) -> tuple[str, list[ET.Element]]:
        """Return (text of a paragraph, text boxes in it). The text boxes hold paragraphs of their own."""
        pieces: list[str] = []
        boxes: list[ET.Element] = []
        self._collect_text(paragraph, pieces, boxes)
        return "".join(pieces).strip(), boxes

    def list_gaps(self) -> list[str]:
        """Return a gap for each kind of content that was left out of the text, with its count."""
        gaps = []
        if self._deletion_count:
            gaps.append(f"tracked deletions are left out, in {self._deletion_count:,} places, as if they were accepted")
        if self._hidden_count:
            gaps.append(f"hidden text is left out, in {self._hidden_count:,} places")
        if self._pictures:
            gaps.append(f"{self._pictures:,} picture{'s' * (self._pictures > 1)} in it not looked at")
        return gaps

    def _collect_text(self, element: ET.Element, pieces: list[str], boxes: list[ET.Element]) -> None:
        for part in element:
            kind = read_local_name(part)
            if kind in _DELETED_ELEMENTS:
                self._deletion_count += 1
            elif kind == "txbxContent":
                boxes.append(part)
            elif kind == "r" and _is_hidden(part):
                self._hidden_count += 1
            elif kind not in _IGNORED_ELEMENTS:
                pieces.append(self._read_own_text(part, kind))
                self._pictures += kind in _PICTURE_ELEMENTS
                self._collect_text(part, pieces, boxes)
                if kind == "hyperlink" and (address := self._links.get(read_attribute(part, "id"))):
                    pieces.append("" if address in "".join(pieces) else f" ({address.removeprefix('mailto:')})")

    def _read_own_text(self, part: ET.Element, kind: str) -> str:
        """Return the text of an element without its children; "" for most elements, which have only children."""
        if kind == "t":
            return part.text or ""
        if word := _REFERENCE_WORDS.get(kind):
            return f"[{word} {self.assign_number(word, read_attribute(part, 'id'))}]"
        return _ELEMENT_CHARACTERS.get(kind, "")

    def assign_number(self, word: str, key: str) -> int:
        """Return the number that people see for a note or comment, counted from 1. `key` is the file's id of it."""
        return self._numbers.setdefault((word, key), 1 + sum(kind == word for kind, _ in self._numbers))


def _is_hidden(run: ET.Element) -> bool:
    for part in run:
        if read_local_name(part) == "rPr":
            return any(
                read_local_name(one) == "vanish" and read_attribute(one, "val") not in _FALSE_VALUES for one in part
            )
    return False
