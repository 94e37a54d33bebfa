"""People live with the bot in a real browser: a question in the home, a schedule, a second try, a trace, a thumb."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Page, expect

from handoff import events as ev
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.wire import WireRequest
from tests.system.brains import Gate, Words, by_part, connect, in_turn, plan, provider, result, subtask
from tests.system.scene import Scene, Talk, eventually, scene_on
from tests.system.test_questions import ask_first
from tests.system.test_schedules_whole import schedules
from tests.workspace_page.browser import OpenPage, browser, chromium, open_page

__all__ = ["browser", "chromium", "open_page"]
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

RULE = "@leadhand every Monday at 9 summarise #sales here"
BOTH = plan(subtask("sum", "analyst"), subtask("note", "writer"))
PLACE = plan(subtask("place", "writer"))


async def as_person(open_page: OpenPage, scene: Scene, name: str, **options: object) -> Page:
    """The page as one of the three sees it."""
    page = await open_page(scene.workspace.page_url, **options)
    await page.get_by_test_id("composer").wait_for()
    await page.get_by_test_id("act-as").select_option(label=name)
    return page


async def home_of(page: Page) -> None:
    await page.get_by_test_id("channel").filter(has_text="leadhand").click()
    await page.get_by_test_id("tab-home").click()


async def say(page: Page, channel: str, text: str) -> None:
    await page.locator(f"[data-testid=channel][data-name={channel}]").click()
    composer = page.get_by_role("textbox", name=f"Message #{channel}", exact=True)  # not that of the channel before
    await composer.fill(text)
    await composer.press("Enter")


async def schedule_something(page: Page, scene: Scene) -> None:
    """Ana has something done every Monday, and her home shows it."""
    await say(page, "sales", RULE)
    draft = page.locator(".message.ephemeral").filter(has_text="Every Monday at 9:00")
    await draft.get_by_role("button", name="Save").click()
    await expect(page.locator(".message.ephemeral")).to_contain_text("Saved as")
    (one,) = await schedules(scene)
    assert one.owner == scene.person().id
    await home_of(page)
    await expect(page.get_by_test_id("home")).to_contain_text("summarise #sales here")


async def try_again(page: Page, scene: Scene, gate: Gate) -> Talk:
    """Ben's answer lacks a part. He has it tried again, sees it under way in his home, and how it ends."""
    await say(page, "general", "@leadhand add it up and write a note")
    await page.get_by_test_id("thread-line").click()
    await page.get_by_test_id("thread").get_by_role("button", name="Try what is missing again").click()
    await gate.arrival_event.wait()
    await home_of(page)
    home = page.get_by_test_id("home")
    await expect(home).to_contain_text("Get it done · working")
    await expect(home).not_to_contain_text("summarise #sales here")
    gate.open()
    await expect(home).to_contain_text("· done ·")
    general = scene.workspace.messages(scene.workspace.channel_id("#general"))
    asked = next(one for one in general if "add it up" in one["text"])
    talk = scene.thread("#general", asked["ts"])
    await talk.over(2)
    return talk


async def doubt_and_look(page: Page, talk: Talk) -> None:
    """Cleo, an admin, gives it a thumb down with a reason, and looks at the trace of his job."""
    await page.locator("[data-testid=channel][data-name=general]").click()
    await page.get_by_test_id("thread-line").click()
    answer = page.get_by_test_id("thread").get_by_test_id("message").last
    await answer.get_by_role("button", name="Bad answer").click()
    why = page.locator(".message.ephemeral").filter(has=page.get_by_role("textbox", name="What was wrong"))
    await why.get_by_role("textbox").fill("It is 18.")
    await why.get_by_role("button", name="Send").click()
    (_, reason) = await eventually(lambda: two(talk))
    assert reason.reason == "It is 18."
    await say(page, "general", f"/leadhand trace {talk.key.job}")
    traced = page.locator(".message.ephemeral").filter(has_text="second try: 1 of 2 parts are taken over")
    await expect(traced).to_have_count(1)
    await page.get_by_test_id("channel").filter(has_text="leadhand").click()
    picture = page.locator("[data-testid=file] img").first
    await expect(picture).to_have_attribute("alt", re.compile("The end waited for: supervisor, analyst"))
    await expect(page.get_by_test_id("file").filter(has_text="html")).to_have_count(1)


async def answer_in_home(page: Page, scene: Scene) -> None:
    """Ana, whose home is open, is asked something there and answers in her own words."""
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
    assert [event.text for event in await talk.of(ev.QuestionAnswered)] == ["Neither: Tromsø"]


async def two(talk: Talk) -> list[ev.FeedbackGiven] | None:
    found = await talk.of(ev.FeedbackGiven)
    return found if len(found) == 2 else None


async def test_three_people_live_with_it_on_the_page(server_url: str, open_page: OpenPage) -> None:
    gate, failing = Gate(result("It is added up.")), [Fault("bad_request")]

    async def analyst(request: WireRequest) -> Reply | Fault:
        return failing.pop() if failing else await gate(request)

    writer = by_part(result("Tea is a drink.", 90), place=ask_first)
    words: dict[str, Words] = {"planner": in_turn(BOTH, PLACE), "analyst": analyst, "writer": writer}
    async with scene_on(server_url) as scene, provider(**words) as server:
        admins = frozenset({scene.person("cleo").id})
        async with scene.bot(connect("chat", server), admins=admins):
            ana, ben, cleo = [
                await as_person(open_page, scene, name) for name in ("Ana Duarte", "Ben Okafor", "Cleo Marsh")
            ]
            await schedule_something(ana, scene)
            talk = await try_again(ben, scene, gate)
            await doubt_and_look(cleo, talk)
            await answer_in_home(ana, scene)
            for page in (ana, ben, cleo):
                await page.context.close()
