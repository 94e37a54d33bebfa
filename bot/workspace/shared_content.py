"""Pasted tables, forwarded messages and canvases, in the form in which Slack sends them."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import groupby

from bot.workspace.typed_text import encode_typed_text, make_rich_text
from bot.workspace.workspace_state import Channel, Json, Message, WorkspaceState

TableRows = Sequence[Sequence[str]]

MAX_ROWS, MAX_COLUMNS = 100, 20
NO_PREVIEW = "[no preview available]"
_HEADING = re.compile(r"(#{1,3}) +(.+)")
_ITEM = re.compile(r"[-*] +(.+)")


def build_table_attachment(state: WorkspaceState, rows: TableRows, attachment_id: int) -> Json:
    """Return a pasted table as an attachment with the id `attachment_id`: one block, whose cells are rich text.

    Raises:
        ValueError: The table has no cells, more than `MAX_ROWS` rows, or more than `MAX_COLUMNS` columns.
    """
    width = max(map(len, rows), default=0)
    if not width or width > MAX_COLUMNS or len(rows) > MAX_ROWS:
        raise ValueError(f"A table has 1 to {MAX_ROWS} rows and 1 to {MAX_COLUMNS} columns.")
    cells = [[_build_cell(state, text) for text in (*row, *[""] * (width - len(row)))] for row in rows]
    block = {"type": "table", "block_id": f"table{attachment_id}", "rows": cells, "column_settings": []}
    return {"id": attachment_id, "blocks": [block], "fallback": NO_PREVIEW}


def _build_cell(state: WorkspaceState, text: str) -> Json:
    if not text:
        return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": []}]}
    return {
        key: value for key, value in make_rich_text(encode_typed_text(state, text), "").items() if key != "block_id"
    }


def build_forward_attachment(
    state: WorkspaceState, base_url: str, channel: Channel, message: Message, attachment_id: int
) -> Json:
    """Return the attachment that Slack makes of a forwarded message. `attachment_id` is the attachment's id."""
    data, user = message.data, state.users.get(str(message.data.get("user")))
    name, real = (user.name, user.real_name) if user is not None else ("somebody", "Somebody")
    link = f"{base_url}/archives/{channel.id}/p{message.ts.replace('.', '')}"
    text = str(data.get("text") or "")
    sent_at = datetime.fromtimestamp(float(message.ts), UTC)
    where = "Direct message" if channel.kind in {"im", "mpim"} else f"Posted in #{channel.name}"
    inside = {key: data[key] for key in ("blocks", "attachments") if data.get(key)}
    share: Json = {
        "id": attachment_id,
        "is_msg_unfurl": True,
        "is_share": True,
        "ts": message.ts,
        "channel_id": channel.id,
        "channel_team": state.identity.team_id,
        "author_id": data.get("user"),
        "author_name": real,
        "author_subname": name,
        "author_link": f"{base_url}/team/{data.get('user')}",
        "from_url": link,
        "original_url": link,
        "text": text,
        "fallback": f"[{sent_at:%B} {sent_at.day}, {sent_at:%Y %H:%M}] {name}: {text}",
        "footer": where,
        "mrkdwn_in": ["text"],
        "message_blocks": [
            {"team": state.identity.team_id, "channel": channel.id, "ts": message.ts, "message": inside}
        ],
    }
    return share | ({"files": data["files"]} if data.get("files") else {})


def render_canvas_page(title: str, markdown: str) -> str:
    """Render a canvas as the HTML page that Slack serves. Only headings, lists, tables and paragraphs are supported."""
    parts = []
    for kind, lines in groupby(markdown.split("\n"), _classify_line):
        block = list(lines)
        if kind == "heading":
            parts += [
                f"<h{len(match[1])}>{html.escape(match[2])}</h{len(match[1])}>" for match in map(_match_heading, block)
            ]
        elif kind == "list":
            items = (f"<li>{html.escape(_ITEM.fullmatch(line.strip())[1])}</li>" for line in block)  # type: ignore[index]
            parts.append(f"<ul>{''.join(items)}</ul>")
        elif kind == "table":
            rows = (line.strip().strip("|").split("|") for line in block if line.strip(" |:-"))
            cells = ("".join(f"<td>{html.escape(cell.strip())}</td>" for cell in row) for row in rows)
            parts.append(f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>")
        elif kind:
            parts.append(f"<p class='line'>{'<br/>'.join(map(html.escape, block))}</p>")
    return (
        f"<!DOCTYPE html><html><head><meta charset='utf-8'><title>{html.escape(title)}</title></head>"
        f"<body><h1>{html.escape(title)}</h1>{''.join(parts)}</body></html>"
    )


def _classify_line(line: str) -> str:
    line = line.strip()
    if _HEADING.fullmatch(line):
        return "heading"
    if _ITEM.fullmatch(line):
        return "list"
    return "table" if line.startswith("|") else "text" if line else ""


def _match_heading(line: str) -> re.Match[str]:
    match = _HEADING.fullmatch(line.strip())
    if match is None:
        raise ValueError(f"no heading: {line}")
    return match
