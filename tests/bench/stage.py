"""Instances at work on one store in one workspace, what they and the store use, and how figures are compared."""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import time
from collections.abc import AsyncIterator, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from bot.store.redis.redis_store import Store
from bot.workspace.workspace_server import Workspace
from tests.bench.child import Child, ChildBroke, child, output
from tests.bench.scenario import REQUEST
from tests.proof_kit import open_store_server, open_workspace, row

PATIENCE, ANSWER_SECONDS = 240.0, 60.0
"""Seconds after which many jobs have to be answered, and one alone."""
PEOPLE = ("ana", "ben", "cleo")
"""Nobody gets more than three quarters of the slots."""
LOOK = 0.1
STILL = 5
"""Looks without CPU used after which the instances have settled."""
IDLE = 0.02
"""CPU seconds between two looks at most, of instances that are idle: they beat and look at the store now and then."""
WATCHED_SECONDS = 10.0
LOOKS = 15
LOOK_BAR = 8.0
NEVER_REACHED = {
    "LEADHAND_SLACK_UNLIMITED": "1",
    "LEADHAND_OPERATION": "off",
    "LEADHAND_SLOTS": "1000",
    "LEADHAND_BUDGET_PERSON": "900000m tokens",
    "LEADHAND_BUDGET_DAY": "900000m tokens",
}


def compare(name: str, ours: Sequence[float], others: Sequence[float], bar: float, unit: str = "s") -> None:
    """Two rows: the medians beside each other, and the median of the pairs' ratios with the lowest and highest."""
    figures = [statistics.median(column) * (1000 if unit == "ms" else 1) for column in (ours, others)]
    row(name, f"{figures[0]:.2f} {unit}", "", f"{figures[1]:.2f} {unit}")
    ratios = sorted(our / other for our, other in zip(ours, others, strict=True))
    ratio, span = statistics.median(ratios), f"{ratios[0]:.2f}-{ratios[-1]:.2f} x"
    row(f"  as a multiple ({len(ratios)} pairs)", f"{ratio:.2f} x", f"<= {bar:.2f} x", span, is_met=ratio <= bar)


def tell_level(name: str, figure: str, ratio: float, bar: float = 1.2) -> None:
    """A row for what should not have grown."""
    row(name, figure, f"<= {bar} x", f"{ratio:.2f} x", is_met=ratio <= bar)


async def seconds_of(*arguments: str) -> float:
    """Seconds that a Python process takes from its start to its end."""
    start = time.perf_counter()
    await output(*arguments)
    return time.perf_counter() - start


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """CPU seconds of the instances and of the store, wall seconds, and MB that the instances grew by at the most.

    The CPU seconds are those of a machine at rest: what a fixed loop took meanwhile, beside what it took at its best,
    says how much the neighbours on the same cores slowed everything down.
    """

    bots: float
    store: float
    wall: float
    grown: float
    slowdown: float


@dataclass(slots=True)
class Stage:
    """The processes, and the workspaces that they serve."""

    workspaces: tuple[Workspace, ...]
    bots: tuple[Child, ...]
    server: psutil.Process
    url: str
    best: float
    """Seconds that the fixed loop takes at its best."""

    @property
    def workspace(self) -> Workspace:
        """The first of the workspaces."""
        return self.workspaces[0]

    def cpu(self) -> tuple[float, float]:
        """CPU seconds so far: of the instances together, and of the store."""
        times = self.server.cpu_times()
        return sum(bot.cpu() for bot in self.bots), times.user + times.system

    def memory(self) -> float:
        """Resident MB of the instances together."""
        return sum(bot.memory() for bot in self.bots)

    async def wait_until_settled(self) -> None:
        """Wait until what follows the last answer (the card's end, the session's status, the lease) is done as well."""
        still = 0
        seen, _ = self.cpu()
        while still < STILL:
            await asyncio.sleep(LOOK)
            now, _ = self.cpu()
            still, seen = (still + 1 if now - seen <= IDLE else 0), now

    async def idle(self) -> tuple[float, float]:
        """CPU milliseconds a second while nothing happens: of the instances and of the store."""
        await self.wait_until_settled()
        return await self.measure_cpu_rate()

    async def measure_cpu_rate(self) -> tuple[float, float]:
        """CPU milliseconds a second for a while from now on: of the instances and of the store."""
        before = self.cpu()
        await asyncio.sleep(WATCHED_SECONDS)
        bots, store = ((now - then) / WATCHED_SECONDS * 1000 for now, then in zip(self.cpu(), before, strict=True))
        return bots, store

    # -- jobs ------------------------------------------------------------------------------------

    async def say(self, text: str, count: int) -> list[tuple[Workspace, str]]:
        """Begin so many threads with the same words, workspaces and people in turn; gives where and their ids."""
        threads = []
        for number in range(count):
            workspace = self.workspaces[number % len(self.workspaces)]
            person = workspace.person(PEOPLE[number % len(PEOPLE)])
            threads.append((workspace, await person.say("#general", f"@leadhand {text}")))
        return threads

    async def answers(self, threads: Sequence[tuple[Workspace, str]]) -> None:
        """Wait for the answer of each of these threads. Raises ChildBroke where one does not come."""
        until = time.monotonic() + PATIENCE
        for workspace, ts in threads:
            while find_answer(workspace, ts) is None:
                if time.monotonic() > until:
                    raise self._broke(workspace, ts)
                await asyncio.sleep(LOOK)

    def _broke(self, workspace: Workspace, ts: str) -> ChildBroke:
        said = [str(one.get("text"))[:200] for one in workspace.thread("#general", ts)]
        logs = "\n".join(bot.end_of_log() for bot in self.bots)
        return ChildBroke(f"a job had no answer in time; its thread: {said}\n{logs}")

    async def job(self) -> float:
        """One job from mention to answer; the seconds that it took."""
        start = time.perf_counter()
        ts = await self.workspace.person("ana").say("#general", f"@leadhand {REQUEST}")
        try:
            await self.workspace.until(lambda: find_answer(self.workspace, ts), timeout=ANSWER_SECONDS)
        except TimeoutError:
            raise self._broke(self.workspace, ts) from None
        return time.perf_counter() - start

    async def jobs(self, text: str, count: int) -> ResourceUse:
        """What so many jobs at once use, each in a thread of its own, to the last answer and all that follows."""
        await self.wait_until_settled()
        return await self.measure_work(self._await_answers(text, count))

    async def _await_answers(self, text: str, count: int) -> None:
        await self.answers(await self.say(text, count))

    async def measure_work(self, work: Coroutine[Any, Any, None]) -> ResourceUse:
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
        await self.wait_until_settled()
        slowed = max(1.0, statistics.median(paces) / self.best)
        bots, store = (now - then for now, then in zip(self.cpu(), before, strict=True))
        return ResourceUse(bots / slowed, store / slowed, wall, most - memory, slowed)

    # -- looks -----------------------------------------------------------------------------------

    async def tell_looks(self, when: str, few: dict[str, float] | None = None) -> dict[str, float]:
        """Rows for the median time of `/leadhand status` and of Home, as multiples of `few`. Returns the medians."""
        medians: dict[str, float] = {}
        for name, look in (("status", self._look_at_status), ("home", self._look_at_home)):
            took = sorted([await look() for _ in range(LOOKS)])
            median = medians[name] = statistics.median(took)
            row(f"{name} {when}", f"{median:.0f} ms", "", f"longest {took[-1]:.0f} ms")
            if few is not None:
                tell_level("  as a multiple of with few", f"{median:.0f} ms", median / few[name], LOOK_BAR)
        return medians

    async def _look_at_status(self) -> float:
        person = self.workspace.person("ana")
        began, seen = time.perf_counter(), len(person.ephemerals("#general"))
        await person.command("#general", "/leadhand", "status")
        await self.workspace.until(lambda: len(person.ephemerals("#general")) > seen, timeout=60)
        return (time.perf_counter() - began) * 1000

    async def _look_at_home(self) -> float:
        began, seen = time.perf_counter(), self.workspace.call_count("views.publish")
        await self.workspace.person("ana").open_home()
        await self.workspace.until(lambda: self.workspace.call_count("views.publish") > seen, timeout=60)
        return (time.perf_counter() - began) * 1000


