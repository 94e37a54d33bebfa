"""Renders the bot's own pages, which HTTP mode shows in browsers: a few sentences, without scripts. Pure."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BrowserPage:
    """A page for a browser. Each of `paragraphs` is a paragraph of plain text; `link` is a pair of (path, label)."""

    title: str
    paragraphs: tuple[str, ...]
    status: int = 200
    link: tuple[str, str] | None = None


RenderQueryPage = Callable[[str], Awaitable[BrowserPage]]
"""Returns the page for the query string of a request. The query may hold secrets, so it is never logged."""
PAGE_CSS = (
    ":root{color-scheme:light dark;font:17px/1.5 system-ui,sans-serif}"
    "body{max-width:32em;margin:18vh auto 0;padding:0 1.5em}h1{font-size:1.5em;line-height:1.2}"
)
_CSS_DIGEST = base64.b64encode(hashlib.sha256(PAGE_CSS.encode()).digest()).decode()
PAGE_HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{_CSS_DIGEST}'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def render_html(page: BrowserPage) -> str:
    """Render a page as HTML."""
    title = html.escape(page.title)
    paragraphs = "".join(f"<p>{html.escape(one)}</p>" for one in page.paragraphs)
    if page.link is not None:
        path, words = map(html.escape, page.link)
        paragraphs += f'<p><a href="{path}">{words}</a></p>'
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{title}</title><style>{PAGE_CSS}</style></head><body><h1>{title}</h1>{paragraphs}</body></html>"
    )
