"""Tables that Slack draws itself: a long one of an answer becomes a block that people page through and sort."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape

from bot.slack.text.cleaning import plain
from bot.slack.views.outgoing import Block

LEAST_ROWS = 8
"""Rows, without the heading, from which on a table is one to page through: a shorter one reads well as text."""
MOST_ROWS = 100
MOST_COLUMNS = 20
PAGE = 10
CELL = 500
"""Characters of a cell."""
CAPTION = "Table"
_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-{2,}:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})")
_CELL = re.compile(r"(?<!\\)\|")
_DRESSED = re.compile(r"[`*_\[\]<>~]")
"""Markup, or a link: such a cell would lose it."""
_NUMBER = re.compile(r"[-\u2212+]?(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?")
_HEADING = re.compile(r"#{1,6}[ \t]+(.+?)[ \t]*#*")


def split_native_table(block: Block) -> list[Block]:
    """Return the blocks of a `markdown` block whose first long table is a block of its own, where that fits."""
    lines = str(block.get("text", "")).split("\n")
    for first, last in _find_tables(lines):
        drawn = _data_table(lines, first, last)
        if drawn is not None:
            over = "\n".join(lines[:first]).rstrip()
            before, _, title = over.rpartition("\n")
            over = before if _HEADING.fullmatch(title.strip()) else over  # the caption says it
            texts = (over.strip("\n"), "\n".join(lines[last:]).strip("\n"))
            above, below = ([{"type": "markdown", "text": text}] if text.strip() else [] for text in texts)
            return [*above, drawn, *below]
    return [block]


def _find_tables(lines: Sequence[str]) -> list[tuple[int, int]]:
    """Find tables: the lines of the heading and after the last row. Code is left alone."""
    found, fenced, at = [], False, 0
    while at < len(lines):
        fenced ^= bool(_FENCE.match(lines[at]))
        if fenced or at + 1 == len(lines) or "|" not in lines[at] or not _RULE.fullmatch(lines[at + 1]):
            at += 1
            continue
        end = at + 2
        while end < len(lines) and "|" in lines[end]:
            end += 1
        found.append((at, end))
        at = end
    return found


def _data_table(lines: Sequence[str], first: int, last: int) -> Block | None:
    heading, rows = _split_cells(lines[first]), [_split_cells(line) for line in lines[first + 2 : last]]
    if not LEAST_ROWS <= len(rows) <= MOST_ROWS or not 1 < len(heading) <= MOST_COLUMNS:
        return None
    cells = [cell for row in (heading, *rows) for cell in row]
    if any(len(row) != len(heading) for row in rows) or any(_DRESSED.search(cell) for cell in cells):
        return None
    numeric = [all(not row[at] or _NUMBER.fullmatch(row[at]) for row in rows) for at in range(len(heading))]
    drawn = [[_cell_block(cell, number=False) for cell in heading]]
    drawn += [[_cell_block(cell, number=number) for cell, number in zip(row, numeric, strict=True)] for row in rows]
    return {"type": "data_table", "caption": _find_caption(lines[:first]), "rows": drawn, "page_size": PAGE}


def _split_cells(line: str) -> list[str]:
    bare = line.strip().removeprefix("|")
    bare = bare[:-1] if bare.endswith("|") and not bare.endswith("\\|") else bare
    return [cell.strip().replace("\\|", "|") for cell in _CELL.split(bare)]


def _cell_block(text: str, *, number: bool) -> Block:
    if number and text:
        return {"type": "raw_number", "value": float(text.replace(",", "").replace("\u2212", "-")), "text": text}
    return {"type": "raw_text", "text": plain(unescape(text), CELL) or "\u2013"}


def _find_caption(above: Sequence[str]) -> str:
    """Return the last heading above a table."""
    titles = [found[1] for line in above if (found := _HEADING.fullmatch(line.strip()))]
    return _DRESSED.sub("", titles[-1])[:100].strip() or CAPTION if titles else CAPTION
