"""Decodes text of any encoding: by its byte order mark, its declared encoding, as UTF-8, or by a reported guess."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, replace

_BYTE_ORDER_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_DECLARED_CHARSET = re.compile(
    rb"<meta[^>]{0,300}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})"
    rb"|<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([\w.:-]{1,40})"
    rb"|^#.{0,40}?coding[:=]\s*([\w.:-]{1,40})",
    re.IGNORECASE | re.MULTILINE,
)
_HEAD_BYTES = 4096
_REFUSED_CODECS = {"punycode", "idna", "unicode-escape", "raw-unicode-escape", "undefined", "utf-7", "ascii"}
_BROWSER_ENCODINGS = {
    **dict.fromkeys(("gb2312", "gbk", "hz", "x-gbk"), "gb18030"),
    **dict.fromkeys(("shift_jis", "x-sjis", "windows-31j", "sjis"), "cp932"),
    **dict.fromkeys(("euc_kr", "ks_c_5601-1987", "ks_c_5601"), "cp949"),
    **dict.fromkeys(("big5", "x-x-big5", "big5-hkscs", "big5hkscs"), "big5hkscs"),
    **dict.fromkeys(("iso8859-1", "latin_1", "latin-1"), "cp1252"),
    **dict.fromkeys(("iso8859-9",), "cp1254"),
    **dict.fromkeys(("iso-8859-8-i", "iso-8859-8-e"), "iso8859-8"),
    **dict.fromkeys(("x-mac-cyrillic",), "mac_cyrillic"),
    **dict.fromkeys(("x-euc-jp", "x-euc"), "euc_jp"),
}
"""Declared encodings, each with the larger one in which browsers read it."""
_READABLE_NAMES = {
    **{f"cp125{digit}": f"Windows-125{digit}" for digit in range(10)},
    **{f"iso8859-{number}": f"ISO 8859-{number}" for number in range(1, 17)},
    "cp874": "Windows-874 (Thai)",
    "cp850": "DOS 850",
    "cp852": "DOS 852",
    "cp866": "DOS 866",
    "cp437": "DOS 437",
    "mac_roman": "Mac Roman",
    "koi8-r": "KOI8-R",
    "koi8-u": "KOI8-U",
    "cp932": "Shift-JIS",
    "euc_jp": "EUC-JP",
    "cp949": "EUC-KR",
    "gb18030": "GB 18030",
    "cp950": "Big5",
    "big5hkscs": "Big5",
    "utf-8": "UTF-8",
    "utf-8-sig": "UTF-8",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "utf-32": "UTF-32",
    "utf-32-le": "UTF-32",
    "utf-32-be": "UTF-32",
}
_ESCAPE_SEQUENCES = ((b"\x1b$)C", "iso2022_kr"), (b"\x1b$", "iso2022_jp_2"), (b"\x1b(J", "iso2022_jp_2"))
_MAX_BROKEN_SHARE = 0.25
"""The largest share of broken letters, among those beyond ASCII, in a text that still counts as UTF-8."""


class NotText(Exception):
    """Raised for bytes that are binary, and no text in any encoding."""


@dataclass(frozen=True, slots=True)
class DecodedText:
    """A decoded text, with lines that end in a line feed.

    Attributes:
        text: The text.
        encoding: The readable name of its encoding, such as `Windows-1252`.
        note: A note that the encoding was guessed, if the guess is almost certain; otherwise "".
        doubt: A warning about wrong, broken or removed characters, such as after an uncertain guess; otherwise "".
    """

    text: str
    encoding: str
    note: str = ""
    doubt: str = ""


def decode_text(data: bytes, *, charset: str = "") -> DecodedText:
    """Decode the bytes of a text. Line ends become line feeds.

    Args:
        data: The bytes.
        charset: The encoding that a mail or a page declares; a wrong one is ignored.

    Raises:
        NotText: The bytes are binary.
    """
    decoded_text = _decode_bytes(data, charset)
    return replace(decoded_text, text=decoded_text.text.replace("\r\n", "\n").replace("\r", "\n"))


def _decode_bytes(data: bytes, charset: str) -> DecodedText:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _decode_with_losses(data, encoding)
    if b"\x00" in data[:_HEAD_BYTES]:
        return _decode_unmarked(data) or _decode_without_zeros(data, charset)
    if (declared_charset := charset or _find_declared_charset(data)) and (encoding := _find_codec(declared_charset)):
        try:
            return DecodedText(data.decode(encoding), _make_readable_name(encoding))
        except UnicodeDecodeError:
            pass  # the declared encoding is wrong
    if escape_encoding := next((name for mark, name in _ESCAPE_SEQUENCES if mark in data), ""):
        try:
            return DecodedText(data.decode(escape_encoding), "ISO 2022")
        except UnicodeDecodeError:
            pass
    try:
        return DecodedText(data.decode(), "UTF-8")
    except UnicodeDecodeError:
        return _decode_by_guess(data)


def _decode_by_guess(data: bytes) -> DecodedText:
    """Decode bytes that are neither marked nor clean UTF-8: as UTF-8 if few letters are broken, else by a guess."""
    text = data.decode(errors="replace")
    broken_count, non_ascii_count = text.count("\ufffd"), len(text) - len(text.encode("ascii", "ignore"))
    if broken_count <= _MAX_BROKEN_SHARE * non_ascii_count and non_ascii_count - broken_count > 1:
        return _decode_with_losses(data, "utf-8")
    _refuse_binary(data)
    from specialists.formats.encoding_guess import guess_encoding  # noqa: PLC0415 - its tables are for rare texts alone

    guess = guess_encoding(data)
    decoded_text = _decode_with_losses(data, guess.encoding)
    note = f"it does not name its encoding, so it was read as {_make_readable_name(guess.encoding)}"
    if not guess.other_encoding:
        return replace(decoded_text, note=note)
    example = (
        f"“{guess.word}” may be “{guess.other_word}”, which is {_make_readable_name(guess.other_encoding)}"
        if guess.word
        else ""
    )
    return replace(
        decoded_text, doubt="; ".join(filter(None, (f"{note}: some letters may be wrong", example, decoded_text.doubt)))
    )


def decode_name(data: bytes, usual_encoding: str) -> str:
    """Decode a short name without a declared encoding. `usual_encoding` is the encoding to prefer if it fits."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        from specialists.formats.encoding_guess import guess_encoding  # noqa: PLC0415 - the same

        return data.decode(guess_encoding(data, usual_encoding=usual_encoding).encoding, errors="replace")


