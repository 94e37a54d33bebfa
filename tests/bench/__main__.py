"""`make bench`: the six-specialist job beside its bars and beside the same calls made by hand, in one run.

Every bar is a count, or a ratio to the same work done by hand (or with less of it) in the same run, so that a slow
machine meets it as well as a quick one. By default the parts that take under five minutes together are measured;
`--only all` measures all of them, `--only PARTS` some: calls,walls,cpu,mentions,growth,core,faults,made,read,tables,
knowledge,review,manners,start. `growth` is all of: rest,finished,asked,large,held,underway,teams.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from bot.app import manifest_path
from bot.store.embedded import start_embedded, stop_embedded
from bot.workspace.workspace_server import Workspace
from tests.bench.asked_members import asked_members
from tests.bench.child import Child, ChildBroke, child, output
from tests.bench.code_review import code_review
from tests.bench.core_texts import core_texts
from tests.bench.faults import faults
from tests.bench.finished_jobs import finished_jobs
from tests.bench.growth import growth
from tests.bench.held_jobs import held_jobs
from tests.bench.large_jobs import large_jobs
from tests.bench.large_tables import SEED, large_tables
from tests.bench.made import made_beside_fixed
from tests.bench.manners import manners
from tests.bench.many_jobs import many_jobs
from tests.bench.many_teams import many_teams
from tests.bench.much_knowledge import much_knowledge
from tests.bench.much_to_read import much_to_read
from tests.bench.scenario import CALLS, LAYERS
from tests.bench.stage import Stage, provider, settings_of, stage
from tests.providers.scripts import purpose_of, six, task_of
from tests.providers.server import ProviderServer

CALL_MS = 200
SLOW = "w1"
WALLS = 5
WALL_BAR = 1.25
PAIRS, JOBS_A_PAIR = 8, 10
SIDE_BY_SIDE, RATE_JOBS = 20, 60
MEMORY_BAR = 1.6
MENTIONS, MENTIONS_A_SECOND, MENTION_ROUNDS = 40, 10, 3
MENTION_BAR = 5.0
STARTS = 7
HELP_BAR = 1.5
GROWTH = {
    "rest": growth,
    "finished": finished_jobs,
    "asked": asked_members,
    "large": large_jobs,
    "held": held_jobs,
    "underway": many_jobs,
    "teams": many_teams,
}
OF_A_JOB = {
    **GROWTH,
    "core": core_texts,
    "faults": faults,
    "made": made_beside_fixed,
    "read": much_to_read,
    "tables": large_tables,
    "knowledge": much_knowledge,
    "review": code_review,
    "manners": manners,
}
PARTS = ("calls", "walls", "cpu", "mentions", *OF_A_JOB, "start")
LONG_PARTS = {"finished", "asked", "large", "held", "underway", "teams", "made", "knowledge", "manners"}
"""What a run leaves out unless it is asked for: minutes each."""


def row(name: str, figure: str, bar: str = "", by_hand: str = "", *, met: bool | None = None) -> None:
    """One figure beside its bar and the by-hand figure."""
    mark = "" if met is None else "ok" if met else "MISSED"
    print(f"{name:<46} {figure:>12} {bar:>12} {by_hand:>12}  {mark}".rstrip(), flush=True)


async def main(parts: set[str]) -> None:
    """Measure what was asked for and print it."""
    task = asyncio.current_task()
    if task is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    with tempfile.TemporaryDirectory(prefix="leadhand-bench-") as folder:
        data = Path(folder)
        row("", "Leadhand", "to reach", "by hand")
        if parts & {"calls", "walls", "cpu"}:
            bodies = await calls_and_tokens(data)
        if "walls" in parts:
            await walls(data, bodies)
        if "cpu" in parts:
            await busy(data, bodies)
        if "mentions" in parts:
            await acknowledgements(data)
        for part, measure in OF_A_JOB.items():
            if part in parts:
                await measure(data, row)
    if "start" in parts:
        await start_up()


async def calls_and_tokens(data: Path) -> Path:
    """Model calls and prompt tokens of one job (characters of messages, tools and schema, by four).

    Keeps the bodies of the calls, so that the by-hand row can make the very same.
    """
    path = data / "bodies.json"
    async with ProviderServer(six) as server, stage(data, server.openai_url) as scene:
        await scene.job()
        kept: dict[str, list[object]] = {}
        for request in server.requests:
            purpose = purpose_of(request)
            name = task_of(request).split()[1].strip(":,") if purpose.startswith("specialist") else purpose
            kept.setdefault(name, []).append(request.body)
        calls, tokens = server.stats.calls, server.stats.prompt_tokens
    path.write_text(json.dumps(kept))
    row("model calls a job", str(calls), f"{CALLS}", str(calls), met=calls == CALLS)
    row("prompt tokens a job", f"{tokens:,}", "<= 9,500", f"{tokens:,}", met=tokens <= 9500)
    return path


@dataclass(slots=True)
class Pair:
    """The bot and the by-hand process, before the same provider."""

    scene: Stage
    hand: Child
    hand_aiohttp: Child
    """The same over the SDK's aiohttp transport, which the bot uses too."""


