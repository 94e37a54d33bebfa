"""`python -m tests.crash [SCENARIO ...]`: a bot is killed at every point of every scenario, and what came of it."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from bot.app import manifest_path
from bot.store.embedded import start_embedded, stop_embedded
from bot.workspace.workspace_server import Workspace
from tests.crash.play import Broke, Stage, Undisturbed
from tests.crash.scenarios import SCENARIOS
from tests.nursery.nursery import Nursery, nursery

BOTS = "tests.crash.bot"
LANES = 12


@contextlib.asynccontextmanager
async def stages_on(url: str, bots: Nursery, folder: Path, lanes: int) -> AsyncIterator[list[Stage]]:
    """Workspaces to play in, side by side."""
    async with contextlib.AsyncExitStack() as stack:
        stages = []
        for _ in range(lanes):
            workspace = await Workspace.start(manifest_path(), rate_limits=False, retry_scale=0.005)
            stack.push_async_callback(workspace.stop)
            stages.append(Stage(workspace, url, bots, folder))
        yield stages


async def kill_at_all(
    stages: list[Stage], points: list[tuple[str, str]], expected: Mapping[str, Undisturbed]
) -> tuple[list[str], list[str]]:
    """Kill at points of scenarios, on all stages side by side. Gives what went wrong, and what was never reached."""
    todo, faults, missed = points[::-1], [], []

    async def lane(stage: Stage) -> None:
        while todo:
            name, point = todo.pop()
            try:
                if not await stage.killed(name, point, expected[name]):
                    missed.append(f"{name}: {point}")
            except Broke as error:
                faults.append(str(error))
                _say(str(error))
            if todo and not len(todo) % 50:
                _say(f"{len(todo)} points are left, {len(faults)} went wrong")

    await asyncio.gather(*map(lane, stages))
    return faults, missed


async def play(folder: Path, url: str, names: list[str], *, chosen: str, lanes: int) -> bool:
    """Kill at every point whose name contains `chosen`. Whether all went well."""
    async with nursery(folder, BOTS) as bots, stages_on(url, bots, folder, lanes) as stages:
        expected = {name: await stages[0].undisturbed(name) for name in names}
        points = [(name, point) for name in names for point in expected[name].points if chosen in point]
        began = time.monotonic()
        faults, missed = await kill_at_all(stages, points, expected)
    took = time.monotonic() - began
    _say(f"{len(points)} points in {took:.0f} s: {len(faults)} went wrong, {len(missed)} were never reached {missed}")
    return not faults


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    """Play, and say what went wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    parser.add_argument("scenario", nargs="*", choices=[*SCENARIOS, []], help="all unless named")
    parser.add_argument("--point", default="", help="only points whose name contains this")
    parser.add_argument("--lanes", type=int, default=LANES, help="how many bots die side by side")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        url = asyncio.run(start_embedded(folder))
        try:
            names = options.scenario or list(SCENARIOS)
            well = asyncio.run(play(folder, url, names, chosen=options.point, lanes=options.lanes))
        finally:
            asyncio.run(stop_embedded(folder))
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
