"""Slack messages as plain text, for a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

STATUS_MARKS = {"pending": "·", "in_progress": "▸", "complete": "✓", "error": "✗"}
_MENTION = re.compile(r"<@(\w+)>")
_LINK = re.compile(r"<(https?://[^|>]+)(?:\|([^>]+))?>")


def render_message(message: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """Return the text of a message's blocks and files, or its `text` without any. `names` maps user ids to names."""
    blocks = message.get("blocks") or []
    parts = [part for block in blocks if (part := _render_block(block))]
    markdown_text = message.get("markdown_text")
    if markdown_text and not any(block.get("type") == "markdown" for block in blocks):
        parts.insert(0, markdown_text)
    if not parts:
        parts = [message.get("text") or ""]
    parts += [f"[file] {file.get('name')}" for file in message.get("files", [])]
    return _render_mrkdwn("\n".join(parts), names)


def list_plan_rows(message: Mapping[str, Any], names: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Return the rows of a message's plan: (id, status, line). `names` maps user ids to display names."""
    plans = [block for block in message.get("blocks") or [] if block.get("type") == "plan"]
    tasks = [task for plan in plans for task in plan.get("tasks", [])]
    return [
        (task.get("task_id", ""), task.get("status", "pending"), _render_mrkdwn(_render_task(task), names))
        for task in tasks
    ]


def list_context_texts(message: Mapping[str, Any], names: Mapping[str, str]) -> list[str]:
    """Return the texts of a message's context blocks, such as notes on changes below a plan, one for each block."""
    blocks = message.get("blocks") or []
    return [_render_mrkdwn(_render_context(block), names) for block in blocks if block.get("type") == "context"]


def _render_block(block: Mapping[str, Any]) -> str:
    renderer = _BLOCK_RENDERERS.get(str(block.get("type")))
    return renderer(block) if renderer else ""


def _render_section(block: Mapping[str, Any]) -> str:
    texts = [block.get("text"), *block.get("fields", [])]
    return "\n".join(text.get("text", "") for text in texts if text)


def _render_markdown(block: Mapping[str, Any]) -> str:
    return str(block.get("text", ""))


def _render_context(block: Mapping[str, Any]) -> str:
    return "  ".join(part.get("text", "") for part in block.get("elements", []))


def _render_actions(block: Mapping[str, Any]) -> str:
    labels = [element.get("text", {}).get("text", "") for element in block.get("elements", [])]
    return "  ".join(f"[ {label} ]" for label in labels if label)


def _render_plan(block: Mapping[str, Any]) -> str:
    return "\n".join([str(block.get("title", "")), *(_render_task(task) for task in block.get("tasks", []))])


def _render_divider(_: Mapping[str, Any]) -> str:
    return "─" * 40


def _render_image(block: Mapping[str, Any]) -> str:
    return f"[image] {block.get('alt_text', '')}"


def _render_task(task: Mapping[str, Any]) -> str:
    mark = STATUS_MARKS.get(str(task.get("status")), "·")
    details = " ".join(_render_rich_text(task[key]) for key in ("details", "output") if task.get(key))
    return f"{mark} {task.get('title', '')}" + (f"  ({details})" if details else "")


def _render_rich_text(value: Any) -> str:
    """Return the text of a rich_text block, or of parts of it; a plain string is returned as it is."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(_render_rich_text(part) for part in value)
    if isinstance(value, Mapping):
        kind = str(value.get("type"))
        if kind in _RICH_TEXT_RENDERERS:
            return _RICH_TEXT_RENDERERS[kind](value)
        parts = value.get("elements", value.get("text", ""))
        return "\n".join(_render_rich_text(part) for part in parts) if kind == "rich_text" else _render_rich_text(parts)
    return ""


_RICH_TEXT_RENDERERS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "user": lambda part: f"<@{part.get('user_id', '')}>",
    "channel": lambda part: f"<#{part.get('channel_id', '')}>",
    "broadcast": lambda part: f"@{part.get('range', '')}",
    "emoji": lambda part: f":{part.get('name', '')}:",
    "link": lambda part: str(part.get("text") or part.get("url", "")),
    "rich_text_quote": lambda part: "> " + _render_rich_text(part.get("elements")).replace("\n", "\n> "),
}
"""Renderers of the parts of rich text that are not plain text, by their type."""


_BLOCK_RENDERERS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "section": _render_section,
    "header": _render_section,
    "markdown": _render_markdown,
    "context": _render_context,
    "actions": _render_actions,
    "plan": _render_plan,
    "task_card": _render_task,
    "divider": _render_divider,
    "rich_text": _render_rich_text,
    "image": _render_image,
}
"""Renderers of blocks, by their type. A block of any other type has no text."""


def _render_mrkdwn(text: str, names: Mapping[str, str]) -> str:
    text = _MENTION.sub(lambda match: f"@{names.get(match[1], match[1])}", text)
    text = _LINK.sub(lambda match: f"{match[2]} ({match[1]})" if match[2] else match[1], text)
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").strip()
