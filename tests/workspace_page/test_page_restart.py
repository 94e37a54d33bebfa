"""A tab that was open before the workspace was started again."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from bot.workspace.workspace_server import Workspace
from tests.workspace_page.conftest import MANIFEST, act_as, say

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest_asyncio.fixture(loop_scope="session")
async def tab(browser: Browser) -> AsyncIterator[Page]:
    """A tab whose console may tell of connections that were lost or refused: that is what happens here."""
    context = await browser.new_context(viewport={"width": 1280, "height": 800})
    yield await context.new_page()
    await context.close()


async def test_a_tab_goes_on_with_the_same_data_and_says_what_to_do_without(tab: Page, tmp_path: Path) -> None:
    composer, offline = tab.get_by_test_id("composer"), tab.get_by_test_id("offline")
    workspace = await Workspace.start(MANIFEST, data=tmp_path)
    address, port = workspace.page_url, int(workspace.api_url.split(":")[2].partition("/")[0])
    await tab.goto(address)
    await workspace.person("ben").say("#general", "before")
    await expect(tab.get_by_test_id("message").filter(has_text="before")).to_be_visible()
    await workspace.stop()
    await expect(offline).to_have_text("Connection lost. Trying again…")
    workspace = await Workspace.start(MANIFEST, data=tmp_path)
    try:
        assert workspace.page_url == address
        await workspace.person("ben").say("#general", "after")
        await expect(tab.get_by_test_id("message").filter(has_text="after")).to_be_visible()
        await expect(offline).to_be_hidden()
        await say(tab, "I am still here")
        await workspace.until(lambda: workspace.messages("#general")[-1]["text"] == "I am still here")
        assert (tmp_path / "workspace.sqlite3").stat().st_mode & 0o077 == 0
        await act_as(tab, workspace.person("ben"))
    finally:
        await workspace.stop()

    workspace = await Workspace.start(MANIFEST, port=port)
    try:
        await expect(offline).to_contain_text("Open the address that the workspace printed last.")
        await say(tab, "hello?")
        await expect(tab.locator("#notes")).to_contain_text("This page belongs to an earlier run of the workspace.")
        other = await tab.context.new_page()
        await other.goto(workspace.page_url)  # its cookie lets the old tab in, too
        await expect(offline).to_be_hidden()
        await expect(composer).to_have_attribute("placeholder", "Message #general")
        await tab.context.clear_cookies()
        await tab.reload()
        await expect(tab.get_by_role("heading")).to_have_text("Open the page by its full address")
        assert await tab.evaluate("getComputedStyle(document.querySelector('main')).maxWidth") == "460px"
    finally:
        await workspace.stop()
