"""Reads a Slack message from any payload: its words, tables and files, and the messages that it forwards. Pure.

The words are returned in Slack's markup (`<@U1>`, `&lt;`). Text by others (a forwarded message, the preview of a link)
is kept apart from the words of the message's author.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bot.slack.receive.block_words import BlockWords, format_timestamp, read_blocks
from bot.slack.receive.markup import join_texts, to_plain_text
from handoff.contracts import Attachment
from handoff.text.invisible_characters import remove_invisible

Json = Mapping[str, Any]

LOST_FILE_MODES = frozenset({"tombstone", "hidden_by_limit"})
"""Modes of files that cannot be read any more: deleted, or hidden by the limit of a free plan."""
CANVAS_TYPE = "application/vnd.slack-docs"
"""The media type of a canvas, which Slack serves as HTML."""
TABLE_NAME = "pasted-table"
MAX_EXCERPT_LENGTH = 20_000
"""Maximum number of characters that are kept of one forwarded message or attachment."""
MAX_EXCERPTS = 20
CUT_NOTE = "(… cut here)"
_CANVAS_TYPES = frozenset({"quip", "canvas"})
_MAX_FILES = 100
_CHANNEL_NAME = re.compile(r"#([\w-]+)")
_MAX_FORWARD_DEPTH = 3
"""Maximum number of levels at which messages forwarded within forwarded messages are read."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Text below a message that its author did not write there: a forwarded or linked message, or a link's preview."""

    kind: str
    """Its kind in words, such as "forwarded message"."""
    author: str
    """The name or mention of its author; "" if unknown."""
    heading: str
    """Its kind, author, channel, time and address in words, as far as known."""
    words: str
    """Its text, in Slack's markup."""
    files: tuple[Attachment, ...] = ()
    lost_file_count: int = 0
    """The number of files that were deleted, or that Slack hides for its plan's limit."""

    @property
    def text(self) -> str:
        """Its heading, words and file names in brackets, for the text of the message."""
        files = "".join(f" [file: {' '.join(file.name.split())}]" for file in self.files)
        return f"({self.heading}: {self.words}{files})"


@dataclass(frozen=True, slots=True)
class MessageContent:
    """The readable content of a message."""

    own_words: str = ""
    """The words of its author, in Slack's markup."""
    excerpts: tuple[Excerpt, ...] = ()
    """The messages that the author forwarded, and the previews and attachments that Slack or an app added."""
    tables: tuple[Attachment, ...] = ()
    """The tables that the author pasted."""
    files: tuple[Attachment, ...] = ()
    """The files that the author attached."""
    lost_file_count: int = 0
    """The number of files that were deleted, or that Slack hides for its plan's limit."""

    @property
    def words(self) -> str:
        """All words of the message, its author's first."""
        return "\n".join(part for part in (self.own_words, *(one.text for one in self.excerpts)) if part.strip())

    @property
    def all_files(self) -> tuple[Attachment, ...]:
        """The files and tables of the message and of its excerpts, without duplicates."""
        files = (*self.files, *self.tables, *(file for one in self.excerpts for file in one.files))
        return tuple({one.file_id: one for one in reversed(files)}.values())[::-1]

    def list_attachments(self, ts: str) -> tuple[Attachment, ...]:
        """Return the files, tables and excerpts as attachments of a request; `ts` is the id of the message."""
        excerpts = (
            Attachment(file_id=f"{ts}/excerpt{number}", name=one.kind, kind="message", author=one.author, text=one.text)
            for number, one in enumerate(self.excerpts, 1)
        )
        return (*self.all_files, *excerpts)


def read_message(message: Json) -> MessageContent:
    """Read the content of a message. Malformed fields are ignored."""
    return _MessageReader(str(message.get("ts") or "")).read(message)


