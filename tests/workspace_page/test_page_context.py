"""What somebody opens on the page goes to an agent with their next direct message."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
import yaml

from bot.workspace.workspace_server import Workspace
from tests.workspace_page.browser import OpenPage
from tests.workspace_page.conftest import MANIFEST

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest_asyncio.fixture(loop_scope="session")
async def workspace(tmp_path: Path) -> AsyncIterator[Workspace]:
    """One whose app subscribed to what people have open."""
    manifest = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))
    manifest["settings"]["event_subscriptions"]["bot_events"].append("app_context_changed")
    (tmp_path / "app.yml").write_text(yaml.safe_dump(manifest), encoding="utf-8")
    workspace = await Workspace.start(tmp_path / "app.yml", rate_limits=False)
    yield workspace
    await workspace.stop()


async def test_the_channel_or_thread_that_was_opened_last_is_told(workspace: Workspace, open_page: OpenPage) -> None:
    ana, ben = workspace.person("ana"), workspace.person("ben")
    root = await ben.say("#sales", "Who brings the chairs?")
    await ben.say("#sales", "I do.", root)
    page = await open_page(workspace.page_url)
    channel = page.get_by_test_id("channel")

    async def opened(*kinds: str) -> None:
        await workspace.until(lambda: [one["type"].partition("/types/")[2] for one in ana.entities] == [*kinds])

    await opened("channel_id")
    await channel.filter(has_text="sales").click()
    await workspace.until(lambda: ana.entities[0]["value"] == workspace.channel_id("#sales"))
    await page.get_by_test_id("thread-line").click()
    await opened("message_context", "channel_id")
    await page.get_by_test_id("thread-close").click()
    await opened("channel_id")
    await channel.filter(has_text="pagehand").click()
    await page.get_by_test_id("composer").fill("Summarise this")
    await page.get_by_test_id("composer").press("Enter")
    await workspace.until(lambda: workspace.messages(ana.dm))
    assert ana.entities[0]["value"] == workspace.channel_id("#sales"), "the direct message itself is not looked at"