def _make_readable_name(encoding: str) -> str:
    return _READABLE_NAMES.get(encoding, encoding)


def _decode_with_losses(data: bytes, encoding: str) -> DecodedText:
    text = data.decode(encoding, errors="replace")
    lost_count = text.count("\ufffd") - data.count(b"\xef\xbf\xbd")
    doubt = f"{lost_count:,} broken characters stand as \ufffd" if lost_count > 0 else ""
    return DecodedText(text, _make_readable_name(encoding), doubt=doubt)


def _decode_unmarked(data: bytes) -> DecodedText | None:
    """Decode UTF-16 or UTF-32 without a byte order mark, recognised by their zero bytes; None if it is neither."""
    head = data[: _HEAD_BYTES - _HEAD_BYTES % 4]
    zeros = [head[at::4].count(0) for at in range(4)]
    unit_count = len(head) / 4
    candidates = []
    if min(zeros[2], zeros[3]) > 0.9 * unit_count:
        candidates.append("utf-32-le")
    if min(zeros[0], zeros[1]) > 0.9 * unit_count:
        candidates.append("utf-32-be")
    even, odd = head[0::2].count(0), head[1::2].count(0)
    for encoding, here, there in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if here > 0.02 * len(head) and there * 10 <= here:
            candidates.append(encoding)
    for encoding in candidates:
        decoded_text = _decode_with_losses(data, encoding)
        if "\x00" not in decoded_text.text[:_HEAD_BYTES] and decoded_text.text[:_HEAD_BYTES].count("\ufffd") <= 1:
            return decoded_text
    return None


def _decode_without_zeros(data: bytes, charset: str) -> DecodedText:
    """Decode a text without its zero bytes, which a log may have where its machine crashed.

    Raises NotText if most bytes are zero, or the others are binary.
    """
    rest = data.replace(b"\x00", b"")
    if len(rest) * 2 < len(data):
        raise NotText
    _refuse_binary(rest)
    decoded_text = _decode_bytes(rest, charset)
    return replace(decoded_text, doubt=decoded_text.doubt or f"{len(data) - len(rest):,} zero bytes in it are left out")


def _refuse_binary(data: bytes) -> None:
    head = data[:_HEAD_BYTES]
    controls = sum(byte < 32 and byte not in b"\t\n\r\x0b\x0c\x1b\x08" for byte in head)
    if controls > 0.02 * len(head):
        raise NotText


def _find_declared_charset(data: bytes) -> str:
    match = _DECLARED_CHARSET.search(data[:_HEAD_BYTES])
    return (match[1] or match[2] or match[3]).decode("ascii") if match else ""


def _find_codec(charset: str) -> str:
    """Return Python's name for a declared charset; "" if it is unknown or no encoding of texts.

    Also "" for ASCII, UTF-7, UTF-16 and UTF-32, whose declarations are not to be trusted.
    """
    charset_name = charset.strip().lower()
    charset_name = _BROWSER_ENCODINGS.get(charset_name, charset_name)
    try:
        name = codecs.lookup(charset_name).name
        b"".decode(name)
    except (LookupError, ValueError):
        return ""
    name = _BROWSER_ENCODINGS.get(name, name)
    return "" if name in _REFUSED_CODECS or name.startswith(("utf-16", "utf-32")) else name
