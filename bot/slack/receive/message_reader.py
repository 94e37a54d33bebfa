"""Reads a Slack message, whichever way it came: all of its words, its tables, its files, and what it forwards. Pure.

The words come out in Slack's markup (`<@U1>`, `&lt;`), as the `text` of a message is. What somebody else wrote (a
forwarded message, the preview of an address) is kept apart from the words of the message's author.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bot.slack.receive.block_words import BlockWords, read_blocks, stamp_words
from bot.slack.receive.markup import join_texts, plain_text
from handoff.contracts import Attachment
from handoff.text.visible_text import visible

Json = Mapping[str, Any]

GONE = frozenset({"tombstone", "hidden_by_limit"})
"""Modes of files of which only the place is left: deleted, or hidden by the limit of a free plan."""
CANVAS = "application/vnd.slack-docs"
"""The media type of a canvas, which Slack serves as HTML."""
TABLE = "pasted-table"
LONGEST_EXCERPT = 20_000
"""Characters that are read of one forwarded message or attachment."""
MOST_EXCERPTS = 20
CUT = "(… cut here)"
_CANVASES = frozenset({"quip", "canvas"})
_MAX_FILES = 100
_CHANNEL = re.compile(r"#([\w-]+)")
_DEEPEST = 3
"""Messages forwarded within forwarded messages that are read."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """What stands below the words of a message: a message that it forwards or links to, the preview of an address.

    `kind` says in words which of them. `author` is who wrote it, in words; empty: it does not say. `head` says all
    that is known of where it comes from, and `words` are its own.
    """

    kind: str
    author: str
    head: str
    words: str
    files: tuple[Attachment, ...] = ()
    lost_files: int = 0

    @property
    def line(self) -> str:
        """All of it, as it stands in the text of a message."""
        files = "".join(f" [file: {' '.join(file.name.split())}]" for file in self.files)
        return f"({self.head}: {self.words}{files})"


@dataclass(frozen=True, slots=True)
class MessageContent:
    """All that there is to read of a message.

    `own` are the words of its author, and `excerpts` what they forwarded and what Slack or an app showed below.
    `tables` are those that the author pasted, and `files` what they attached. `lost_files` counts files that were
    deleted, or that Slack hides for its plan's limit.
    """

    own: str = ""
    excerpts: tuple[Excerpt, ...] = ()
    tables: tuple[Attachment, ...] = ()
    files: tuple[Attachment, ...] = ()
    lost_files: int = 0

    @property
    def words(self) -> str:
        """All words of the message, its author's first."""
        return "\n".join(part for part in (self.own, *(one.line for one in self.excerpts)) if part.strip())

    @property
    def all_files(self) -> tuple[Attachment, ...]:
        """The files of the message and of what it forwards, each once, its tables among them."""
        found = (*self.files, *self.tables, *(file for one in self.excerpts for file in one.files))
        return tuple({one.file_id: one for one in reversed(found)}.values())[::-1]

    def list_attachments(self, ts: str) -> tuple[Attachment, ...]:
        """Return all that a request brings beside its author's words; `ts` is the message's id."""
        excerpts = (
            Attachment(file_id=f"{ts}/excerpt{number}", name=one.kind, kind="message", author=one.author, text=one.line)
            for number, one in enumerate(self.excerpts, 1)
        )
        return (*self.all_files, *excerpts)


def read_message(message: Json) -> MessageContent:
    """Read a message, or what of it can be read: a field of another form than Slack's is passed over."""
    return _MessageReader(str(message.get("ts") or "")).read(message)


