"""The inspector on the page: what went to the app, what it called, what failed, and an event that is sent again."""

from typing import Any

import pytest
from playwright.async_api import Page, expect
from slack_bolt.async_app import AsyncApp

from bot.workspace.workspace_server import Workspace
from tests.patience import eventually
from tests.workspace_page.conftest import Run

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


def rows(page: Page, text: str) -> Any:
    return page.get_by_test_id("traffic-row").filter(has_text=text)


async def test_the_inspector_lists_what_passes_and_sends_an_event_again(
    workspace: Workspace, page: Page, channel: str, app: AsyncApp, run: Run
) -> None:
    heard = []

    @app.event("app_mention")
    async def _(event: Any, body: Any, say: Any, client: Any) -> None:
        heard.append((body["event_id"], event["ts"]))
        await say("I am here", thread_ts=event["ts"])
        if len(heard) == 1:
            await client.chat_delete(channel=event["channel"], ts="1.2")

    @app.error
    async def _(error: Exception) -> None:
        pass

    await run(app)
    button = page.get_by_test_id("inspector-button")
    await workspace.person("ana").say(channel, "@pagehand hello")
    await expect(button).to_contain_text("1")  # an error that was not looked at
    await button.click()
    await expect(rows(page, "app_mention")).to_have_count(1)
    await expect(rows(page, "app_mention")).to_contain_text("hello")
    await expect(rows(page, "chat.postMessage")).to_contain_text("I am here")
    first = page.get_by_test_id("traffic-row").first
    await expect(first).to_contain_text("chat.delete")  # the newest on top

    await page.get_by_test_id("traffic-errors").click()
    await expect(page.get_by_test_id("traffic-row")).to_have_count(1)
    await page.get_by_test_id("traffic-row").get_by_role("button").click()
    entry = page.get_by_test_id("traffic-entry")
    await expect(entry).to_contain_text('"ts": "1.2"')
    await expect(entry.get_by_role("heading", name="Answer")).to_be_visible()
    await expect(page.get_by_test_id("send-again")).to_have_count(0)

    await page.get_by_test_id("traffic-sent").click()
    await rows(page, "app_mention").get_by_role("button").click()
    await expect(entry).to_contain_text("acknowledged in")
    await expect(entry).to_contain_text('"type": "event_callback"')
    await page.get_by_test_id("send-again").click()
    await eventually(lambda: len(heard) == 2)
    await expect(rows(page, "app_mention")).to_have_count(2)
    await page.get_by_test_id("send-retry").click()
    await eventually(lambda: len(heard) == 3)
    await expect(rows(page, "\N{MULTIPLICATION SIGN}2")).to_have_count(1)
    assert len({event_id for event_id, _ in heard}) == 2
    assert len({ts for _, ts in heard}) == 1

    await page.keyboard.press("Escape")
    await expect(page.get_by_test_id("inspector")).to_be_hidden()
    await expect(button).to_be_focused()


async def test_an_event_that_the_manifest_does_not_ask_for_is_listed_with_the_reason(
    workspace: Workspace, page: Page, channel: str
) -> None:
    ana = workspace.person("ana")
    ts = await ana.say(channel, "nobody hears this")
    await ana.react(channel, ts, "eyes")
    await page.get_by_test_id("inspector-button").click()
    await page.get_by_test_id("traffic-unsent").click()
    await rows(page, "reaction_added").get_by_role("button").click()
    reason = "The manifest does not list reaction_added among settings.event_subscriptions.bot_events."
    await expect(page.get_by_test_id("traffic-entry")).to_contain_text(reason)
    await expect(page.get_by_test_id("send-again")).to_have_count(0)
    await page.keyboard.press("Escape")
