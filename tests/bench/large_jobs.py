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
SETTLES = 3
"""The first of them, in which what is loaded late is loaded, are left out."""
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
    used = [await pair.measured(more(pair, root, AT_ONCE)) for _ in range(REQUESTS // AT_ONCE)]
    first, last = used[SETTLES - 2 : SETTLES + 1], used[-3:]
    for name, of in (("instances", "bots"), ("store", "store")):
        before, after = (statistics.median(getattr(one, of) for one in some) for some in (first, last))
        figure, ratio = f"{after / AT_ONCE * 1000:.1f} ms", after / before
        label = f"request {REQUESTS} of a thread: CPU, {name}"
        row(label, figure, f"<= {LEVEL} x", f"{ratio:.2f} x", met=ratio <= LEVEL)
    halves = [statistics.mean(one.bots for one in used[at : at + 5]) / AT_ONCE * 1000 for at in range(0, len(used), 5)]
    row("  by fifties", ", ".join(f"{one:.0f}" for one in halves) + " ms")


async def more(pair: TwoInstances, root: str, count: int) -> None:
    """So many more requests in a thread, one after the other."""
    person, workspace = pair.workspace.person("ana"), pair.workspace
    for _ in range(count):
        ts = await person.say("#general", "@leadhand How far is it from Oslo to Bergen?", thread_ts=root)
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
