"""What people who know Slack try without thinking: formatting, editing, what is new, a narrow window."""

import re
from typing import Any

import pytest
from playwright.async_api import Page, expect
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.workspace.workspace_server import Workspace
from tests.patience import eventually
from tests.workspace_page.conftest import Run, act_as, open_channel, say

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_what_is_typed_looks_as_it_was_meant_and_can_be_changed_and_deleted(
    workspace: Workspace, page: Page, channel: str
) -> None:
    await say(page, "*Look* at https://x.example/?a=1 in #sales, @ben\n> so _he_ said\n```\nx < 1\n```")
    row = page.get_by_test_id("message").first
    await expect(row.locator("strong")).to_have_text("Look")
    await expect(row.locator("a[target=_blank]")).to_have_attribute("href", "https://x.example/?a=1")
    await expect(row.locator("blockquote em")).to_have_text("he")
    await expect(row.locator("pre")).to_have_text("x < 1")
    await expect(row.locator("a.mention")).to_have_text("#sales")
    await page.get_by_test_id("composer").press("ArrowUp")
    await expect(page.get_by_test_id("edit-text")).to_be_focused()
    assert (await page.get_by_test_id("edit-text").input_value()).startswith(
        "*Look* at https://x.example/?a=1 in #sales, @ben"
    )
    await page.get_by_test_id("edit-text").fill("_Look_, @ben & all")
    await page.keyboard.press("Enter")
    await expect(row).to_contain_text("(edited)")
    await expect(row.locator("em")).to_have_text("Look")
    ben = workspace.person("ben").id
    assert workspace.messages(channel)[0]["text"] == f"_Look_, <@{ben}> &amp; all"
    await expect(row).to_be_focused()
    await row.get_by_test_id("more").click()
    await page.get_by_test_id("delete").click()
    await page.get_by_test_id("confirm-yes").click()
    await expect(row).to_have_count(0)
    await expect(page.get_by_test_id("composer")).to_be_focused()
    assert workspace.messages(channel) == []


async def test_only_ones_own_messages_can_be_changed(workspace: Workspace, page: Page, channel: str) -> None:
    await workspace.person("ben").say(channel, "mine")
    row = page.get_by_test_id("message").first
    await row.hover()
    await row.get_by_test_id("more").click()
    await expect(page.get_by_test_id("copy-link")).to_be_visible()
    await expect(page.get_by_test_id("edit")).to_have_count(0)
    await page.keyboard.press("Escape")
    await expect(row.get_by_test_id("more")).to_be_focused()


async def test_what_is_new_is_marked_for_each_person(workspace: Workspace, page: Page, channel: str) -> None:
    elsewhere = open_channel(workspace)
    here, there = (page.locator(f"[data-testid=channel][data-name={name[1:]}]") for name in (channel, elsewhere))
    await workspace.person("ana").say(channel, "an old one")
    await expect(page.get_by_test_id("message")).to_have_count(1)
    await expect(page.get_by_test_id("welcome")).to_contain_text(channel)  # its history is here: now it is read
    await there.click()
    ben = workspace.person("ben")
    await ben.say(channel, "first")
    await expect(here).to_have_class(re.compile("unread"))
    await expect(here.locator(".count")).to_have_count(0)
    await ben.say(channel, "@ana second")
    await expect(here.locator(".count")).to_have_text("1")
    await page.reload()
    await expect(here).to_have_class(re.compile("unread"))
    await here.click()
    await expect(page.locator(".divider.new + .message")).to_contain_text("first")
    await expect(here).not_to_have_class(re.compile("unread"))
    await act_as(page, workspace.person("cleo"))
    await page.reload()
    await expect(page.get_by_test_id("act-as")).to_have_value(workspace.person("cleo").id)
    await ben.say("@pagehand", "not for Cleo")
    await ben.say(elsewhere, "for all")
    await expect(there).to_have_class(re.compile("unread"))
    await expect(page.locator("[data-name=pagehand]")).not_to_have_class(re.compile("unread"))


