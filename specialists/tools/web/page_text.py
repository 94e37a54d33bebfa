"""Extracts the text of a fetched page: title and body, without markup and invisible characters."""

from __future__ import annotations

import codecs
import contextlib
import re
from dataclasses import dataclass

_HTML_TYPES = ("text/html", "application/xhtml+xml")
_PLAIN_TYPES = (
    "text/plain",
    "text/markdown",
    "text/x-markdown",
    "text/csv",
    "application/json",
    "application/xml",
    "text/xml",
)

# Characters that are invisible or change the order of visible ones: zero-width, bidi controls, tags.
_INVISIBLE_CHARACTERS = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")
_META_CHARSET = re.compile(rb"<meta[^>]{0,300}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
_HEAD_BYTES = 4096
# Python's codecs that are no charsets of pages. The first two can take minutes for a page.
_REFUSED_CODECS = {"punycode", "idna", "unicode-escape", "raw-unicode-escape", "undefined"}
_CONTROL_CHARACTER = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class WebPage:
    """A page as it was fetched. `charset` is the one that its server named, or ""."""

    url: str
    media_type: str
    charset: str
    body: bytes


def explain_refused_type(media_type: str) -> str:
    """Return why a page of this media type is of no use, or ""."""
    if media_type in (*_HTML_TYPES, *_PLAIN_TYPES) or re.fullmatch(r"application/[\w.-]+\+(json|xml)", media_type):
        return ""
    if media_type == "application/pdf":
        return "The address leads to a PDF, which cannot be read here. Look for the same as a web page."
    kind = media_type[:60] or "something of an unknown type"
    return f"The address leads to {kind}, not to a page of text."


def extract_text(page: WebPage) -> tuple[str, str]:
    """Return the title and text of a page; either may be "". Call it in a child: a page may be built to hang it."""
    if page.media_type in _HTML_TYPES:
        return _extract_html(page)
    return "", clean_text(_decode_page(page))


def clean_text(text: str) -> str:
    """Remove control characters and invisible characters."""
    return _CONTROL_CHARACTER.sub("", _INVISIBLE_CHARACTERS.sub("", text)).strip()


def _extract_html(page: WebPage) -> tuple[str, str]:
    import trafilatura  # noqa: PLC0415  # most of a second to import, so only HTML pays for it

    html = _decode_page(page) if page.charset else _decode_by_markup(page.body)
    text = trafilatura.extract(html, url=page.url, output_format="markdown", include_links=True, include_comments=False)
    metadata = trafilatura.extract_metadata(html, default_url=page.url)
    title = " ".join((metadata.title or "").split()) if metadata else ""
    return clean_text(title)[:300], clean_text(text or trafilatura.html2txt(html))


def _decode_by_markup(body: bytes) -> str | bytes:
    """Decode the page by the charset in its own markup, or as UTF-8; if that fails, leave the bytes to trafilatura."""
    match = _META_CHARSET.search(body[:_HEAD_BYTES])
    with contextlib.suppress(LookupError, UnicodeDecodeError):
        name = _find_codec(match[1].decode("ascii")) if match else "utf-8"
        # As browsers do: pages that name Latin-1 mean Windows-1252, and a page whose tags are ASCII is not UTF-16.
        name = {"iso8859-1": "cp1252", "ascii": "cp1252"}.get(name, "utf-8" if name.startswith("utf-16") else name)
        return body.decode(name, errors="replace" if match else "strict")
    return body


def _find_codec(charset: str) -> str:
    """Return Python's name for a charset. Raises `LookupError` for a codec that is no charset of web pages."""
    name = codecs.lookup(charset).name
    if name in _REFUSED_CODECS:
        raise LookupError(f"{charset} is not a character set of web pages")
    return name


def _decode_page(page: WebPage) -> str:
    try:
        return page.body.decode(_find_codec(page.charset or "utf-8"), errors="replace")
    except LookupError:  # an unknown charset, or one that is no text encoding at all
        return page.body.decode("utf-8", errors="replace")
