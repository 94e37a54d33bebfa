"""Fixtures for tests in a real browser: one Chromium for the whole run, a fresh profile for each visitor.

Another folder's conftest takes them over with
`from tests.workspace_page.browser import browser, chromium, open_page`. Such a
test runs in the session's event loop: mark it
`@pytest.mark.asyncio(loop_scope="session")`, and give its own async fixtures
that loop scope too.
"""

import os
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--remote-debugging-port=0",
)
START_SECONDS = 60
WAIT_MS = 60_000

OpenPage = Callable[..., Awaitable[Page]]


class Visitors:
    """Visitors of pages, each with a profile of their own, and what their pages logged as errors."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self._errors: list[str] = []

    async def open_page(self, url: str, **options: Any) -> Page:
        """Open an address as a new visitor."""
        context = await self._browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        self._contexts.append(context)
        context.set_default_timeout(WAIT_MS)
        page = await context.new_page()
        page.on("pageerror", lambda error: self._errors.append(f"{error.name}: {error.message}\n{error.stack}"))
        page.on("console", lambda line: self._errors.append(line.text) if line.type == "error" else None)
        await page.goto(url)
        return page

    async def leave(self) -> None:
        """Close all that they opened."""
        for context in self._contexts:
            await context.close()
        self._contexts.clear()

    def take_errors(self) -> list[str]:
        """Return the errors since the last call, breaches of the page's content security policy included."""
        errors, self._errors = self._errors, []
        return errors


def find_chromium() -> str:
    """The browser's path. Without one the test is skipped, in CI it fails."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        reason = f"no browser found: looked for {', '.join(NAMES)}"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return found


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A running Chromium; yields the address of its DevTools."""
    profile = tmp_path_factory.mktemp("chromium")
    command = [find_chromium(), *QUIET, f"--user-data-dir={profile}", "about:blank"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{_port(process, profile / 'DevToolsActivePort')}"
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser(chromium: str) -> AsyncIterator[Browser]:
    """Playwright's view of that Chromium."""
    expect.set_options(timeout=WAIT_MS)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.connect_over_cdp(chromium)
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="session")
async def open_page(browser: Browser) -> AsyncIterator[OpenPage]:
    """Open an address as a new visitor: `await open_page(workspace.page_url)`.

    What the page logs as an error fails the test at its end.
    """
    visitors = Visitors(browser)
    yield visitors.open_page
    await visitors.leave()
    errors = visitors.take_errors()
    assert not errors, "\n".join(errors)


def _port(process: subprocess.Popen[bytes], file: Path) -> str:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            pytest.fail(f"Chromium ended at once with code {process.returncode}")
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        if lines:
            return lines[0]
        time.sleep(0.05)
    return pytest.fail(f"Chromium did not listen within {START_SECONDS} s")
