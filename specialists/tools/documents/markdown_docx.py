"""Renders Markdown as a Word document: headings, lists, tables, code, quotes, links and embedded pictures."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import docx
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.image.exceptions import InvalidImageStreamError, UnexpectedEndOfFileError, UnrecognizedImageError
from docx.shared import Inches, Length, Pt
from docx.text.paragraph import Paragraph
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from specialists.tools.documents import docx_parts as parts

TEXT_WIDTH, MAX_PICTURE_HEIGHT = Inches(6.5), Inches(8)
_LINK_SCHEME = re.compile(r"(https?|mailto):", re.IGNORECASE)
_BARE_URL = re.compile(r"https?://[^\s<>\"]+[^\s<>\".,;:!?'\]]", re.IGNORECASE)
_UNWANTED_CHARACTERS = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufffe\uffff\ud800-\udfff]"
)
"""Characters that Word cannot store, and invisible ones, including those that change the direction of a text."""
_ALIGNMENTS = {"right": WD_ALIGN_PARAGRAPH.RIGHT, "center": WD_ALIGN_PARAGRAPH.CENTER}


class UnusablePicture(Exception):
    """A file is not a picture that Word can show. The message is the file's name."""


@dataclass(frozen=True, slots=True)
class _BlockPlace:
    """Where blocks are written: the container, the list and its level (-1 outside lists), and the depth of quotes."""

    container: Any
    list_id: int = 0
    level: int = -1
    quote_depth: int = 0


@dataclass(frozen=True, slots=True)
class _TextFormat:
    """The formatting of a run of text. `link` is the XML element of the link that the run is part of, or None."""

    bold: bool = False
    italic: bool = False
    strike: bool = False
    code: bool = False
    link: Any = None


def parse_markdown(markdown: str) -> SyntaxTreeNode:
    """Parse a Markdown text, with tables and strikethrough, without invisible characters. HTML stays text."""
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 100}).enable(["table", "strikethrough"])
    return SyntaxTreeNode(parser.parse(_UNWANTED_CHARACTERS.sub("", markdown)))


def list_picture_names(tree: SyntaxTreeNode) -> list[str]:
    """List the file names of the pictures that a text embeds, each once, without those on the web."""
    names = [read_picture_name(node) for node in tree.walk() if node.type == "image"]
    return list(dict.fromkeys(name for name in names if name))


def read_picture_name(image: SyntaxTreeNode) -> str:
    """Return the file name in the address of an embedded picture, without folders; "" for a picture on the web."""
    source = str(image.attrs.get("src", ""))
    if "://" in source or source.startswith(("//", "data:")):
        return ""
    return unquote(source).rsplit("/", 1)[-1]


def render_docx(title: str, tree: SyntaxTreeNode, files: Mapping[str, Path]) -> bytes:
    """Render a parsed text, and return the bytes of the .docx.

    Args:
        title: Stands above the text, and in the document's properties.
        tree: The parsed text. A first heading that repeats the title is left out.
        files: The paths of the embedded pictures, by file name.

    Raises:
        UnusablePicture: One of the files is no picture that Word can show.
    """
    document = docx.Document()
    parts.set_up_styles(document)
    title = _UNWANTED_CHARACTERS.sub("", title)
    document.core_properties.title = title[:255]
    document.core_properties.author = "Leadhand"
    document.core_properties.comments = ""
    document.add_paragraph(title, style="Title")
    blocks = list(tree.children)
    if blocks and blocks[0].type == "heading" and _read_node_text(blocks[0]).strip() == title.strip():
        blocks = blocks[1:]
    _DocumentWriter(document, files).write_blocks(blocks, _BlockPlace(document))
    file = BytesIO()
    document.save(file)
    return file.getvalue()