async def by_hand(hand: Child, jobs: int, side_by_side: int = 1) -> dict[str, float]:
    """One measurement of a by-hand process."""
    answer: dict[str, float] = json.loads(await hand.ask(f"{jobs} {side_by_side}"))
    return answer


@contextlib.asynccontextmanager
async def pair(data: Path, bodies: Path, latency_ms: float, slow: float = 1.0, **env: str) -> AsyncIterator[Pair]:
    """Both sides started and warmed up. `slow` is how many times longer the calls of one specialist take."""
    async with (
        provider(data, latency_ms, SLOW if slow > 1 else "", slow) as url,
        stage(data, url, **env) as scene,
        child(data, "tests.bench.by_hand", "--url", url, "--bodies", str(bodies)) as hand,
        child(data, "tests.bench.by_hand", "--url", url, "--bodies", str(bodies), "--aiohttp") as hand_aiohttp,
    ):
        await hand.line()
        await hand_aiohttp.line()
        for _ in range(2):
            await scene.job()
        await scene.settled()
        yield Pair(scene, hand, hand_aiohttp)


async def walls(data: Path, bodies: Path) -> None:
    """Mention to answer at 200 ms a call, and with one specialist slower; the job and the same by hand in turn."""
    path = CALL_MS * LAYERS / 1000
    for label, slow, pairs in (
        (f"wall at {CALL_MS} ms (critical path {path:.1f} s)", 1.0, WALLS),
        ("wall, calls of one at 800 ms (path 2.8 s)", 4.0, 3),
    ):
        seconds, hands = [], []
        async with pair(data, bodies, CALL_MS, slow) as both:
            for _ in range(pairs):
                seconds.append(await both.scene.job())
                hands.append((await by_hand(both.hand, 1))["wall"])
        row(label, f"{statistics.median(seconds):.2f} s", "", f"{statistics.median(hands):.2f} s")
        ratio, span = _ratio(seconds, hands)
        goal = f"<= {WALL_BAR:.2f} x"
        row(f"  as a multiple of by hand ({pairs} pairs)", f"{ratio:.2f} x", goal, span, met=ratio <= WALL_BAR)


async def busy(data: Path, bodies: Path) -> None:
    """CPU a job, jobs a second and memory, with calls that take no time; both sides in turn."""
    async with pair(data, bodies, 0, LEADHAND_SLOTS=str(SIDE_BY_SIDE)) as both:
        ours, hands, hands_aiohttp = [], [], []
        for _ in range(PAIRS):
            ours.append(await cpu_a_job(both.scene))
            hands.append((await by_hand(both.hand, JOBS_A_PAIR))["cpu"])
            hands_aiohttp.append((await by_hand(both.hand_aiohttp, JOBS_A_PAIR))["cpu"])
        cpu, of_hand = f"{statistics.median(ours):.1f} ms", f"{statistics.median(hands):.1f} ms"
        row("CPU a job at 0 ms, one by one", cpu, "", of_hand)
        ratio, span = _ratio(ours, hands)
        row(f"  as a multiple of by hand ({PAIRS} pairs)", f"{ratio:.2f} x", "<= 1.50 x", span, met=ratio <= 1.5)
        ratio, span = _ratio(ours, hands_aiohttp)
        row("  of by hand with our transport (aiohttp)", f"{ratio:.2f} x", "", span)
        rate, hand_rate = await jobs_a_second(both.scene), await by_hand(both.hand, RATE_JOBS, SIDE_BY_SIDE)
        row(f"jobs a second, {SIDE_BY_SIDE} side by side", f"{rate:.1f}", "", f"{hand_rate['rate']:.1f}")
        held = both.scene.bot.memory()
    imports = float(await output("-c", IMPORTS))
    row("memory after these jobs", f"{held:.0f} MB", "", f"{imports:.0f} MB")
    ratio = held / imports
    label = "  as a multiple of a process that only imports"
    row(label, f"{ratio:.2f} x", f"<= {MEMORY_BAR:.2f} x", met=ratio <= MEMORY_BAR)


async def cpu_a_job(scene: Stage) -> float:
    """CPU milliseconds of the bot for one job, all that follows the answer included."""
    await scene.settled()
    before = scene.bot.cpu()
    for _ in range(JOBS_A_PAIR):
        await scene.job()
    await scene.settled()
    return (scene.bot.cpu() - before) / JOBS_A_PAIR * 1000


def _ratio(ours: list[float], hands: list[float]) -> tuple[float, str]:
    """The median of the pairs' ratios, and the lowest and highest."""
    ratios = sorted(our / hand for our, hand in zip(ours, hands, strict=True))
    return statistics.median(ratios), f"{ratios[0]:.2f}-{ratios[-1]:.2f} x"


