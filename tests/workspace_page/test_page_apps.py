"""Apps whose manifest asks for more: steps of workflows, what people have open, and two apps side by side."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.async_api import Page, expect
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.workspace.workspace_server import Workspace
from tests.patience import eventually
from tests.workspace_page.conftest import MANIFEST, Json, Run, say

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
USER = {"type": "slack#/types/user_id", "title": "Who", "is_required": True}
DAYS = {"type": "integer", "title": "Days", "is_required": True}
LEAVE = {"title": "Ask for leave", "description": "", "output_parameters": {"who": USER, "left": {"type": "integer"}}}


def write_manifest(path: Path, name: str) -> Path:
    """Write the manifest of an app that offers a step and is told what people have open."""
    raw = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))
    raw["display_information"]["name"] = f"{name} Hand"
    raw["features"]["bot_user"]["display_name"] = f"{name.lower()}hand"
    raw["settings"]["org_deploy_enabled"] = True
    raw["settings"]["event_subscriptions"]["bot_events"].append("app_context_changed")
    raw["functions"] = {"leave": {**LEAVE, "input_parameters": {"who": USER, "days": DAYS}}}
    path.write_text(yaml.safe_dump(raw), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_manifest(tmp_path_factory.mktemp("manifest") / "app.yml", "Page")


async def test_a_step_is_filled_in_run_and_its_end_is_told(
    workspace: Workspace, app: AsyncApp, run: Run, page: Page
) -> None:
    @app.function("leave")
    async def leave(inputs: Json, complete: Any, fail: Any) -> None:
        left = 30 - inputs["days"]
        await (complete({"who": inputs["who"], "left": left}) if left > 0 else fail("No days are left"))

    await run(app)
    notes = page.get_by_test_id("note")
    for days, end in (("5", "Ask for leave is done. who: Ben Okafor. left: 25."), ("40", "failed: No days are left")):
        await page.get_by_test_id("composer").fill("/Ask")
        await page.get_by_test_id("command-option").filter(has_text="Ask for leave").click()
        await page.get_by_test_id("step-who").select_option(workspace.person("ben").id)
        await page.get_by_test_id("step-days").fill(days)
        await page.get_by_test_id("step-sheet-send").click()
        await expect(notes.filter(has_text=end)).to_be_visible()


async def test_the_channel_or_thread_that_was_opened_last_is_told(workspace: Workspace, page: Page) -> None:
    ana, ben = workspace.person("ana"), workspace.person("ben")
    await ben.say("#sales", "I do.", await ben.say("#sales", "Who brings the chairs?"))
    channel = page.get_by_test_id("channel")

    async def wait_for_entities(*kinds: str) -> None:
        await eventually(lambda: [one["type"].partition("/types/")[2] for one in ana.entities] == [*kinds])

    await wait_for_entities("channel_id")
    await channel.filter(has_text="sales").click()
    await eventually(lambda: ana.entities[0]["value"] == workspace.channel_id("#sales"))
    await page.get_by_test_id("thread-line").click()
    await wait_for_entities("message_context", "channel_id")
    await page.get_by_test_id("thread-close").click()
    await wait_for_entities("channel_id")
    await channel.filter(has_text="pagehand").click()
    await say(page, "Summarise this")
    await workspace.until(lambda: workspace.messages(ana.dm))
    assert ana.entities[0]["value"] == workspace.channel_id("#sales"), "the direct message itself is not looked at"


async def test_each_app_is_shown_by_its_name(workspace: Workspace, page: Page, channel: str, tmp_path: Path) -> None:
    second = workspace.add_app(write_manifest(tmp_path / "second.yml", "Second"), rate_limits=False)
    ana, place = workspace.person("ana"), workspace._world.state.channels[workspace.channel_id(channel)]
    for app, text in ((workspace, "The first home"), (second, "The second home")):
        client = AsyncWebClient(app.bot_token, base_url=app.api_url, timeout=10)
        section = {"type": "section", "text": {"type": "plain_text", "text": text}}
        await client.views_publish(user_id=ana.id, view={"type": "home", "blocks": [section]})
        await client.chat_postMessage(channel=place.id, text="Here I am")
    await page.reload()
    await expect(page.locator(".author")).to_have_text(["pagehand", "secondhand"])
    await page.get_by_test_id("members").click()
    await page.get_by_role("button", name="Remove secondhand").click()
    await expect(page.get_by_test_id("note")).to_contain_text(f"secondhand was removed from {channel}.")
    assert workspace.bot_user_id in place.members
    assert second.bot_user_id not in place.members
    for name, text in (("secondhand", "The second home"), ("pagehand", "The first home")):
        await page.get_by_test_id("channel").filter(has_text=name).click()
        await page.get_by_test_id("tab-home").click()
        await expect(page.get_by_test_id("home")).to_have_text(text)
    await page.get_by_test_id("tab-messages").click()
    await page.get_by_test_id("channel").filter(has_text="secondhand").click()
    await say(page, "Only you")
    await workspace.until(lambda: workspace.messages(second.person("ana").dm))
