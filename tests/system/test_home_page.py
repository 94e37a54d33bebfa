"""The home in a real browser: a question is answered there, and it is right without a reload."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from handoff import events as ev
from tests.system.brains import connect, provider
from tests.system.scene import scene_on
from tests.system.test_home import WORDS, ask_first
from tests.workspace_page.browser import OpenPage, browser, chromium, open_page

__all__ = ["browser", "chromium", "open_page"]
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_a_question_is_answered_in_the_home_on_the_page(server_url: str, open_page: OpenPage) -> None:
    async with scene_on(server_url) as scene, provider(**WORDS, writer=ask_first) as server:
        async with scene.bot(connect("chat", server)):
            page = await open_page(scene.workspace.page_url)
            await page.get_by_test_id("channel").filter(has_text="leadhand").click()
            await page.get_by_test_id("tab-home").click()
            home = page.get_by_test_id("home")
            await expect(home).to_contain_text("Nothing waits for you.")
            talk = await scene.ask("Where shall we meet?")
            await expect(home).to_contain_text("Which city is it?")
            await home.get_by_role("button", name="Bergen").wait_for()
            await home.get_by_role("button", name="In your own words").click()
            await page.get_by_role("textbox", name="Your answer").fill("Neither: Tromsø")
            await page.get_by_role("button", name="Answer", exact=True).click()
            await talk.over()
            await expect(home).to_contain_text("Nothing waits for you.")
            await expect(home.get_by_role("link", name="Get it done")).to_be_visible()
            await page.context.close()
        assert [event.text for event in await talk.of(ev.QuestionAnswered)] == ["Neither: Tromsø"]