class _MessageReader:
    """Reads one message. Its tables get names apart from each other."""

    def __init__(self, ts: str) -> None:
        self._ts = ts
        self._tables = 0

    def read(self, message: Json, levels: int = _DEEPEST) -> MessageContent:
        by_app = bool(message.get("bot_id") or message.get("bot_profile"))
        text, blocks = message.get("text"), read_blocks(message.get("blocks"))
        own = join_texts(text if isinstance(text, str) else "", blocks.words, is_summary=by_app)
        tables, excerpts = self._name_tables(blocks), []
        for one in _list_mappings(message.get("attachments")):
            pasted = BlockWords() if _is_elsewhere(one) else read_blocks(one.get("blocks"))
            if not pasted.tables:
                excerpts.append(self._read_excerpt(one, levels))
                continue
            tables += self._name_tables(pasted)  # Slack puts a table here that somebody pastes into the message
            left = {**one, "blocks": [block for block in one["blocks"] if not read_blocks([block]).tables]}
            if pasted.words.strip() or _list_mappings(one.get("files")) or any(_iterate_texts(one, with_author=True)):
                excerpts.append(self._read_excerpt(left, levels))
        more = len(excerpts) - MOST_EXCERPTS
        if more > 0:
            excerpts[MOST_EXCERPTS:] = [Excerpt("attachments", "", "not read", f"{more:,} more attachments")]
        files = message.get("files")
        return MessageContent(own, tuple(excerpts), tables, parse_files(files), count_lost_files(files))

    def _name_tables(self, blocks: BlockWords, author: str = "") -> tuple[Attachment, ...]:
        named = []
        for table in blocks.tables:
            self._tables += 1
            name = f"{TABLE}.csv" if self._tables == 1 else f"{TABLE}-{self._tables}.csv"
            of = {"kind": "table", "media_type": "text/csv", "size": len(table.encode()), "text": table}
            named.append(
                Attachment.model_validate(
                    {"file_id": f"{self._ts}/table{self._tables}", "name": name, "author": author, **of}
                )
            )
        return tuple(named)

    def _read_excerpt(self, one: Json, levels: int) -> Excerpt:
        kind, author = _attachment_kind(one), _attachment_author(one)
        if kind not in {"forwarded message", "linked message"}:
            author = ""
        blocks = read_blocks([*_iterate_blocks(one)])
        words = join_texts("\n".join(_iterate_texts(one, with_author=not author)), blocks.words, is_summary=True)
        inner = self._read_nested(one, levels)
        words = "\n".join(part for part in (words, *(each.line for each in inner)) if part.strip())
        files = tuple(replace_author(file, author) for file in parse_files(one.get("files")))
        files += (*self._name_tables(blocks, author), *(file for each in inner for file in each.files))
        if not words.strip() and not files:
            words = str(one.get("fallback") or "").strip() or "(nothing of it can be read)"
        if len(words) > LONGEST_EXCERPT:
            words = f"{words[:LONGEST_EXCERPT]}\n{CUT}"
        return Excerpt(kind, author, _render_heading(kind, one), words, files, count_lost_files(one.get("files")))

    def _read_nested(self, one: Json, levels: int) -> tuple[Excerpt, ...]:
        """Read what a forwarded message forwards itself."""
        if levels == 0:
            return ()
        messages = [_as_mapping(each.get("message")) for each in _list_mappings(one.get("message_blocks"))]
        found = [each for message in (one, *messages) for each in _list_mappings(message.get("attachments"))]
        return tuple(self._read_excerpt(each, levels - 1) for each in found)


def replace_author(file: Attachment, author: str) -> Attachment:
    """Return a file with another author, unless that is empty."""
    return file.model_copy(update={"author": author}) if author else file


def parse_files(files: object) -> tuple[Attachment, ...]:
    """Read the files of a message. Leave out those gone or hidden; give those kept outside Slack no address."""
    found = []
    for file in _list_mappings(files)[:_MAX_FILES]:
        if not isinstance(file.get("id"), str) or str(file.get("mode")) in GONE:
            continue
        size = file.get("size")
        # A file kept elsewhere has an address elsewhere, which must never be asked with our token.
        outside = file.get("is_external") or file.get("mode") == "external"
        url = "" if outside else file.get("url_private_download") or file.get("url_private") or ""
        is_canvas = {str(file.get("mode")), str(file.get("filetype"))} & _CANVASES
        found.append(
            Attachment(
                file_id=file["id"],
                name=visible(str(file.get("name") or file.get("title") or file["id"]))[:200],
                media_type=CANVAS if is_canvas else str(file.get("mimetype") or "application/octet-stream"),
                size=size if isinstance(size, int) and size > 0 else 0,
                url=str(url),
            )
        )
    return tuple(found)


