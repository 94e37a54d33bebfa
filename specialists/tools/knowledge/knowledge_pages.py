"""Fetches web pages into a knowledge folder once a day; each page's address is in a file beside it.

Pages are fetched only from public addresses and within limits, as `fetch_page` does. If a page cannot be fetched, its
earlier copy is still searched.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from specialists.tools.extras import describe_unavailable_tool
from specialists.tools.knowledge.knowledge_files import SIDECAR_ENDING
from specialists.tools.web import page_text
from specialists.tools.web.fetch import Download, FetchFailed, FetchSettings, download_page

DAY_SECONDS = 24 * 3600.0
MAX_PAGES = 500
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 120.0, 3600.0
"""Seconds until a page that could not be fetched is tried again: `FIRST_PAUSE_SECONDS`, doubled after each further
failure up to `LONGEST_PAUSE_SECONDS`."""
_FETCH_SETTINGS = FetchSettings(timeout=30.0, max_bytes=8_000_000)
_ENDINGS_BY_TYPE = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "application/pdf": ".pdf",
    "text/markdown": ".md",
}
_UNSAFE_CHARACTERS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class _FetchFailure:
    """A page that could not be fetched: the fault, the pause in seconds, and when it is tried again."""

    text: str
    pause: float
    next_try: float


class FetchedPages:
    """Web pages that are fetched into a folder.

    Args:
        urls: The addresses of the pages; only the first `MAX_PAGES` are fetched.
        folder: The folder for the pages.
        settings: The limits of each fetch.
        clock: Returns seconds since the epoch.

    Attributes:
        faults: A line for each page that the last try could not fetch, or one line if a package is missing; also a line
            if there are too many pages.
    """

    def __init__(
        self,
        urls: Sequence[str],
        folder: Path,
        settings: FetchSettings = _FETCH_SETTINGS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.folder = folder
        unique_urls = tuple(dict.fromkeys(urls))
        self._urls = unique_urls[:MAX_PAGES]
        self._setting_faults: tuple[str, ...] = ()
        if len(unique_urls) > MAX_PAGES:
            text = f"{len(unique_urls):,} pages are named; only the first {MAX_PAGES} are fetched"
            self._setting_faults = (f"{text}, so {unique_urls[MAX_PAGES]} and those after it are not searched",)
        self.faults: tuple[str, ...] = self._setting_faults
        self._limits, self._clock = settings, clock
        self._failures: dict[str, _FetchFailure] = {}

    async def fetch_due_pages(self) -> None:
        """Fetch the pages that are missing or a day old, and remove those that are no longer in the setting."""
        problem = describe_unavailable_tool("web", "ssrfguard", "httpx", "trafilatura")
        if problem:
            self.faults = (*self._setting_faults, problem)
            return
        page_names = set()
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for url in self._urls:
            name = _make_page_name(url)
            page_names.add(name)
            failure = self._failures.get(url)
            if self._is_fresh(name) or (failure is not None and self._clock() < failure.next_try):
                continue
            try:
                page = await download_page(url, self._limits, _explain_refused_type, _may_follow_redirect)
            except FetchFailed as error:
                note = "; what was fetched before is searched" if self._list_kept_files(name) else ""
                pause = min(2 * failure.pause, LONGEST_PAUSE_SECONDS) if failure else FIRST_PAUSE_SECONDS
                text = f"{url}: {str(error).rstrip('.')}{note}"
                self._failures[url] = _FetchFailure(text, pause, self._clock() + pause)
                continue
            self._failures.pop(url, None)
            await asyncio.to_thread(self._keep_page, name, page)
        for old_file in self.folder.iterdir():
            if old_file.name.partition(".")[0] not in page_names:
                old_file.unlink(missing_ok=True)
        self.faults = (*self._setting_faults, *(one.text for one in self._failures.values()))

    def _list_kept_files(self, name: str) -> list[Path]:
        return [one for one in self.folder.glob(f"{name}.*") if one.suffix != SIDECAR_ENDING]

    def _is_fresh(self, name: str) -> bool:
        return any(self._clock() - one.stat().st_mtime < DAY_SECONDS for one in self._list_kept_files(name))

    def _keep_page(self, name: str, page: Download) -> None:
        for old in self.folder.glob(f"{name}.*"):
            old.unlink(missing_ok=True)
        file = self.folder / f"{name}{_ENDINGS_BY_TYPE.get(page.media_type, '.txt')}"
        (self.folder / f"{file.name}{SIDECAR_ENDING}").write_text(page.url, encoding="utf-8")
        file.write_bytes(page.body)


def _make_page_name(url: str) -> str:
    """Return the name of a page's file, without ending: words of its address, and a hash that makes the name unique."""
    parts = urlsplit(url)
    words = _UNSAFE_CHARACTERS.sub("-", f"{parts.hostname or ''}{parts.path}".lower()).strip("-")[:80]
    return f"{words}-{hashlib.sha256(url.encode()).hexdigest()[:8]}"


def _explain_refused_type(media_type: str) -> str:
    return "" if media_type == "application/pdf" else page_text.explain_refused_type(media_type)


async def _may_follow_redirect(url: str, target: str) -> bool:
    """Return True for a redirect to the same host, with or without `www.`."""
    host, target_host = (str(urlsplit(one).hostname).removeprefix("www.") for one in (url, target))
    return host == target_host
