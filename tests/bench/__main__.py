"""`make bench`: the six-specialist job beside its bars and beside the same calls made by hand, in one run.

Every bar is a count, or a ratio to the same work done by hand (or with less of it) in the same run, so that a slow
machine meets it as well as a quick one. By default the parts that take under five minutes together are measured;
`--only all` measures all of them, `--only PARTS` some: calls,walls,cpu,mentions,growth,core,tables,knowledge,review,
start. `growth` is all of: rest,finished,large,held,underway,teams.
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

from bot.workspace.workspace_server import Workspace
from tests.bench.child import Child, ChildBroke, child, output
from tests.bench.code_review import code_review
from tests.bench.core_texts import core_texts
from tests.bench.finished_jobs import finished_jobs
from tests.bench.growth import growth
from tests.bench.large_jobs import large_jobs
from tests.bench.large_tables import SEED, large_tables
from tests.bench.many_jobs import held_jobs, many_jobs
from tests.bench.many_teams import many_teams
from tests.bench.much_knowledge import much_knowledge
from tests.bench.scenario import CALLS, LAYERS
from tests.bench.stage import Stage, compare, open_provider, open_stage, seconds_of, settings_of
from tests.proof_kit import open_store_server, open_workspace, row, say
from tests.providers.scripts import purpose_of, six, task_of
from tests.providers.server import ProviderServer

CALL_MS = 200
SLOW = ("--slow", "w1", "--slow-factor", "4")
WALLS, WALL_BAR = 5, 1.25
PAIRS, JOBS_A_PAIR, CPU_BAR = 8, 10, 1.5
SIDE_BY_SIDE, RATE_JOBS = 20, 60
TOKENS_BAR, MEMORY_BAR = 9_500, 1.6
MENTIONS, MENTIONS_A_SECOND, MENTION_ROUNDS = 40, 10, 3
MENTION_BAR = 5.0
STARTS, HELP_BAR = 7, 1.5
BARE_HELP = "import argparse; argparse.ArgumentParser().print_help()"
IMPORTS = (
    "import openai, slack_bolt.async_app, slack_bolt.adapter.socket_mode.aiohttp, redis.asyncio, pydantic, psutil;"
    "c = openai.AsyncOpenAI(api_key='x'); (c.responses, c.chat.completions);"
    "print(psutil.Process().memory_info().rss / 1024 / 1024)"
)


async def calls(data: Path) -> None:
    """Model calls and prompt tokens of one job (characters of messages, tools and schema, by four)."""
    await _record_bodies(data)


async def _record_bodies(data: Path) -> Path:
    """Keep the bodies of one job's calls, so that the by-hand row can make the very same. Tells of them once."""
    path = data / "bodies.json"
    if path.exists():
        return path
    async with ProviderServer(six) as server, open_stage(data, server.openai_url) as stage:
        await stage.job()
        kept: dict[str, list[object]] = {}
        for request in server.requests:
            purpose = purpose_of(request)
            name = task_of(request).split()[1].strip(":,") if purpose.startswith("specialist") else purpose
            kept.setdefault(name, []).append(request.body)
        made, tokens = server.stats.calls, server.stats.prompt_tokens
    path.write_text(json.dumps(kept))
    row("model calls a job", str(made), f"{CALLS}", str(made), is_met=made == CALLS)
    row("prompt tokens a job", f"{tokens:,}", f"<= {TOKENS_BAR:,}", f"{tokens:,}", is_met=tokens <= TOKENS_BAR)
    return path


@dataclass(slots=True)
class Pair:
    """The bot and the by-hand process, before the same provider."""

    stage: Stage
    hand: Child
    hand_aiohttp: Child
    """The same over the SDK's aiohttp transport, which the bot uses too."""


async def by_hand(hand: Child, jobs: int, side_by_side: int = 1) -> dict[str, float]:
    """One measurement of a by-hand process."""
    answer: dict[str, float] = json.loads(await hand.ask(f"{jobs} {side_by_side}"))
    return answer


@contextlib.asynccontextmanager
async def pair(data: Path, latency_ms: float, *more: str) -> AsyncIterator[Pair]:
    """Both sides started and warmed up. `more` are further arguments of the provider."""
    bodies = str(await _record_bodies(data))
    async with (
        open_provider(data, latency_ms, *more) as url,
        open_stage(data, url, LEADHAND_SLOTS=str(SIDE_BY_SIDE)) as stage,
        child(data, "tests.bench.by_hand", "--url", url, "--bodies", bodies) as hand,
        child(data, "tests.bench.by_hand", "--url", url, "--bodies", bodies, "--aiohttp") as hand_aiohttp,
    ):
        await hand.line()
        await hand_aiohttp.line()
        for _ in range(2):
            await stage.job()
        await stage.wait_until_settled()
        yield Pair(stage, hand, hand_aiohttp)


async def walls(data: Path) -> None:
    """Mention to answer at 200 ms a call, and with one specialist slower; the job and the same by hand in turn."""
    path = CALL_MS * LAYERS / 1000
    for label, slow, pairs in (
        (f"wall at {CALL_MS} ms (critical path {path:.1f} s)", (), WALLS),
        ("wall, calls of one at 800 ms (path 2.8 s)", SLOW, 3),
    ):
        seconds, hands = [], []
        async with pair(data, CALL_MS, *slow) as both:
            for _ in range(pairs):
                seconds.append(await both.stage.job())
                hands.append((await by_hand(both.hand, 1))["wall"])
        compare(label, seconds, hands, WALL_BAR)