def plain_content(attachment: Attachment, names: Mapping[str, str]) -> bytes:
    """Return the content of a pasted table (CSV) or of a message in plain words; `names` are people's by their ids."""
    if attachment.kind != "table":
        return plain_text(attachment.text, "", names).encode()
    out = io.StringIO()
    rows = csv.reader(io.StringIO(attachment.text))
    csv.writer(out, lineterminator="\n").writerows([plain_text(cell, "", names) for cell in row] for row in rows)
    return out.getvalue().encode()


def count_lost_files(files: object) -> int:
    """Count the files of a message that were deleted, or that Slack hides for its plan's limit."""
    return sum(str(one.get("mode")) in GONE for one in _list_mappings(files))


def _attachment_kind(one: Json) -> str:
    if one.get("is_share"):
        return "forwarded message"
    if one.get("is_msg_unfurl") or one.get("message_blocks"):
        return "linked message"
    return "link preview" if _is_elsewhere(one) else "attachment"


def _is_elsewhere(one: Json) -> bool:
    """Return True for what shows a message or an address that is elsewhere, False for what is the message's own."""
    return any(one.get(name) for name in ("is_share", "is_msg_unfurl", "message_blocks", "from_url", "original_url"))


def _attachment_author(one: Json) -> str:
    known = one.get("author_name") or one.get("author_subname")
    if known:
        return " ".join(visible(str(known)).split())
    return f"<@{one['author_id']}>" if isinstance(one.get("author_id"), str) and one["author_id"] else ""


def _render_heading(kind: str, one: Json) -> str:
    """Say what an attachment is and where it comes from: its author, channel, time and address, as far as known."""
    address = str(one.get("from_url") or one.get("original_url") or one.get("title_link") or "")
    if kind in {"link preview", "attachment"}:
        source = f" from <{address}>" if address else ""
        return f"{'preview' if kind == 'link preview' else 'attached'}{source}"
    channel = str(one.get("channel_id") or "")
    name = str(one.get("channel_name") or "").lstrip("#") or _find_channel(one.get("footer"))
    where = f" in #{name}" if name else " in a direct message" if channel.startswith("D") else ""
    where = where or (f" in <#{channel}>" if channel else "")
    when = stamp_words(one.get("ts"))
    author = _attachment_author(one)
    return "".join(
        (
            kind,
            f" by {author}" if author else "",
            where,
            f" on {when}" if when else "",
            f", <{address}>" if address else "",
        )
    )


def _find_channel(footer: object) -> str:
    """Return the name of the channel that stands below a forwarded message ("Posted in #sales"); empty if none does."""
    found = _CHANNEL.search(footer) if isinstance(footer, str) else None
    return found[1] if found else ""


def _iterate_texts(one: Json, *, with_author: bool) -> Iterator[str]:
    """Yield the texts of an attachment that are no blocks, without repeating its heading."""
    names = ("pretext", *(("author_name",) if with_author else ()), "title", "text")
    for name in names:
        if isinstance(one.get(name), str) and one[name].strip():
            yield one[name]
    for field in _list_mappings(one.get("fields")):
        pair = f"{field.get('title', '')}: {field.get('value', '')}"
        if pair.strip() != ":":
            yield pair


def _iterate_blocks(one: Json) -> Iterator[object]:
    """Yield the blocks of an attachment, and those of the message that it forwards."""
    yield from one["blocks"] if isinstance(one.get("blocks"), list) else ()
    for each in _list_mappings(one.get("message_blocks")):
        blocks = _as_mapping(each.get("message")).get("blocks")
        yield from blocks if isinstance(blocks, list) else ()


def _list_mappings(value: object) -> list[Json]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _as_mapping(value: object) -> Json:
    return value if isinstance(value, Mapping) else {}
