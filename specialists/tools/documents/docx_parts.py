"""The parts of a Word document that python-docx has no call for: links, lists, shading, styles.

This module loads docx, so only the process of `document_child` imports it.
"""

from __future__ import annotations

from typing import Any

from docx.document import Document
from docx.enum.style import WD_STYLE_TYPE
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import OxmlElement, parse_xml
from docx.oxml.ns import nsdecls, qn
from docx.shared import Inches, Length, Pt, RGBColor
from docx.text.paragraph import Paragraph
from docx.text.run import Run

LINK_STYLE = "Hyperlink"
CODE_STYLE = "Code"
CODE_BLOCK_STYLE = "Code Block"
BLOCK_QUOTE_STYLE = "Block Quote"
LIST_STYLE = "List Paragraph"

DEEPEST_LIST_LEVEL = 8
INDENT_INCHES = 0.3
"""Inches by which each level of a list or a quote is indented."""

_HANGING_INCHES = 0.24
_LINE_LETTERS, _WIDEST_COLUMN, _LONGEST_WORD, _CELL_MARGINS = 84, 44, 30, 3
"""In letters of the usual size: a line, the widest column, the longest word that sets a width, and a cell's margins."""

_MONOSPACE = "Consolas"
_INK, _BLUE, _GREY = RGBColor(0x1F, 0x2A, 0x37), RGBColor(0x05, 0x63, 0xC1), RGBColor(0x57, 0x60, 0x6A)
_HEADING_POINTS = {1: 17, 2: 14, 3: 12, 4: 11, 5: 11, 6: 11}
_BULLETS = "•◦▪"
_NUMBER_FORMATS = ("decimal", "lowerLetter", "lowerRoman")


def get_xml(part: Any) -> Any:
    """Return the XML element of a python-docx object, which has no public name for it."""
    return part._element  # noqa: SLF001  # there is no other way to it


def set_up_styles(document: Document) -> None:
    """Set a document's margins and styles: one typeface, dark headings, and the styles that the template lacks."""
    for section in document.sections:
        section.left_margin = section.right_margin = Inches(1)
        section.top_margin = section.bottom_margin = Inches(1)
    styles = document.styles
    normal: Any = styles["Normal"]
    normal.font.name, normal.font.size = "Calibri", Pt(11)
    normal.paragraph_format.space_after, normal.paragraph_format.line_spacing = Pt(7), 1.12
    for name, size in {"Title": 24, **{f"Heading {level}": size for level, size in _HEADING_POINTS.items()}}.items():
        _style_heading(styles[name], size)
    caption: Any = styles["Caption"]
    caption.font.size, caption.font.bold, caption.font.italic = Pt(9.5), False, True
    caption.font.color.rgb = _GREY
    _add_styles(styles)


def _style_heading(style: Any, size: float) -> None:
    style.font.size, style.font.bold, style.font.italic = Pt(size), True, False
    style.font.color.rgb = _INK
    # A theme font in the style would override the name that is set here.
    fonts = get_xml(style).get_or_add_rPr().get_or_add_rFonts()
    for key in list(fonts.attrib):
        del fonts.attrib[key]
    style.font.name = "Calibri"
    style.paragraph_format.space_before = Pt(0 if style.name == "Title" else size * 0.9)
    style.paragraph_format.space_after = Pt(12 if style.name == "Title" else 4)
    style.paragraph_format.keep_with_next = True


def _add_styles(styles: Any) -> None:
    link = styles.add_style(LINK_STYLE, WD_STYLE_TYPE.CHARACTER)
    link.font.color.rgb, link.font.underline = _BLUE, True
    code = styles.add_style(CODE_STYLE, WD_STYLE_TYPE.CHARACTER)
    code.font.name, code.font.size = _MONOSPACE, Pt(9.5)
    block = styles.add_style(CODE_BLOCK_STYLE, WD_STYLE_TYPE.PARAGRAPH)
    block.base_style = styles["Normal"]
    block.font.name, block.font.size = _MONOSPACE, Pt(9)
    block.paragraph_format.line_spacing = 1.0
    _add_shading(get_xml(block).get_or_add_pPr(), "F3F4F6")
    quote = styles.add_style(BLOCK_QUOTE_STYLE, WD_STYLE_TYPE.PARAGRAPH)
    quote.base_style = styles["Normal"]
    quote.font.color.rgb = _GREY
    _add_border(get_xml(quote).get_or_add_pPr(), "left", size=18, space=8, color="D1D5DB")