class _DocumentWriter:
    def __init__(self, document: Any, files: Mapping[str, Path]) -> None:
        self._files = files
        self._numbering = parts.Numbering(document)

    def write_blocks(self, nodes: Sequence[SyntaxTreeNode], place: _BlockPlace) -> None:
        for node in nodes:
            match node.type:
                case "heading":
                    self._write_inline(node, place.container.add_paragraph(style=f"Heading {node.tag[1]}"))
                case "paragraph":
                    self._write_paragraph(node, place)
                case "bullet_list" | "ordered_list":
                    self._write_list(node, place)
                case "blockquote":
                    self.write_blocks(node.children, replace(place, quote_depth=place.quote_depth + 1))
                case "table":
                    self._write_table(node, place)
                case "fence" | "code_block":
                    self._write_code(node, place)
                case "hr":
                    parts.draw_rule(place.container.add_paragraph())
                case _:  # this parser yields no other block; if it ever does, its text is kept
                    place.container.add_paragraph(node.content)

    def _write_paragraph(self, node: SyntaxTreeNode, place: _BlockPlace) -> Paragraph:
        paragraph: Paragraph = place.container.add_paragraph()
        self._indent(paragraph, place)
        self._write_inline(node, paragraph)
        inline = node.children[0].children if node.children else []
        if len(inline) == 1 and inline[0].type == "image" and read_picture_name(inline[0]):
            paragraph.paragraph_format.keep_with_next = True
            if _read_node_text(inline[0]):
                place.container.add_paragraph(_read_node_text(inline[0]), style="Caption")
        return paragraph

    def _indent(self, paragraph: Paragraph, place: _BlockPlace) -> None:
        if place.quote_depth:
            paragraph.style = parts.BLOCK_QUOTE_STYLE
        depth = place.level + 1 + place.quote_depth
        if depth:
            paragraph.paragraph_format.left_indent = Inches(parts.INDENT_INCHES * depth)

    def _write_list(self, node: SyntaxTreeNode, place: _BlockPlace) -> None:
        is_ordered = node.type == "ordered_list"
        list_id = self._numbering.begin_list(is_ordered=is_ordered, start=int(node.attrs.get("start", 1)))
        inner = replace(place, list_id=list_id, level=place.level + 1)
        for item in node.children:
            remaining_blocks = list(item.children)
            if remaining_blocks and remaining_blocks[0].type == "paragraph":
                first: Paragraph = inner.container.add_paragraph(style=parts.LIST_STYLE)
                self._write_inline(remaining_blocks.pop(0), first)
            else:
                first = inner.container.add_paragraph(style=parts.LIST_STYLE)
            self._numbering.make_list_item(first, list_id, inner.level, extra_levels=place.quote_depth)
            self.write_blocks(remaining_blocks, inner)

    def _write_code(self, node: SyntaxTreeNode, place: _BlockPlace) -> None:
        paragraph: Paragraph = place.container.add_paragraph(style=parts.CODE_BLOCK_STYLE)
        if place.level + 1 + place.quote_depth:
            paragraph.paragraph_format.left_indent = Inches(parts.INDENT_INCHES * (place.level + 1 + place.quote_depth))
        paragraph.add_run(node.content.rstrip("\n"))

    def _write_table(self, node: SyntaxTreeNode, place: _BlockPlace) -> None:
        rows = [row for part in node.children for row in part.children]
        table = place.container.add_table(rows=len(rows), cols=len(rows[0].children))
        table.style = "Table Grid"
        parts.draw_grid(table)
        cell_texts = [[_read_node_text(cell) for cell in row.children] for row in rows]
        font_size = parts.set_column_widths(table, cell_texts, TEXT_WIDTH)
        for number, (row, cells) in enumerate(zip(table.rows, rows, strict=True)):
            if number == 0:
                parts.repeat_header_row(row)
            for cell, content in zip(row.cells, cells.children, strict=True):
                paragraph = cell.paragraphs[0]
                paragraph.paragraph_format.space_after = Pt(2)
                alignment = str(content.attrs.get("style", "")).partition("text-align:")[2]
                paragraph.alignment = _ALIGNMENTS.get(alignment)
                self._write_inline(content, paragraph, _TextFormat(bold=number == 0))
                linked_runs = [run for link in paragraph.hyperlinks for run in link.runs]
                for run in [*paragraph.runs, *linked_runs] if font_size else ():
                    run.font.size = font_size
                if number == 0:
                    parts.shade_cell(cell, "E5E7EB")
        place.container.add_paragraph().paragraph_format.space_after = Pt(4)

    def _write_inline(
        self, block: SyntaxTreeNode, paragraph: Paragraph, text_format: _TextFormat | None = None
    ) -> None:
        for inline in block.children:
            self._write_spans(inline.children, paragraph, text_format or _TextFormat())

    def _write_spans(self, nodes: Sequence[SyntaxTreeNode], paragraph: Paragraph, text_format: _TextFormat) -> None:
        for node in nodes:
            match node.type:
                case "strong":
                    self._write_spans(node.children, paragraph, replace(text_format, bold=True))
                case "em":
                    self._write_spans(node.children, paragraph, replace(text_format, italic=True))
                case "s":
                    self._write_spans(node.children, paragraph, replace(text_format, strike=True))
                case "link":
                    self._write_link(node, paragraph, text_format)
                case "image":
                    self._write_image(node, paragraph, text_format)
                case "code_inline":
                    _add_text_run(paragraph, node.content, replace(text_format, code=True))
                case "softbreak":
                    _add_text_run(paragraph, " ", text_format)
                case "hardbreak":
                    _add_text_run(paragraph, "\n", text_format)
                case _:
                    self._write_text_with_links(node.content, paragraph, text_format)

    def _write_text_with_links(self, text: str, paragraph: Paragraph, text_format: _TextFormat) -> None:
        """Write a text, and make links of the URLs in it that Markdown does not mark as links."""
        end = 0
        for match in _BARE_URL.finditer(text) if text_format.link is None else ():
            address = match[0]
            if address.endswith(")") and address.count(")") > address.count("("):
                address = address[:-1]  # the bracket belongs to the sentence
            _add_text_run(paragraph, text[end : match.start()], text_format)
            _add_text_run(paragraph, address, replace(text_format, link=parts.add_link(paragraph, address)))
            end = match.start() + len(address)
        _add_text_run(paragraph, text[end:], text_format)

    def _write_link(self, node: SyntaxTreeNode, paragraph: Paragraph, text_format: _TextFormat) -> None:
        """Write a link's label and, unless it is the address, the address too: Word does not show where a link goes."""
        address = str(node.attrs.get("href", ""))
        if not _LINK_SCHEME.match(address):
            self._write_spans(node.children, paragraph, text_format)
        elif _read_node_text(node).strip() in {address, address.removeprefix("mailto:")}:
            self._write_spans(node.children, paragraph, replace(text_format, link=parts.add_link(paragraph, address)))
        else:
            self._write_spans(node.children, paragraph, text_format)
            self._write_address(address, paragraph, text_format)

    def _write_address(self, address: str, paragraph: Paragraph, text_format: _TextFormat) -> None:
        _add_text_run(paragraph, " (", text_format)
        _add_text_run(paragraph, address, replace(text_format, link=parts.add_link(paragraph, address)))
        _add_text_run(paragraph, ")", text_format)

    def _write_image(self, node: SyntaxTreeNode, paragraph: Paragraph, text_format: _TextFormat) -> None:
        name, alt = read_picture_name(node), _read_node_text(node)
        if not name:  # a picture on the web is never fetched: its address could leak data
            address = str(node.attrs.get("src", ""))
            _add_text_run(paragraph, alt or ("" if _LINK_SCHEME.match(address) else address), text_format)
            if _LINK_SCHEME.match(address):
                self._write_address(address, paragraph, text_format)
            return
        try:
            picture = paragraph.add_run().add_picture(str(self._files[name]))
        except (UnrecognizedImageError, UnexpectedEndOfFileError, InvalidImageStreamError) as error:
            raise UnusablePicture(name) from error
        ratio = min(1.0, TEXT_WIDTH / max(1, picture.width), MAX_PICTURE_HEIGHT / max(1, picture.height))
        width, height = picture.width * ratio, picture.height * ratio
        picture.width, picture.height = Length(int(width)), Length(int(height))
        parts.set_alt_text(picture, alt or name)


def _add_text_run(paragraph: Paragraph, text: str, text_format: _TextFormat) -> None:
    if not text:
        return
    run = parts.add_run(paragraph, text_format.link, text)
    if text_format.code:
        run.style = parts.CODE_STYLE
    elif text_format.link is not None:
        run.style = parts.LINK_STYLE
    # None leaves a property to the style.
    run.bold, run.italic, run.font.strike = (
        text_format.bold or None,
        text_format.italic or None,
        text_format.strike or None,
    )


def _read_node_text(node: SyntaxTreeNode) -> str:
    """Return the text of a node without Markdown marks."""
    if node.children:
        return "".join(_read_node_text(child) for child in node.children)
    return " " if node.type in ("softbreak", "hardbreak") else node.content
