"""Finds the kind of a file: by its first bytes, then by its name, its media type and the form of its text."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from pathlib import PurePosixPath

from specialists.formats.contents import UnreadableFile
from specialists.formats.table_detection import TABLE_SUFFIXES

BROKEN_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError)

_PICTURE_SIGNATURES = {b"\x89PNG": "PNG", b"\xff\xd8\xff": "JPEG", b"GIF87a": "GIF", b"GIF89a": "GIF"}
_RE_SAVE_PICTURE = "save it as PNG or JPEG and attach that"
_RTF_SIGNATURE = b"{\\rtf"
_CONTROL_CHARACTERS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_UNREADABLE_FORMATS = (
    (b"7z\xbc\xaf\x27\x1c", "is a 7-Zip archive; pack its files as ZIP, or attach them one by one"),
    (b"Rar!", "is a RAR archive; pack its files as ZIP, or attach them one by one"),
    (b"\x1f\x8b", "is packed with gzip; unpack it, or pack it as ZIP, and attach that"),
    (b"BZh", "is packed with bzip2; unpack it, or pack it as ZIP, and attach that"),
    (b"\xfd7zXZ\x00", "is packed with xz; unpack it, or pack it as ZIP, and attach that"),
    (b"\x28\xb5\x2f\xfd", "is packed with zstd; unpack it, or pack it as ZIP, and attach that"),
    (b"\x7fELF", "is a program; nothing in it can be read as text"),
    (b"MZ", "is a program; nothing in it can be read as text"),
    (b"SQLite format 3\x00", "is an SQLite database; export the tables that matter as CSV and attach those"),
    (_RTF_SIGNATURE, "is an RTF document; save it as .docx or PDF and attach that"),
    (b"II*\x00", f"is a TIFF picture; {_RE_SAVE_PICTURE}"),
    (b"MM\x00*", f"is a TIFF picture; {_RE_SAVE_PICTURE}"),
    (b"8BPS", f"is a Photoshop picture; {_RE_SAVE_PICTURE}"),
    (b"ID3", "is a sound recording; attach its transcript as text"),
    (b"OggS", "is a recording; attach its transcript as text"),
    (b"fLaC", "is a sound recording; attach its transcript as text"),
    (b"\x1aE\xdf\xa3", "is a video; attach its transcript as text, or single pictures of it"),
    (b"PAR1", "is a Parquet table; only the table tools can read it"),
)
_OLD_OFFICE_FAULTS = (
    ("EncryptedPackage", "is protected by a password; save it without one and attach it again"),
    ("WordDocument", "is an old Word document; save it as .docx or PDF and attach that"),
    ("PowerPoint Document", "is an old PowerPoint file; save it as .pptx or PDF and attach that"),
    ("__substg1.0_", "is an Outlook message; save it as .eml, or attach its text"),
)
_OPEN_DOCUMENT_KINDS = {"text": "odt", "presentation": "odp", "spreadsheet": "workbook"}
_HTML = re.compile(
    rb"(?:\s|<\?xml[^>]{0,200}>|<!--.{0,2000}?-->)*"
    rb"<(?:!doctype html|html|head|body|table|meta|style|title|div|tr|thead|tbody)\b",
    re.IGNORECASE | re.DOTALL,
)
_SPREADSHEET_XML = re.compile(
    rb"(?:\s|<\?[^>]{0,300}>|<!--.{0,2000}?-->)*<(?:\w+:)?Workbook\b[^>]*urn:schemas-microsoft-com:office:spreadsheet",
    re.DOTALL,
)
_WEB_ARCHIVE = re.compile(rb"MIME-Version:|From:", re.IGNORECASE)
_MAIL_HEADERS = re.compile(
    rb"(?:Return-Path|Received|From|To|Subject|Date|Message-ID|MIME-Version|Delivered-To|Content-Type|X-[\w-]+): ?",
    re.IGNORECASE,
)
_DIFF = re.compile(rb"^(?:diff --git |Index: \S+\n={20}|--- \S.*\n\+\+\+ \S.*\n@@ )", re.MULTILINE)
_KINDS_BY_NAME = {
    **dict.fromkeys((".html", ".htm", ".xhtml"), "html"),
    **dict.fromkeys((".eml", ".mht", ".mhtml"), "mail"),
    **dict.fromkeys((".md", ".markdown", ".mdown", ".rst", ".adoc"), "markdown"),
    **dict.fromkeys((".diff", ".patch"), "diff"),
    **dict.fromkeys((".csv", ".tsv", ".tab"), "delimited"),
    **dict.fromkeys((".json", ".jsonl", ".ndjson", ".ipynb", ".geojson", ".har"), "json"),
    **dict.fromkeys((".xls", ".xlsx", ".xlsm", ".ods", ".parquet", ".pq"), "delimited"),
    **dict.fromkeys((".yaml", ".yml"), "yaml"),
    **dict.fromkeys((".ics", ".ical", ".ifb"), "calendar"),
}
_KINDS_BY_MEDIA_TYPE = {
    "text/html": "html",
    "message/rfc822": "mail",
    "text/markdown": "markdown",
    "text/x-diff": "diff",
    "text/csv": "delimited",
    "text/tab-separated-values": "delimited",
    "application/json": "json",
    "application/yaml": "yaml",
    "text/calendar": "calendar",
}
NON_TABLE_NAMES = {
    "pdf": "a PDF document",
    "docx": "a Word document",
    "pptx": "a PowerPoint file",
    "odt": "an OpenDocument text",
    "odp": "an OpenDocument presentation",
    "picture": "a picture",
    "zip": "a zip archive",
    "calendar": "a calendar",
}
"""Readable names of the kinds that are never tables."""
_MAIN_MEMBERS = {"word/document.xml": "docx", "ppt/presentation.xml": "pptx", "xl/workbook.xml": "workbook"}
_ZIP_KINDS_BY_NAME = {".docx": "docx", ".docm": "docx", ".pptx": "pptx", ".odt": "odt", ".odp": "odp"}
_ZIP_KINDS_BY_NAME |= dict.fromkeys((".xlsx", ".xlsm", ".ods"), "workbook")
_HEAD_BYTES = 4096


def find_kind(data: bytes, name: str, media_type: str) -> str:
    """Return the kind of a file, such as `pdf`; `text` if it is no other kind.

    Raises:
        UnreadableFile: Files of its kind cannot be read. The text says what to attach instead.
    """
    if _is_pdf(data):
        return "pdf"
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")):
        return _find_zip_kind(data, name)
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        return _find_old_office_kind(data)
    if any(data.startswith(magic) for magic in _PICTURE_SIGNATURES) or (data[:4] == b"RIFF" and data[8:12] == b"WEBP"):
        return "picture"
    _refuse_unreadable(data)
    return _find_text_kind(data, name, media_type)


def _is_pdf(data: bytes) -> bool:
    """Return True for a PDF. Some have bytes before their mark, and a text about PDFs may quote the mark."""
    return data.lstrip()[:5] == b"%PDF-" or (b"%PDF-" in data[:1024] and b"startxref" in data[-2048:])


def _find_zip_kind(data: bytes, name: str) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = set(archive.namelist()[:20_000])
            declared_type = b""
            if "mimetype" in members:
                with archive.open("mimetype") as file:
                    declared_type = file.read(100)
    except BROKEN_ZIP_ERRORS:
        return _ZIP_KINDS_BY_NAME.get(PurePosixPath(name.lower()).suffix, "zip")  # its reader will report the damage
    for main, kind in _MAIN_MEMBERS.items():
        folder = main.partition("/")[0] + "/"
        is_declared = (
            "[Content_Types].xml" in members or _ZIP_KINDS_BY_NAME.get(PurePosixPath(name.lower()).suffix) == kind
        )
        is_office = is_declared and any(member.startswith(folder) for member in members)
        if main in members or is_office:
            return kind
    if match := re.search(r"opendocument\.(text|presentation|spreadsheet)", declared_type.decode("ascii", "replace")):
        return _OPEN_DOCUMENT_KINDS[match[1]]
    return "zip"


def _find_old_office_kind(data: bytes) -> str:
    for stream, words in _OLD_OFFICE_FAULTS:
        if stream.encode("utf-16-le") in data:
            raise UnreadableFile(words)
    if any(stream.encode("utf-16-le") in data for stream in ("Workbook", "Book")):
        return "workbook"
    raise UnreadableFile("is an old Office file; save it as .docx, .xlsx, .pptx or PDF and attach that")


def _refuse_unreadable(data: bytes) -> None:
    plain = not _CONTROL_CHARACTERS.search(data[:_HEAD_BYTES])  # a text may begin with `MZ` or `Rar!`
    for magic, words in _UNREADABLE_FORMATS:
        if data.startswith(magic) and (not plain or magic == _RTF_SIGNATURE):
            raise UnreadableFile(words)
    if data[4:8] == b"ftyp":
        brand = data[8:12].strip().lower()
        if brand in (b"heic", b"heix", b"mif1", b"msf1", b"avif", b"avis", b"hevc"):
            raise UnreadableFile(f"is a HEIC or AVIF picture; {_RE_SAVE_PICTURE}")
        raise UnreadableFile("is a video or a sound recording; attach its transcript as text")
    if data[:4] == b"RIFF" and data[8:12] in (b"WAVE", b"AVI "):
        raise UnreadableFile("is a recording; attach its transcript as text")
    if data.startswith(b"BM") and data[6:10] == b"\0\0\0\0":
        raise UnreadableFile(f"is a BMP picture; {_RE_SAVE_PICTURE}")


def _find_text_kind(data: bytes, name: str, media_type: str) -> str:
    head = _decode_head(data)
    ending = PurePosixPath(name.lower()).suffix
    if head[:15].upper() == b"BEGIN:VCALENDAR":
        return "calendar"
    if ending not in _KINDS_BY_NAME and _DIFF.search(head):
        return "diff"
    if content_kind := _find_markup_kind(head) or (
        _find_disguised_kind(data, head) if ending in TABLE_SUFFIXES else ""
    ):
        return content_kind
    if (kind := _KINDS_BY_NAME.get(ending)) or (
        kind := _KINDS_BY_MEDIA_TYPE.get(media_type.partition(";")[0].strip().lower())
    ):
        return kind
    lines = head.splitlines()[:4]
    if len(lines) == 4 and all(_MAIL_HEADERS.match(line) for line in lines[:1]) and _looks_like_mail(head):
        return "mail"
    return "text"


def _find_markup_kind(head: bytes) -> str:
    if _SPREADSHEET_XML.match(head):
        return "spreadsheet xml"
    return "html" if _HTML.match(head) else ""


def _find_disguised_kind(data: bytes, head: bytes) -> str:
    """Return the kind of a file that is named like a table but has another format; "" if it is none of these."""
    if _WEB_ARCHIVE.match(head) and b"multipart/related" in head.lower():
        return "mail"
    return "json" if _is_json(data, head) else ""


def _decode_head(data: bytes) -> bytes:
    """Return the beginning of a text as UTF-8 bytes, without byte order mark; text in UTF-16 is converted."""
    head = data[:_HEAD_BYTES]
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if head.startswith(mark):
            head = head[2:].decode(encoding, errors="ignore").encode()
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()


def _is_json(data: bytes, head: bytes) -> bool:
    """Return True if the text of a file begins and ends like a JSON array or object, and has a quotation mark."""
    ends = {b"[": b"]", b"{": b"}"}
    return head[:1] in ends and data.rstrip()[-1:] == ends[head[:1]] and b'"' in head


def _looks_like_mail(head: bytes) -> bool:
    headers = re.split(rb"\r?\n\r?\n", head, maxsplit=1)[0]
    names = {line.partition(b":")[0].lower() for line in headers.splitlines() if not line[:1].isspace()}
    return {b"from", b"date"} <= names and all(re.fullmatch(rb"[\w-]+", name) for name in names)
