"""Renders the messages of a thread as one text, with a section for each message. Pure.

If not all messages fit, the newest are kept. The text is data for models, and names the author before each message. No
message can imitate another one: its further lines are indented, and brackets and colons are removed from names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from bot.slack.receive.markup import PERSON_MENTION, to_plain_text
from bot.slack.receive.message_reader import CUT_NOTE, read_message
from handoff.briefs.addresses import APP_SUFFIX
from handoff.contracts import Attachment, Section
from handoff.text.context_budget import estimate_token_count
from handoff.text.counts import format_count

Json = Mapping[str, Any]

MAX_THREAD_TOKENS = 12_000
"""Maximum tokens of a thread's text. A text of this size fits whole into a brief of the tier `balanced` and into the
planner's prompt, if there is no other material."""
MAX_MESSAGES = 400
MAX_FILES = 10
MAX_MESSAGE_LENGTH = 20_000
"""Maximum number of characters that are kept of one message; Slack allows 40,000."""
MAX_NAME_LENGTH = 60
EARLIER_MESSAGES_HEADING = "What was said before the request, the oldest first."
SOURCE_MESSAGE_HEADING = "The request is about this message."
"""The headings above the messages: of those before the request, and of the one that the request is about."""

_SPOKEN_SUBTYPES = frozenset({"", "file_share", "thread_broadcast", "me_message", "bot_message"})
_NAME_BREAKERS = re.compile(r"[\[\]():]")


@dataclass(frozen=True, slots=True)
class ThreadMessage:
    """One message of a thread."""

    ts: str
    user: str
    """The id of its author; "" if it has none."""
    name: str
    """The name of its author if the message carries one, as messages of apps do; "" otherwise."""
    words: str
    """Its words, in Slack's markup."""
    files: tuple[Attachment, ...]
    """All files that came with it, also those of the messages that it forwards."""
    own_files: tuple[Attachment, ...]
    """The files and tables of the message itself."""
    lost_file_count: int
    """The number of files that were deleted, or that Slack hides for its plan's limit."""
    is_edited: bool
    by_app: bool


@dataclass(frozen=True, slots=True)
class SharedFile:
    """A file in a thread, the name of the person who attached it, and the id of its message."""

    file: Attachment
    author: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class ThreadText:
    """The messages of a thread as one text."""

    text: str = ""
    outline: tuple[Section, ...] = ()
    """The section of each message in the text."""
    left_out_count: int = 0
    """The number of older messages that did not fit."""
    files: tuple[SharedFile, ...] = ()
    """The files of all messages, the newest first."""
    gaps: tuple[str, ...] = ()
    """What was left out or could not be read, in words for people."""


def parse_thread_message(message: Json) -> ThreadMessage | None:
    """Read one message of a thread; None if it has no content, such as a join or a deleted message, or is ephemeral."""
    ts = message.get("ts")
    if (
        not isinstance(ts, str)
        or str(message.get("subtype") or "") not in _SPOKEN_SUBTYPES
        or message.get("is_ephemeral")
    ):
        return None
    content = read_message(message)
    if not content.words.strip() and not content.tables and not message.get("files"):
        return None
    profile = message.get("bot_profile")
    author_name = (profile.get("name") if isinstance(profile, Mapping) else None) or message.get("username")
    return ThreadMessage(
        ts=ts,
        user=str(message.get("user") or ""),
        name=str(author_name or ""),
        words=content.words,
        files=content.all_files,
        own_files=(*content.files, *content.tables),
        lost_file_count=content.lost_file_count + sum(one.lost_file_count for one in content.excerpts),
        is_edited=isinstance(message.get("edited"), Mapping),
        by_app=bool(message.get("bot_id") or profile),
    )


def is_withheld(message: Json) -> bool:
    """Return True for a message whose content Slack does not show: it was deleted, or its encryption key is denied."""
    return str(message.get("subtype")) in {"tombstone", "ekm_access_denied"}


def list_people(messages: Sequence[ThreadMessage]) -> tuple[str, ...]:
    """Return the ids of the people who wrote the messages or are mentioned in them, the newest authors first."""
    newest = list(reversed(messages))
    authors = [one.user for one in newest if one.user and not one.name]
    texts = (text for one in newest for text in (one.words, *(file.author for file in one.files)))
    mentioned_ids = [user_id for text in texts for user_id in PERSON_MENTION.findall(text)]
    return tuple(dict.fromkeys((*authors, *mentioned_ids)))


