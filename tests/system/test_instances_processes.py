"""Instances as processes: frozen and woken, told to end, on a machine whose clock is wrong."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bot.store.redis.redis_store import Store
from handoff import events as ev
from handoff.engine.ladder import RETRY_DELAY_SECONDS
from tests.patience import eventually
from tests.providers.faults import Fault
from tests.system.brains import Gate, connect, in_turn, plan, provider, purposes, result, subtask
from tests.system.processes import BotProcess, bot_process
from tests.system.scene import Scene, Talk, bot_in, scene_on

TWO = plan(subtask("first", "writer"), subtask("second", "reviewer"))


@pytest.fixture
async def lone(redis_url: str) -> AsyncIterator[Scene]:
    """A scene on that server."""
    async with scene_on(redis_url) as made:
        store = await Store.connect(redis_url)
        yield replace(made, store=store, prefix="lh")
        await store.close()


@asynccontextmanager
async def half_done(
    lone: Scene, folder: Path, base: str, gate: Gate, **more: str
) -> AsyncIterator[tuple[BotProcess, Talk]]:
    """A bot in a process, one part of whose job is done and the other under way."""
    async with bot_process(lone.workspace, lone.url, folder, OPENAI_BASE_URL=base, **more) as bot:
        talk = await lone.ask("Do two things")
        await gate.arrival_event.wait()
        await talk.until(lambda job: job.latest_request.subtasks["first"].state == "complete")
        await talk.wait_until_seen(talk.cards)
        yield bot, talk


async def test_a_frozen_owner_that_wakes_does_nothing_more(
    lone: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The end of the lease is waited for, not come across.
    monkeypatch.setattr("bot.jobs.instance.MAX_POLL_SECONDS", 600.0)
    gate = Gate(result("Checked."))
    async with (
        provider(planner=TWO, writer=result("Written."), reviewer=gate) as server,
        half_done(lone, tmp_path, server.openai_url, gate, LEADHAND_LEASE="1") as (frozen, talk),
    ):
        frozen.freeze()
        async with bot_in(lone.workspace, lone.url, prefix="lh", model=connect("chat", server)):
            await eventually(lambda: talk.of(ev.TakenOver))
            calls = len(server.requests)
            frozen.wake()
            fenced = await frozen.wait_for_record("fenced")
            gate.open()
            job = await talk.over()
            await lone.barrier()
        assert fenced["job"] == talk.key.job
        assert purposes(server)[calls:].count("specialist:writer") == 0
        events = await talk.events()
    (fence,) = [index for index, event in enumerate(events) if isinstance(event, ev.TakenOver)]
    assert len([event for event in events[fence:] if isinstance(event, ev.ResultReturned)]) == 1
    assert job.latest_request.state == "completed"
    assert len(talk.cards()) == len(talk.words()) == 1
    assert purposes(server).count("specialist:writer") == 1
    assert purposes(server).count("specialist:reviewer") <= 2 + 1
    assert purposes(server).count("synthesizer") == 1


async def test_told_to_end_it_hands_its_jobs_over(lone: Scene, tmp_path: Path) -> None:
    gate = Gate(result("Checked."))
    async with provider(planner=TWO, writer=result("Written."), reviewer=gate) as server:
        async with half_done(lone, tmp_path, server.openai_url, gate) as (bot, talk):
            code, took = await bot.end()
            assert code == 0, bot.log.read_text()[-2000:]
            assert took < 8.0, "a guard only: on an idle machine it is well below two seconds"
            head = await lone.store.jobs.read_head(talk.key)
            now = await lone.store.read_time()
            assert head is not None
            assert (head.owner, head.lost_owners) == ("", 0)
            assert head.due is not None
            assert head.due <= now
            assert await lone.store.jobs.read_next_due() == head.due
            assert "Traceback" not in bot.log.read_text()
            told, over = (bot.at(text) for text in ("stopping", "stopped"))
            assert over - told < 4.0, "twice what it may take: other tests run beside it"
        before = purposes(server)
        gate.open()
        async with bot_in(lone.workspace, lone.url, prefix="lh", model=connect("chat", server)):
            job = await talk.over()
    assert purposes(server)[len(before) :] == ["specialist:reviewer", "synthesizer"]
    attempts = [subtask.attempt for subtask in job.latest_request.subtasks.values() if not subtask.is_handed_over]
    assert attempts == [1, 1], "no attempt is used up"
    assert not await talk.of(ev.TakenOver)
    assert len(talk.cards()) == len(talk.words()) == 1


WRONG_CLOCK = """
import sys, time
real, ahead = time.time, float(sys.argv.pop(1))
time.time = lambda: real() + ahead
from bot.__main__ import main
sys.exit(main(["run"]))
"""


async def test_a_machine_whose_clock_is_an_hour_off_keeps_to_its_delays(lone: Scene, tmp_path: Path) -> None:
    one = plan(subtask("only", "writer"))
    async with provider(planner=one, writer=in_turn(Fault("unavailable"), result("Done."))) as server:
        command = ("-c", WRONG_CLOCK, "3600.0")
        async with bot_process(lone.workspace, lone.url, tmp_path, command=command, OPENAI_BASE_URL=server.openai_url):
            talk = await lone.ask("Do it")
            job = await talk.over()
            now = time.time()
    failed, *_ = await talk.of(ev.AttemptFailed)
    again = [event for event in await talk.of(ev.AttemptStarted) if event.attempt == 2]
    assert again[0].at - failed.at == pytest.approx(RETRY_DELAY_SECONDS[0], abs=1.5)
    assert all(abs(event.at - now) < 60 for event in await talk.events()), "all times are the store's"
    assert job.latest_request.state == "completed"
    assert len(talk.words()) == 1