class _MessageReader:
    """Reads one message, and numbers its tables, so that each gets a unique name and id."""

    def __init__(self, ts: str) -> None:
        self._ts = ts
        self._tables = 0

    def read(self, message: Json, levels: int = _MAX_FORWARD_DEPTH) -> MessageContent:
        by_app = bool(message.get("bot_id") or message.get("bot_profile"))
        text, blocks = message.get("text"), read_blocks(message.get("blocks"))
        own = join_texts(text if isinstance(text, str) else "", blocks.words, is_summary=by_app)
        tables, excerpts = self._make_table_attachments(blocks), []
        for one in _list_mappings(message.get("attachments")):
            pasted_blocks = BlockWords() if _shows_other_source(one) else read_blocks(one.get("blocks"))
            if not pasted_blocks.tables:
                excerpts.append(self._read_excerpt(one, levels))
                continue
            # Slack puts a table here that somebody pastes into the message.
            tables += self._make_table_attachments(pasted_blocks)
            remaining_attachment = {
                **one,
                "blocks": [block for block in one["blocks"] if not read_blocks([block]).tables],
            }
            if (
                pasted_blocks.words.strip()
                or _list_mappings(one.get("files"))
                or any(_iterate_texts(one, with_author=True))
            ):
                excerpts.append(self._read_excerpt(remaining_attachment, levels))
        more = len(excerpts) - MAX_EXCERPTS
        if more > 0:
            excerpts[MAX_EXCERPTS:] = [Excerpt("attachments", "", "not read", f"{more:,} more attachments")]
        files = message.get("files")
        return MessageContent(own, tuple(excerpts), tables, parse_files(files), count_lost_files(files))

    def _make_table_attachments(self, blocks: BlockWords, author: str = "") -> tuple[Attachment, ...]:
        attachments = []
        for table in blocks.tables:
            self._tables += 1
            name = f"{TABLE_NAME}.csv" if self._tables == 1 else f"{TABLE_NAME}-{self._tables}.csv"
            table_fields = {"kind": "table", "media_type": "text/csv", "size": len(table.encode()), "text": table}
            attachments.append(
                Attachment.model_validate(
                    {"file_id": f"{self._ts}/table{self._tables}", "name": name, "author": author, **table_fields}
                )
            )
        return tuple(attachments)

    def _read_excerpt(self, attachment: Json, levels: int) -> Excerpt:
        kind, author = _classify_attachment(attachment), _find_author(attachment)
        if kind not in {"forwarded message", "linked message"}:
            author = ""
        blocks = read_blocks([*_iterate_blocks(attachment)])
        words = join_texts("\n".join(_iterate_texts(attachment, with_author=not author)), blocks.words, is_summary=True)
        inner = self._read_nested(attachment, levels)
        words = "\n".join(part for part in (words, *(each.text for each in inner)) if part.strip())
        files = tuple(replace_author(file, author) for file in parse_files(attachment.get("files")))
        files += (*self._make_table_attachments(blocks, author), *(file for each in inner for file in each.files))
        if not words.strip() and not files:
            words = str(attachment.get("fallback") or "").strip() or "(nothing of it can be read)"
        if len(words) > MAX_EXCERPT_LENGTH:
            words = f"{words[:MAX_EXCERPT_LENGTH]}\n{CUT_NOTE}"
        return Excerpt(
            kind, author, _render_heading(kind, attachment), words, files, count_lost_files(attachment.get("files"))
        )

    def _read_nested(self, attachment: Json, levels: int) -> tuple[Excerpt, ...]:
        """Read the messages that a forwarded message itself forwards."""
        if levels == 0:
            return ()
        messages = [
            _as_mapping_or_empty(each.get("message")) for each in _list_mappings(attachment.get("message_blocks"))
        ]
        nested_attachments = [
            each for message in (attachment, *messages) for each in _list_mappings(message.get("attachments"))
        ]
        return tuple(self._read_excerpt(each, levels - 1) for each in nested_attachments)


def replace_author(file: Attachment, author: str) -> Attachment:
    """Return a file with another author, or unchanged if `author` is empty."""
    return file.model_copy(update={"author": author}) if author else file


def parse_files(files: object) -> tuple[Attachment, ...]:
    """Read the files of a message, without deleted and hidden ones. A file kept outside Slack gets the `url` ""."""
    attachments = []
    for file in _list_mappings(files)[:_MAX_FILES]:
        if not isinstance(file.get("id"), str) or str(file.get("mode")) in LOST_FILE_MODES:
            continue
        size = file.get("size")
        # The address of a file kept outside Slack must never be requested with our token.
        is_external = file.get("is_external") or file.get("mode") == "external"
        url = "" if is_external else file.get("url_private_download") or file.get("url_private") or ""
        is_canvas = {str(file.get("mode")), str(file.get("filetype"))} & _CANVAS_TYPES
        attachments.append(
            Attachment(
                file_id=file["id"],
                name=remove_invisible(str(file.get("name") or file.get("title") or file["id"]))[:200],
                media_type=CANVAS_TYPE if is_canvas else str(file.get("mimetype") or "application/octet-stream"),
                size=size if isinstance(size, int) and size > 0 else 0,
                url=str(url),
            )
        )
    return tuple(attachments)


