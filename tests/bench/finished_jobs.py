"""100,000 finished jobs in the store: what they take, what a new job and an idle instance pay for them, and how soon
status and Home answer.

A thread is asked through the app and answered. The keys that it left are then copied byte by byte (DUMP and RESTORE)
for every other job, under the job's own name, place and time in the head and in each set that names it; the events in
the copied logs are those of the thread that was played.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from bot.store.interface import JobKey
from bot.store.redis.redis_store import Store
from handoff.contracts import Place
from tests.bench.stage import provider
from tests.bench.two_instances import TwoInstances, two_instances

Row = Callable[..., None]

FINISHED = 100_000
A_BATCH = 500
PEOPLE = 100
"""Who asked for them, in turn; the first is ana."""
LOOKS = 15
JOBS, ROUNDS = 100, 3
"""So many at once, as the system counts CPU in ticks of 10 ms: the store takes some 3 ms a job."""
IDLE_SECONDS = 10.0
ASKS = "How far is it from Oslo to Bergen?"
LOOK_BAR = 8.0


async def finished_jobs(data: Path, row: Row, count: int = FINISHED) -> None:
    """The rows: without finished jobs, then with them, in one run."""
    async with provider(data, 0, script="grown") as url, growing(data, url) as pair:
        await pair.jobs(ASKS, JOBS)
        before = await a_job(pair)
        idle_before = await idle(pair)
        few = await tell_looks(row, pair, "with few finished jobs")
        store = await Store.connect(pair.url)
        used, began = await memory_of(store), time.perf_counter()
        await fill(store, pair, count)
        took, each = time.perf_counter() - began, (await memory_of(store) - used) / count
        await store.close()
        row(
            f"{count:,} finished jobs: the store's memory for one", f"{each / 1024:.1f} kB", "", f"made in {took:.0f} s"
        )
        after = await a_job(pair)
        level(row, "  CPU of a new job, instances", before[0], after[0])
        level(row, "  CPU of a new job, store", before[1], after[1])
        idle_after = await idle(pair)
        row("  idle CPU a second, instances: without, with", f"{idle_before[0]:.1f}, {idle_after[0]:.1f} ms")
        row("  idle CPU a second, store: without, with", f"{idle_before[1]:.1f}, {idle_after[1]:.1f} ms")
        await tell_looks(row, pair, f"with {count:,} finished jobs", few)


def growing(data: Path, url: str):  # type: ignore[no-untyped-def]  # noqa: ANN201 - an async context manager
    """Two instances with the crew whose jobs are of any size."""
    return two_instances(data, url, BENCH_CREW=str(Path(__file__).parent / "growth_crew"))


def level(row: Row, name: str, before: float, after: float) -> None:
    """A row for milliseconds that should not have grown."""
    ratio = after / before if before else 0.0
    row(name, f"{after:.1f} ms", "<= 1.2 x", f"{ratio:.2f} x", met=ratio <= 1.2)


async def a_job(pair: TwoInstances) -> tuple[float, float]:
    """CPU milliseconds of a job: of the instances and of the store."""
    used = [await pair.jobs(ASKS, JOBS) for _ in range(ROUNDS)]
    return tuple(statistics.median(getattr(one, of) for one in used) / JOBS * 1000 for of in ("bots", "store"))  # type: ignore[return-value]


async def idle(pair: TwoInstances) -> tuple[float, float]:
    """CPU milliseconds a second while nothing happens: of the instances and of the store."""
    await pair.settled()
    before = pair.cpu()
    await asyncio.sleep(IDLE_SECONDS)
    after = pair.cpu()
    return (after[0] - before[0]) / IDLE_SECONDS * 1000, (after[1] - before[1]) / IDLE_SECONDS * 1000


async def tell_looks(row: Row, pair: TwoInstances, when: str, few: dict[str, float] | None = None) -> dict[str, float]:
    """Two rows: the median time of `/leadhand status` and of Home, as multiples of `few`. Returns the medians."""
    medians: dict[str, float] = {}
    for name, look in (("status", status), ("home", home)):
        took = sorted([await look(pair) for _ in range(LOOKS)])
        median = medians[name] = statistics.median(took)
        row(f"{name} {when}", f"{median:.0f} ms", "", f"longest {took[-1]:.0f} ms")
        if few is not None:
            ratio = median / few[name]
            row("  as a multiple of with few", f"{ratio:.2f} x", f"<= {LOOK_BAR:.2f} x", met=ratio <= LOOK_BAR)
    return medians


async def status(pair: TwoInstances) -> float:
    """Milliseconds from `/leadhand status` to what it shows."""
    person = pair.workspace.person("ana")
    began, seen = time.perf_counter(), len(person.ephemerals("#general"))
    await person.command("#general", "/leadhand", "status")
    await pair.workspace.until(lambda: len(person.ephemerals("#general")) > seen, timeout=60)
    return (time.perf_counter() - began) * 1000


async def home(pair: TwoInstances) -> float:
    """Milliseconds from opening Home to its view."""
    workspace = pair.workspace
    began, seen = time.perf_counter(), workspace.call_count("views.publish")
    await workspace.person("ana").open_home()
    await workspace.until(lambda: workspace.call_count("views.publish") > seen, timeout=60)
    return (time.perf_counter() - began) * 1000


async def memory_of(store: Store) -> int:
    """Bytes that the server uses."""
    return int((await store._server.command("INFO", "memory"))["used_memory"])


# ---------------------------------------------------------------- copies


async def fill(store: Store, pair: TwoInstances, count: int) -> None:
    """Copy one finished job so many times."""
    place = await a_finished_thread(pair)
    key = JobKey(place.team, place.job_id)
    mold = await read_mold(store, key)
    for first in range(0, count, A_BATCH):
        commands = [one for n in range(first, min(count, first + A_BATCH)) for one in mold.copy(store, place, n)]
        await store._server.commands(commands)


async def a_finished_thread(pair: TwoInstances) -> Place:
    """Ask one more thread and wait until it is over."""
    (ts,) = await pair.say(ASKS, 1)
    await pair.answers([ts])
    await pair.settled()
    return Place(team=pair.workspace.team_id, channel=pair.workspace.channel_id("#general"), thread_ts=ts)


class Mold:
    """What a job left in the store: its keys with their bytes and times to live, and the sets that name it."""

    def __init__(
        self, key: JobKey, user: str, dumps: list[tuple[str, bytes, int]], sets: list[tuple[str, float]]
    ) -> None:
        self.key, self.user, self.dumps, self.sets = key, user, dumps, sets

    def copy(self, store: Store, place: Place, number: int) -> list[tuple[object, ...]]:
        """The commands that make the copy of that number, asked a second before the last one."""
        at = float(place.thread_ts) - 1 - number
        copied = place.model_copy(update={"thread_ts": f"{at:.6f}"})
        key = JobKey(place.team, copied.job_id)
        user = self.user if number % PEOPLE == 0 else f"U0BENCH{number % PEOPLE}"

        def named(name: str) -> str:
            name = name.replace(store._keys.part_of(self.key), store._keys.part_of(key), 1)
            return name.replace(self.key.job, key.job).replace(f"/{self.user}", f"/{user}")

        commands: list[tuple[object, ...]] = [("RESTORE", named(name), ms, data) for name, data, ms in self.dumps]
        head = next(named(name) for name, _, _ in self.dumps if name.endswith(":head"))
        title = f"How far is it from Oslo to Bergen by way {number}?"
        commands.append(("HSET", head, "thread_ts", copied.thread_ts, "asked", repr(at), "user", user, "title", title))
        member = f"{key.team}/{key.job}"
        commands += [("ZADD", named(name), score - 1 - number, member) for name, score in self.sets]
        return commands


async def read_mold(store: Store, key: JobKey) -> Mold:
    """Read what one job left."""
    server, member = store._server, f"{key.team}/{key.job}"
    names = [name.decode() for name in await server.command("KEYS", f"{store._keys.prefix}:*")]
    dumps, sets = [], []
    for name in sorted(names):
        if member in name and ":seen:" not in name:  # a dedupe id is forgotten after an hour
            data, ms = await server.commands([("DUMP", name), ("PTTL", name)])
            dumps.append((name, data, max(0, ms)))
        elif (await server.command("TYPE", name)) == b"zset":
            score = await server.command("ZSCORE", name, member)
            if score is not None:
                sets.append((name, float(score)))
    user = (await server.command("HGET", store._keys.of_job(key)[0], "user")).decode()
    return Mold(key, user, dumps, sets)
