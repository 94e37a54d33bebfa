"""The thread of one's own request opens by itself, and only where it is in nobody's way."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.async_api import Page, expect
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.workspace.workspace_server import Workspace
from tests.workspace_page.browser import OpenPage
from tests.workspace_page.conftest import MANIFEST, Json, Run, say

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


class Conversation:
    """What Ana asks on the page in a channel, and what the app answers in threads."""

    def __init__(self, workspace: Workspace, channel: str, client: AsyncWebClient) -> None:
        self.workspace, self.channel, self._client = workspace, channel, client

    async def ask(self, page: Page, text: str) -> None:
        """Ask on the page, and wait until it is said."""
        await say(page, text)
        last = text.rsplit(maxsplit=1)[-1]
        await self.workspace.until(lambda: last in str([each["text"] for each in self._messages()[-1:]]))

    async def answer(self, text: str) -> None:
        """Answer the newest message in its thread."""
        place, root = self.workspace.channel_id(self.channel), self._messages()[-1]
        await self._client.chat_postMessage(channel=place, thread_ts=root["ts"], text=text)

    def _messages(self) -> list[Json]:
        return self.workspace.messages(self.channel)


@pytest.fixture
def talk(workspace: Workspace, channel: str, client: AsyncWebClient) -> Conversation:
    return Conversation(workspace, channel, client)


async def test_the_thread_of_a_mention_opens_with_its_first_answer(page: Page, app: AsyncApp, run: Run) -> None:
    @app.event("app_mention")
    async def _(event: Any, say: Any) -> None:
        await say("First", thread_ts=event["ts"])
        await say("Second", thread_ts=event["ts"])

    await run(app)
    await say(page, "@pagehand please look")
    thread = page.get_by_test_id("thread")
    await expect(thread).to_contain_text("Second")
    await expect(page.get_by_test_id("composer")).to_be_focused()
    await expect(page).to_have_url(re.compile(r"#/C\w+/\d+\.\d+$"))
    await page.reload()
    await expect(thread).to_contain_text("Second")
    await page.get_by_test_id("thread-close").click()
    await expect(thread).to_be_hidden()


async def test_what_is_not_asked_here_opens_nothing(talk: Conversation, page: Page) -> None:
    line = page.get_by_test_id("thread-line")
    await talk.ask(page, "no mention")
    await talk.answer("an answer all the same")
    await expect(line).to_have_count(1)
    for count, name in enumerate(("ben", "ana"), start=2):
        await talk.workspace.person(name).say(talk.channel, f"@pagehand by {name} elsewhere")
        await talk.answer(f"for {name}")
        await expect(line).to_have_count(count)
    await expect(page.get_by_test_id("thread")).to_be_hidden()


async def test_nobody_is_disturbed(talk: Conversation, page: Page) -> None:
    line, thread = page.get_by_test_id("thread-line"), page.get_by_test_id("thread")
    await talk.ask(page, "@pagehand one")
    await page.get_by_test_id("composer").fill("I type on")
    await talk.answer("answer one")
    await expect(line).to_have_count(1)
    await expect(thread).to_be_hidden()
    await page.get_by_test_id("composer").fill("")

    await line.click()
    await expect(page.get_by_test_id("thread-composer")).to_be_focused()
    await talk.ask(page, "@pagehand two")
    await talk.answer("answer two")
    await expect(line).to_have_count(2)
    await expect(thread).to_contain_text("answer one")
    await expect(thread).not_to_contain_text("answer two")
    await page.get_by_test_id("thread-close").click()

    await talk.ask(page, "@pagehand three")
    await page.get_by_test_id("members").click()
    await talk.answer("answer three")
    await expect(line).to_have_count(3)
    await expect(thread).to_be_hidden()
    await page.keyboard.press("Escape")


async def test_on_a_phone_the_channel_stays_and_says_that_there_is_an_answer(talk: Conversation, page: Page) -> None:
    await page.set_viewport_size({"width": 390, "height": 760})
    await talk.ask(page, "@pagehand hello")
    await talk.answer("hello yourself")
    await expect(page.get_by_test_id("thread-line")).to_contain_text("1 reply")
    await expect(page.get_by_test_id("thread-line")).to_be_in_viewport()
    await expect(page.get_by_test_id("thread")).to_be_hidden()


async def test_a_long_hint_of_a_command_is_read_whole(page: Page) -> None:
    await page.evaluate(
        """async () => {
            const { state } = await import("/page/state.js");
            const hint = "status | trace JOB | cancel JOB | release JOB | settings | quiet | help";
            const description = "Ask the hand for news";
            state.workspace.commands = [{ command: "/pagehand", usage_hint: hint, description }];
        }"""
    )
    await page.get_by_test_id("composer").press_sequentially("/page")
    row = page.get_by_test_id("command-option")
    await expect(row).to_contain_text("quiet | help")
    for part in (".label", ".muted"):
        cut = await row.locator(part).evaluate(
            "node => node.scrollWidth > node.clientWidth + 1 || node.clientWidth < 60"
        )
        assert not cut, part
    menu, label = page.get_by_test_id("command-menu"), row.locator(".label")
    inside = [await each.bounding_box() for each in (menu, label)]
    assert inside[0] is not None
    assert inside[1] is not None
    assert inside[1]["x"] + inside[1]["width"] <= inside[0]["x"] + inside[0]["width"]


async def test_a_message_to_an_assistant_opens_the_thread_it_went_into(open_page: OpenPage, tmp_path: Path) -> None:
    raw = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))
    raw["features"].pop("agent_view", None)
    raw["features"]["assistant_view"] = {"assistant_description": "Helps."}
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(raw, indent="\t"), encoding="utf-8")
    workspace = await Workspace.start(path)
    try:
        page = await open_page(workspace.page_url)
        await page.get_by_test_id("channel").filter(has_text="pagehand").click()
        await expect(page.get_by_test_id("message")).to_contain_text("New Assistant Thread")
        await say(page, "hello assistant")
        await expect(page.get_by_test_id("thread")).to_contain_text("hello assistant")
        await expect(page.get_by_test_id("thread-composer")).to_be_visible()
        root, said = workspace.messages(workspace.person("ana").dm)
        assert (said["thread_ts"], said["text"]) == (root["ts"], "hello assistant")
        await page.close()
    finally:
        await workspace.stop()