def render_plain_content(attachment: Attachment, names: Mapping[str, str]) -> bytes:
    """Return the content of a pasted table (as CSV) or of a message, without markup; `names` are people's, by id."""
    if attachment.kind != "table":
        return to_plain_text(attachment.text, "", names).encode()
    out = io.StringIO()
    rows = csv.reader(io.StringIO(attachment.text))
    csv.writer(out, lineterminator="\n").writerows([to_plain_text(cell, "", names) for cell in row] for row in rows)
    return out.getvalue().encode()


def count_lost_files(files: object) -> int:
    """Count the files of a message that were deleted, or that Slack hides for its plan's limit."""
    return sum(str(one.get("mode")) in LOST_FILE_MODES for one in _list_mappings(files))


def _classify_attachment(attachment: Json) -> str:
    if attachment.get("is_share"):
        return "forwarded message"
    if attachment.get("is_msg_unfurl") or attachment.get("message_blocks"):
        return "linked message"
    return "link preview" if _shows_other_source(attachment) else "attachment"


def _shows_other_source(attachment: Json) -> bool:
    """Return True if an attachment shows another message or a link's preview, False if the author made it."""
    return any(
        attachment.get(name) for name in ("is_share", "is_msg_unfurl", "message_blocks", "from_url", "original_url")
    )


def _find_author(attachment: Json) -> str:
    author_name = attachment.get("author_name") or attachment.get("author_subname")
    if author_name:
        return " ".join(remove_invisible(str(author_name)).split())
    return (
        f"<@{attachment['author_id']}>"
        if isinstance(attachment.get("author_id"), str) and attachment["author_id"]
        else ""
    )


def _render_heading(kind: str, attachment: Json) -> str:
    """Render the heading of an attachment: its kind, author, channel, time and address, as far as known."""
    address = str(attachment.get("from_url") or attachment.get("original_url") or attachment.get("title_link") or "")
    if kind in {"link preview", "attachment"}:
        source = f" from <{address}>" if address else ""
        return f"{'preview' if kind == 'link preview' else 'attached'}{source}"
    channel = str(attachment.get("channel_id") or "")
    name = str(attachment.get("channel_name") or "").lstrip("#") or _find_channel_name(attachment.get("footer"))
    where = f" in #{name}" if name else " in a direct message" if channel.startswith("D") else ""
    where = where or (f" in <#{channel}>" if channel else "")
    when = format_timestamp(attachment.get("ts"))
    author = _find_author(attachment)
    return "".join(
        (
            kind,
            f" by {author}" if author else "",
            where,
            f" on {when}" if when else "",
            f", <{address}>" if address else "",
        )
    )


def _find_channel_name(footer: object) -> str:
    """Return the channel's name in the footer of a forwarded message ("Posted in #sales"); "" if there is none."""
    match = _CHANNEL_NAME.search(footer) if isinstance(footer, str) else None
    return match[1] if match else ""


def _iterate_texts(attachment: Json, *, with_author: bool) -> Iterator[str]:
    """Yield the texts of an attachment outside its blocks; with `with_author`, also the author's name."""
    names = ("pretext", *(("author_name",) if with_author else ()), "title", "text")
    for name in names:
        if isinstance(attachment.get(name), str) and attachment[name].strip():
            yield attachment[name]
    for field in _list_mappings(attachment.get("fields")):
        pair = f"{field.get('title', '')}: {field.get('value', '')}"
        if pair.strip() != ":":
            yield pair


def _iterate_blocks(attachment: Json) -> Iterator[object]:
    """Yield the blocks of an attachment, and those of the message that it forwards."""
    yield from attachment["blocks"] if isinstance(attachment.get("blocks"), list) else ()
    for each in _list_mappings(attachment.get("message_blocks")):
        blocks = _as_mapping_or_empty(each.get("message")).get("blocks")
        yield from blocks if isinstance(blocks, list) else ()


def _list_mappings(value: object) -> list[Json]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _as_mapping_or_empty(value: object) -> Json:
    return value if isinstance(value, Mapping) else {}
