"""The lines of a PDF page, with ` | ` where the page shows a gap as wide as those between the columns of a table."""

from __future__ import annotations

import re
from ctypes import byref, c_double
from typing import Any

_GAP = 0.9
"""Times the size of the letters. Spaces between words, justified ones included, are narrower."""
_SPACE = re.compile(r"(?<=\S) +(?=\S)")
_BULLET = re.compile(r"(?:^|\n)[ \t]*(?:\W|\w{1,3}[.)])$")
_MOST_SPACES = 20_000


def page_lines(page: Any) -> str:
    """Give the text of a page. Raises `PdfiumError` for a broken one."""
    textpage = page.get_textpage()
    text: str = textpage.get_text_range(errors="replace")
    if len(text) == textpage.count_chars():  # else places in the text are not those of the characters
        text = _with_columns(textpage, text)
    textpage.close()
    lines = (line.rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    # PDFium writes a hyphen at the end of a line as U+FFFE (or U+0002).
    return "\n".join(lines).strip("\n").replace("\ufffe\n", "").replace("\x02\n", "").replace("\ufffe", "-")


def _with_columns(textpage: Any, text: str) -> str:
    from pypdfium2 import raw  # noqa: PLC0415

    pieces, done = [], 0
    left, right, bottom, top = c_double(), c_double(), c_double(), c_double()
    ends = byref(left), byref(right), byref(bottom), byref(top)
    for count, space in enumerate(_SPACE.finditer(text)):
        if count == _MOST_SPACES:
            break
        before, after = space.start() - 1, space.end()
        raw.FPDFText_GetCharBox(textpage, before, *ends)
        end, low, high = right.value, bottom.value, top.value
        raw.FPDFText_GetCharBox(textpage, after, *ends)
        same_line = bottom.value < high and top.value > low
        wide = _GAP * max(raw.FPDFText_GetFontSize(textpage, before), high - low, 4.0)
        bullet = _BULLET.search(text, max(0, before - 5), space.start())
        if same_line and left.value - end > wide and not bullet:
            pieces += [text[done : space.start()], " | "]
            done = after
    return "".join(pieces) + text[done:]
