"""Two apps on one page: each has its name, its direct message and its home, and is taken out of a channel by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.async_api import expect
from slack_sdk.web.async_client import AsyncWebClient

from bot.workspace.workspace_server import Workspace
from tests.workspace_page.browser import OpenPage
from tests.workspace_page.conftest import MANIFEST

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


def home(text: str) -> dict[str, Any]:
    return {"type": "home", "blocks": [{"type": "section", "text": {"type": "plain_text", "text": text}}]}


async def test_each_app_is_shown_by_its_name(workspace: Workspace, tmp_path: Path, open_page: OpenPage) -> None:
    raw = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))
    raw["display_information"]["name"], raw["features"]["bot_user"]["display_name"] = "Second Hand", "secondhand"
    (tmp_path / "second.yml").write_text(yaml.safe_dump(raw), encoding="utf-8")
    second = workspace.add_app(tmp_path / "second.yml", rate_limits=False)
    ana = workspace.person("ana")
    for app, text in ((workspace, "The first home"), (second, "The second home")):
        client = AsyncWebClient(app.bot_token, base_url=app.api_url, timeout=10)
        await client.views_publish(user_id=ana.id, view=home(text))
        await client.chat_postMessage(channel=workspace.channel_id("#general"), text="Here I am")
    page = await open_page(workspace.page_url)
    await expect(page.locator(".author")).to_have_text(["pagehand", "secondhand"])
    await page.get_by_test_id("members").click()
    await page.get_by_role("button", name="Remove secondhand").click()
    await expect(page.get_by_test_id("note")).to_contain_text("secondhand was removed from #general.")
    general = workspace._world.state.channels[workspace.channel_id("#general")]
    assert workspace.bot_user_id in general.members
    assert second.bot_user_id not in general.members
    for name, text in (("secondhand", "The second home"), ("pagehand", "The first home")):
        await page.get_by_test_id("channel").filter(has_text=name).click()
        await page.get_by_test_id("tab-home").click()
        await expect(page.get_by_test_id("home")).to_have_text(text)
    await page.get_by_test_id("tab-messages").click()
    await page.get_by_test_id("channel").filter(has_text="secondhand").click()
    await page.get_by_test_id("composer").fill("Only you")
    await page.get_by_test_id("composer").press("Enter")
    await workspace.until(lambda: workspace.messages(second.person("ana").dm))
