"""Jobs that grow large by themselves: a thread of 200 requests, and a plan of 60 subtasks in three crews."""

from __future__ import annotations

import statistics
from pathlib import Path

from tests.bench.stage import ResourceUse, Stage, find_answer, open_provider, open_stage, tell_level
from tests.proof_kit import row

REQUESTS = 200
AT_ONCE = 10
"""Requests of which the CPU is read together."""
TURNS = 6
"""How often requests of a new thread and of the long one are measured, in turn."""
SMALL, LARGE = 6, 57
"""Parts in three crews; with the crews themselves, 60 subtasks are the most that a request may have."""
TIMES = {SMALL: 8, LARGE: 3}
WARM = 20
PARTS_OF_USE = (("instances", "bots"), ("store", "store"))


async def large_jobs(data: Path) -> None:
    """The rows of both."""
    async with open_provider(data, 0, script="grown") as url, open_stage(data, url, 2, BENCH_CREW="grown") as stage:
        await stage.jobs("How far is it?", WARM)
        await _long_thread(stage)
        await _large_plan(stage)


async def _long_thread(stage: Stage) -> None:
    """CPU of a request at the beginning of a thread and at its end."""
    root = await _begin_thread(stage)
    for at in range(0, REQUESTS, AT_ONCE):
        await _ask_more(stage, root, at)
    turns = []
    for turn in range(TURNS):  # the old thread just after the new one: neighbours come and go on the cores
        new = await _begin_thread(stage)
        await _ask_more(stage, new, 0)
        early = await stage.measure_work(_ask_more(stage, new, AT_ONCE))
        turns.append((early, await stage.measure_work(_ask_more(stage, root, REQUESTS + turn * AT_ONCE))))
    for name, of in PARTS_OF_USE:
        early, late = (sum(getattr(one, of) for one in some) / TURNS for some in zip(*turns, strict=True))
        tell_level(f"request {REQUESTS} of a thread: CPU, {name}", f"{late / AT_ONCE * 1000:.1f} ms", late / early)
    ratios = sorted(late.bots / early.bots for early, late in turns)
    row(f"  lowest and highest of {TURNS} turns", f"{ratios[0]:.2f}-{ratios[-1]:.2f} x")


async def _begin_thread(stage: Stage) -> str:
    threads = await stage.say("How far is it from Oslo to Bergen?", 1)
    await stage.answers(threads)
    return threads[0][1]


async def _ask_more(stage: Stage, root: str, first: int) -> None:
    """Ten more requests in a thread, one after the other. No two of them, or of their answers, are alike."""
    person, workspace = stage.workspace.person("ana"), stage.workspace
    for number in range(first, first + AT_ONCE):
        asks = f"@leadhand How far is it from Oslo to Bergen by way {number}? Is it {400 + number} km?"
        ts = await person.say("#general", asks, thread_ts=root)
        await workspace.until(lambda ts=ts: find_answer(workspace, root, ts), timeout=60)  # type: ignore[misc]


async def _large_plan(stage: Stage) -> None:
    """CPU of a subtask in a plan of few and of 60."""
    used: dict[int, ResourceUse] = {}
    for parts in (SMALL, LARGE):
        await stage.jobs(f"Work out {parts} parts and put them together.", 1)
        several = [await stage.jobs(f"Work out {parts} parts and put them together.", 1) for _ in range(TIMES[parts])]
        used[parts] = ResourceUse(
            *(statistics.median(getattr(one, name) for one in several) for name in ResourceUse.__slots__)
        )
    for name, of in PARTS_OF_USE:
        few, many = (getattr(used[parts], of) / (parts + 3) * 1000 for parts in (SMALL, LARGE))
        tell_level(f"a plan of {LARGE + 3}: CPU a subtask, {name}", f"{many:.1f} ms", many / few)
    row("  seconds to the answer", f"{used[LARGE].wall:.1f} s")
