"""What grows: the time in which a long job opens, and what many paused jobs cost an instance that is idle."""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from bot.app import manifest_path
from bot.command_line.serve import keep_what_is_loaded
from bot.store.embedded import start_embedded, stop_embedded
from bot.store.interface import JobKey
from bot.store.redis.redis_store import Store
from bot.workspace.workspace_server import Workspace
from handoff import events as ev
from handoff.contracts import Escalation, Place, Plan, Request, Subtask
from handoff.effects import card_key, question_key
from handoff.engine.engine import fold
from handoff.engine.outstanding import outstanding
from handoff.engine.replay import open_log
from handoff.state.job_state import Job
from handoff.summaries.summary import projection
from tests.bench.child import child
from tests.bench.long_log import MEMBERS, PLACE, long_log

Row = Callable[..., None]

EVENTS = 5000
OPENINGS = 15
PAUSED = 10_000
SIDE_BY_SIDE = 25
STARTS = 5
IDLE_SECONDS = 20.0
BY_HAND = 2_000
"""Jobs whose logs and heads are kept once more as plain streams and hashes."""
OPENING_BAR, MEMORY_BAR, IDLE_BAR = 4.0, 1.0, 2.0
AFTER_START = 2.0


async def growth(data: Path, row: Row) -> None:
    """Both rows. Two servers, so that instances with and without paused jobs can be measured side by side."""
    without, crowded = data / "without", data / "crowded"
    try:
        url, crowded_url = await start_embedded(without), await start_embedded(crowded)
        await opening(url, row)
        await paused(data, url, crowded_url, row)
    finally:
        await stop_embedded(without)
        await stop_embedded(crowded)


# ---------------------------------------------------------------- a long job


async def opening(url: str, row: Row) -> None:
    """A job of 5,000 events, from the server to the folded state, in a process that is set up as an instance is."""
    keep_what_is_loaded()
    store = await Store.connect(url, prefix="opening")
    log = long_log(EVENTS)
    key = await keep(store, log)
    reading, folding, parsing = [], [], []
    for _ in range(OPENINGS):
        began = time.perf_counter()
        entries = await store.jobs.log(key)
        read = time.perf_counter()
        job = open_log([entry.payload for entry in entries])
        folding.append((time.perf_counter() - read) * 1000)
        reading.append((read - began) * 1000)
        began = time.perf_counter()
        for entry in entries:
            json.loads(entry.payload)
        parsing.append((time.perf_counter() - began) * 1000)
    if job != fold(log):
        raise AssertionError("the job opened is not the job kept")
    await store.close()
    both = [first + second for first, second in zip(reading, folding, strict=True)]
    size = sum(len(entry.payload) for entry in entries) // EVENTS
    row(f"a job of {EVENTS:,} events ({size} bytes each) opens", f"{statistics.median(both):.0f} ms")
    parts = f"{statistics.median(reading):.0f} + {statistics.median(folding):.0f} ms"
    row("  reading it + folding it", parts)
    ratio = statistics.median(whole / lines for whole, lines in zip(both, parsing, strict=True))
    bar = f"<= {OPENING_BAR:.2f} x"
    row("  as a multiple of json.loads of its lines", f"{ratio:.2f} x", bar, met=ratio <= OPENING_BAR)
    row(f"  lowest and highest of {OPENINGS}", f"{min(both):.0f}-{max(both):.0f} ms")


async def keep(store: Store, log: list[ev.Event]) -> JobKey:
    """A job with that log in a store, owned by nobody."""
    key = JobKey(PLACE.team, PLACE.job_id)
    lines = [ev.dump(event) for event in log]
    await store.jobs.ingest(key, lines[0], dedupe=[])
    claim = await store.jobs.claim("bench", lease=60, schema=ev.SCHEMA, prefer=key)
    if claim is None:
        raise AssertionError("the job cannot be claimed")
    for at in range(0, len(lines), 250):
        await store.jobs.commit(claim, f"{at}", at, lines[at : at + 250], taken=[] if at else [1], schema=ev.SCHEMA)
    await store.jobs.release(claim, due=None)
    return key


# ---------------------------------------------------------------- many paused jobs


async def paused(data: Path, url: str, crowded_url: str, row: Row) -> None:
    """Start time, idle CPU and memory of `leadhand run`: with no job, with very many that wait for people."""
    workspace = await Workspace.start(manifest_path(), rate_limits=False)
    try:
        await crowd(crowded_url, workspace.team_id, row)
        starts: list[tuple[float, float]] = []
        for _ in range(STARTS):
            pair = [await seconds_to_start(data, workspace, one) for one in (url, crowded_url)]
            starts.append((pair[0], pair[1]))
        ratio = statistics.median(crowded / alone for alone, crowded in starts)
        alone, crowded = (statistics.median(column) for column in zip(*starts, strict=True))
        row("start of an instance: no job, then so many", f"{alone:.2f}, {crowded:.2f} s")
        row(f"  as a multiple ({STARTS} pairs)", f"{ratio:.2f} x", "<= 1.15 x", met=ratio <= 1.15)
        await idle(data, workspace, url, crowded_url, row)
    finally:
        await workspace.stop()


async def crowd(url: str, team: str, row: Row) -> None:
    """Make the paused jobs, and tell what they take."""
    store = await Store.connect(url)
    before = await used_memory(store)
    await asyncio.gather(*(some(store, team, number) for number in range(SIDE_BY_SIDE)))
    between = await used_memory(store)
    each = (between - before) / PAUSED
    await by_hand(store, team)
    hand = (await used_memory(store) - between) / BY_HAND
    row(f"Redis for one of {PAUSED:,} jobs that wait for people", f"{each:,.0f} B", "", f"{hand:,.0f} B")
    label, bar = "  as a multiple of its log and head alone", f"<= {MEMORY_BAR:.2f} x"
    row(label, f"{each / hand:.2f} x", bar, met=each / hand <= MEMORY_BAR)
    await store.close()


