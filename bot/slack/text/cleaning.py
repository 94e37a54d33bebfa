"""Cleans text that a model or a person wrote, and cuts it into messages, before it is sent to Slack.

A hostile text must not ping people, disguise where a link goes, load an image or hide characters. So `& < >` are
escaped, and invisible characters are removed. An address is shown as code, unless its exact text came from a person or
a tool. A long answer is cut into messages at ends of paragraphs; a code fence or table that is cut is repaired.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from bot.slack.text.link_safety import to_plain_line
from bot.slack.text.stream_cleaner import Markup, StreamCleaner
from handoff.text.slack_ids import is_group_id, is_person_id

__all__ = [
    "MAX_PART_CHARACTERS",
    "StreamCleaner",
    "clean_markdown",
    "clean_mrkdwn",
    "render_mention",
    "restore_channel_mentions",
    "split_answer",
    "to_plain_line",
]

_CHANNEL_WITH_ID = re.compile(r"#[^\s()<>#`]+ \((C[A-Z0-9]{7,})\)")


def render_mention(member_id: str) -> str:
    """Return the mrkdwn mention of a person (U...) or user group (S...). Any other text is returned cleaned."""
    if is_group_id(member_id):
        return f"<!subteam^{member_id}>"
    return f"<@{member_id}>" if is_person_id(member_id) else clean_mrkdwn(member_id)


def restore_channel_mentions(text: str) -> str:
    """Replace each `#sales (C0123ABCD)` in cleaned text by Slack's channel mention, which shows only the name."""
    return _CHANNEL_WITH_ID.sub(r"<#\1>", text)


def read_channel_id(name: str) -> str:
    """Return the channel id in a name such as `#sales (C0123ABCD)`; "" for any other text."""
    match = _CHANNEL_WITH_ID.fullmatch(name)
    return match[1] if match else ""


def clean_mrkdwn(text: str, *, known_addresses: Collection[str] = (), limit: int | None = None) -> str:
    """Clean untrusted text for a mrkdwn field. With `limit`, the cleaned text is cut to at most that many characters.

    An address becomes a link only if it is one of `known_addresses`, word for word.
    """
    return _clean_to_fit(text, "mrkdwn", known_addresses, limit)


def clean_markdown(text: str, *, known_addresses: Collection[str] = (), limit: int | None = None) -> str:
    """Clean untrusted Markdown for a `markdown` block or a stream; parameters as in `clean_mrkdwn`."""
    return _clean_to_fit(text, "markdown", known_addresses, limit)


def _clean_to_fit(text: str, markup: Markup, known_addresses: Collection[str], limit: int | None) -> str:
    cleaned_text = StreamCleaner(known_addresses=known_addresses, markup=markup).clean_whole(text)
    if limit is None:
        return cleaned_text
    kept_length = len(text)
    while len(cleaned_text) > limit:
        kept_length = min(kept_length - 1, kept_length * limit // len(cleaned_text))
        cleaned_text = StreamCleaner(known_addresses=known_addresses, markup=markup).clean_whole(
            text[:kept_length].rstrip() + "…"
        )
    return cleaned_text


# ---------------------------------------------------------------- cut into messages

MAX_PART_CHARACTERS = 11_500
"""Maximum number of characters of Markdown in one message: Slack takes 12,000 in all markdown blocks together."""
CONTINUED_NOTE = "\n\n_continued below_"

_HEADING = re.compile(r"[ \t]*#{1,6}[ \t].*|.*:[*_ \t]*")
"""A heading, or a line such as "As follows:"."""
_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})(.*)")
_LIST_NUMBER = re.compile(r"([ \t>]*)(\d{1,6})([.)])(?=[ \t])")
"""The indent, number and delimiter with which an item of a numbered list begins."""
_TABLE_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-{2,}:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")


def split_answer(markdown: str, limit: int = MAX_PART_CHARACTERS) -> list[str]:
    """Cut a text into parts of at most `limit` characters. All but the last part say that more follows.

    An empty text gives one empty part. Raises ValueError for a limit below 200.
    """
    if limit < 200:
        raise ValueError(f"a part must hold at least 200 characters, not {limit}")
    if len(markdown) <= limit:
        return [markdown]
    room = limit - len(CONTINUED_NOTE)
    parts, current = [], ""
    for piece in _split_to_fit(_renumber_items(markdown), room):
        candidate = f"{current}\n\n{piece}" if current else piece
        if len(candidate) > room and current:
            parts.append(current)
            candidate = piece
        current = candidate
    parts.append(current)
    return [part + CONTINUED_NOTE for part in parts[:-1]] + parts[-1:]


