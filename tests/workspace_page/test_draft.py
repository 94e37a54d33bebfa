"""A message that the page offers to fill in: one press, and it is ready to be sent with its files."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import expect

from bot.workspace.workspace_server import Workspace
from bot.workspace.world import MessageDraft
from tests.workspace_page.browser import OpenPage
from tests.workspace_page.conftest import MANIFEST

pytestmark = pytest.mark.asyncio(loop_scope="session")
ASK = "Compare the two, with sources."


async def test_the_request_of_a_demo_is_filled_in_and_sent_with_its_files(open_page: OpenPage, tmp_path: Path) -> None:
    files = tuple(tmp_path / name for name in ("first.txt", "second.csv"))
    for file in files:
        file.write_text(f"This is {file.name}", encoding="utf-8")
    workspace = await Workspace.start(MANIFEST, rate_limits=False, drafts=[MessageDraft(ASK, files)])
    try:
        page = await open_page(workspace.page_url)
        await expect(page.get_by_test_id("start-sample")).to_have_count(0)
        await page.get_by_test_id("start-draft").click()
        await expect(page.locator("[data-testid=pending-file][data-ready=true]")).to_have_count(2)
        await expect(page.get_by_test_id("composer")).to_have_value(f"@pagehand {ASK}")
        await page.get_by_test_id("send").click()
        await expect(page.get_by_test_id("message").first).to_contain_text(ASK)
        [message] = workspace.messages("#general")
        assert [file["name"] for file in message["files"]] == ["first.txt", "second.csv"]
        await page.close()
        assert message["text"].strip() == f"<@{workspace.bot_user_id}> {ASK}"
    finally:
        await workspace.stop()


async def test_without_words_a_file_is_attached_and_without_either_one_chooses_a_file(
    open_page: OpenPage, tmp_path: Path
) -> None:
    mine, theirs = tmp_path / "mine.csv", tmp_path / "theirs.csv"
    for file in (mine, theirs):
        file.write_text("town,visits\nLisbon,3\n", encoding="utf-8")
    drafts = [MessageDraft(label="Ask about your own table"), MessageDraft(files=(theirs,), label="Attach theirs.csv")]
    workspace = await Workspace.start(MANIFEST, rate_limits=False, drafts=drafts)
    try:
        page = await open_page(workspace.page_url)
        async with page.expect_file_chooser() as chosen:
            await page.get_by_test_id("start-own").click()
        await (await chosen.value).set_files(mine)
        await page.get_by_test_id("start-sample").click()
        held = page.locator("[data-testid=pending-file][data-ready=true]")
        await expect(held).to_have_count(2)
        await expect(held.first).to_contain_text("mine.csv")
        await page.close()
    finally:
        await workspace.stop()
