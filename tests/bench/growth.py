"""What 10,000 jobs that wait for people cost an instance that is idle, and the store."""

from __future__ import annotations

import asyncio
import statistics
import time
from pathlib import Path
from typing import Any

from bot.store.redis.redis_store import Store
from bot.store.values import JobKey
from handoff import events as ev
from handoff.contracts import Escalation, Place, Plan, Request, Subtask
from handoff.effects import make_card_key, make_question_key
from handoff.engine.engine import fold_log
from handoff.engine.outstanding_effects import list_outstanding_effects
from handoff.state.job_state import Job
from handoff.summaries.summary import make_summary_fields
from tests.bench.child import child
from tests.bench.long_log import MEMBERS, PLACE
from tests.bench.stage import memory_of, settings_of
from tests.proof_kit import open_store_server, open_workspace, row

PAUSED_JOBS = 10_000
SIDE_BY_SIDE = 25
STARTS = 5
IDLE_SECONDS = 20.0
BY_HAND = 2_000
"""Jobs whose logs and heads are kept once more as plain streams and hashes."""
START_BAR, MEMORY_BAR, IDLE_BAR = 1.15, 1.0, 2.0
AFTER_START = 2.0


async def growth(data: Path) -> None:
    """Start time, idle CPU and memory of `leadhand run`: with no job, with very many that wait for people.

    Two servers, so that instances with and without paused jobs can be measured side by side.
    """
    async with open_store_server(data) as url, open_store_server(data) as crowded_url, open_workspace() as workspace:
        await _crowd(crowded_url, workspace.team_id)
        more = {"LEADHAND_MODEL": "rehearsal", "LEADHAND_OPERATION": "off"}
        sides = [settings_of(workspace, one, "", **more) for one in (url, crowded_url)]
        starts = [[await _start(data, env) for env in sides] for _ in range(STARTS)]
        ratio = statistics.median(crowded / alone for alone, crowded in starts)
        alone, crowded = (statistics.median(column) for column in zip(*starts, strict=True))
        row("start of an instance: no job, then so many", f"{alone:.2f}, {crowded:.2f} s")
        bar = f"<= {START_BAR:.2f} x"
        row(f"  as a multiple ({STARTS} pairs)", f"{ratio:.2f} x", bar, is_met=ratio <= START_BAR)
        await _idle(data, sides)


async def _start(data: Path, env: dict[str, str]) -> float:
    """From the start of the process until it listens."""
    began = time.perf_counter()
    async with child(data, "bot", "run", env=env) as bot:
        await bot.line()
        return time.perf_counter() - began


async def _idle(data: Path, sides: list[dict[str, str]]) -> None:
    """CPU of two instances over the same idle seconds, and their memory."""
    async with child(data, "bot", "run", env=sides[0]) as alone, child(data, "bot", "run", env=sides[1]) as crowded:
        both = (alone, crowded)
        for bot in both:
            await bot.line()
        await asyncio.sleep(AFTER_START)
        before = [bot.cpu() for bot in both]
        await asyncio.sleep(IDLE_SECONDS)
        cpu = [(bot.cpu() - then) / IDLE_SECONDS * 1000 for bot, then in zip(both, before, strict=True)]
        ratio = cpu[1] / cpu[0] if cpu[0] else 1.0
        row("idle CPU a second: no job, then so many", f"{cpu[0]:.1f}, {cpu[1]:.1f} ms")
        row("  as a multiple", f"{ratio:.2f} x", f"<= {IDLE_BAR:.2f} x", is_met=ratio <= IDLE_BAR)
        row("memory of the idle instances", f"{alone.memory():.0f}, {crowded.memory():.0f} MB")