def shade_cell(cell: Any, fill: str) -> None:
    """Set the background colour of a table cell; `fill` is an RGB value in hex."""
    _add_shading(get_xml(cell).get_or_add_tcPr(), fill)


def draw_grid(table: Any) -> None:
    """Draw a table's grid in grey."""
    sides = ("top", "left", "bottom", "right", "insideH", "insideV")
    lines = "".join(f'<w:{side} w:val="single" w:sz="4" w:space="0" w:color="C4C9D1"/>' for side in sides)
    borders = parse_xml(f"<w:tblBorders {nsdecls('w')}>{lines}</w:tblBorders>")
    get_xml(table).tblPr.insert_element_before(borders, "w:shd", "w:tblLayout", "w:tblCellMar", "w:tblLook")


def set_column_widths(table: Any, texts: list[list[str]], width: Length) -> Length | None:
    """Set the width of each column of a table by its content, since equal widths would break words and numbers.

    `width` is that of the whole table.

    Returns:
        The font size, at least 7 pt, at which words of up to 30 letters fit if they can; None: the usual size will do.
    """
    minimum_widths, wanted_widths = [], []
    for column in zip(*texts, strict=True):
        longest = max(len(word) for text in column for word in text.split() or [""])
        minimum_widths.append(min(longest, _LONGEST_WORD) + _CELL_MARGINS)
        wanted_widths.append(max(minimum_widths[-1], min(max(map(len, column)) + _CELL_MARGINS, _WIDEST_COLUMN)))
    room = _LINE_LETTERS - sum(minimum_widths)
    extra = sum(wanted_widths) - sum(minimum_widths)
    share = max(0.0, min(1.0, room / extra)) if extra else 0.0
    widths = [word + share * (wish - word) for word, wish in zip(minimum_widths, wanted_widths, strict=True)]
    table.autofit = False
    for table_column, part in zip(table.columns, widths, strict=True):
        table_column.width = Length(int(width * part / sum(widths)))
        for cell in table_column.cells:
            cell.width = table_column.width
    return None if room >= 0 else Pt(max(7, 11 * _LINE_LETTERS // sum(minimum_widths)))


def repeat_header_row(row: Any) -> None:
    """Repeat a table's row at the top of each page."""
    get_xml(row).get_or_add_trPr().append(OxmlElement("w:tblHeader"))


def draw_rule(paragraph: Paragraph) -> None:
    """Draw a line below a paragraph, from margin to margin."""
    _add_border(get_xml(paragraph).get_or_add_pPr(), "bottom", size=6, space=1, color="D1D5DB")


def _add_shading(properties: Any, fill: str) -> None:
    shading = parse_xml(f'<w:shd {nsdecls("w")} w:val="clear" w:color="auto" w:fill="{fill}"/>')
    if properties.tag == qn("w:tcPr"):
        properties.append(shading)
    else:
        properties.insert_element_before(shading, *_AFTER_SHADING)


def _add_border(properties: Any, side: str, *, size: int, space: int, color: str) -> None:
    line = f'<w:{side} w:val="single" w:sz="{size}" w:space="{space}" w:color="{color}"/>'
    border = parse_xml(f"<w:pBdr {nsdecls('w')}>{line}</w:pBdr>")
    properties.insert_element_before(border, "w:shd", *_AFTER_SHADING)


# Word refuses a document whose paragraph properties are out of this order.
_AFTER_SHADING = tuple(
    f"w:{name}"
    for name in [
        "tabs",
        "suppressAutoHyphens",
        "kinsoku",
        "wordWrap",
        "overflowPunct",
        "topLinePunct",
        "autoSpaceDE",
        "autoSpaceDN",
        "bidi",
        "adjustRightInd",
        "snapToGrid",
        "spacing",
        "ind",
        "contextualSpacing",
        "mirrorIndents",
        "suppressOverlap",
        "jc",
        "textDirection",
        "textAlignment",
        "textboxTightWrap",
        "outlineLvl",
        "divId",
        "cnfStyle",
        "rPr",
        "sectPr",
        "pPrChange",
    ]
)


def add_link(paragraph: Paragraph, address: str) -> Any:
    """Add an empty link to a paragraph and return it; `add_run` adds its text."""
    link = OxmlElement("w:hyperlink")
    link.set(qn("r:id"), paragraph.part.relate_to(address, RELATIONSHIP_TYPE.HYPERLINK, is_external=True))
    get_xml(paragraph).append(link)
    return link


def add_run(paragraph: Paragraph, link: Any, text: str) -> Run:
    """Add a run of text to a link in a paragraph or, if `link` is None, to the paragraph itself."""
    if link is None:
        return paragraph.add_run(text)
    inner = OxmlElement("w:r")
    link.append(inner)
    run = Run(inner, paragraph)
    run.text = text
    return run


class Numbering:
    """The numbering of a document's lists. Each list gets its own id, so that its count starts anew."""

    def __init__(self, document: Document) -> None:
        self._xml: Any = get_xml(document.part.numbering_part)
        used_ids = [int(node.get(qn("w:abstractNumId"))) for node in self._xml.findall(qn("w:abstractNum"))]
        self._bullet_definition, self._numbered_definition = (
            max(used_ids, default=-1) + 1,
            max(used_ids, default=-1) + 2,
        )
        for number, is_ordered in ((self._bullet_definition, False), (self._numbered_definition, True)):
            # Definitions have to stand before the lists that use them.
            self._xml.insert(0, parse_xml(_make_list_definition(number, is_ordered=is_ordered)))

    def begin_list(self, *, is_ordered: bool, start: int = 1) -> int:
        """Begin a list, and return its id for `make_list_item`; `start` is its first number."""
        number = self._xml.add_num(self._numbered_definition if is_ordered else self._bullet_definition)
        if is_ordered:
            for level in range(DEEPEST_LIST_LEVEL + 1):
                number.add_lvlOverride(level).add_startOverride(start)
        return int(number.numId)

    @staticmethod
    def make_list_item(paragraph: Paragraph, list_id: int, level: int, *, extra_levels: int = 0) -> None:
        """Make a paragraph an item of a list, at a `level` from 0, and indent it by `extra_levels` more levels."""
        if extra_levels:
            paragraph.paragraph_format.left_indent = Inches(INDENT_INCHES * (level + 1 + extra_levels))
            paragraph.paragraph_format.first_line_indent = Inches(-_HANGING_INCHES)
        properties = get_xml(paragraph).get_or_add_pPr().get_or_add_numPr()
        properties.get_or_add_ilvl().val = min(level, DEEPEST_LIST_LEVEL)
        properties.get_or_add_numId().val = list_id


def _make_list_definition(number: int, *, is_ordered: bool) -> str:
    levels = []
    for level in range(DEEPEST_LIST_LEVEL + 1):
        kind = _NUMBER_FORMATS[level % 3] if is_ordered else "bullet"
        text = f"%{level + 1}." if is_ordered else _BULLETS[level % 3]
        left_indent, hanging = round(1440 * INDENT_INCHES * (level + 1)), round(1440 * _HANGING_INCHES)
        levels.append(
            f'<w:lvl w:ilvl="{level}"><w:start w:val="1"/><w:numFmt w:val="{kind}"/><w:lvlText w:val="{text}"/>'
            f'<w:lvlJc w:val="left"/><w:pPr><w:ind w:left="{left_indent}" w:hanging="{hanging}"/></w:pPr></w:lvl>'
        )
    kind = '<w:multiLevelType w:val="multilevel"/>'
    return f'<w:abstractNum {nsdecls("w")} w:abstractNumId="{number}">{kind}{"".join(levels)}</w:abstractNum>'


def set_alt_text(picture: Any, text: str) -> None:
    """Set the alternative text of a picture, for readers who cannot see it, and remove the space around the picture."""
    inline = picture._inline  # noqa: SLF001  # there is no other way to it
    inline.docPr.set("descr", text)
    for side in ("distT", "distB", "distL", "distR"):
        inline.set(side, "0")