IMPORTS = (
    "import openai, slack_bolt.async_app, slack_bolt.adapter.socket_mode.aiohttp, redis.asyncio, pydantic, psutil;"
    "c = openai.AsyncOpenAI(api_key='x'); (c.responses, c.chat.completions);"
    "print(psutil.Process().memory_info().rss / 1024 / 1024)"
)


async def jobs_a_second(scene: Stage) -> float:
    """Many jobs at once, in threads of one channel."""
    start = time.perf_counter()
    gate = asyncio.Semaphore(SIDE_BY_SIDE)

    async def one() -> None:
        async with gate:
            await scene.job()

    await asyncio.gather(*(one() for _ in range(RATE_JOBS)))
    return RATE_JOBS / (time.perf_counter() - start)


async def acknowledgements(data: Path) -> None:
    """Mention to acknowledgement (it is recorded, and the reaction is there), beside a bare Bolt app that does that."""
    async with provider(data, CALL_MS) as url, stage(data, url) as scene, bare_app(data) as bare:
        await scene.job()
        ours, bares = [], []
        for number in range(MENTION_ROUNDS + 1):
            pairs = [await reaction_waits(workspace) for workspace in (scene.workspace, bare)]
            await scene.settled()
            if number:  # the first warms both
                ours.append(statistics.median(pairs[0]))
                bares.append(statistics.median(pairs[1]))
    label = f"mention to reaction, {MENTIONS_A_SECOND} a second, median"
    row(label, f"{statistics.median(ours):.1f} ms", "", f"{statistics.median(bares):.1f} ms")
    ratio, span = _ratio(ours, bares)
    label = f"  as a multiple of a bare Bolt app ({MENTION_ROUNDS} pairs)"
    row(label, f"{ratio:.2f} x", f"<= {MENTION_BAR:.2f} x", span, met=ratio <= MENTION_BAR)


@contextlib.asynccontextmanager
async def bare_app(data: Path) -> AsyncIterator[Workspace]:
    """A workspace served by the bare app, with a store of its own."""
    folder = Path(tempfile.mkdtemp(dir=data))
    url = await start_embedded(folder)
    try:
        workspace = await Workspace.start(manifest_path(), rate_limits=False)
        try:
            async with child(folder, "tests.bench.bare_app", env=settings_of(workspace, url, "")) as app:
                await app.line()
                yield workspace
        finally:
            await workspace.stop()
    finally:
        await stop_embedded(folder)


async def reaction_waits(workspace: Workspace) -> list[float]:
    """Milliseconds from each mention to its reaction, at a steady pace."""
    already = workspace.call_count("reactions.add")
    person = workspace.person("ana")
    sent: dict[str, float] = {}
    start = time.time()
    for number in range(MENTIONS):
        await asyncio.sleep(max(0.0, start + number / MENTIONS_A_SECOND - time.time()))
        began = time.time()
        sent[await person.say("#general", "@leadhand Work out the figures of the six parts.")] = began
    await workspace.until(lambda: workspace.call_count("reactions.add") >= already + len(sent), timeout=600)
    seen = {str(call.args.get("timestamp")): call.at for call in workspace.calls("reactions.add")}
    return [(seen[ts] - began) * 1000 for ts, began in sent.items()]


async def start_up() -> None:
    """How long `leadhand --help` takes beside a Python that starts and says as much, in turn."""
    ours, bares = [], []
    for _ in range(STARTS):
        ours.append(await _seconds("-m", "bot", "--help"))
        bares.append(await _seconds("-c", BARE_HELP))
    row("leadhand --help", f"{statistics.median(ours):.2f} s", "", f"{statistics.median(bares):.2f} s")
    ratio, span = _ratio(ours, bares)
    label = f"  as a multiple of a bare Python's help ({STARTS} pairs)"
    row(label, f"{ratio:.2f} x", f"<= {HELP_BAR:.2f} x", span, met=ratio <= HELP_BAR)


BARE_HELP = "import argparse; argparse.ArgumentParser().print_help()"


async def _seconds(*arguments: str) -> float:
    start = time.perf_counter()
    await output(*arguments)
    return time.perf_counter() - start


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    usual = ",".join(part for part in PARTS if part not in LONG_PARTS)
    parser.add_argument("--only", default=usual, help="all, or parts with commas: " + ", ".join(PARTS))
    only = parser.parse_args().only
    asked = set(PARTS) if only == "all" else set(only.split(","))
    asked |= set(GROWTH) if "growth" in asked else set()
    print(f"Python {sys.version.split()[0]}; the job is scripted; seed of the tables: {SEED}", flush=True)
    try:
        asyncio.run(main(asked))
    except ChildBroke as broken:
        sys.exit(f"The benchmark failed: {broken}")
    except asyncio.CancelledError:
        sys.exit("The benchmark was stopped.")
