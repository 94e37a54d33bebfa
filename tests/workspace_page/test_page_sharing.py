"""Pasting a table, forwarding a message and attaching a canvas on the page, as a person does it in Slack."""

import os
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from bot.workspace.workspace_server import Workspace

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

SHEET = (
    "<table><tr><th>City</th><th>Amount</th></tr>"
    "<tr><td>Lisbon</td><td>980</td></tr><tr><td>Porto</td><td></td></tr></table>"
)
PASTE = """([html, text]) => {
  const data = new DataTransfer();
  if (html) data.setData("text/html", html);
  data.setData("text/plain", text);
  const event = {clipboardData: data, bubbles: true, cancelable: true};
  document.activeElement.dispatchEvent(new ClipboardEvent("paste", event));
}"""


async def picture(page: Page, name: str) -> None:
    """Keep a picture of the page for whoever wants to look: PAGE_PICTURES names the folder."""
    if folder := os.environ.get("PAGE_PICTURES"):
        await page.screenshot(path=Path(folder) / f"{name}.png")


@pytest.mark.parametrize("html", [SHEET, ""])
async def test_a_table_is_pasted(workspace: Workspace, page: Page, channel: str, html: str) -> None:
    box = page.get_by_test_id("composer")
    await box.fill("Add this up")
    await box.focus()
    await page.evaluate(PASTE, [html, "City\tAmount\nLisbon\t980\nPorto\t\n"])
    await expect(page.get_by_test_id("pending-table")).to_contain_text("3 rows, 2 columns")
    await picture(page, "table-pending")
    await box.press("Enter")
    row = page.locator("#channel-body").get_by_test_id("message").last
    await expect(row.get_by_role("table")).to_contain_text("Lisbon")
    await expect(page.get_by_test_id("pending-table")).to_have_count(0)
    await picture(page, "table-sent")
    (message,) = workspace.thread(channel, str(await row.get_attribute("data-ts")))
    assert (message["text"], len(message["attachments"][0]["blocks"][0]["rows"])) == ("Add this up", 3)


async def test_pasted_words_stay_words(page: Page) -> None:
    box = page.get_by_test_id("composer")
    await box.focus()
    await page.evaluate(PASTE, ["<p>a\tb</p>", "a\tb"])
    await expect(page.get_by_test_id("pending-table")).to_have_count(0)


async def test_a_message_is_forwarded(workspace: Workspace, page: Page, channel: str) -> None:
    ben = workspace.person("ben")
    ts = await ben.say(channel, "Please pay *4711*", files=[("terms.txt", b"30 days")], tables=[[["a"], ["1"]]])
    row = page.locator(f'[data-ts="{ts}"]')
    await row.hover()
    await row.get_by_test_id("more").click()
    await page.get_by_test_id("forward").click()
    sheet = page.get_by_test_id("forward-sheet")
    await expect(sheet).to_be_visible()
    await picture(page, "forward-sheet")
    await sheet.get_by_test_id("forward-to").select_option(workspace.channel_id("#sales"))
    await sheet.get_by_test_id("forward-text").fill("@ben see?")
    await sheet.get_by_test_id("forward-sheet-send").click()
    await expect(sheet).to_have_count(0)
    await page.get_by_text("sales", exact=True).first.click()
    shared = page.get_by_test_id("forwarded")
    await expect(shared).to_contain_text("Please pay 4711")
    await expect(shared).to_contain_text(f"Posted in {channel}")
    await expect(shared.get_by_test_id("file")).to_contain_text("terms.txt")
    await expect(shared.get_by_role("table")).to_be_visible()
    await picture(page, "forwarded")


async def test_a_canvas_is_written_and_attached(page: Page) -> None:
    await page.get_by_test_id("attach-canvas").first.click()
    sheet = page.get_by_test_id("canvas-sheet")
    await sheet.get_by_test_id("canvas-title").fill("Runbook")
    await sheet.get_by_test_id("canvas-text").fill("# Steps\n- stop the pump")
    await picture(page, "canvas-sheet")
    await sheet.get_by_test_id("canvas-sheet-send").click()
    await expect(page.get_by_test_id("pending-file")).to_contain_text("Runbook")
    await page.get_by_test_id("composer").fill("what comes first?")
    await page.get_by_test_id("composer").press("Enter")
    row = page.locator("#channel-body").get_by_test_id("message").last
    await expect(row.get_by_test_id("file")).to_contain_text("Canvas")
    await row.get_by_test_id("file").get_by_text("Runbook").click()
    await expect(page.get_by_test_id("canvas")).to_contain_text("stop the pump")
    await picture(page, "canvas-read")
