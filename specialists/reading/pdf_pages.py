"""Reads a PDF page by page with PDFium: text, filled forms, attached files, and pictures of pages without text."""

from __future__ import annotations

import contextlib
import ctypes
import re
import time
from collections import defaultdict
from ctypes import byref, c_double
from dataclasses import dataclass
from itertools import islice
from typing import Any

from specialists.formats.contents import Blob, FileContents, InnerFileAllowance, UnreadableFile, guess_media_type
from specialists.reading.picture_file import LONGEST_SIDE, compress_picture

_MAX_FIELDS = 2_000
_LONGEST_FIELD = 20_000


def list_form_fields(page: Any, form: Any) -> list[str]:
    """Return the form fields of a page as `[field] name: value`; empty if the document has no form."""
    from pypdfium2 import raw  # noqa: PLC0415

    if form is None:
        return []
    lines = []
    buttons = (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON)
    for index in range(min(raw.FPDFPage_GetAnnotCount(page), _MAX_FIELDS)):
        annotation = raw.FPDFPage_GetAnnot(page, index)
        if not annotation:
            continue
        if raw.FPDFAnnot_GetSubtype(annotation) == raw.FPDF_ANNOT_WIDGET:
            kind = raw.FPDFAnnot_GetFormFieldType(form, annotation)
            name = _read_form_text(raw.FPDFAnnot_GetFormFieldName, form, annotation)
            if kind in buttons:
                value = "yes" if raw.FPDFAnnot_IsChecked(form, annotation) else "no"
                export = _read_form_text(raw.FPDFAnnot_GetFormFieldExportValue, form, annotation)
                value += f" ({export})" if export and kind == raw.FPDF_FORMFIELD_RADIOBUTTON else ""
            else:
                value = _read_form_text(raw.FPDFAnnot_GetFormFieldValue, form, annotation)
            if name and kind != raw.FPDF_FORMFIELD_PUSHBUTTON:
                lines.append(f"[field] {name}: {value or '(empty)'}")
        raw.FPDFPage_CloseAnnot(annotation)
    return list(dict.fromkeys(lines))


