"""Jobs that grow large by themselves: a thread of 200 requests, and a plan of 60 subtasks in three crews."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path

from tests.bench.finished_jobs import growing
from tests.bench.stage import provider
from tests.bench.two_instances import TwoInstances, Used

Row = Callable[..., None]

REQUESTS = 200
AT_ONCE = 10
"""Requests of which the CPU is read together."""
TURNS = 6
"""How often requests of a new thread and of the long one are measured, in turn."""
SMALL, LARGE = 6, 57
"""Parts in three crews; with the crews themselves, 60 subtasks are the most that a request may have."""
TIMES = {SMALL: 8, LARGE: 3}
LEVEL = 1.2
FEW = 20


async def large_jobs(data: Path, row: Row) -> None:
    """The rows of both."""
    async with provider(data, 0, script="grown") as url, growing(data, url) as pair:
        await pair.jobs("How far is it?", FEW)
        await long_thread(pair, row)
        await large_plan(pair, row)


async def long_thread(pair: TwoInstances, row: Row) -> None:
    """CPU of a request at the beginning of a thread and at its end."""
    (root,) = await pair.say("How far is it from Oslo to Bergen?", 1)
    await pair.answers([root])
    used = [await pair.measured(more(pair, root, at, AT_ONCE)) for at in range(0, REQUESTS, AT_ONCE)]
    turns = [await early_and_late(pair, root, REQUESTS + turn * AT_ONCE) for turn in range(TURNS)]
    for name, of in (("instances", "bots"), ("store", "store")):
        early, late = (sum(getattr(one, of) for one in some) / TURNS for some in zip(*turns, strict=True))
        figure, ratio = f"{late / AT_ONCE * 1000:.1f} ms", late / early
        label = f"request {REQUESTS} of a thread: CPU, {name}"
        row(label, figure, f"<= {LEVEL} x", f"{ratio:.2f} x", met=ratio <= LEVEL)
    ratios = sorted(late.bots / early.bots for early, late in turns)
    row(f"  lowest and highest of {TURNS} turns", f"{ratios[0]:.2f}-{ratios[-1]:.2f} x")
    halves = [statistics.mean(one.bots for one in used[at : at + 5]) / AT_ONCE * 1000 for at in range(0, len(used), 5)]
    row("  by fifties", ", ".join(f"{one:.0f}" for one in halves) + " ms")


async def early_and_late(pair: TwoInstances, old: str, number: int) -> tuple[Used, Used]:
    """What some requests use in a new thread, and in an old one, just after: neighbours come and go on the cores."""
    (new,) = await pair.say("How far is it from Oslo to Bergen?", 1)
    await pair.answers([new])
    await more(pair, new, 0, AT_ONCE)
    early = await pair.measured(more(pair, new, AT_ONCE, AT_ONCE))
    return early, await pair.measured(more(pair, old, number, AT_ONCE))


async def more(pair: TwoInstances, root: str, first: int, count: int) -> None:
    """So many more requests in a thread, one after the other. No two of them, or of their answers, are alike."""
    person, workspace = pair.workspace.person("ana"), pair.workspace
    for number in range(first, first + count):
        asks = f"@leadhand How far is it from Oslo to Bergen by way {number}? Is it {400 + number} km?"
        ts = await person.say("#general", asks, thread_ts=root)
        await workspace.until(lambda ts=ts: answered(pair, root, ts), timeout=60)  # type: ignore[misc]


def answered(pair: TwoInstances, root: str, ts: str) -> bool:
    """Whether that request of the thread has its answer."""
    for message in reversed(pair.workspace.thread("#general", root)):
        payload = (message.get("metadata") or {}).get("event_payload", {})
        key = str(payload.get("key", ""))
        if key.endswith(":answer") and not message.get("streaming"):
            return ts in key
    return False


async def large_plan(pair: TwoInstances, row: Row) -> None:
    """CPU of a subtask in a plan of few and of 60."""
    used: dict[int, Used] = {}
    for parts in (SMALL, LARGE):
        await pair.jobs(f"Work out {parts} parts and put them together.", 1)
        several = [await pair.jobs(f"Work out {parts} parts and put them together.", 1) for _ in range(TIMES[parts])]
        used[parts] = Used(*(statistics.median(getattr(one, name) for one in several) for name in Used.__slots__))
    for name, of in (("instances", "bots"), ("store", "store")):
        before, after = (getattr(used[parts], of) / (parts + 3) * 1000 for parts in (SMALL, LARGE))
        ratio = after / before
        label = f"a plan of {LARGE + 3}: CPU a subtask, {name}"
        row(label, f"{after:.1f} ms", f"<= {LEVEL} x", f"{ratio:.2f} x", met=ratio <= LEVEL)
    row("  seconds to the answer", f"{used[LARGE].wall:.1f} s")
