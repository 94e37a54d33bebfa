"""The message that is sent to Slack, and functions that make the blocks of messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from bot.slack.text.cleaning import to_plain_line

Block = dict[str, Any]
Priority = Literal["answer", "question", "card"]

SECTION_CHAR_LIMIT = 3000
CONTEXT_CHAR_LIMIT = 2000
BUTTON_TEXT_LIMIT = 75
BUTTON_VALUE_LIMIT = 2000
DURATION_STEP_SECONDS = 30.0
"""Seconds to which the shown duration of something under way is rounded down."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message as the outbox sends it. `text` (cleaned mrkdwn) is for notifications and screen readers.

    `priority` decides which message goes first when Slack's limits are near.
    """

    text: str
    blocks: tuple[Block, ...]
    priority: Priority = "answer"


def make_section(mrkdwn: str) -> Block:
    """Make a section block of cleaned mrkdwn. Text over 3,000 characters is cut off."""
    return {"type": "section", "text": {"type": "mrkdwn", "text": _cut_text(mrkdwn, SECTION_CHAR_LIMIT)}}


def make_sections(lines: Iterable[str]) -> list[Block]:
    """Make section blocks of cleaned lines, as few blocks as Slack's limit allows."""
    paragraphs: list[str] = []
    for line in lines:
        if paragraphs and len(paragraphs[-1]) + 1 + len(line) <= SECTION_CHAR_LIMIT:
            paragraphs[-1] += f"\n{line}"
        else:
            paragraphs.append(line)
    return [make_section(paragraph) for paragraph in paragraphs]


def make_context(*lines: str) -> Block:
    """Make a context block (small print) of the first ten cleaned lines, one below the other."""
    return {
        "type": "context",
        "elements": [{"type": "mrkdwn", "text": _cut_text(line, CONTEXT_CHAR_LIMIT)} for line in lines[:10]],
    }


def make_header(title: str) -> Block:
    """Make a header block. The title is cut to 150 characters."""
    return {"type": "header", "text": {"type": "plain_text", "text": to_plain_line(title, 150)}}


def make_button(text: str, action_id: str, value: str, *, style: str = "") -> Block:
    """Make a button. Raises ValueError for a value that is too long for Slack."""
    if len(value) > BUTTON_VALUE_LIMIT:
        raise ValueError(f"a button's value holds {BUTTON_VALUE_LIMIT} characters, not {len(value)}")
    label = {"type": "plain_text", "text": to_plain_line(text, BUTTON_TEXT_LIMIT) or "…"}
    button: Block = {"type": "button", "text": label, "action_id": action_id, "value": value}
    return {**button, "style": style} if style else button


def make_actions(elements: Sequence[Block]) -> Block:
    """Make a row of buttons."""
    return {"type": "actions", "elements": list(elements)}


def make_rich_text(text: str) -> Block:
    """Make a text that Slack shows as it is, without any markup."""
    section = {"type": "rich_text_section", "elements": [{"type": "text", "text": text}]}
    return {"type": "rich_text", "elements": [section]}


def format_duration(duration: float) -> str:
    """Format a duration in seconds: 0.4 s, 12 s, 3 min 5 s, 2 h 10 min."""
    if duration < 0:
        duration = 0.0
    if duration < 9.95:
        return f"{duration:.1f} s"
    whole = round(duration)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def describe_minimum_duration(duration: float) -> str:
    """Format how long something has gone on so that it stays true as time passes: over 30 s, over 1 min.

    Returns "" for less than `DURATION_STEP_SECONDS` seconds.
    """
    steps = int(duration // DURATION_STEP_SECONDS)
    return f"over {format_duration(steps * DURATION_STEP_SECONDS)}" if steps > 0 else ""


def render_moment(time: float) -> str:
    """Format a time (seconds since the epoch) so that Slack shows it in the reader's own zone, or else in UTC."""
    fallback = datetime.fromtimestamp(int(time), UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"<!date^{int(time)}^{{date_short_pretty}} at {{time}}|{fallback}>"


def _cut_text(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    kept_text = text[: limit - 1]
    if kept_text.count("`") % 2:  # in an open code span, an address would become a link
        kept_text = kept_text[: kept_text.rindex("`")]
    return kept_text + "…"


def make_message_link(workspace_url: str, channel: str, ts: str, thread_ts: str = "") -> str:
    """Return the address of a message; "" if its place is not known.

    `workspace_url` is the address of the workspace's pages. `thread_ts` is the id of the thread's first message,
    without which Slack does not find a reply.
    """
    digits = ts.replace(".", "")
    is_linkable = (
        workspace_url.startswith(("https://", "http://"))
        and channel.isalnum()
        and digits.isascii()
        and digits.isdigit()
    )
    if not is_linkable:
        return ""
    link = f"{workspace_url.rstrip('/')}/archives/{channel}/p{digits}"
    return f"{link}?thread_ts={thread_ts}&cid={channel}" if thread_ts and thread_ts != ts else link
