"""A real workspace, a small real Bolt app in it, and a browser that shows its page."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Page
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.workspace.workspace_server import Workspace
from bot.workspace.world import MessageDraft
from tests.workspace_page.browser import OpenPage, browser, chromium, open_page

__all__ = ["browser", "chromium", "open_page"]

MANIFEST = Path(__file__).parent / "page_manifest.yml"
Run = Callable[[AsyncApp], Awaitable[None]]


@pytest_asyncio.fixture(loop_scope="session")
async def workspace(tmp_path: Path) -> AsyncIterator[Workspace]:
    sample = tmp_path / "towns.csv"
    sample.write_text("town,visits\nLisbon,3\n" + "Porto,4\n" * 150, encoding="utf-8")
    workspace = await Workspace.start(
        MANIFEST, rate_limits=False, drafts=[MessageDraft(files=(sample,), label="Attach towns.csv")]
    )
    yield workspace
    await workspace.stop()


@pytest.fixture
def client(workspace: Workspace) -> AsyncWebClient:
    return AsyncWebClient(workspace.bot_token, base_url=workspace.api_url, timeout=10)


@pytest.fixture
def app(client: AsyncWebClient) -> AsyncApp:
    """An app to register listeners on, before `run(app)` connects it."""
    quiet = logging.getLogger("quiet-bolt")
    quiet.setLevel(logging.CRITICAL)
    return AsyncApp(client=client, logger=quiet)


@pytest_asyncio.fixture(loop_scope="session")
async def run(workspace: Workspace) -> AsyncIterator[Run]:
    handlers: list[AsyncSocketModeHandler] = []

    async def run(app: AsyncApp) -> None:
        handler = AsyncSocketModeHandler(app, workspace.app_token, logger=app.logger)
        handlers.append(handler)
        await handler.connect_async()  # type: ignore[no-untyped-call]

    yield run
    for handler in handlers:
        await handler.close_async()  # type: ignore[no-untyped-call]


@pytest_asyncio.fixture(loop_scope="session")
async def page(workspace: Workspace, open_page: OpenPage) -> Page:
    """The page as Ana sees it."""
    page = await open_page(workspace.page_url)
    await page.get_by_test_id("composer").wait_for()
    return page
