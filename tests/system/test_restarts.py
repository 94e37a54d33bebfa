"""The bot ends in the middle, or its job waits for days: it goes on from there, and nothing is there twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.app import App, open_app
from bot.command_line.serve import open_slack_connection
from bot.models.rehearsal.rehearsal import RehearsalModel
from bot.settings import Settings
from bot.store.redis.redis_store import Store
from handoff import events as ev
from tests.bench.growth import pause
from tests.store.kit import MovedClock, age
from tests.system.brains import Gate, connect, escalation, plan, provider, result, subtask
from tests.system.scene import Scene, Talk, card_title, eventually, extract_shown_text, planned_at_once
from tests.system.test_questions import AMBIGUOUS, NORTH, SOUTH

TWO = plan(subtask("first", "writer"), subtask("second", "reviewer"))


async def test_what_is_asked_while_the_bot_is_away_is_done_when_it_is_back(scene: Scene) -> None:
    talk = await scene.ask("What is 3 * 4?")
    async with scene.bot():
        job = await talk.over()
    assert job.latest_request.state == "completed"
    assert card_title(talk.cards()[0]).startswith("Done in ")
    assert len(talk.words()) == 1


async def test_a_session_does_not_stay_at_work_where_slack_took_no_last_word(scene: Scene) -> None:
    gate = Gate(result("Done."))
    async with provider(planner=lambda _: TWO, writer=gate, reviewer=gate) as server:
        async with scene.bot(connect("chat", server)):
            talk = await scene.ask("Do two things")
            await gate.arrival_event.wait()
            await talk.wait_until_seen(lambda: talk.status() == "processing")
            scene.workspace.faults.add("agents.sessions.setStatus", "error", error="token_revoked", times=2)
            await talk.say("@leadhand stop")
            await talk.over()
            await talk.wait_until_seen(
                lambda: [call for call in scene.workspace.calls("agents.sessions.setStatus") if call.error]
            )
        assert talk.status() == "processing"
        async with scene.bot(connect("chat", server), later=60.0):
            await talk.wait_until_seen(lambda: talk.status() == "active")


async def test_a_session_says_that_it_waits_once_slack_takes_it(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.slack.send.web_calls.TOKEN_PAUSE_SECONDS", 0.05)
    asks = escalation("ambiguous_input", "Which one?", ["A", "B"])
    async with (
        provider(planner=lambda _: TWO, writer=lambda _: asks, reviewer=lambda _: result("Done.")) as server,
        scene.bot(connect("chat", server)),
    ):
        scene.workspace.faults.add("agents.sessions.setStatus", "error", error="token_revoked", times=10_000)
        talk = await scene.ask("Do two things")
        await talk.question()
        await talk.wait_until_seen(
            lambda: [call for call in scene.workspace.calls("agents.sessions.setStatus") if call.error]
        )
        assert talk.status() == ""
        scene.workspace.faults.clear()
        await talk.wait_until_seen(lambda: talk.status() == "suspended")


DAY = 86_400.0
PAUSED_COUNT = 40


def own_tasks() -> list[str]:
    """What runs of the bot itself. The workspace and its connections are in this process too."""
    frames = [getattr(task.get_coro(), "cr_code", None) for task in asyncio.all_tasks()]
    return [
        frame.co_qualname
        for frame in frames
        if frame is not None
        and {"bot", "handoff"} & set(Path(frame.co_filename).parts)
        and "/workspace/" not in frame.co_filename
    ]


async def at_rest(app: App, scene: Scene, most: tuple[int, int] | None = None) -> tuple[int, int]:
    """The tasks and the connections of a bot that has nothing to do, once they are few, or as few as `most`."""
    await scene.barrier()
    seen: list[tuple[int, int]] = []

    async def is_settled() -> bool:
        assert isinstance(scene.store, Store)
        clients = await scene.store._server.run_command("INFO", "clients")
        seen.append((len(own_tasks()), int(clients["connected_clients"])))
        if most is not None:
            return app.instance.owned_job_count == 0 and seen[-1][0] <= most[0]
        return app.instance.owned_job_count == 0 and len(seen) > 25 and seen[-1][0] == min(one for one, _ in seen)

    await eventually(is_settled)
    return seen[-1]


async def test_paused_jobs_cost_no_task_and_no_connection(scene: Scene) -> None:
    async with scene.bot() as app:
        without = await at_rest(app, scene)
    for number in range(PAUSED_COUNT):
        await pause(scene.store, scene.workspace.team_id, number)
    assert await scene.store.jobs.read_next_due() is None
    async with scene.bot() as app:
        tasks, connections = await at_rest(app, scene, most=without)
    assert 0 < tasks <= without[0]
    assert connections <= without[1] + 2, "the pool may have grown by chance, not by forty"


async def test_after_five_days_of_running_a_reply_goes_on(scene: Scene, store: Store) -> None:
    async with bot_on(scene, store) as app:
        talk = await Scene(scene.workspace, "", store, "").ask(AMBIGUOUS, files=[NORTH, SOUTH])
        await talk.question()
        await talk.wait_until_seen(lambda: talk.status() == "suspended")

        async def at_rest() -> bool:
            return app.instance.owned_job_count == 0

        await eventually(at_rest)  # days that pass while an instance holds the job are days without a word from it
        await age(store, 5 * DAY)
        MovedClock(store).advance(5 * DAY)
        await talk.say("south.csv")
        await check_answer(talk)


@asynccontextmanager
async def bot_on(scene: Scene, store: Store) -> AsyncIterator[App]:
    """A bot on a store whose clock can be moved, expiry included."""
    place = scene.workspace
    settings = Settings(env={}, bot_token=place.bot_token, app_token=place.app_token, slack_api_url=place.api_url)
    async with (
        open_app(settings, store, RehearsalModel(), planned_at_once(settings)) as app,
        open_slack_connection(app.bolt, settings),
    ):
        yield app


async def check_answer(talk: Talk) -> None:
    """It ended as if nothing had been."""
    job = await talk.over()
    assert job.latest_request.state == "completed"
    assert "Total revenue of all rows: **16**" in extract_shown_text(talk.words()[-1])
    assert len(talk.cards()) == 1
    assert len(await talk.of(ev.PlanProposed)) == 1