def _split_to_fit(markdown: str, room: int) -> Iterator[str]:
    """Yield pieces of at most `room` characters. A heading, or a line with a colon at its end, stays with the next."""
    headings: list[str] = []
    for block in _split_blocks(markdown):
        headings.append(block)
        if _HEADING.fullmatch(block) and sum(map(len, headings)) < room // 4:
            continue
        above = "".join(f"{heading}\n\n" for heading in headings[:-1])
        pieces = _cut_block(block, room - len(above)) or [""]
        yield above + pieces[0]
        yield from pieces[1:]
        headings.clear()
    if headings:
        yield "\n\n".join(headings)


def _renumber_items(markdown: str) -> str:
    """Replace each list item's number by the one it is shown with, so that a list that is cut counts on."""
    lists: dict[int, int] = {}
    lines, fence, empty = [], "", False
    for line in markdown.split("\n"):
        mark, item = _FENCE.fullmatch(line), _LIST_NUMBER.match(line)
        if fence or mark:
            closes = mark is not None and mark.group(1).startswith(fence) and not mark.group(2).strip()
            fence = "" if fence and closes else fence or (mark.group(1) if mark else "")
        elif item:
            indent, number = len(item.group(1)), int(item.group(2))
            number = max(number, lists.get(indent, number - 1) + 1)
            lists = {at: last for at, last in lists.items() if at < indent} | {indent: number}
            lines.append(f"{item.group(1)}{number}{item.group(3)}{line[item.end() :]}")
            empty = False
            continue
        elif empty and line.strip() and not line.startswith((" ", "\t")):
            lists = {}
        empty = not line.strip()
        lines.append(line)
    return "\n".join(lines)


def _split_blocks(markdown: str) -> list[str]:
    """Split a text into blocks: paragraphs, whole code fences with their empty lines, and tables."""
    blocks: list[list[str]] = [[]]
    fence = ""
    all_lines = markdown.split("\n")
    for line, following in zip(all_lines, [*all_lines[1:], ""], strict=True):
        mark = _FENCE.fullmatch(line)
        if fence:
            blocks[-1].append(line)
            if mark and mark.group(1).startswith(fence) and not mark.group(2).strip():
                fence = ""
                blocks.append([])
        elif mark and "`" not in mark.group(2):
            fence = mark.group(1)
            blocks.append([line])
        elif "|" in line and "-" in following and _TABLE_RULE.fullmatch(following):
            blocks.append([line])
        elif line.strip():
            blocks[-1].append(line)
        else:
            blocks.append([])
    return ["\n".join(lines) for lines in blocks if lines]


def _cut_block(block: str, room: int) -> list[str]:
    """Cut a block into pieces of at most `room` characters. Each repeats the fence marks or the head of the table."""
    if len(block) <= room:
        return [block]
    lines = block.split("\n")
    head, foot = "", ""
    mark = _FENCE.fullmatch(lines[0])
    if mark:
        quote_prefix = lines[0][: mark.start(1)]
        head, foot = lines[0][:100] + "\n", f"\n{quote_prefix}{mark.group(1)}"
        lines = lines[1:-1] if _FENCE.fullmatch(lines[-1]) else lines[1:]
    elif len(lines) > 2 and _TABLE_RULE.fullmatch(lines[1]) and len(lines[0]) + len(lines[1]) < room // 2:
        head, lines = f"{lines[0]}\n{lines[1]}\n", lines[2:]
    room -= len(head) + len(foot)
    pieces, current = [], ""
    for row in (part for line in lines for part in _cut_line(line, room)):
        candidate = f"{current}\n{row}" if current else row
        if len(candidate) > room and current:
            pieces.append(current)
            candidate = row
        current = candidate
    return [head + piece + foot for piece in [*pieces, current] if piece]


def _cut_line(line: str, room: int) -> list[str]:
    """Cut a line into pieces of at most `room` characters: at the end of a sentence, at a space, or anywhere."""
    pieces = []
    while len(line) > room:
        at = max(line.rfind(end, room // 2, room) + 1 for end in (". ", "! ", "? "))
        at = at or line.rfind(" ", room // 2, room) + 1 or room
        pieces.append(line[:at].rstrip())
        line = line[at:].lstrip() if at < room else line[at:]
    return [*pieces, line]
