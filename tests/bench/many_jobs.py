"""What a job costs while others are under way: 1, 10, 100 and 1,000 of them at once, on two instances."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path

from tests.bench.scenario import REQUEST
from tests.bench.stage import provider
from tests.bench.two_instances import TwoInstances, Used, two_instances

Row = Callable[..., None]

LATENCIES_MS = (0, 200)
ROUNDS = {10: 4, 1: 8, 100: 2, 1000: 1}
"""How often each number of jobs is run. Tens are run again at the end: the ratios are to their mean."""
WARM = 30
LEVEL = 1.2


async def many_jobs(data: Path, row: Row, most: int = 1000) -> None:
    """The rows for both latencies."""
    for latency in LATENCIES_MS:
        async with provider(data, latency) as url, two_instances(data, url) as pair:
            await pair.jobs(REQUEST, WARM)
            used = {count: await rounds(pair, count) for count in ROUNDS if count <= most}
            used[10] += await rounds(pair, 10)
            tell(row, latency, used, pair)


async def rounds(pair: TwoInstances, count: int) -> list[Used]:
    """What so many jobs at once use, a few times."""
    return [await pair.jobs(REQUEST, count) for _ in range(ROUNDS[count])]


def tell(row: Row, latency: int, used: dict[int, list[Used]], pair: TwoInstances) -> None:
    """A row for each number of jobs: CPU a job of the instances and of the store, memory a job at its peak."""
    ten = statistics.mean(one.bots for one in used[10]) / 10
    ten_store = statistics.mean(one.store for one in used[10]) / 10
    for count in sorted(used):
        bots = statistics.mean(one.bots for one in used[count]) / count
        store = statistics.mean(one.store for one in used[count]) / count
        wall = statistics.median(one.wall for one in used[count])
        grown = max(one.grown for one in used[count]) / count * 1000
        met = None if count <= 10 else bots / ten <= LEVEL
        bar = "" if count <= 10 else f"<= {LEVEL} x"
        row(f"{count:,} jobs at {latency} ms: CPU a job", f"{bots * 1000:.1f} ms", bar, f"{bots / ten:.2f} x", met=met)
        met = None if count <= 10 else store / ten_store <= LEVEL
        row("  of the store", f"{store * 1000:.1f} ms", bar, f"{store / ten_store:.2f} x", met=met)
        slowed = statistics.mean(one.slowed for one in used[count])
        row("  memory a job at the most; seconds; slowed by", f"{grown:.0f} kB", f"{wall:.1f} s", f"{slowed:.2f} x")
    row("  memory of an instance afterwards", f"{pair.memory() / len(pair.bots):.0f} MB")
