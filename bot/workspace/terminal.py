"""Shows a Slack message as plain text, for a terminal: the same blocks, without the page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MARKS = {"pending": "·", "in_progress": "▸", "complete": "✓", "error": "✗"}
_MENTION = re.compile(r"<@(\w+)>")
_LINK = re.compile(r"<(https?://[^|>]+)(?:\|([^>]+))?>")


def render(message: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """The message's text as people read it. `names` maps user ids to display names."""
    blocks = message.get("blocks") or []
    parts = [part for block in blocks if (part := _block(block))]
    streamed = message.get("markdown_text")
    if streamed and not any(block.get("type") == "markdown" for block in blocks):
        parts.insert(0, streamed)
    if not parts:
        parts = [message.get("text") or ""]
    parts += [f"[file] {file.get('name')}" for file in message.get("files", [])]
    return _readable("\n".join(parts), names)


def plan_rows(message: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The rows of a message's plan: (id, status, line)."""
    rows = []
    for block in message.get("blocks") or []:
        for task in block.get("tasks", []) if block.get("type") == "plan" else []:
            rows.append((task.get("task_id", ""), task.get("status", "pending"), _task(task)))
    return rows


def _block(block: Mapping[str, Any]) -> str:
    kind = block.get("type")
    if kind in {"section", "header"}:
        texts = [block.get("text"), *block.get("fields", [])]
        return "\n".join(text.get("text", "") for text in texts if text)
    if kind == "markdown":
        return str(block.get("text", ""))
    if kind == "context":
        return "  ".join(part.get("text", "") for part in block.get("elements", []))
    if kind == "actions":
        buttons = [element.get("text", {}).get("text", "") for element in block.get("elements", [])]
        return "  ".join(f"[ {label} ]" for label in buttons if label)
    if kind == "plan":
        return "\n".join([str(block.get("title", "")), *(_task(task) for task in block.get("tasks", []))])
    if kind == "task_card":
        return _task(block)
    if kind == "divider":
        return "─" * 40
    if kind == "rich_text":
        return _rich(block)
    if kind == "image":
        return f"[image] {block.get('alt_text', '')}"
    return ""


def _task(task: Mapping[str, Any]) -> str:
    mark = MARKS.get(str(task.get("status")), "·")
    details = " ".join(_rich(task[key]) for key in ("details", "output") if task.get(key))
    return f"{mark} {task.get('title', '')}" + (f"  ({details})" if details else "")


def _rich(value: Any) -> str:
    """The text of a rich_text block, however deep; plain strings as they are."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(_rich(part) for part in value)
    if isinstance(value, Mapping):
        if value.get("type") == "user":
            return f"<@{value.get('user_id', '')}>"
        return _rich(value.get("elements", value.get("text", "")))
    return ""


def _readable(text: str, names: Mapping[str, str]) -> str:
    text = _MENTION.sub(lambda found: f"@{names.get(found[1], found[1])}", text)
    text = _LINK.sub(lambda found: f"{found[2]} ({found[1]})" if found[2] else found[1], text)
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").strip()
