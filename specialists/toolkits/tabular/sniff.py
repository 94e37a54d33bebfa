"""Tells what a file really is, by its first bytes, and how its text is encoded."""

from __future__ import annotations

from specialists.toolkits.tabular.refused import TableRefused

_MAGIC = (
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF", "a PDF document"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90", "a program"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"PAR1", "a Parquet file"),
)
_HTML = (b"<!doctype html", b"<html", b"<table", b"<head", b"<meta")
_LOOKED_AT = 4096


def identity(data: bytes) -> str:
    """Say what the bytes are, in words such as `a PNG image`; "" if they may be text."""
    for magic, words in _MAGIC:
        if data.startswith(magic):
            return words
    if data.startswith(b"PK\x03\x04"):
        return _kind_of_zip(data)
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        sealed = "EncryptedPackage".encode("utf-16-le") in data
        return "a password-protected Office file" if sealed else "an old Excel workbook"
    start = data[:_LOOKED_AT].lstrip(b"\xef\xbb\xbf \r\n\t").lower()
    if start.startswith(_HTML):
        return "an HTML page"
    if start.startswith(b"<?xml"):
        return "an XML file"
    return ""


def _kind_of_zip(data: bytes) -> str:
    # Names of members stand in clear in the archive's directory, at its end.
    if b"xl/" in data:
        return "an Excel workbook"
    if b"word/document" in data:
        return "a Word document"
    if b"ppt/" in data:
        return "a PowerPoint file"
    if b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet" in data[:200]:
        return "an OpenDocument sheet"
    return "a zip archive"


def text_of(data: bytes) -> tuple[str, str]:
    """Decode the bytes, and name their encoding.

    Raises:
        TableRefused: the bytes are no text.
    """
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            return data.decode(encoding, errors="replace"), "UTF-8" if encoding == "utf-8-sig" else "UTF-16"
    head = data[:_LOOKED_AT]
    if b"\x00" in head:
        return _without_mark(data, head), "UTF-16"
    try:
        return data.decode(), "UTF-8"
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace"), "Windows-1252"


def _without_mark(data: bytes, head: bytes) -> str:
    """Recognise UTF-16 that lacks its mark: it has a zero in every other byte, for most languages."""
    half = len(head) // 2
    for encoding, zeros in (("utf-16-le", head[1::2]), ("utf-16-be", head[0::2])):
        if zeros.count(0) > 0.8 * half:
            return data.decode(encoding, errors="replace")
    raise TableRefused("is a binary file, not a table of text; attach CSV, TSV, XLSX, Parquet or JSON")
