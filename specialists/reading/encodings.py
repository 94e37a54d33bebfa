"""Decodes text of any encoding: by its mark, by what it says of itself, as UTF-8, or else by its letters."""

from __future__ import annotations

import codecs
import re

_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_SAID = re.compile(
    rb"<meta[^>]{0,300}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})"
    rb"|<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([\w.:-]{1,40})"
    rb"|^#.{0,40}?coding[:=]\s*([\w.:-]{1,40})",
    re.IGNORECASE | re.MULTILINE,
)
_HEAD = 4096
_SAMPLE = 200_000
_NO_CHARSETS = {"punycode", "idna", "unicode-escape", "raw-unicode-escape", "undefined", "utf-7"}
_PEOPLE_CALL = {
    "cp1250": "Windows-1250",
    "cp1251": "Windows-1251",
    "cp1252": "Windows-1252",
    "koi8-r": "KOI8-R",
    "koi8_r": "KOI8-R",
    "shift_jis": "Shift-JIS",
    "cp932": "Shift-JIS",
    "euc_jis_2004": "EUC-JP",
    "euc_jp": "EUC-JP",
    "gb18030": "GB 18030",
    "big5": "Big5",
}
_WESTERN_LETTERS = frozenset(
    "äöüßÄÖÜéèêëàâáíìîïóòôúùûñçãõåæøÉÀÇÑÅØÆ€£§°«»„“”·©®¿¡ºª²³½\u2018\u2019\u201a\u2013\u2014\u2026\xb4\xa0"
)
_BESIDE = re.compile(rb"(?<=[A-Za-z])[\x80-\xff]|[\x80-\xff](?=[A-Za-z])")
_CYRILLIC = ("cp1251", "koi8-r", "iso8859-5", "cp866")
_FREQUENT = frozenset("оеаинтсрвл")


class NoText(Exception):
    """The bytes are no text in any encoding."""


def decoded(data: bytes, *, charset: str = "") -> tuple[str, str]:
    """Decode the bytes. Gives the text, with lines that end in a line feed, and what is doubtful about it, or "".

    Args:
        data: bytes of a text.
        charset: what a mail or a page says of it; wrong ones are passed over.

    Raises:
        NoText: the bytes are binary.
    """
    text, doubt = _decoded(data, charset)
    return text.replace("\r\n", "\n").replace("\r", "\n"), doubt


def _decoded(data: bytes, charset: str) -> tuple[str, str]:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _lossy(data, encoding)
    if b"\x00" in data[:_HEAD]:
        if (text := _without_mark(data)) is not None:
            return text, ""
        return _without_zeros(data, charset)
    if (said := charset or _said_inside(data)) and (encoding := _codec(said)):
        try:
            return data.decode(encoding), ""
        except UnicodeDecodeError:
            pass  # it does not keep to its own word
    try:
        return data.decode(), ""
    except UnicodeDecodeError as error:
        # Bytes cut off in the middle of a last letter, or one broken letter in a long text, are still UTF-8.
        if error.start > 100 and data[: error.start].count(b"\xc3") + data[: error.start].count(b"\xe2") > 0:
            return _lossy(data, "utf-8")
    _refuse_binary(data)
    if encoding := _by_letters(data[:_SAMPLE]):
        return _lossy(data, encoding)
    encoding = _guessed(data[:_SAMPLE])
    text, doubt = _lossy(data, encoding)
    guess = f"its encoding is taken for {_PEOPLE_CALL.get(encoding, encoding)}: some letters may be wrong"
    return text, doubt or guess


def _lossy(data: bytes, encoding: str) -> tuple[str, str]:
    text = data.decode(encoding, errors="replace")
    lost = text.count("\ufffd") - data.count(b"\xef\xbf\xbd")
    return text, f"{lost:,} broken characters stand as \ufffd" if lost > 0 else ""


def _without_mark(data: bytes) -> str | None:
    """Recognise UTF-16 that lacks its mark: zeros stand in every other byte, wherever there are spaces or digits."""
    head = data[:_HEAD]
    even, odd = head[0::2].count(0), head[1::2].count(0)
    for encoding, here, there in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if here > 0.02 * len(head) and there * 10 <= here:
            text = data.decode(encoding, errors="replace")
            if "\x00" not in text[:_HEAD]:
                return text
    return None


def _without_zeros(data: bytes, charset: str) -> tuple[str, str]:
    """Read a text with a few zeros in it, as a log has where its machine went down."""
    rest = data.replace(b"\x00", b"")
    if len(rest) * 2 < len(data):
        raise NoText
    _refuse_binary(rest)
    text, doubt = _decoded(rest, charset)
    return text, doubt or f"{len(data) - len(rest):,} zero bytes in it are left out"


def _refuse_binary(data: bytes) -> None:
    head = data[:_HEAD]
    controls = sum(byte < 32 and byte not in b"\t\n\r\x0b\x0c\x1b\x08" for byte in head)
    if controls > 0.02 * len(head):
        raise NoText


def _said_inside(data: bytes) -> str:
    said = _SAID.search(data[:_HEAD])
    return (said[1] or said[2] or said[3]).decode("ascii") if said else ""


def _codec(charset: str) -> str:
    """Find Python's name for a charset; "" for one that no text is written in."""
    try:
        name = codecs.lookup(charset).name
        b"".decode(name)
    except (LookupError, ValueError):
        return ""
    # As browsers do: what says Latin-1 means Windows-1252.
    name = {"iso8859-1": "cp1252", "ascii": "cp1252"}.get(name, name)
    return "" if name in _NO_CHARSETS or name.startswith("utf-16") else name


def _by_letters(sample: bytes) -> str:
    """Tell the encoding by its letters, where they leave no doubt: Western ones among ASCII, or Russian. Else ""."""
    high = sum(byte >= 0x80 for byte in sample)
    letters = sum(chr(byte).isalpha() for byte in sample if byte < 0x80)
    # Accents stand in words of plain letters; a Russian or Japanese word has none of those.
    beside = len(_BESIDE.findall(sample))
    if high * 2 < letters or beside * 2 >= high:
        western = sample.decode("cp1252", errors="replace")
        strange = sum(letter > "\x7f" and letter not in _WESTERN_LETTERS for letter in western)
        if strange * 20 <= high:
            return "cp1252"
    best = max(_CYRILLIC, key=lambda encoding: _russian(sample, encoding))
    return best if _russian(sample, best) > 0.6 else ""


def _guessed(sample: bytes) -> str:
    from charset_normalizer import from_bytes  # noqa: PLC0415  # slow to import, and wanted for rare texts alone

    match = from_bytes(sample).best()
    return match.encoding if match is not None else "cp1252"


def _russian(sample: bytes, encoding: str) -> float:
    """Tell how much of what is no ASCII are the ten letters that make two thirds of Russian text, in lower case."""
    text = sample.decode(encoding, errors="replace")
    high = [letter for letter in text if letter > "\x7f"]
    cyrillic = sum("\u0430" <= letter.lower() <= "\u044f" for letter in high)
    if not high or cyrillic < 0.9 * len(high):
        return 0.0
    return sum(letter.lower() in _FREQUENT for letter in high) / len(high) + 0.2 * (
        sum(letter.islower() for letter in high) / len(high)
    )
