"""1,000 members whose jobs wait for an answer of theirs: what a question, the wait and an answer cost."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.bench.child import ChildBroke
from tests.bench.finished_jobs import growing, idle, level, tell_looks
from tests.bench.stage import provider
from tests.bench.two_instances import LOOK, PATIENCE, PEOPLE, TwoInstances

Row = Callable[..., None]

MANY, FEW, ROUNDS = 1000, 10, 4
ASKS = "Book a room for us."
CITY = "Oslo"


async def asked_members(data: Path, row: Row, many: int = MANY) -> None:
    """The rows: with a few that wait, then with many."""
    async with provider(data, 0, script="grown") as url, growing(data, url) as pair:
        await a_round(pair, FEW)
        rounds = [await a_round(pair, FEW) for _ in range(ROUNDS)]
        asking, answering = (statistics.median(column) for column in zip(*rounds, strict=True))
        before = await idle(pair)
        few = await tell_looks(row, pair, "with few questions open")
        threads: list[str] = []
        used = await pair.measured(asked(pair, many, threads))
        level(row, f"{many:,} members are asked: CPU of each", asking, used.bots / many * 1000)
        after = await idle(pair)
        row("  idle CPU a second: none waits, all wait", f"{before[0]:.1f}, {after[0]:.1f} ms")
        await tell_looks(row, pair, f"with {many:,} questions open", few)
        some = threads[: FEW * ROUNDS]
        used = await pair.measured(answered(pair, some))
        level(row, "  CPU of each answer and its job's end", answering, used.bots / len(some) * 1000)


async def a_round(pair: TwoInstances, count: int) -> tuple[float, float]:
    """So many questions, and their answers: CPU milliseconds of each."""
    threads: list[str] = []
    asking = await pair.measured(asked(pair, count, threads))
    answering = await pair.measured(answered(pair, threads))
    return asking.bots / count * 1000, answering.bots / count * 1000


async def asked(pair: TwoInstances, count: int, threads: list[str]) -> None:
    """Begin so many jobs, and wait until each has asked: its thread holds the request, the card and the question."""
    threads += await pair.say(ASKS, count)
    until = time.monotonic() + PATIENCE
    for ts in threads:
        while len(pair.workspace.thread("#general", ts)) < 3:
            if time.monotonic() > until:
                raise ChildBroke(f"no question after {PATIENCE:g} s")
            await asyncio.sleep(LOOK)


async def answered(pair: TwoInstances, threads: Sequence[str]) -> None:
    """Have each thread's person reply, and wait for the answers of the jobs."""
    for number, ts in enumerate(threads):
        person = pair.workspace.person(PEOPLE[number % len(PEOPLE)])
        await person.say("#general", CITY, thread_ts=ts)
    await pair.answers(threads)
