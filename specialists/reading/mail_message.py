"""Reads a mail: its headers, its text (plain, otherwise from HTML), and its attachments as inner files."""

from __future__ import annotations

import contextlib
import re
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.utils import collapse_rfc2231_value

from specialists.formats.contents import Blob, FileContents, InnerFileAllowance, UnreadableFile, guess_media_type
from specialists.formats.encodings import NotText, decode_name, decode_text
from specialists.reading.html_text import add_page_text
from specialists.reading.plain_text import report_decoding

_SHOWN_HEADERS = ("From", "To", "Cc", "Bcc", "Reply-To", "Date", "Subject")
_LONGEST_HEADER = 5_000
_MAX_PARTS = 2_000
_MAX_LEVELS = 30
_ENDING_BY_TYPE = {"text/html": ".html", "text/plain": ".txt", "message/rfc822": ".eml", "text/calendar": ".ics"}


def read_mail(data: bytes, name: str, contents: FileContents) -> None:
    """Read a mail. A mail inside it becomes an inner file.

    Raises:
        UnreadableFile: it is nested too deep, or has none of the headers shown and no parts.
    """
    del name
    try:
        message = message_from_bytes(data)
    except RecursionError:
        raise UnreadableFile("is a mail nested far too deeply; attach the text that matters") from None
    if not any(_list_raw_headers(message, header) for header in _SHOWN_HEADERS) and not message.is_multipart():
        raise UnreadableFile(
            "is not a mail, although its name says so: it has no sender and no subject; attach it as text"
        )
    contents.begin_section("headers")
    for header in _SHOWN_HEADERS:
        for value in _list_raw_headers(message, header):
            contents.add_text(f"{header}: {_decode_header(value)}\n")
    contents.add_text("\n")
    body, attachments = _split_parts(message, contents)
    contents.begin_section("message")
    for part in body:
        _add_part_text(part, contents)
    allowance = InnerFileAllowance(contents)
    for number, part in enumerate(attachments, start=1):
        _add_attachment(part, number, contents, allowance)
    allowance.report_refused()
    if not body and not contents.inner_files:
        contents.add_gap("it has no text and no attachment")


def _split_parts(message: Message, contents: FileContents) -> tuple[list[Message], list[Message]]:
    """Return a pair of (parts with the mail's text, attached parts)."""
    body: list[Message] = []
    attachments: list[Message] = []
    pending_parts = [(message, 0)]
    part_count = 0
    while pending_parts:
        part, depth = pending_parts.pop()
        part_count += 1
        if part_count > _MAX_PARTS or depth > _MAX_LEVELS:
            contents.add_gap("it has far more parts than a mail usually has, and not all are read")
            break
        kind = part.get_content_type()
        if kind == "message/rfc822":
            attachments.append(part)
        elif kind == "multipart/alternative":
            pending_parts += [(best, depth + 1) for best in _choose_alternatives(_list_children(part))]
        elif part.is_multipart():
            pending_parts += [(child, depth + 1) for child in reversed(_list_children(part))]
        elif kind in ("text/plain", "text/html") and not _is_attached_file(part):
            body.append(part)
        else:
            attachments.append(part)
    return body, attachments


def _list_children(part: Message) -> list[Message]:
    payload = part.get_payload()
    return [child for child in payload if isinstance(child, Message)] if isinstance(payload, list) else []


def _choose_alternatives(children: list[Message]) -> list[Message]:
    """Return the form of the text to read, HTML only if the plain one is empty, and all parts that are no text."""
    plain = [child for child in children if child.get_content_type() == "text/plain" and _read_payload(child).strip()]
    others = [c for c in children if c.get_content_type() not in ("text/plain", "text/html", "text/x-amp-html")]
    if plain:
        return [*others[::-1], plain[0]] if not any(other.is_multipart() for other in others) else [plain[0], *others]
    html = [child for child in children if child.get_content_type() == "text/html"]
    return [*others[::-1], *html[:1]]


def _is_attached_file(part: Message) -> bool:
    return part.get_content_disposition() == "attachment" or bool(_read_part_name(part))


def _add_part_text(part: Message, contents: FileContents) -> None:
    try:
        decoded_text = decode_text(_read_payload(part), charset=str(part.get_content_charset("") or ""))
    except NotText:
        contents.add_gap("a part of its text is binary and not read")
        return
    report_decoding(decoded_text, contents)
    if part.get_content_type() == "text/html":
        add_page_text(decoded_text.text, contents)
    else:
        contents.add_text(decoded_text.text.rstrip() + "\n")
    contents.add_text("\n")


def _add_attachment(part: Message, number: int, contents: FileContents, allowance: InnerFileAllowance) -> None:
    kind = part.get_content_type()
    data = _read_inner_mail(part) if kind == "message/rfc822" else _read_attachment(part, _read_payload(part))
    name = _read_part_name(part) or f"attachment {number}{_ENDING_BY_TYPE.get(kind, '')}"
    earlier_count = len(contents.inner_files)
    allowance.accept_or_refuse(Blob(name, kind if kind != "application/octet-stream" else guess_media_type(name), data))
    if len(contents.inner_files) > earlier_count:
        contents.begin_section(f"attachment {contents.inner_files[-1].name}")
        contents.add_text(f"[attachment: {contents.inner_files[-1].name}, {len(data):,} bytes]\n")


def _read_attachment(part: Message, data: bytes) -> bytes:
    """Return an attachment's bytes; a text is converted to UTF-8 if the mail names its encoding, except for HTML."""
    charset = str(part.get_content_charset("") or "")
    if not charset or not part.get_content_type().startswith("text/") or part.get_content_type() == "text/html":
        return data
    try:
        decoded_text = decode_text(data, charset=charset)
    except NotText:
        return data
    return (
        data
        if decoded_text.note or decoded_text.doubt or decoded_text.encoding == "UTF-8"
        else decoded_text.text.encode()
    )


def _read_inner_mail(part: Message) -> bytes:
    children = _list_children(part)
    try:
        return children[0].as_bytes() if children else _read_payload(part)
    except (RecursionError, ValueError, LookupError, TypeError, KeyError):
        return b""


def _read_payload(part: Message) -> bytes:
    try:
        payload = part.get_payload(decode=True)
    except (ValueError, LookupError, AssertionError):
        payload = None
    return payload if isinstance(payload, bytes) else b""


def _read_part_name(part: Message) -> str:
    try:
        raw_name = part.get_param("filename", None, "content-disposition") or part.get_param(
            "name", None, "content-type"
        )
        name = collapse_rfc2231_value(raw_name) if raw_name else ""
    except (ValueError, LookupError, TypeError):
        return ""
    return _decode_header(name)[:200]


def _list_raw_headers(message: Message, name: str) -> list[str]:
    """Return the raw values of the headers with a name. Parsed values have lost characters beyond ASCII."""
    return [str(value) for key, value in message.raw_items() if key.lower() == name.lower()]


def _decode_header(value: str) -> str:
    """Decode the encoded words of a header. Control characters and runs of blanks become one space."""
    raw = value[:_LONGEST_HEADER].encode("utf-8", errors="surrogateescape")
    text = decode_name(raw, "cp1252")
    with contextlib.suppress(HeaderParseError, LookupError, ValueError):  # then it stays as written
        text = "".join(
            piece.decode(charset or "utf-8", errors="replace") if isinstance(piece, bytes) else piece
            for piece, charset in decode_header(text)
        )
    return re.sub(r"[\x00-\x1f\x7f\s]+", " ", text).strip()
