"""The lines of a PDF page, with ` | ` where the page shows the gap between two columns of a table."""

from __future__ import annotations

import re
from collections import defaultdict
from ctypes import byref, c_double
from dataclasses import dataclass
from typing import Any

_WIDE = 0.9
"""Times the size of the letters: a gap between columns. Spaces between words, justified ones included, are narrower."""
_NARROW = 0.4
"""The same, where a column of the lines around begins at this place."""
_SAME_PLACE = 1.5
_LINES_AROUND = 4.0
_SPACE = re.compile(r"(?<=\S) +(?=\S)")
_BULLET = re.compile(r"(?:^|\n)[ \t]*(?:\W|\w{1,3}[.)])$")
_MOST_SPACES = 20_000


@dataclass(frozen=True, slots=True)
class _Gap:
    """A space on a line, in points: its width and the size of the letters, and where the next word begins."""

    start: int
    end: int
    width: float
    size: float
    left: float
    bottom: float


def page_lines(page: Any) -> str:
    """Give the text of a page. Raises `PdfiumError` for a broken one."""
    textpage = page.get_textpage()
    text: str = textpage.get_text_range(errors="replace")
    if len(text) == textpage.count_chars():  # else places in the text are not those of the characters
        text = _mark_columns(textpage, text)
    textpage.close()
    lines = (line.rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    # PDFium writes a hyphen at the end of a line as U+FFFE (or U+0002).
    return "\n".join(lines).strip("\n").replace("\ufffe\n", "").replace("\x02\n", "").replace("\ufffe", "-")


def _mark_columns(textpage: Any, text: str) -> str:
    gaps = _find_gaps(textpage, text)
    columns: dict[int, list[_Gap]] = defaultdict(list)
    for gap in gaps:
        if gap.width > _WIDE * gap.size:
            columns[int(gap.left / _SAME_PLACE)].append(gap)
    pieces, done = [], 0
    for gap in gaps:
        if gap.width > _WIDE * gap.size or (gap.width > _NARROW * gap.size and _begins_column(gap, columns)):
            pieces += [text[done : gap.start], " | "]
            done = gap.end
    return "".join(pieces) + text[done:]


def _find_gaps(textpage: Any, text: str) -> list[_Gap]:
    """Measure the spaces within lines, but for those after a bullet or the number of an item."""
    from pypdfium2 import raw  # noqa: PLC0415

    gaps = []
    left, right, bottom, top = c_double(), c_double(), c_double(), c_double()
    ends = byref(left), byref(right), byref(bottom), byref(top)
    for count, space in enumerate(_SPACE.finditer(text)):
        if count == _MOST_SPACES:
            break
        before = space.start() - 1
        raw.FPDFText_GetCharBox(textpage, before, *ends)
        end, low, high = right.value, bottom.value, top.value
        raw.FPDFText_GetCharBox(textpage, space.end(), *ends)
        width = left.value - end
        size = max(raw.FPDFText_GetFontSize(textpage, before), high - low, 4.0)
        on_one_line = bottom.value < high and top.value > low
        if on_one_line and width > _NARROW * size and not _BULLET.search(text, max(0, before - 5), space.start()):
            gaps.append(_Gap(space.start(), space.end(), width, size, left.value, bottom.value))
    return gaps


def _begins_column(gap: _Gap, columns: dict[int, list[_Gap]]) -> bool:
    place = int(gap.left / _SAME_PLACE)
    return any(
        abs(other.left - gap.left) < _SAME_PLACE and abs(other.bottom - gap.bottom) < _LINES_AROUND * gap.size
        for near in (place - 1, place, place + 1)
        for other in columns.get(near, ())
    )