async def _crowd(url: str, team: str) -> None:
    """Make the paused jobs, and tell what they take beside the same logs and heads as plain streams and hashes."""
    store = await Store.connect(url)

    async def pause_some(first: int) -> list[Job]:
        return [await pause(store, team, number) for number in range(first, PAUSED_JOBS, SIDE_BY_SIDE)]

    before = await memory_of(store)
    (first, *_), *_ = await asyncio.gather(*map(pause_some, range(SIDE_BY_SIDE)))
    between = await memory_of(store)
    key = JobKey(team, first.id)
    head, lines = await store.jobs.read_head(key), [entry.payload for entry in await store.jobs.read_log(key)]
    fields = [word for item in (head.fields if head else {}).items() for word in item]
    for number in range(BY_HAND):
        stream = [("XADD", f"hand:{number}", f"{at + 1}-0", "p", line) for at, line in enumerate(lines)]
        await store._server.run_commands([*stream, ("HSET", f"hand-head:{number}", *fields)])
    each, hand = (between - before) / PAUSED_JOBS, (await memory_of(store) - between) / BY_HAND
    await store.close()
    row(f"Redis for one of {PAUSED_JOBS:,} jobs that wait for people", f"{each:,.0f} B", "", f"{hand:,.0f} B")
    bar = f"<= {MEMORY_BAR:.2f} x"
    row("  as a multiple of its log and head alone", f"{each / hand:.2f} x", bar, is_met=each / hand <= MEMORY_BAR)


def _waiting_log(team: str, number: int) -> list[ev.Event]:
    """The log of a job that asked its person something."""
    at = 1000.0 + number
    place = Place(team=team, channel="C0BENCH", thread_ts=f"{at:.6f}")
    request = Request(id=place.thread_ts, user=f"U{number % 500}", text="Which city is it to be?", at=at)
    subtask = Subtask(id="w", title="Choose a city", intent="Choose one of the cities.", specialist="specialist0")
    of = {"at": at, "request": request.id, "subtask": "w", "attempt": 1}
    asks = Escalation(reason="ambiguous_input", message="Which city is it?", options=("Oslo", "Bergen"))
    return [
        ev.RequestAdded(at=at, place=place, request=request),
        ev.Posted(at=at, request=request.id, key=make_card_key(request.id), ts=f"{at + 1:.6f}"),
        ev.PlanProposed(at=at, request=request.id, plan=Plan(goal="A city", subtasks=(subtask,)), members=MEMBERS[:1]),
        ev.AttemptStarted.model_validate({**of, "specialist": "specialist0", "tier": "balanced"}),
        ev.Escalated.model_validate({**of, "escalation": asks}),
        ev.Posted(at=at, request=request.id, key=make_question_key(request.id, "w", 1), ts=f"{at + 2:.6f}"),
    ]


async def pause(store: Store, team: str, number: int) -> Job:
    """A job that waits for a person, as an owner leaves it."""
    log = _waiting_log(team, number)
    job = fold_log(log)
    assert job is not None
    assert list_outstanding_effects(job, 0.0) == ([], None), "the job does not wait"
    of = {"dedupe": [f"event {number}"], "user": job.latest_request.spec.user}
    await _keep(store, JobKey(team, job.id), log, ingest_options=of, fields=make_summary_fields(job))
    return job


async def keep(store: Store, log: list[ev.Event]) -> JobKey:
    """A job with that log in a store, owned by nobody."""
    key = JobKey(PLACE.team, PLACE.job_id)
    await _keep(store, key, log, ingest_options={"dedupe": []})
    return key


async def _keep(
    store: Store, key: JobKey, log: list[ev.Event], *, ingest_options: dict[str, Any], **options: Any
) -> None:
    lines = [ev.dump_event(event) for event in log]
    await store.jobs.ingest(key, lines[0], **ingest_options)
    claim = await store.jobs.claim("bench", lease=60, schema=ev.SCHEMA, preferred_job=key)
    assert claim is not None
    assert claim.key == key, "the job cannot be claimed"
    for at in range(0, len(lines), 250):
        some, taken = lines[at : at + 250], [] if at else [1]
        await store.jobs.commit(claim, f"{at}", at, some, taken_entries=taken, schema=ev.SCHEMA, **options)
    await store.jobs.release(claim, due=None)