async def by_hand(store: Store, team: str) -> None:
    """Keep the same logs and heads as plain streams and hashes, of `BY_HAND` jobs; take them away at the end."""
    key = await first_paused(team)
    head = await store.jobs.head(key)
    lines = [entry.payload for entry in await store.jobs.log(key)]
    fields = [word for item in (head.fields if head else {}).items() for word in item]
    for number in range(BY_HAND):
        stream = [("XADD", f"hand:{number}", f"{at + 1}-0", "p", line) for at, line in enumerate(lines)]
        await store._server.commands([*stream, ("HSET", f"hand-head:{number}", *fields)])


async def first_paused(team: str) -> JobKey:
    """Return the key of the first of the paused jobs."""
    job = fold(waiting_log(team, 0))
    if job is None:
        raise AssertionError
    return JobKey(team, job.id)


async def seconds_to_start(data: Path, workspace: Workspace, url: str) -> float:
    """From the start of the process until it listens."""
    began = time.perf_counter()
    async with child(data, "bot", "run", env=settings(workspace, url)) as bot:
        await bot.line()
        return time.perf_counter() - began


async def idle(data: Path, workspace: Workspace, url: str, crowded_url: str, row: Row) -> None:
    """CPU of two instances over the same idle seconds, and their memory."""
    async with (
        child(data, "bot", "run", env=settings(workspace, url)) as alone,
        child(data, "bot", "run", env=settings(workspace, crowded_url)) as crowded,
    ):
        both = (alone, crowded)
        for bot in both:
            await bot.line()
        await asyncio.sleep(AFTER_START)
        before = [bot.cpu() for bot in both]
        await asyncio.sleep(IDLE_SECONDS)
        cpu = [(bot.cpu() - then) / IDLE_SECONDS * 1000 for bot, then in zip(both, before, strict=True)]
        ratio = cpu[1] / cpu[0] if cpu[0] else 1.0
        row("idle CPU a second: no job, then so many", f"{cpu[0]:.1f}, {cpu[1]:.1f} ms")
        row("  as a multiple", f"{ratio:.2f} x", f"<= {IDLE_BAR:.2f} x", met=ratio <= IDLE_BAR)
        row("memory of the idle instances", f"{alone.memory():.0f}, {crowded.memory():.0f} MB")


def settings(workspace: Workspace, url: str) -> dict[str, str]:
    """The environment of an instance."""
    return {
        "SLACK_BOT_TOKEN": workspace.bot_token,
        "SLACK_APP_TOKEN": workspace.app_token,
        "SLACK_API_URL": workspace.api_url,
        "REDIS_URL": url,
        "LEADHAND_MODEL": "rehearsal",
        "LEADHAND_OPERATION": "off",
    }


def waiting_log(team: str, number: int) -> list[ev.Event]:
    """The log of a job that asked its person something."""
    at = 1000.0 + number
    place = Place(team=team, channel="C0BENCH", thread_ts=f"{at:.6f}")
    request = Request(id=place.thread_ts, user=f"U{number % 500}", text="Which city is it to be?", at=at)
    subtask = Subtask(id="w", title="Choose a city", intent="Choose one of the cities.", specialist="specialist0")
    of = {"at": at, "request": request.id, "subtask": "w", "attempt": 1}
    asks = Escalation(reason="ambiguous_input", message="Which city is it?", options=("Oslo", "Bergen"))
    return [
        ev.RequestAdded(at=at, place=place, request=request),
        ev.Posted(at=at, request=request.id, key=card_key(request.id), ts=f"{at + 1:.6f}"),
        ev.PlanProposed(at=at, request=request.id, plan=Plan(goal="A city", subtasks=(subtask,)), members=MEMBERS[:1]),
        ev.AttemptStarted.model_validate({**of, "specialist": "specialist0", "tier": "balanced"}),
        ev.Escalated.model_validate({**of, "escalation": asks}),
        ev.Posted(at=at, request=request.id, key=question_key(request.id, "w", 1), ts=f"{at + 2:.6f}"),
    ]


async def some(store: Store, team: str, first: int) -> None:
    """Every so-manieth of the paused jobs."""
    for number in range(first, PAUSED, SIDE_BY_SIDE):
        await pause(store, team, number)


async def pause(store: Store, team: str, number: int) -> Job:
    """A job that waits for a person, as an owner leaves it."""
    log = waiting_log(team, number)
    job = fold(log)
    if job is None or outstanding(job, 0.0) != ([], None):
        raise AssertionError("the job does not wait")
    key = JobKey(team, job.id)
    lines = [ev.dump(event) for event in log]
    await store.jobs.ingest(key, lines[0], dedupe=[f"event {number}"], user=job.latest.request.user)
    claim = await store.jobs.claim("bench", lease=60, schema=ev.SCHEMA, prefer=key)
    if claim is None or claim.key != key:
        raise AssertionError("the job cannot be claimed")
    await store.jobs.commit(claim, "all", 0, lines, taken=[1], fields=projection(job), schema=ev.SCHEMA)
    await store.jobs.release(claim, due=None)
    return job


async def used_memory(store: Store) -> int:
    """Bytes that the server uses."""
    return int((await store._server.command("INFO", "memory"))["used_memory"])
