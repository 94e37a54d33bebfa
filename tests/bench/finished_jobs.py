"""100,000 finished jobs in the store: what they take, what a new job and an idle instance pay for them, and how soon
status and Home answer.

A thread is asked through the app and answered. The keys that it left are then copied byte by byte (DUMP and RESTORE)
for every other job, under the job's own name, place and time in the head and in each set that names it; the events in
the copied logs are those of the thread that was played.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from bot.store.redis.redis_store import Store
from bot.store.values import JobKey
from handoff.contracts import Place
from tests.bench.stage import Stage, memory_of, open_provider, open_stage, tell_level
from tests.proof_kit import row

FINISHED_JOBS = 100_000
A_BATCH = 500
PEOPLE = 100
"""Who asked for them, in turn; the first is ana."""
JOBS, ROUNDS = 100, 3
"""So many at once, as the system counts CPU in ticks of 10 ms: the store takes some 3 ms a job."""
ASKS = "How far is it from Oslo to Bergen?"


async def finished_jobs(data: Path) -> None:
    """The rows: without finished jobs, then with them, in one run."""
    async with open_provider(data, 0, script="grown") as url, open_stage(data, url, 2, BENCH_CREW="grown") as stage:
        await stage.jobs(ASKS, JOBS)
        before, idle_before = await _cpu_of_a_job(stage), await stage.idle()
        few = await stage.tell_looks("with few finished jobs")
        store = await Store.connect(stage.url)
        used, began = await memory_of(store), time.perf_counter()
        await _fill(store, stage)
        took, each = time.perf_counter() - began, (await memory_of(store) - used) / FINISHED_JOBS / 1024
        await store.close()
        row(
            f"{FINISHED_JOBS:,} finished jobs: the store's memory for one",
            f"{each:.1f} kB",
            "",
            f"made in {took:.0f} s",
        )
        after, idle_after = await _cpu_of_a_job(stage), await stage.idle()
        for place, name in enumerate(("instances", "store")):
            tell_level(f"  CPU of a new job, {name}", f"{after[place]:.1f} ms", after[place] / before[place])
            figures = f"{idle_before[place]:.1f}, {idle_after[place]:.1f} ms"
            row(f"  idle CPU a second, {name}: without, with", figures)
        await stage.tell_looks(f"with {FINISHED_JOBS:,} finished jobs", few)


async def _cpu_of_a_job(stage: Stage) -> list[float]:
    """CPU milliseconds of a job: of the instances and of the store."""
    used = [await stage.jobs(ASKS, JOBS) for _ in range(ROUNDS)]
    return [statistics.median(getattr(one, of) for one in used) / JOBS * 1000 for of in ("bots", "store")]


async def _fill(store: Store, stage: Stage) -> None:
    """Copy one finished job so many times."""
    threads = await stage.say(ASKS, 1)
    await stage.answers(threads)
    await stage.wait_until_settled()
    workspace, ts = threads[0]
    place = Place(team=workspace.team_id, channel=workspace.channel_id("#general"), thread_ts=ts)
    mold = await _read_mold(store, JobKey(place.team, place.job_id))
    for first in range(0, FINISHED_JOBS, A_BATCH):
        commands = [one for n in range(first, first + A_BATCH) for one in mold.copy(store, place, n)]
        await store._server.run_commands(commands)


@dataclass(frozen=True)
class _Mold:
    """What a job left in the store: its keys with their bytes and times to live, and the sets that name it."""

    key: JobKey
    user: str
    dumps: list[tuple[str, bytes, int]]
    sets: list[tuple[str, float]]

    def copy(self, store: Store, place: Place, number: int) -> list[tuple[object, ...]]:
        """The commands that make the copy of that number, asked a second before the last one."""
        at = float(place.thread_ts) - 1 - number
        copied = place.model_copy(update={"thread_ts": f"{at:.6f}"})
        key = JobKey(place.team, copied.job_id)
        user = self.user if number % PEOPLE == 0 else f"U0BENCH{number % PEOPLE}"

        def rename_key(name: str) -> str:
            name = name.replace(
                store._keys.compute_partition_prefix(self.key), store._keys.compute_partition_prefix(key), 1
            )
            return name.replace(self.key.job, key.job).replace(f"/{self.user}", f"/{user}")

        commands: list[tuple[object, ...]] = [("RESTORE", rename_key(name), ms, data) for name, data, ms in self.dumps]
        head = next(rename_key(name) for name, _, _ in self.dumps if name.endswith(":head"))
        title = f"How far is it from Oslo to Bergen by way {number}?"
        commands.append(("HSET", head, "thread_ts", copied.thread_ts, "asked", repr(at), "user", user, "title", title))
        member = f"{key.team}/{key.job}"
        return commands + [("ZADD", rename_key(name), score - 1 - number, member) for name, score in self.sets]


async def _read_mold(store: Store, key: JobKey) -> _Mold:
    """Read what one job left."""
    server, member = store._server, f"{key.team}/{key.job}"
    names = [name.decode() for name in await server.run_command("KEYS", f"{store._keys.prefix}:*")]
    dumps, sets = [], []
    for name in sorted(names):
        if member in name and ":seen:" not in name:  # a dedupe id is forgotten after an hour
            data, ms = await server.run_commands([("DUMP", name), ("PTTL", name)])
            dumps.append((name, data, max(0, ms)))
        elif (await server.run_command("TYPE", name)) == b"zset":
            score = await server.run_command("ZSCORE", name, member)
            if score is not None:
                sets.append((name, float(score)))
    user = (await server.run_command("HGET", store._keys.list_job_keys(key)[0], "user")).decode()
    return _Mold(key, user, dumps, sets)
