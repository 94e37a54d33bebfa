"""What people type, turned into what Slack stores: mentions, links, escapes."""

import re
from typing import Any

from bot.workspace.state import State

KEPT = re.compile(r"<(?:@[UW]\w+|#C\w+(?:\|[^>]*)?|![^>]+)>")
URL = re.compile(r"https?://[^\s<>|]+[^\s<>|.,;:!?)\]'\"]")
MENTION = re.compile(r"<@([UW]\w+)>")
SPECIAL = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def typed(state: State, text: str) -> str:
    """Return the text as Slack stores it: `@name` as `<@U...>`, bare URLs in angle brackets, `&<>` escaped."""
    names = "|".join(re.escape(name) for name in sorted(state.by_name, key=len, reverse=True))
    mention = re.compile(rf"(?<![\w@])@({names})(?![\w-])", re.IGNORECASE)
    ids = {name.lower(): user.id for name, user in state.by_name.items()}
    text = mention.sub(lambda found: f"<@{ids[found.group(1).lower()]}>", text)
    parts: list[str] = []
    at = 0
    for kept in re.finditer(f"{KEPT.pattern}|{URL.pattern}", text):
        parts.append(_escaped(text[at : kept.start()]))
        found = kept.group(0)
        parts.append(found if found.startswith("<") else f"<{_escaped(found)}>")
        at = kept.end()
    return "".join([*parts, _escaped(text[at:])])


def as_rich_text(text: str, block_id: str) -> dict[str, Any]:
    """The rich_text block that Slack adds to what a person typed."""
    elements: list[dict[str, Any]] = []
    at = 0
    for found in MENTION.finditer(text):
        if found.start() > at:
            elements.append({"type": "text", "text": _unescaped(text[at : found.start()])})
        elements.append({"type": "user", "user_id": found.group(1)})
        at = found.end()
    if at < len(text):
        elements.append({"type": "text", "text": _unescaped(text[at:])})
    section = {"type": "rich_text_section", "elements": elements}
    return {"type": "rich_text", "block_id": block_id, "elements": [section]}


def _escaped(text: str) -> str:
    return re.sub("[&<>]", lambda found: SPECIAL[found.group(0)], text)


def _unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
