"""The text of a fetched page: readable, without markup, and marked as nobody's orders."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from specialists.toolkits.fetch import Download

_HTML = ("text/html", "application/xhtml+xml")
_PLAIN = (
    "text/plain",
    "text/markdown",
    "text/x-markdown",
    "text/csv",
    "application/json",
    "application/xml",
    "text/xml",
)

# Characters that are not seen, or turn the order of what is seen: zero-width, bidi controls, tags.
_UNSEEN = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class PageText:
    """What a page says. Either part may be empty."""

    title: str
    text: str


def refusal(media_type: str) -> str:
    """Why a page of that media type is of no use, or nothing."""
    if media_type in (*_HTML, *_PLAIN) or re.fullmatch(r"application/[\w.-]+\+(json|xml)", media_type):
        return ""
    if media_type == "application/pdf":
        return "The address leads to a PDF, which cannot be read here. Look for the same as a web page."
    kind = media_type[:60] or "something that does not say what it is"
    return f"The address leads to {kind}, not to a page of text."


def read(page: Download) -> PageText:
    """The title and text of a page. Slow for a large one: call it in a thread, with a deadline."""
    if page.media_type in _HTML:
        return _from_html(page)
    return PageText("", clean(_decoded(page)))


def clean(text: str) -> str:
    """The text without characters that are not there to be read."""
    return _CONTROL.sub("", _UNSEEN.sub("", text)).strip()


def _from_html(page: Download) -> PageText:
    import trafilatura  # noqa: PLC0415  # most of a second to import, so only a fetch pays for it

    html = _decoded(page) if page.charset else page.body  # without a charset, it finds out by itself
    text = trafilatura.extract(html, url=page.url, output_format="markdown", include_links=True, include_comments=False)
    about = trafilatura.extract_metadata(html, default_url=page.url)
    title = " ".join((about.title or "").split()) if about else ""
    return PageText(clean(title)[:300], clean(text or trafilatura.html2txt(html)))


def _decoded(page: Download) -> str:
    try:
        charset = codecs.lookup(page.charset or "utf-8").name
        return page.body.decode(charset, errors="replace")
    except LookupError:  # an unknown charset, or one that is no text encoding at all
        return page.body.decode("utf-8", errors="replace")
