"""Reads the blocks of a Slack message: their words, in Slack's markup, and their tables as CSV. Pure.

No block is left out in silence: of an unknown kind of block, the texts are read, or its kind is named if it has none.
"""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

Json = Mapping[str, Any]

_MAX_BLOCK_DEPTH = 12
"""Levels of blocks within blocks that are read; Slack itself has fewer."""
_INLINE_TYPES = frozenset({"rich_text_section", "rich_text_quote", "rich_text_preformatted"})
_TEXT_KEYS = ("title", "subtitle", "text", "body", "caption", "description", "accessory", "label", "fallback")
_LIST_KEYS = ("fields", "elements", "rows", "tasks", "blocks", "child_blocks")
_TABLE_TYPES = frozenset({"table", "data_table"})
_WORDLESS_TYPES = frozenset(
    {"divider", "actions", "context_actions", "input", "rich_text", "section", "header", "context", "markdown"}
)
"""Kinds of blocks that may have no words: people then see a line, buttons or nothing."""


@dataclass(frozen=True, slots=True)
class BlockWords:
    """The words of blocks, and the tables among them as CSV. Both are in Slack's markup."""

    words: str = ""
    tables: tuple[str, ...] = ()


def read_blocks(blocks: object) -> BlockWords:
    """Read a list of blocks into words, a line for each block or part of a block, and tables."""
    parts, tables = [], []
    for block in blocks if isinstance(blocks, list) else ():
        if not isinstance(block, Mapping):
            continue
        if str(block.get("type")) in _TABLE_TYPES and (table := _render_csv(block.get("rows"))):
            tables.append(table)
            parts.append(_extract_text(_wrap_bare_text(block.get("caption")), _MAX_BLOCK_DEPTH))
            continue
        words = _extract_text(block, _MAX_BLOCK_DEPTH)
        is_unreadable = not words.strip() and str(block.get("type")) not in _WORDLESS_TYPES
        parts.append(
            f"(a part that I cannot read: {html.escape(str(block.get('type')))[:60]})" if is_unreadable else words
        )
    return BlockWords("\n".join(part for part in parts if part.strip()), tuple(tables))


def _render_csv(rows: object) -> str:
    """Return the rows of a table as CSV, padded to the same number of cells; "" if there are none."""
    cell_rows = [row for row in rows if isinstance(row, list)] if isinstance(rows, list) else []
    width = max(map(len, cell_rows), default=0)
    if not width:
        return ""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in cell_rows:
        cells = [_render_cell(cell) for cell in row]
        writer.writerow([*cells, *[""] * (width - len(cells))])
    return out.getvalue()


def _render_cell(value: object) -> str:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return html.escape(str(value), quote=False)
    if isinstance(value, Mapping) and value.get("type") == "raw_number" and isinstance(value.get("value"), int | float):
        return str(value["value"])  # its text may be rounded
    return _extract_text(value, _MAX_BLOCK_DEPTH).strip()


def _extract_text(value: object, levels: int) -> str:
    """Return the words of a block, an element or a list of them, down to `levels` levels of nesting."""
    if levels == 0:
        return ""
    if isinstance(value, list):
        return "\n".join(part for one in value if (part := _extract_text(one, levels - 1)).strip())
    if not isinstance(value, Mapping):
        return ""
    leaf = _render_leaf(value)
    if leaf is not None:
        return leaf
    if str(value.get("type")) in _INLINE_TYPES and isinstance(value.get("elements"), list):
        return "".join(_extract_text(one, levels - 1) for one in value["elements"])
    parts = [_extract_text(_wrap_bare_text(value.get(name)), levels - 1) for name in (*_TEXT_KEYS, *_LIST_KEYS)]
    return "\n".join(part for part in parts if part.strip())


def _wrap_bare_text(value: object) -> object:
    """Wrap a plain string as a text object: Markdown blocks and the tasks of a plan hold plain strings."""
    return {"type": "mrkdwn", "text": value} if isinstance(value, str) else value


def _render_leaf(value: Json) -> str | None:
    """Return the words of an element that holds no other elements, in Slack's markup; None if it may hold others."""
    kind, text = str(value.get("type")), value.get("text")
    if kind in {"text", "plain_text", "raw_text", "raw_number"} and isinstance(text, str):
        return html.escape(text, quote=False)
    if kind == "mrkdwn" and isinstance(text, str):
        return text
    if kind == "link":
        address = str(value.get("url", ""))
        return f"<{address}|{html.escape(text, quote=False)}>" if isinstance(text, str) and text else f"<{address}>"
    tone = value.get("skin_tone")
    marks = {
        "user": f"<@{value.get('user_id', '')}>",
        "channel": f"<#{value.get('channel_id', '')}>",
        "usergroup": f"<!subteam^{value.get('usergroup_id', '')}>",
        "team": str(value.get("team_id", "")),
        "broadcast": f"<!{value.get('range', '')}>",
        "emoji": f":{value.get('name', '')}:" + (f":skin-tone-{tone}:" if tone else ""),
        "color": html.escape(str(value.get("value", "")), quote=False),
        "date": html.escape(_render_date(value), quote=False),
        "image": html.escape(str(value.get("alt_text") or ""), quote=False),
    }
    return marks.get(kind)


def _render_date(value: Json) -> str:
    """Return the fallback text of a date element, or its day and time in UTC if it has none."""
    if value.get("fallback"):
        return str(value["fallback"])
    return format_timestamp(value.get("timestamp"))


def format_timestamp(stamp: object) -> str:
    """Format a time in seconds since the epoch as `2026-03-02 14:05 UTC`; return "" if it is no time."""
    try:
        return f"{datetime.fromtimestamp(float(str(stamp)), UTC):%Y-%m-%d %H:%M} UTC"
    except (ValueError, OverflowError, OSError):
        return ""