def render_thread_text(
    messages: Sequence[ThreadMessage],
    names: Mapping[str, str],
    *,
    offset: int = 0,
    zone: str = "UTC",
    room: int = MAX_THREAD_TOKENS,
    heading: str = EARLIER_MESSAGES_HEADING,
) -> ThreadText:
    """Render messages (oldest first) as one text of at most `room` tokens.

    If not all fit, the first message is kept if it is short, and then the newest ones that fit.

    `names` are people's names by their ids. `offset` is the number of seconds by which `zone` is ahead of UTC.
    `heading` is the sentence above the messages that says what they are.
    """
    lines = _select_fitting_lines(messages, room, lambda one: _render_message(one, names, offset))
    kept_places = sorted(lines)
    text = f"({heading} Times: {zone}.)"
    sections = []
    for number, place in enumerate(kept_places, 1):
        if place and (place - 1) not in kept_places:
            text += f"\n(… {format_count(place - (number - 1), 'older message')} left out here)"
        name, ts = f"message {number} by {_find_author_name(messages[place], names)}", messages[place].ts
        sections.append(Section(name=name, start=len(text) + 1, message=ts))
        text += f"\n{lines[place]}"
    files, more = _select_files(messages, names)
    left_out, lost_file_count = len(messages) - len(kept_places), sum(one.lost_file_count for one in messages)
    return ThreadText(
        text=text if kept_places else "",
        outline=tuple(sections),
        left_out_count=left_out,
        files=files,
        gaps=(
            *([f"left out {format_count(left_out, 'older message')}"] if left_out else ()),
            *([f"left out {format_count(more, 'older file')}"] if more else ()),
            *([f"{format_count(lost_file_count, 'file')} deleted or hidden by Slack"] if lost_file_count else ()),
            *_list_cut_notes(messages, kept_places),
        ),
    )


def _select_fitting_lines(
    messages: Sequence[ThreadMessage], room: int, render: Callable[[ThreadMessage], str]
) -> dict[int, str]:
    """Return the rendered messages that fit into `room` tokens, by their index.

    The first message, which says what the thread is about, is kept if it takes at most a quarter of the room. The
    newest message is kept even if it is too long, and then as many older ones as fit.
    """
    first = render(messages[0]) if messages else ""
    opening = {0: first} if messages and estimate_token_count(first) <= room // 4 else {}
    tokens_left = room - sum(map(estimate_token_count, opening.values()))
    newest: dict[int, str] = {}
    for place in reversed(range(len(opening), len(messages))):
        text = render(messages[place])
        tokens_left -= estimate_token_count(text)
        if (tokens_left < 0 and newest) or len(newest) >= MAX_MESSAGES:
            break
        newest[place] = text
    return opening | newest


def _render_message(message: ThreadMessage, names: Mapping[str, str], offset: int) -> str:
    words = to_plain_text(message.words, "", names)
    if len(words) > MAX_MESSAGE_LENGTH:
        words = f"{words[:MAX_MESSAGE_LENGTH]}\n{CUT_NOTE}"
    files = "".join(f" [file: {' '.join(file.name.split())}]" for file in message.own_files)
    marks = " (edited)" if message.is_edited else ""
    indented_words = words.replace("\n", "\n  ")
    return f"[{_format_time(message.ts, offset)}] {_find_author_name(message, names)}{marks}: {indented_words}{files}"


def _find_author_name(message: ThreadMessage, names: Mapping[str, str]) -> str:
    raw_name = message.name or names.get(message.user) or message.user
    name = " ".join(_NAME_BREAKERS.sub(" ", raw_name).split())[:MAX_NAME_LENGTH] or "somebody"
    return f"{name}{APP_SUFFIX}" if message.by_app else name


def _find_attacher_name(file: Attachment, message: ThreadMessage, names: Mapping[str, str]) -> str:
    """Return who attached a file: the author of the forwarded message that it came with, or of this message."""
    raw_name = to_plain_text(file.author, "", names).lstrip("@")
    return " ".join(_NAME_BREAKERS.sub(" ", raw_name).split())[:MAX_NAME_LENGTH] or _find_author_name(message, names)


def _format_time(ts: str, offset: int) -> str:
    try:
        at = datetime.fromtimestamp(float(ts) + offset, UTC)
    except (ValueError, OverflowError, OSError):
        return "?"
    return f"{at:%Y-%m-%d %H:%M}"


def _select_files(messages: Sequence[ThreadMessage], names: Mapping[str, str]) -> tuple[tuple[SharedFile, ...], int]:
    """Return the newest files of all messages, each once, and the number of older ones that are left out."""
    newest: dict[str, SharedFile] = {}
    for message in reversed(messages):
        for file in message.files:
            newest.setdefault(file.file_id, SharedFile(file, _find_attacher_name(file, message, names), message.ts))
    files = tuple(newest.values())
    return files[:MAX_FILES], max(0, len(files) - MAX_FILES)


def _list_cut_notes(messages: Sequence[ThreadMessage], indexes: Sequence[int]) -> list[str]:
    long = sum(len(messages[place].words) > MAX_MESSAGE_LENGTH for place in indexes)
    return [f"cut {format_count(long, 'message')} after {MAX_MESSAGE_LENGTH:,} characters"] if long else []
