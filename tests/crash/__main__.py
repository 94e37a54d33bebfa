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

from tests.crash.play import Broke, Stage, UndisturbedRun
from tests.crash.scenarios import SCENARIOS
from tests.nursery.nursery import nursery
from tests.proof_kit import open_store_server, open_workspace, play_side_by_side, say

BOTS = "tests.crash.bot"
LANES = 12


@contextlib.asynccontextmanager
async def stages_on(url: str, folder: Path, lanes: int) -> AsyncIterator[list[Stage]]:
    """Workspaces to play in, side by side, and bots for them."""
    async with contextlib.AsyncExitStack() as stack:
        bots = await stack.enter_async_context(nursery(folder, BOTS))
        opened = [open_workspace(retry_scale=0.005) for _ in range(lanes)]
        yield [Stage(await stack.enter_async_context(one), url, bots, folder) for one in opened]


async def kill_at_all(
    stages: list[Stage], points: list[tuple[str, str]], expected: Mapping[str, UndisturbedRun]
) -> tuple[list[str], list[str]]:
    """Kill at points of scenarios, on all stages side by side. Gives what went wrong, and what was never reached."""
    faults, missed = [], []

    async def kill(stage: Stage, at: tuple[str, str]) -> None:
        name, point = at
        try:
            if not await stage.play_with_crash(name, point, expected[name]):
                missed.append(f"{name}: {point}")
        except Broke as error:
            faults.append(str(error))
            say(str(error))

    await play_side_by_side(points, stages, kill)
    return faults, missed


async def main() -> int:
    """Kill at every point that was asked for, and say what went wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    parser.add_argument("scenario", nargs="*", choices=[*SCENARIOS, []], help="all unless named")
    parser.add_argument("--point", default="", help="only points whose name contains this")
    parser.add_argument("--lanes", type=int, default=LANES, help="how many bots die side by side")
    options = parser.parse_args()
    names = options.scenario or list(SCENARIOS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with open_store_server(folder) as url, stages_on(url, folder, options.lanes) as stages:
            expected = {name: await stages[0].play_undisturbed(name) for name in names}
            points = [(name, point) for name in names for point in expected[name].points if options.point in point]
            began = time.monotonic()
            faults, missed = await kill_at_all(stages, points, expected)
            took = time.monotonic() - began
    say(f"{len(points)} points in {took:.0f} s: {len(faults)} went wrong, {len(missed)} were never reached {missed}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
