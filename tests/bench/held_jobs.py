"""Jobs under way whose models think for minutes: what each holds and uses meanwhile, and how soon people are told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from tests.bench.finished_jobs import tell_looks
from tests.bench.scenario import REQUEST
from tests.bench.stage import provider
from tests.bench.two_instances import TwoInstances, two_instances

Row = Callable[..., None]

STEPS = (10, 100, 1000)
FIRM = 100
"""Jobs from which on what they hold is more than what the allocator keeps in hand."""
THINKS_MS = 600_000
STARTED_SECONDS = 150.0
AT_REST = 3.0
WATCHED = 8.0
LEVEL = 1.2


async def held_jobs(data: Path, row: Row, most: int = 1000) -> None:
    """The rows: memory and CPU a job by steps, then status and Home while all of them are under way."""
    async with provider(data, THINKS_MS) as url, two_instances(data, url, LEADHAND_SILENCE="900") as pair:
        await begun(pair, 20)  # what is loaded and kept with the first jobs is no part of a job
        jobs, memory = 20, pair.memory()
        few = await tell_looks(row, pair, f"with {jobs} jobs under way")
        earlier: float | None = None
        for count in (one for one in STEPS if one <= most):
            await begun(pair, count)
            each = (pair.memory() - memory) / count * 1000
            jobs, memory = jobs + count, pair.memory()
            cpu = await used_a_second(pair) / jobs
            bar = "" if count <= 10 else f"<= {LEVEL} x"
            memory_level = None if earlier is None or count <= 100 else each / earlier[0] <= LEVEL
            ratio = "" if earlier is None or count <= 100 else f"{each / earlier[0]:.2f} x"
            row(
                f"{count:,} more jobs wait for models: memory of each",
                f"{each:.0f} kB",
                bar if ratio else "",
                ratio,
                met=memory_level,
            )
            row(f"  CPU of each of {jobs:,} in a second", f"{cpu * 1e6:.0f} us")
            earlier = (each, cpu)
        await tell_looks(row, pair, f"with {jobs:,} jobs under way", few)


async def begun(pair: TwoInstances, count: int) -> None:
    """Begin so many jobs, and wait until each has a card and waits for its planner."""
    cards = pair.workspace.call_count("chat.postMessage")
    await pair.say(REQUEST, count)
    await pair.workspace.until(
        lambda: pair.workspace.call_count("chat.postMessage") >= cards + count, timeout=STARTED_SECONDS
    )
    await asyncio.sleep(AT_REST)


async def used_a_second(pair: TwoInstances) -> float:
    """CPU seconds of the instances in a second."""
    before, _ = pair.cpu()
    await asyncio.sleep(WATCHED)
    after, _ = pair.cpu()
    return (after - before) / WATCHED
