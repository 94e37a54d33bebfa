"""Reads all the words of a Slack message: its text, else its blocks, and what is attached or unfurled below.

What comes out is still in Slack's markup (`<@U1>`, `&lt;`), as the `text` of a message is. Pure.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from typing import Any

Json = Mapping[str, Any]

LONGEST_ATTACHED = 4_000
"""Characters that are read of one attachment or unfurled address: it is about the message, and not its own words."""
MOST_ATTACHED = 10
_DEEPEST = 12
"""Levels of blocks within blocks that are read; Slack itself has fewer."""
_IN_ONE_LINE = frozenset({"rich_text_section", "rich_text_quote", "rich_text_preformatted"})
_TITLED = ("title", "text", "caption", "description", "accessory", "label")
_LISTED = ("fields", "elements", "rows", "tasks", "blocks", "child_blocks")


def words_of(message: Json) -> str:
    """Return the words of a message. An app's `text` may be a mere summary of its blocks: the longer one is taken."""
    text = message.get("text")
    said = text if isinstance(text, str) else ""
    if not said.strip() or _by_app(message):
        blocks = block_text(message.get("blocks"))
        said = blocks if len(blocks) > len(said) else said
    return "\n".join(part for part in (said, *_attached(message.get("attachments"))) if part.strip())


def _by_app(message: Json) -> bool:
    return bool(message.get("bot_id") or message.get("bot_profile"))


def block_text(blocks: object) -> str:
    """Return the words in a list of blocks, a line for each block or part of one."""
    listed = blocks if isinstance(blocks, list) else []
    parts = (_words(block, _DEEPEST) for block in listed if isinstance(block, Mapping))
    return "\n".join(part for part in parts if part.strip())


def _words(value: object, levels: int) -> str:
    """Return the words of a block, an element or a list of them; nothing below so many levels."""
    if levels == 0:
        return ""
    if isinstance(value, list):
        return "\n".join(part for one in value if (part := _words(one, levels - 1)).strip())
    if not isinstance(value, Mapping):
        return ""
    leaf = _leaf(value)
    if leaf is not None:
        return leaf
    if str(value.get("type")) in _IN_ONE_LINE and isinstance(value.get("elements"), list):
        return "".join(_words(one, levels - 1) for one in value["elements"])
    parts = [_words(_as_part(value.get(name)), levels - 1) for name in (*_TITLED, *_LISTED)]
    return "\n".join(part for part in parts if part.strip())


def _as_part(value: object) -> object:
    """Take a bare text for a text object: Markdown blocks and the tasks of a plan hold such ones."""
    return {"type": "mrkdwn", "text": value} if isinstance(value, str) else value


def _leaf(value: Json) -> str | None:
    """Return the words of an element that holds no others, in Slack's markup; None if it may hold others."""
    kind, text = str(value.get("type")), value.get("text")
    if kind in {"text", "plain_text", "raw_text", "raw_number"} and isinstance(text, str):
        return html.escape(text, quote=False)
    if kind == "mrkdwn" and isinstance(text, str):
        return text
    if kind == "link":
        address = str(value.get("url", ""))
        return f"<{address}|{html.escape(text, quote=False)}>" if isinstance(text, str) and text else f"<{address}>"
    marks = {
        "user": f"<@{value.get('user_id', '')}>",
        "channel": f"<#{value.get('channel_id', '')}>",
        "usergroup": f"<!subteam^{value.get('usergroup_id', '')}>",
        "broadcast": f"<!{value.get('range', '')}>",
        "emoji": f":{value.get('name', '')}:",
        "date": html.escape(str(value.get("fallback", "")), quote=False),
        "image": html.escape(str(value.get("alt_text") or ""), quote=False),
    }
    return marks.get(kind)


def _attached(attachments: object) -> Iterator[str]:
    """Yield the words of each attachment: a message that was shared, an address that was unfurled, an app's own."""
    for one in attachments[:MOST_ATTACHED] if isinstance(attachments, list) else ():
        if not isinstance(one, Mapping):
            continue
        fields = one.get("fields")
        known = [field for field in fields if isinstance(field, Mapping)] if isinstance(fields, list) else []
        pairs = (f"{field.get('title', '')}: {field.get('value', '')}" for field in known)
        parts = [str(one.get(name) or "") for name in ("pretext", "author_name", "title", "text")]
        if not any(parts):
            parts = [block_text(one.get("blocks")) or str(one.get("fallback") or "")]
        words = "\n".join(part for part in (*parts, *pairs) if part.strip())
        address = str(one.get("from_url") or one.get("title_link") or "")
        if words:
            yield f"(attached{f' from <{address}>' if address else ''}: {words[:LONGEST_ATTACHED]})"
