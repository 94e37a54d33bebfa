"""Recorded web pages: a folder of files, each with its address, and the web tools over these pages alone.

    pages/index.yml     - {url: https://acme.example/prices, file: acme.html, recorded: 2026-11-02, title: Prices}

For demos, tests and evaluations: the same question finds the same pages, and nothing is sent out.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urldefrag, urlsplit

import yaml

from specialists.files import yaml_nodes as nodes
from specialists.files.frontmatter import CrewFault
from specialists.files.yaml_nodes import read_yaml_root
from specialists.tools.tool import Tool, ToolOutcome, Workbench
from specialists.tools.web import web_tools

if TYPE_CHECKING:
    from specialists.tools.web.fetch import Download

RECORDED_PAGES_SETTING = "LEADHAND_RECORDED_PAGES"
INDEX_FILE = "index.yml"
MAX_PAGES = 200
LARGEST_FILE_BYTES = 2_000_000
_MAX_SNIPPET_CHARS = 300
_PAGE_KEYS = ("url", "file", "title", "recorded", "about")
_MEDIA_TYPES = {".html": "text/html", ".txt": "text/plain", ".csv": "text/csv", ".json": "application/json"}
RECORDED_NOTICE = "From recorded pages: this bot reads no others, and searched nowhere else."
_MAX_NAMED_PAGES = 8
"""Most recorded addresses that are named if a page was not recorded."""


@dataclass(frozen=True, slots=True)
class RecordedPage:
    """A page as it was on the day `recorded_on`.

    `about` is the text that a search shows; "" for the page's beginning.
    """

    url: str
    file: Path
    title: str
    recorded_on: str = ""
    about: str = ""

    def read_body(self) -> bytes:
        """Return the bytes of the page, at most `LARGEST_FILE_BYTES`. Raises OSError."""
        return self.file.read_bytes()[:LARGEST_FILE_BYTES]

    def read_search_text(self) -> str:
        """Return the text that a search looks through: title, `about`, and the page roughly without tags."""
        plain = re.sub(r"<[^<>]{0,500}>", " ", self.read_body().decode(errors="replace"))
        return f"{self.title} {self.about} {unescape(plain)}"


@dataclass(slots=True)
class RecordedWeb:
    """The recorded pages of a folder, with the faults of its index."""

    path: Path
    pages: tuple[RecordedPage, ...] = ()
    faults: list[CrewFault] = field(default_factory=list)

    def add_fault(self, node: yaml.Node, text: str) -> None:
        """Add a fault at the line of a YAML node."""
        self.faults.append(CrewFault(self.path, node.start_mark.line + 1, text))

    def find_page(self, url: str) -> RecordedPage | None:
        """Return the page of an address, or None. Case, `#fragment` and a last `/` do not matter."""
        return next((one for one in self.pages if _normalize_url(one.url) == _normalize_url(url)), None)

    def explain_missing_page(self, url: str) -> str:
        """Return a text that says that a page was not recorded, and which pages were."""
        addresses = ", ".join(one.url for one in self.pages[:_MAX_NAMED_PAGES]) or "none"
        more = f" and {len(self.pages) - _MAX_NAMED_PAGES} more" if len(self.pages) > _MAX_NAMED_PAGES else ""
        return f"{url} was not recorded, and this bot has recorded pages only: {addresses}{more}."

    def search_pages(self, query: str, count: int) -> list[RecordedPage]:
        """List up to `count` pages with words of a query, those with most of them first."""
        query_words = set(_list_words(query))
        scored_pages = [(len(query_words & set(_list_words(one.read_search_text()))), one) for one in self.pages]
        hits = sorted((pair for pair in scored_pages if pair[0]), key=lambda pair: -pair[0])
        return [one for _, one in hits[:count]]


def read_index(folder: Path) -> RecordedWeb:
    """Read the index of a folder. A wrong page is left out, and reported in `faults`."""
    recorded_web = RecordedWeb(folder / INDEX_FILE)
    root = read_yaml_root(recorded_web.path, recorded_web.faults, max_bytes=LARGEST_FILE_BYTES)
    if root is None:
        return recorded_web
    page_nodes = nodes.read_sequence(recorded_web, root, "the index")
    if len(page_nodes) > MAX_PAGES:
        text = f"there are {len(page_nodes)} pages; at most {MAX_PAGES} are allowed"
        recorded_web.add_fault(page_nodes[MAX_PAGES], text)
    pages = [_read_recorded_page(recorded_web, folder, node) for node in page_nodes[:MAX_PAGES]]
    recorded_web.pages = tuple(page for page in pages if page is not None)
    return recorded_web


def tools(folder: Path) -> tuple[Tool, ...]:
    """Make `web_search` and `fetch_page` over the pages of a folder. If its index has faults, every call says so."""
    recorded_web = read_index(folder)
    return (
        Tool("web_search", "read", web_tools.SearchArguments, _make_searcher(recorded_web), finds_urls=True),
        Tool("fetch_page", "read", web_tools.FetchArguments, _make_fetcher(recorded_web), finds_urls=True),
    )


def _make_searcher(recorded_web: RecordedWeb) -> Callable[..., Awaitable[ToolOutcome]]:
    async def web_search(arguments: web_tools.SearchArguments, _workbench: Workbench) -> ToolOutcome:
        """Search the recorded web pages. Gives titles, addresses and snippets; open what matters with fetch_page."""
        if recorded_web.faults:
            return _refuse_broken_pages(recorded_web)
        hits = await asyncio.to_thread(recorded_web.search_pages, arguments.query, arguments.count)
        if not hits:
            return ToolOutcome(
                f"{RECORDED_NOTICE} None of these {len(recorded_web.pages)} holds any of these words. Try others."
            )
        lines = [
            f"{number}. {hit.title}\n   {hit.url}\n   {hit.about or _make_snippet(hit)}"
            for number, hit in enumerate(hits, 1)
        ]
        return ToolOutcome("\n".join((web_tools.UNTRUSTED_NOTICE, RECORDED_NOTICE, *lines)))

    return web_search


def _make_fetcher(recorded_web: RecordedWeb) -> Callable[..., Awaitable[ToolOutcome]]:
    async def fetch_page(arguments: web_tools.FetchArguments, _workbench: Workbench) -> ToolOutcome:
        """Read a recorded web page as text."""
        page = recorded_web.find_page(arguments.url)
        if recorded_web.faults or page is None:
            return (
                _refuse_broken_pages(recorded_web)
                if recorded_web.faults
                else ToolOutcome(recorded_web.explain_missing_page(arguments.url), failed=True)
            )
        if problem := web_tools.describe_missing_packages():
            return ToolOutcome(problem, failed=True)
        outcome = await web_tools.read_page(await asyncio.to_thread(_make_download, page), arguments.start)
        day = f" Recorded on {page.recorded_on}." if page.recorded_on else ""
        return ToolOutcome(
            f"{outcome.text}\n[{RECORDED_NOTICE}{day}]",
            sources=outcome.sources,
            failed=outcome.failed,
            gaps=outcome.gaps,
        )

    return fetch_page


def _make_download(page: RecordedPage) -> Download:
    from specialists.tools.web.fetch import Download  # noqa: PLC0415  # only for a call

    return Download(page.url, _MEDIA_TYPES[page.file.suffix], "utf-8", page.read_body(), is_whole=True)


def _refuse_broken_pages(recorded_web: RecordedWeb) -> ToolOutcome:
    return ToolOutcome(f"The recorded pages cannot be used: {recorded_web.faults[0]}.", failed=True)


def _read_recorded_page(recorded_web: RecordedWeb, folder: Path, node: yaml.Node) -> RecordedPage | None:
    keys = nodes.read_mapping(recorded_web, node, _PAGE_KEYS, "a page")
    values = {key: nodes.read_text(recorded_web, value, key) for key, (_, value) in keys.items()}
    if not keys:
        return None
    url, file = values.get("url", ""), folder / values.get("file", "")
    if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).netloc:
        recorded_web.add_fault(node, f"url is {url!r}; it takes the address of the page, with https://")
    elif not file.resolve().is_relative_to(folder.resolve()) or not file.is_file() or file.suffix not in _MEDIA_TYPES:
        recorded_web.add_fault(
            node, f"file is {values.get('file', '')!r}; it takes a file of this folder, {', '.join(_MEDIA_TYPES)}"
        )
    else:
        return RecordedPage(
            url, file, values.get("title", "") or file.stem, values.get("recorded", ""), values.get("about", "")
        )
    return None


def _normalize_url(url: str) -> str:
    return urldefrag(url.strip())[0].rstrip("/").casefold()


def _list_words(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text.casefold()) if len(word) > 2]


def _make_snippet(page: RecordedPage) -> str:
    return " ".join(page.read_search_text().split())[:_MAX_SNIPPET_CHARS]