def _read_form_text(function: Any, form: Any, annotation: Any) -> str:
    """Return the text that a PDFium function writes as UTF-16, at most `_LONGEST_FIELD` bytes; "" if there is none."""
    length = min(function(form, annotation, None, 0), _LONGEST_FIELD)
    if length <= 2:
        return ""
    buffer = (ctypes.c_ushort * (length // 2 + 1))()
    function(form, annotation, buffer, length)
    return bytes(buffer)[: length - 2].decode("utf-16-le", errors="replace").strip("\x00")


_MAX_PAGES = 2_000
_MAX_BOOKMARKS = 2_000
READING_SECONDS = 10.0
"""Seconds after which no further page is read."""
_MIN_TEXT_LENGTH = 80
_UNMAPPED_CHARACTER = re.compile("[\ufffd\ue000-\uf8ff\x00-\x08\x0e-\x1f]")


def read_pdf(data: bytes, name: str, contents: FileContents) -> None:
    """Read a PDF. Each page starts with a line such as `[page 3]`, by which it is cited.

    Raises:
        UnreadableFile: it is protected by a password, damaged, or has only blank or broken pages.
    """
    import pypdfium2 as pdfium  # noqa: PLC0415

    try:
        document = pdfium.PdfDocument(data)
        with contextlib.suppress(pdfium.PdfiumError):  # without the form only its values are missing
            document.init_forms()
        _read_pages(document, name, contents)
    except pdfium.PdfiumError as error:
        raise UnreadableFile(_describe_open_error(str(error))) from None


def _describe_open_error(error: str) -> str:
    if "assword" in error:
        return "is protected by a password; save it without one and attach it again"
    if "ecurity" in error:
        return "is protected in a way that cannot be opened; print it to a new PDF and attach that"
    return "is a damaged PDF; open it, print it to a new PDF and attach that"


def _read_pages(document: Any, name: str, contents: FileContents) -> None:
    pages = len(document)
    if not pages:
        raise UnreadableFile("is a PDF without a page; save it again and attach that")
    deadline = time.monotonic() + READING_SECONDS
    titles = _list_bookmarks(document)
    broken_pages: list[int] = []
    unshown_pages: list[int] = []
    blank_count = read_count = 0
    for index in range(min(pages, _MAX_PAGES)):
        if time.monotonic() > deadline or contents.is_full:
            contents.add_gap(f"pages {index + 1}-{pages:,} of {pages:,} are not read: there is too much before them")
            break
        blank_count += _read_page(
            document,
            index,
            titles.get(index, ""),
            name,
            contents,
            broken_pages=broken_pages,
            unshown_pages=unshown_pages,
        )
        read_count += 1
    else:
        if pages > _MAX_PAGES:
            contents.add_gap(f"only the first {_MAX_PAGES:,} of {pages:,} pages are read")
    if broken_pages:
        contents.add_gap(f"{_describe_pages(broken_pages)} broken and not read")
    if unshown_pages:
        contents.add_gap(
            f"{_describe_pages(unshown_pages)} without text (scanned or drawn) and not read, "
            "as enough page pictures come before"
        )
    if blank_count + len(broken_pages) == read_count:
        words = "has only broken pages" if broken_pages else "has only blank pages"
        raise UnreadableFile(f"is a PDF that {words}; print it to a new PDF and attach that")
    _read_attachments(document, contents)


def _list_bookmarks(document: Any) -> dict[int, str]:
    """Return the titles of the bookmarks to each page: page index from 0 -> titles, joined by `; `."""
    titles: dict[int, str] = {}
    for bookmark in islice(document.get_toc(), _MAX_BOOKMARKS):
        destination = bookmark.get_dest()
        title = " ".join(bookmark.get_title().split())
        if destination is not None and title:
            index = destination.get_index()
            titles[index] = f"{titles[index]}; {title}" if index in titles else title
    return titles


def _read_page(
    document: Any,
    index: int,
    title: str,
    name: str,
    contents: FileContents,
    *,
    broken_pages: list[int],
    unshown_pages: list[int],
) -> bool:
    """Read one page; a broken or unshown page is added to its list, counted from 1. Returns True if it is blank."""
    import pypdfium2 as pdfium  # noqa: PLC0415

    number = index + 1
    try:
        page = document[index]
        text = read_page_text(page)
    except pdfium.PdfiumError:
        broken_pages.append(number)
        return False
    contents.begin_section(f"page {number}{': ' + title if title else ''}")
    fields = list_form_fields(page, document.formenv)
    if len(text) < _MIN_TEXT_LENGTH or len(_UNMAPPED_CHARACTER.findall(text)) * 5 > len(text):
        picture_reason = _find_picture_reason(page, text)
        if picture_reason:
            text = "" if picture_reason == "unmapped" else text
            if _add_page_picture(page, number, name, contents):
                text = f"{text}\n[this page is a picture]".strip()
            else:
                unshown_pages.append(number)
    is_blank = not text and not fields and not (unshown_pages and unshown_pages[-1] == number)
    page_parts = ("[nothing on this page]",) if is_blank else (text, *fields)
    contents.add_text("\n".join(part for part in (f"[page {number}]", *page_parts) if part) + "\n\n")
    page.close()
    return is_blank


def _find_picture_reason(page: Any, text: str) -> str:
    """Return why a page needs a picture: `unmapped` (its text has no readable letters), `scanned` or `drawn`.

    Returns "" if its text is enough.
    """
    from pypdfium2 import raw  # noqa: PLC0415

    if text and len(_UNMAPPED_CHARACTER.findall(text)) * 5 > len(text):
        return "unmapped"
    width, height = page.get_size()
    for page_object in page.get_objects(max_depth=2):
        if page_object.type == raw.FPDF_PAGEOBJ_IMAGE:
            left, bottom, right, top = page_object.get_bounds()
            if not text or (right - left) * (top - bottom) > 0.4 * width * height:
                return "scanned"
        elif not text and page_object.type in (raw.FPDF_PAGEOBJ_PATH, raw.FPDF_PAGEOBJ_SHADING):
            return "drawn"
    return ""


def _add_page_picture(page: Any, number: int, name: str, contents: FileContents) -> bool:
    longest = max(page.get_size())
    if not 1 <= longest <= 20_000:
        return False
    image = page.render(scale=LONGEST_SIDE / longest).to_pil()
    media_type, data = compress_picture(image)
    return contents.add_picture(f"{name} page {number}", media_type, data)


def _read_attachments(document: Any, contents: FileContents) -> None:
    import pypdfium2 as pdfium  # noqa: PLC0415

    allowance = InnerFileAllowance(contents)
    for index in range(min(document.count_attachments(), 1_000)):
        try:
            attachment = document.get_attachment(index)
            name, data = attachment.get_name(), bytes(attachment.get_data())
        except pdfium.PdfiumError:
            contents.add_gap("a file attached to the PDF is broken and not read")
            continue
        allowance.accept_or_refuse(Blob(name or f"attachment {index + 1}", guess_media_type(name), data))
    allowance.report_refused()


def _describe_pages(numbers: list[int]) -> str:
    """Return page numbers as ranges with their verb: `page 3 is`, `pages 3-5, 8 are`."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] + 1 == number:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    words = [str(first) if first == last else f"{first}-{last}" for first, last in ranges]
    page_list = ", ".join(words[:20]) + (f" and {len(words) - 20} more" if len(words) > 20 else "")
    return f"page {page_list} is" if len(numbers) == 1 else f"pages {page_list} are"


_WIDE_GAP = 0.9
"""Least width of a gap between columns, in multiples of the font size.

Spaces between words are narrower, also in justified text.
"""
_NARROW_GAP = 0.4
"""Least width of such a gap if neighbouring lines have a wide gap there too, in multiples of the font size."""
_COLUMN_TOLERANCE_POINTS = 1.5
_NEIGHBOUR_DISTANCE = 4.0
_SPACE = re.compile(r"(?<=\S) +(?=\S)")
_BULLET = re.compile(r"(?:^|\n)[ \t]*(?:\W|\w{1,3}[.)])$")
_MAX_SPACES = 20_000


@dataclass(frozen=True, slots=True)
class _Gap:
    """A space on a line of text.

    `start` and `end` are its indexes in the text. Lengths are in points: its `width`, the font `size`, and `left` and
    `bottom` of the next word.
    """

    start: int
    end: int
    width: float
    size: float
    left: float
    bottom: float


def read_page_text(page: Any) -> str:
    """Return the text of a page, with ` | ` between columns. Raises `PdfiumError` for a broken page."""
    textpage = page.get_textpage()
    text: str = textpage.get_text_range(errors="replace")
    if len(text) == textpage.count_chars():  # otherwise indexes in the text are not those of PDFium's characters
        text = _mark_columns(textpage, text)
    textpage.close()
    lines = (line.rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    # PDFium writes a hyphen at the end of a line as U+FFFE (or U+0002).
    return "\n".join(lines).strip("\n").replace("\ufffe\n", "").replace("\x02\n", "").replace("\ufffe", "-")


def _mark_columns(textpage: Any, text: str) -> str:
    gaps = _find_gaps(textpage, text)
    columns: dict[int, list[_Gap]] = defaultdict(list)
    for gap in gaps:
        if gap.width > _WIDE_GAP * gap.size:
            columns[int(gap.left / _COLUMN_TOLERANCE_POINTS)].append(gap)
    pieces, copied_until = [], 0
    for gap in gaps:
        if gap.width > _WIDE_GAP * gap.size or (gap.width > _NARROW_GAP * gap.size and _begins_column(gap, columns)):
            pieces += [text[copied_until : gap.start], " | "]
            copied_until = gap.end
    return "".join(pieces) + text[copied_until:]


def _find_gaps(textpage: Any, text: str) -> list[_Gap]:
    """Return the wide spaces within lines, except those after a bullet or an item's number."""
    from pypdfium2 import raw  # noqa: PLC0415

    gaps = []
    left, right, bottom, top = c_double(), c_double(), c_double(), c_double()
    ends = byref(left), byref(right), byref(bottom), byref(top)
    for count, space in enumerate(_SPACE.finditer(text)):
        if count == _MAX_SPACES:
            break
        index_before = space.start() - 1
        raw.FPDFText_GetCharBox(textpage, index_before, *ends)
        previous_right, low, high = right.value, bottom.value, top.value
        raw.FPDFText_GetCharBox(textpage, space.end(), *ends)
        width = left.value - previous_right
        size = max(raw.FPDFText_GetFontSize(textpage, index_before), high - low, 4.0)
        is_on_line = bottom.value < high and top.value > low
        if (
            is_on_line
            and width > _NARROW_GAP * size
            and not _BULLET.search(text, max(0, index_before - 5), space.start())
        ):
            gaps.append(_Gap(space.start(), space.end(), width, size, left.value, bottom.value))
    return gaps


def _begins_column(gap: _Gap, columns: dict[int, list[_Gap]]) -> bool:
    place = int(gap.left / _COLUMN_TOLERANCE_POINTS)
    return any(
        abs(other.left - gap.left) < _COLUMN_TOLERANCE_POINTS
        and abs(other.bottom - gap.bottom) < _NEIGHBOUR_DISTANCE * gap.size
        for key in (place - 1, place, place + 1)
        for other in columns.get(key, ())
    )