async def test_a_narrow_window_shows_one_thing_at_a_time(
    workspace: Workspace, page: Page, channel: str, client: AsyncWebClient
) -> None:
    ana = workspace.person("ana")
    ts = await ana.say(channel, "a root")
    reply = await client.chat_postMessage(channel=workspace.channel_id(channel), thread_ts=ts, text="a reply")
    await page.set_viewport_size({"width": 390, "height": 760})
    opener = page.get_by_test_id("sidebar-button")
    await expect(page.locator("#sidebar")).to_be_hidden()
    await opener.click()
    await page.keyboard.press("Escape")
    await expect(page.locator("#sidebar")).to_be_hidden()
    await expect(opener).to_be_focused()
    await opener.click()
    await expect(page.locator("#sidebar [aria-current]")).to_be_focused()
    await page.locator(f"[data-testid=channel][data-name={channel[1:]}]").click()
    await expect(page.locator("#sidebar")).to_be_hidden()
    await page.get_by_test_id("thread-line").click()
    await expect(page.get_by_test_id("thread")).to_contain_text("a reply")
    await expect(page.locator("#channel-pane")).to_be_hidden()
    assert await page.evaluate("document.documentElement.scrollWidth") <= 390
    # A permalink leads to the same place.
    link = await client.chat_getPermalink(channel=workspace.channel_id(channel), message_ts=reply["ts"])
    await page.get_by_test_id("thread-close").click()
    await page.goto(link["permalink"])
    await expect(page.get_by_test_id("thread")).to_contain_text("a reply")


async def test_a_global_shortcut_and_a_menu_that_asks_the_app(page: Page, app: AsyncApp, run: Run) -> None:
    chosen: list[Any] = []
    text = {"type": "plain_text", "text": "City"}
    menu = {"type": "external_select", "action_id": "city", "min_query_length": 1}
    form = {"type": "modal", "callback_id": "trip", "title": text, "submit": text}
    form["blocks"] = [{"type": "input", "block_id": "where", "label": text, "element": menu}]

    @app.shortcut("new_trip")
    async def shortcut(ack: Any, body: Any) -> None:
        await ack()
        await app.client.views_open(trigger_id=body["trigger_id"], view=form)

    @app.options("city")
    async def options(ack: Any, payload: Any) -> None:
        found = [name for name in ("Lisbon", "London", "Paris") if name.lower().startswith(payload["value"])]
        await ack(options=[{"text": {**text, "text": name}, "value": name.lower()} for name in found])

    @app.view("trip")
    async def handle_submit(ack: Any, view: Any) -> None:
        await ack()
        chosen.append(view["state"]["values"]["where"]["city"]["selected_option"]["value"])

    await run(app)
    await page.get_by_test_id("composer").press_sequentially("/new")
    await page.keyboard.press("Enter")
    field = page.get_by_role("combobox", name="City")
    await field.press_sequentially("l")
    await expect(page.get_by_test_id("external-option")).to_have_text(["Lisbon", "London"])
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await page.get_by_test_id("modal-submit").click()
    await expect(page.get_by_test_id("modal")).to_be_hidden()
    await eventually(lambda: chosen == ["london"])
    await expect(page.get_by_test_id("composer")).to_be_focused()


async def test_one_can_be_a_guest_or_of_another_workspace_and_see_who_is(workspace: Workspace, page: Page) -> None:
    names = await page.get_by_test_id("act-as").locator("option").all_text_contents()
    assert names[3:] == ["Gus Lindqvist (Guest)", "Uma Reyes (Guest of one channel)", "Sol Tanaka (Northwind)"]
    await page.get_by_test_id("channel").filter(has_text="northwind").click()
    await workspace.person("sol").say("#northwind", "from over there")
    await expect(page.get_by_test_id("message").last).to_contain_text("Northwind")
    await expect(page.get_by_test_id("channel").filter(has_text="ben, gus")).to_have_count(1)
    await page.get_by_test_id("act-as").select_option(label="Sol Tanaka (Northwind)")
    await expect(page.get_by_test_id("channel")).to_have_count(1)
    await page.get_by_test_id("composer").fill("and hello")
    await page.get_by_test_id("send").click()
    await workspace.until(lambda: workspace.messages("#northwind")[-1]["user"] == workspace.person("sol").id)
