"""All demos that come with Leadhand end as foreseen: in a thread, one by its button on the page, some in a terminal."""

from __future__ import annotations

import argparse
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from bot.app import load_crew_of_settings
from bot.command_line import crew_demo
from bot.command_line.one_job import EXIT_IN_PART, choose_exit_code, run_one_job
from bot.models.rehearsal.rehearsal import RehearsalModel
from bot.settings import Settings
from bot.slack.views.answer_message import SCRIPTED_LABEL
from bot.workspace.app_parts import MessageDraft
from handoff.evidence.work_receipts import list_unsourced_statements
from handoff.state.job_state import Job
from specialists.loading import demo_file
from specialists.registry import CREWS_FOLDER, list_crew_names
from tests.own_tools import all_tools
from tests.system.scene import Scene, Talk, scene_on
from tests.workspace_page.browser import OpenPage, browser, chromium, open_page

__all__ = ["browser", "chromium", "open_page"]
DEMOS = {name: demo for name in list_crew_names() if (demo := demo_file.read_demo(CREWS_FOLDER / name)) is not None}
NAMES = list(DEMOS)
WAITS = {"escalate", *(name for name, tool in all_tools().items() if tool.access == "write")}
"""Calls after which a job waits for people."""
PATIENCE = 100.0
RAW_PERSON = re.compile(r"<@U[A-Z0-9]+>")
RAW_ID = re.compile(r"(?<!<)#[CG][A-Z0-9]{8,}")


def settings_of(name: str) -> Settings:
    return Settings(env={}, crew=name)


def waits(demo: demo_file.Demo) -> bool:
    """Whether people are asked in it, so that it goes another way where nobody sits than on the page."""
    if demo.replies is None:
        return False
    return any(tool in WAITS for taken in demo.replies.turns.values() for step in taken for tool, _ in step.calls)


WAITING_NAMES = [name for name, demo in DEMOS.items() if waits(demo)]


def test_there_are_ten_and_people_are_asked_in_some() -> None:
    assert len(NAMES) == 10
    assert WAITING_NAMES


@pytest.mark.parametrize("name", WAITING_NAMES)
async def test_a_demo_ends_in_the_terminal_without_a_keyboard(
    name: str, server_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with crew_demo.stage_demo(settings_of(name)) as demo, scene_on(server_url) as scene:
        told = argparse.Namespace(ask=demo.demo.ask, json=False, demo=True, out=tmp_path, timeout=PATIENCE)
        async with scene.bot(demo.prepare_model(RehearsalModel()), crew=load_crew_of_settings(demo.settings)) as app:
            code = await run_one_job(scene.workspace, app, told, demo.files)
    said = capsys.readouterr()
    assert code == EXIT_IN_PART, f"{said.out}\n{said.err}"
    assert "nobody approved it in time" in said.err
    assert "failed" not in said.err
    assert not RAW_PERSON.search(said.out)


def waits_for(job: Job) -> set[tuple[str, int]]:
    """What a job waits for by now, each question by its subtask and number."""
    return {(name, one.number) for name, one in job.latest_request.open_questions.items()}


Press = Callable[[str], Awaitable[None]]
"""Presses the button with these words in the thread."""


def on_page(page: Page) -> Press:
    """As it is pressed on the page."""

    async def press(label: str) -> None:
        await page.get_by_test_id("thread").get_by_role("button", name=label, exact=True).last.click()

    return press


async def say_yes(talk: Talk, press: Press) -> None:
    """Take the first answer to whatever the demo asks, and approve what it shows, until its job is over."""
    given = 0
    while await talk.until(lambda job: job if job.current_request is None or waits_for(job) else None, PATIENCE):
        job = await talk.job()
        assert job is not None
        if job.current_request is None:
            return
        waiting, given = waits_for(job), given + 1
        asked = next(iter(job.latest_request.open_questions.values()))
        await talk.question(given)
        await press("Approve" if asked.approval is not None else asked.options[0])
        await talk.until(
            lambda job, waiting=waiting: job.current_request is None or waits_for(job) != waiting, PATIENCE
        )


async def ended_well(talk: Talk, demo: crew_demo.StagedDemo) -> None:
    """All of it went as the demo's file foresees."""
    job = await talk.over(patience=PATIENCE)
    assert choose_exit_code(job.latest_request) == (0, ""), talk.join_bot_texts()
    shown = "\n".join([*map(str, talk.cards()), talk.join_bot_texts()])
    assert not RAW_ID.search(shown)
    assert SCRIPTED_LABEL in shown
    assert demo.demo.replies is not None
    answer = job.latest_request.run.answer or ""
    assert answer.startswith(demo.demo.replies.answer), "each tool did what the script foresaw"
    assert list_unsourced_statements(job.latest_request) == (), "a figure or quotation of the script stands nowhere"
    assert "Also found" not in answer, "the answer leaves out a grave finding"


@pytest.mark.parametrize("name", NAMES)
async def test_a_demo_ends_as_its_file_foresees(name: str, server_url: str) -> None:
    async with (
        crew_demo.stage_demo(settings_of(name)) as demo,
        scene_on(server_url) as scene,
        scene.bot(demo.prepare_model(RehearsalModel()), crew=load_crew_of_settings(demo.settings)),
    ):
        talk = await scene.ask(demo.demo.ask, files=demo.files)
        await say_yes(talk, talk.press)
        await ended_well(talk, demo)


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
async def test_a_demo_ends_by_its_own_button_on_the_page(server_url: str, open_page: OpenPage) -> None:
    """One of those that ask people: what the button fills in is the same for all."""
    async with crew_demo.stage_demo(settings_of(WAITING_NAMES[0])) as demo:
        draft = MessageDraft(demo.demo.ask, demo.files)
        async with (
            scene_on(server_url, drafts=[draft]) as scene,
            scene.bot(demo.prepare_model(RehearsalModel()), crew=load_crew_of_settings(demo.settings)),
        ):
            page = await open_page(scene.workspace.page_url)
            try:
                await page.get_by_test_id("start-draft").click()
                await expect(page.locator("[data-testid=pending-file][data-ready=true]")).to_have_count(len(demo.files))
                await page.get_by_test_id("send").click()
                talk = await open_thread(scene, page)
                await say_yes(talk, on_page(page))
                await ended_well(talk, demo)
            finally:
                await page.close()


async def open_thread(scene: Scene, page: Page) -> Talk:
    """The thread of the message that the button filled in, opened on the page."""
    message = (await scene.workspace.until(lambda: scene.workspace.messages("#general")))[0]
    await page.get_by_test_id("thread-line").first.click()
    return scene.thread("#general", message["ts"])
