"""Two instances at work on one store, and what they and the store use: CPU seconds and resident memory."""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from bot.app import manifest_path
from bot.store.embedded import start_embedded, stop_embedded
from bot.store.redis.redis_store import Store
from bot.workspace.workspace_server import Workspace
from tests.bench.child import Child, ChildBroke, child
from tests.bench.stage import Stage, settings_of

PATIENCE = 240.0
"""Seconds after which many jobs have to be answered."""
PEOPLE = ("ana", "ben", "cleo")
"""Nobody gets more than three quarters of the slots."""
LOOK = 0.1
STILL = 5
"""Looks without CPU used after which the instances have settled."""
NEVER_REACHED = {
    "LEADHAND_SLACK_UNLIMITED": "1",
    "LEADHAND_OPERATION": "off",
    "LEADHAND_SLOTS": "1000",
    "LEADHAND_BUDGET_PERSON": "900000m tokens",
    "LEADHAND_BUDGET_DAY": "900000m tokens",
}
IDLE = 0.02
"""CPU seconds between two looks at most, of instances that are idle: they beat and look at the store now and then."""


@dataclass(frozen=True, slots=True)
class Used:
    """CPU seconds of the instances and of the store, wall seconds, and MB that the instances grew by at the most.

    The CPU seconds are those of a machine at rest: what a fixed loop took meanwhile, beside what it took at its best,
    says how much the neighbours on the same cores slowed everything down.
    """

    bots: float
    store: float
    wall: float
    grown: float
    slowed: float


@dataclass(slots=True)
class TwoInstances:
    """The processes, and the workspace that both serve."""

    workspace: Workspace
    bots: tuple[Child, ...]
    server: psutil.Process
    url: str
    best: float
    """Seconds that the fixed loop takes at its best."""

    def cpu(self) -> tuple[float, float]:
        """CPU seconds so far: of the instances together, and of the store."""
        times = self.server.cpu_times()
        return sum(bot.cpu() for bot in self.bots), times.user + times.system

    def memory(self) -> float:
        """Resident MB of the instances together."""
        return sum(bot.memory() for bot in self.bots)

    async def settled(self) -> None:
        """Wait until what follows the last answer is done as well."""
        still = 0
        seen, _ = self.cpu()
        while still < STILL:
            await asyncio.sleep(LOOK)
            now, _ = self.cpu()
            still, seen = (still + 1 if now - seen <= IDLE else 0), now

    async def say(self, text: str, count: int, channel: str = "#general") -> list[str]:
        """Begin so many threads with the same words, people in turn; gives their ids."""
        people = [self.workspace.person(name) for name in PEOPLE]
        return [await people[n % len(people)].say(channel, f"@leadhand {text}") for n in range(count)]

    async def jobs(self, text: str, count: int) -> Used:
        """So many jobs at once, each in a thread of its own, to the last answer and all that follows."""
        await self.settled()
        return await self.measured(self._answered(text, count))

    async def _answered(self, text: str, count: int) -> None:
        await self.answers(await self.say(text, count))

    async def measured(self, work: Coroutine[Any, Any, None]) -> Used:
        """What a coroutine's work uses, to its end and all that follows it."""
        before, begun, memory = self.cpu(), time.perf_counter(), self.memory()
        task = asyncio.ensure_future(work)
        most, paces = memory, [pace()]
        while not task.done():
            await asyncio.wait({task}, timeout=LOOK * 2)
            most = max(most, self.memory())
            paces.append(pace())
        wall = time.perf_counter() - begun
        task.result()
        await self.settled()
        after = self.cpu()
        slowed = max(1.0, statistics.median(paces) / self.best)
        bots, store = (now - then for now, then in zip(after, before, strict=True))
        return Used(bots / slowed, store / slowed, wall, most - memory, slowed)

    async def answers(self, threads: Sequence[str], channel: str = "#general") -> None:
        """Wait for the answer of each of these threads. Raises ChildBroke where one does not come."""
        until = time.monotonic() + PATIENCE
        stage = Stage(self.workspace, self.bots[0])
        for ts in threads:
            while stage.answer(channel, ts) is None:
                if time.monotonic() > until:
                    logs = "\n".join([await bot.tell() for bot in self.bots])
                    raise ChildBroke(f"no answer after {PATIENCE:g} s.\n{logs}")
                await asyncio.sleep(LOOK)


@contextlib.asynccontextmanager
async def two_instances(data: Path, model_url: str, count: int = 2, **env: str) -> AsyncIterator[TwoInstances]:
    """The instances, set up alike; Slack's limits are off on both sides, budgets are there and never reached."""
    data = Path(tempfile.mkdtemp(dir=data))
    best = min(pace() for _ in range(200))
    url = await start_embedded(data)
    try:
        workspace = await Workspace.start(manifest_path(), rate_limits=False)
        try:
            settings = settings_of(workspace, url, model_url, **{**NEVER_REACHED, **env})
            async with contextlib.AsyncExitStack() as stack:
                bots = [
                    await stack.enter_async_context(child(data, "tests.bench.bot", env=settings)) for _ in range(count)
                ]
                for bot in bots:
                    await bot.line()
                yield TwoInstances(workspace, tuple(bots), psutil.Process(await process_of(url)), url, best)
        finally:
            await workspace.stop()
    finally:
        await stop_embedded(data)


def pace() -> float:
    """CPU seconds that a fixed loop takes now: about a millisecond."""
    began = time.thread_time()
    words: dict[int, str] = {}
    for number in range(3_000):
        words[number % 512] = str(number)
    return time.thread_time() - began


async def process_of(url: str) -> int:
    """The id of the process of an embedded server."""
    store = await Store.connect(url)
    try:
        return int((await store._server.command("INFO", "server"))["process_id"])
    finally:
        await store.close()