async def cpu(data: Path) -> None:
    """CPU a job, jobs a second and memory, with calls that take no time; both sides in turn."""
    async with pair(data, 0) as both:
        ours, hands, hands_aiohttp = [], [], []
        for _ in range(PAIRS):
            ours.append(await cpu_a_job(both.stage))
            hands.append((await by_hand(both.hand, JOBS_A_PAIR))["cpu"])
            hands_aiohttp.append((await by_hand(both.hand_aiohttp, JOBS_A_PAIR))["cpu"])
        compare("CPU milliseconds a job at 0 ms, one by one", ours, hands, CPU_BAR, "")
        ratio = statistics.median(our / hand for our, hand in zip(ours, hands_aiohttp, strict=True))
        row("  of by hand with our transport (aiohttp)", f"{ratio:.2f} x")
        rate, hand_rate = await jobs_a_second(both.stage), await by_hand(both.hand, RATE_JOBS, SIDE_BY_SIDE)
        row(f"jobs a second, {SIDE_BY_SIDE} side by side", f"{rate:.1f}", "", f"{hand_rate['rate']:.1f}")
        held = both.stage.memory()
    imports = float(await output("-c", IMPORTS))
    row("memory after these jobs", f"{held:.0f} MB", "", f"{imports:.0f} MB")
    ratio = held / imports
    label = "  as a multiple of a process that only imports"
    row(label, f"{ratio:.2f} x", f"<= {MEMORY_BAR:.2f} x", is_met=ratio <= MEMORY_BAR)


async def cpu_a_job(stage: Stage) -> float:
    """CPU milliseconds of the bot for one job, all that follows the answer included."""
    await stage.wait_until_settled()
    before, _ = stage.cpu()
    for _ in range(JOBS_A_PAIR):
        await stage.job()
    await stage.wait_until_settled()
    return (stage.cpu()[0] - before) / JOBS_A_PAIR * 1000


async def jobs_a_second(stage: Stage) -> float:
    """Many jobs at once, in threads of one channel."""
    start = time.perf_counter()
    gate = asyncio.Semaphore(SIDE_BY_SIDE)

    async def one() -> None:
        async with gate:
            await stage.job()

    await asyncio.gather(*(one() for _ in range(RATE_JOBS)))
    return RATE_JOBS / (time.perf_counter() - start)


async def mentions(data: Path) -> None:
    """Mention to acknowledgement (it is recorded, and the reaction is there), beside a bare Bolt app that does that."""
    async with (
        open_provider(data, CALL_MS) as url,
        open_stage(data, url, LEADHAND_SLOTS=str(SIDE_BY_SIDE)) as stage,
        open_store_server(data) as bare_url,
        open_workspace() as bare,
        child(data, "tests.bench.bare_app", env=settings_of(bare, bare_url, "")) as app,
    ):
        await app.line()
        await stage.job()
        rounds = []
        for _ in range(MENTION_ROUNDS + 1):
            rounds.append([statistics.median(await reaction_waits(one)) for one in (stage.workspace, bare)])
            await stage.wait_until_settled()
    ours, bares = zip(*rounds[1:], strict=True)  # the first warms both
    compare(f"mention to reaction, {MENTIONS_A_SECOND} a second, beside a bare app", ours, bares, MENTION_BAR, "ms")


async def reaction_waits(workspace: Workspace) -> list[float]:
    """Seconds from each mention to its reaction, at a steady pace."""
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
    return [seen[ts] - began for ts, began in sent.items()]


async def start(_: Path) -> None:
    """How long `leadhand --help` takes beside a Python that starts and says as much, in turn."""
    pairs = [(await seconds_of("-m", "bot", "--help"), await seconds_of("-c", BARE_HELP)) for _ in range(STARTS)]
    ours, bares = zip(*pairs, strict=True)
    compare("leadhand --help, beside a bare Python's help", ours, bares, HELP_BAR)


GROWTH = {
    "rest": growth,
    "finished": finished_jobs,
    "large": large_jobs,
    "held": held_jobs,
    "underway": many_jobs,
    "teams": many_teams,
}
PARTS = {
    "calls": calls,
    "walls": walls,
    "cpu": cpu,
    "mentions": mentions,
    **GROWTH,
    "core": core_texts,
    "tables": large_tables,
    "knowledge": much_knowledge,
    "review": code_review,
    "start": start,
}
LONG_PARTS = {"finished", "large", "held", "underway", "teams", "knowledge"}
"""What a run leaves out unless it is asked for: minutes each."""


async def main(parts: set[str]) -> None:
    """Measure what was asked for and print it."""
    task = asyncio.current_task()
    if task is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    row("", "Leadhand", "to reach", "by hand")
    with tempfile.TemporaryDirectory(prefix="leadhand-bench-") as folder:
        for part, measure in PARTS.items():
            if part in parts:
                await measure(Path(folder))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    usual = ",".join(part for part in PARTS if part not in LONG_PARTS)
    parser.add_argument("--only", default=usual, help="all, or parts with commas: " + ", ".join(PARTS))
    only = parser.parse_args().only
    part_names = set(PARTS) if only == "all" else set(only.split(","))
    part_names |= set(GROWTH) if "growth" in part_names else set()
    say(f"Python {sys.version.split()[0]}; the job is scripted; seed of the tables: {SEED}")
    try:
        asyncio.run(main(part_names))
    except ChildBroke as broken:
        sys.exit(f"The benchmark failed: {broken}")
    except asyncio.CancelledError:
        sys.exit("The benchmark was stopped.")