def find_answer(workspace: Workspace, ts: str, request: str = "") -> dict[str, Any] | None:
    """The last answer of a thread, or that of one request of it, once it is whole."""
    for message in reversed(workspace.thread("#general", ts)[1:]):
        key = str((message.get("metadata") or {}).get("event_payload", {}).get("key", ""))
        if key.endswith(":answer") and not message.get("streaming"):
            return message if request in key else None
    return None


def settings_of(workspace: Workspace, url: str, model_url: str, **env: str) -> dict[str, str]:
    """The environment of a bot in a workspace, on the store at `url`; `env` is added to it."""
    return {
        "SLACK_BOT_TOKEN": workspace.bot_token,
        "SLACK_APP_TOKEN": workspace.app_token,
        "SLACK_API_URL": workspace.api_url,
        "REDIS_URL": url,
        "OPENAI_API_KEY": "bench",
        "OPENAI_BASE_URL": model_url,
        "LEADHAND_MODEL": "openai",
        **env,
    }


@contextlib.asynccontextmanager
async def open_provider(data: Path, latency_ms: float, *more: str, script: str = "six") -> AsyncIterator[str]:
    """The scripted server in its own process; gives the address for OpenAI's SDK. `more` are further arguments."""
    arguments = ("--latency-ms", str(latency_ms), "--script", script, *more)
    async with child(data, "tests.providers.server", *arguments) as server:
        yield f"http://127.0.0.1:{await server.line()}/v1"


@contextlib.asynccontextmanager
async def open_stage(data: Path, model_url: str, count: int = 1, **env: str) -> AsyncIterator[Stage]:
    """Instances set up alike; Slack's limits are off on both sides, budgets are there and never reached."""
    async with open_store_server(data) as url, open_workspace() as workspace:
        settings = settings_of(workspace, url, model_url, **{**NEVER_REACHED, **env})
        async with start_bots(data, url, (workspace,), settings, count) as stage:
            yield stage


@contextlib.asynccontextmanager
async def start_bots(
    data: Path, url: str, workspaces: tuple[Workspace, ...], settings: dict[str, str], count: int = 1
) -> AsyncIterator[Stage]:
    """So many instances with these settings, in workspaces that are there."""
    best = min(pace() for _ in range(200))
    async with contextlib.AsyncExitStack() as stack:
        started = [child(data, "tests.bench.bot", env=settings) for _ in range(count)]
        bots = [await stack.enter_async_context(one) for one in started]
        for bot in bots:
            await bot.line(PATIENCE)
        store = await Store.connect(url)
        server = int((await store._server.run_command("INFO", "server"))["process_id"])
        await store.close()
        yield Stage(workspaces, tuple(bots), psutil.Process(server), url, best)


def pace() -> float:
    """CPU seconds that a fixed loop takes now: about a millisecond."""
    began = time.thread_time()
    words: dict[int, str] = {}
    for number in range(3_000):
        words[number % 512] = str(number)
    return time.thread_time() - began


async def memory_of(store: Store) -> int:
    """Bytes that a store's server uses."""
    return int((await store._server.run_command("INFO", "memory"))["used_memory"])
