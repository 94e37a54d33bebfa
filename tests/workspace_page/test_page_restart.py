"""A tab that was open before the workspace was started again."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from bot.workspace.workspace_server import Workspace
from tests.workspace_page.conftest import MANIFEST

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest_asyncio.fixture(loop_scope="session")
async def tab(browser: Browser) -> AsyncIterator[Page]:
    """A tab whose console may tell of connections that were lost or refused: that is what happens here."""
    context = await browser.new_context(viewport={"width": 1280, "height": 800})
    yield await context.new_page()
    await context.close()


def port_of(workspace: Workspace) -> int:
    return int(workspace.api_url.split(":")[2].partition("/")[0])


async def test_a_tab_goes_on_after_a_restart_with_the_same_data(tab: Page, tmp_path: Path) -> None:
    workspace = await Workspace.start(MANIFEST, data=tmp_path)
    await tab.goto(workspace.page_url)
    await workspace.person("ben").say("#general", "before")
    await expect(tab.get_by_test_id("message").filter(has_text="before")).to_be_visible()
    address = workspace.page_url
    await workspace.stop()
    await expect(tab.get_by_test_id("offline")).to_have_text("Connection lost. Trying again…")
    workspace = await Workspace.start(MANIFEST, data=tmp_path)
    try:
        assert workspace.page_url == address
        await workspace.person("ben").say("#general", "after")
        await expect(tab.get_by_test_id("message").filter(has_text="after")).to_be_visible()
        await expect(tab.get_by_test_id("offline")).to_be_hidden()
        await tab.get_by_test_id("composer").fill("I am still here")
        await tab.get_by_test_id("composer").press("Enter")
        await workspace.until(lambda: workspace.messages("#general")[-1]["text"] == "I am still here")
        assert (tmp_path / "workspace.sqlite3").stat().st_mode & 0o077 == 0
    finally:
        await workspace.stop()


async def test_a_tab_of_another_workspace_says_what_to_do(tab: Page) -> None:
    workspace = await Workspace.start(MANIFEST)
    await tab.goto(workspace.page_url)
    await tab.get_by_test_id("composer").wait_for()
    await tab.get_by_test_id("act-as").select_option(label="Ben Okafor")
    port = port_of(workspace)
    await workspace.stop()
    workspace = await Workspace.start(MANIFEST, port=port)
    try:
        offline = tab.get_by_test_id("offline")
        await expect(offline).to_contain_text("Open the address that the workspace printed last.")
        await tab.get_by_test_id("composer").fill("hello?")
        await tab.get_by_test_id("composer").press("Enter")
        await expect(tab.locator("#notes")).to_contain_text("This page belongs to an earlier run of the workspace.")
        other = await tab.context.new_page()
        await other.goto(workspace.page_url)  # its cookie lets the old tab in, too
        await expect(offline).to_be_hidden()
        await expect(tab.get_by_test_id("composer")).to_have_attribute("placeholder", "Message #general")
        await tab.context.clear_cookies()
        await tab.reload()
        await expect(tab.get_by_role("heading")).to_have_text("Open the page by its full address")
        assert await tab.evaluate("getComputedStyle(document.querySelector('main')).maxWidth") == "460px"
    finally:
        await workspace.stop()
