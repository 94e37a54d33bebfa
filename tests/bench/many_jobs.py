"""What a job costs while others are under way: 1, 10, 100 and 1,000 of them at once, on two instances."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Sequence
from pathlib import Path

from tests.bench.scenario import REQUEST
from tests.bench.stage import ResourceUse, Stage, open_provider, open_stage, tell_level
from tests.proof_kit import row

LATENCIES_MS = (0, 200)
ROUNDS = {10: 4, 1: 8, 100: 2, 1000: 1}
"""How often each number of jobs is run. Tens are run again at the end: the ratios are to their mean."""
WARM = 30
STEPS = (10, 100, 1000)
THINKS_MS = 600_000
STARTED_SECONDS = 150.0
AT_REST = 3.0


async def many_jobs(data: Path) -> None:
    """The rows for both latencies."""
    for latency in LATENCIES_MS:
        async with open_provider(data, latency) as url, open_stage(data, url, 2) as stage:
            await stage.jobs(REQUEST, WARM)
            used = {count: await _rounds(stage, count) for count in ROUNDS}
            used[10] += await _rounds(stage, 10)
            for count in sorted(used):
                _tell_used(f"{count:,} jobs at {latency} ms", count, used[count], used[10])
            row("  memory of an instance afterwards", f"{stage.memory() / len(stage.bots):.0f} MB")


async def _rounds(stage: Stage, count: int) -> list[ResourceUse]:
    return [await stage.jobs(REQUEST, count) for _ in range(ROUNDS[count])]


def _tell_used(name: str, count: int, uses: Sequence[ResourceUse], tens: Sequence[ResourceUse]) -> None:
    """CPU a job of the instances and of the store beside that of ten, memory a job at its peak."""
    for label, of in ((f"{name}: CPU a job", "bots"), ("  of the store", "store")):
        each, ten = (statistics.mean(getattr(one, of) for one in some) / n for some, n in ((uses, count), (tens, 10)))
        if count > 10:
            tell_level(label, f"{each * 1000:.1f} ms", each / ten)
        else:
            row(label, f"{each * 1000:.1f} ms", "", f"{each / ten:.2f} x")
    grown, wall = max(one.grown for one in uses) / count * 1000, statistics.median(one.wall for one in uses)
    slowed = statistics.mean(one.slowdown for one in uses)
    row("  memory a job at the most; seconds; slowed by", f"{grown:.0f} kB", f"{wall:.1f} s", f"{slowed:.2f} x")


# ---------------------------------------------------------------- jobs whose models think for minutes


async def held_jobs(data: Path) -> None:
    """Memory and CPU of each job that waits for its model, by steps; then status and Home while all are under way."""
    async with open_provider(data, THINKS_MS) as url, open_stage(data, url, 2, LEADHAND_SILENCE="900") as stage:
        await _begin(stage, 20)  # what is loaded and kept with the first jobs is no part of a job
        jobs, memory = 20, stage.memory()
        few = await stage.tell_looks(f"with {jobs} jobs under way")
        earlier = 0.0
        for count in STEPS:
            await _begin(stage, count)
            each = (stage.memory() - memory) / count * 1000
            jobs, memory = jobs + count, stage.memory()
            name, figure = f"{count:,} more jobs wait for models: memory of each", f"{each:.0f} kB"
            # From a hundred on, what they hold is more than what the allocator keeps in hand.
            if count > 100:
                tell_level(name, figure, each / earlier)
            else:
                row(name, figure)
            earlier, (bots, _) = each, await stage.measure_cpu_rate()
            row(f"  CPU of each of {jobs:,} in a second", f"{bots / jobs * 1000:.0f} us")
        await stage.tell_looks(f"with {jobs:,} jobs under way", few)


async def _begin(stage: Stage, count: int) -> None:
    """Begin so many jobs, and wait until each has a card and waits for its planner."""
    cards = stage.workspace.call_count("chat.postMessage")
    await stage.say(REQUEST, count)
    await stage.workspace.until(
        lambda: stage.workspace.call_count("chat.postMessage") >= cards + count, timeout=STARTED_SECONDS
    )
    await asyncio.sleep(AT_REST)
