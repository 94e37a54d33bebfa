"""Turns typed text into the form that Slack stores: mentions, links, escapes, rich text."""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from bot.workspace.workspace_state import WorkspaceState

RichTextPart = dict[str, Any]

ENCODED_PART = re.compile(r"<(?:@[UW]\w+|#C\w+(?:\|[^>]*)?|![^>]+)>")
URL = re.compile(r"https?://[^\s<>|]+[^\s<>|.,;:!?)\]'\"]")
CODE_FENCE = re.compile(r"```\n?(.+?)\n?```\n?", re.DOTALL)
QUOTE_PREFIX = "&gt;"
ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def encode_typed_text(state: WorkspaceState, text: str) -> str:
    """Return the text as Slack stores it: `@name` as `<@U...>`, bare URLs in angle brackets, `&<>` escaped."""
    names = "|".join(re.escape(name) for name in sorted(state.by_name, key=len, reverse=True))
    mention = re.compile(rf"(?<![\w@])@({names})(?![\w-])", re.IGNORECASE)
    ids = {name.lower(): user.id for name, user in state.by_name.items()}
    text = mention.sub(lambda mention_match: f"<@{ids[mention_match.group(1).lower()]}>", text)
    parts: list[str] = []
    at = 0
    for match in re.finditer(f"{ENCODED_PART.pattern}|{URL.pattern}", text):
        parts.append(_escape_text(text[at : match.start()]))
        part = match.group(0)
        parts.append(part if part.startswith("<") else f"<{_escape_text(part)}>")
        at = match.end()
    return "".join([*parts, _escape_text(text[at:])])


def make_rich_text(text: str, block_id: str) -> RichTextPart:
    """Return the rich_text block that Slack makes of typed text. `text` is as `encode_typed_text` returns it."""
    elements: list[RichTextPart] = []
    at = 0
    for fence in CODE_FENCE.finditer(text):
        elements += _iterate_paragraphs(text[at : fence.start()])
        code = {"type": "text", "text": _unescape_text(fence[1])}
        elements.append({"type": "rich_text_preformatted", "elements": [code]})
        at = fence.end()
    elements += _iterate_paragraphs(text[at:])
    return {"type": "rich_text", "block_id": block_id, "elements": elements}


def _iterate_paragraphs(text: str) -> Iterator[RichTextPart]:
    for is_quoted, lines in groupby(text.split("\n"), lambda line: line.startswith(QUOTE_PREFIX)):
        paragraph = "\n".join(
            line.removeprefix(QUOTE_PREFIX).removeprefix(" ") if is_quoted else line for line in lines
        )
        if paragraph.strip():
            kind = "rich_text_quote" if is_quoted else "rich_text_section"
            yield {"type": kind, "elements": list(_parse_inline(paragraph.strip("\n"), {}))}


def _build_style_pattern(sign: str, name: str) -> str:
    """Return the pattern of a style. No letter or digit may touch its signs from outside."""
    return rf"(?<![\w{sign}]){sign}(?P<{name}>[^\s{sign}](?:[^{sign}\n]*[^\s{sign}])?){sign}(?![\w{sign}])"


INLINE_MARKUP = re.compile(
    "|".join(
        [
            r"`(?P<code>[^`\n]+)`",
            r"<(?P<bracket>[^<>\n]+)>",
            r"(?<![\w:]):(?P<emoji>[+-]1|100|(?=[0-9_'+-]*[a-z])[a-z0-9_'+-]+):(?!\w)",
            _build_style_pattern(r"\*", "bold"),
            _build_style_pattern("_", "italic"),
            _build_style_pattern("~", "strike"),
        ]
    )
)


def _parse_inline(text: str, style: dict[str, bool]) -> Iterator[RichTextPart]:
    style_field = {"style": style} if style else {}
    at = 0
    for match in INLINE_MARKUP.finditer(text):
        if match.start() > at:
            yield {"type": "text", "text": _unescape_text(text[at : match.start()]), **style_field}
        kind, inner = str(match.lastgroup), match[str(match.lastgroup)]
        if kind == "code":
            yield {"type": "text", "text": _unescape_text(inner), "style": {**style, "code": True}}
        elif kind == "emoji":
            yield {"type": "emoji", "name": inner, **style_field}
        elif kind == "bracket":
            yield {**_parse_bracket(inner), **style_field}
        else:
            yield from _parse_inline(inner, {**style, kind: True})
        at = match.end()
    if at < len(text):
        yield {"type": "text", "text": _unescape_text(text[at:]), **style_field}


def _parse_bracket(content: str) -> RichTextPart:
    target, _, label = content.partition("|")
    if target.startswith("@"):
        return {"type": "user", "user_id": target[1:]}
    if target.startswith("#"):
        return {"type": "channel", "channel_id": target[1:]}
    if target in ("!here", "!channel", "!everyone"):
        return {"type": "broadcast", "range": target[1:]}
    if target.startswith("!"):
        return {"type": "text", "text": _unescape_text(label or f"<{content}>")}
    return {"type": "link", "url": _unescape_text(target), **({"text": _unescape_text(label)} if label else {})}


def _escape_text(text: str) -> str:
    return re.sub("[&<>]", lambda match: ESCAPES[match.group(0)], text)


def _unescape_text(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
