"""Bots with a tool that brings down its own process, beside a job that has nothing to do with it."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from types import MappingProxyType
from typing import Any

from handoff.contracts import Turn
from specialists.model import ModelCall
from specialists.tools.tool import Tool, ToolOutcome, Workbench
from tests.crash.bot import Start, work
from tests.crash.scenarios import FilesArguments, Scenario, hangs, make_plan_words, result, says, turn
from tests.nursery.forks import serve
from tests.system.brains import subtask

DEADLY, HARMLESS = "Stop the machine", "Get a harmless tea ready"


def go_file(far_side: str | Path) -> Path:
    """The file whose making lets the tool strike."""
    return Path(f"{far_side}.go")


def with_deadly(tools: dict[str, Tool], far_side: Path) -> dict[str, Tool]:
    """The tools of the crew, of which one is deadly."""

    async def make_files(arguments: FilesArguments, workbench: Workbench) -> ToolOutcome:
        """Bring down the process."""
        del arguments, workbench
        while not go_file(far_side).exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.02)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("killed")

    return {**tools, "make_files": Tool("make_files", "read", FilesArguments, make_files)}


async def planner(call: ModelCall) -> Turn:
    """One part, with the words of the request."""
    intent = DEADLY if DEADLY in call.messages[-1].text else HARMLESS
    return await make_plan_words(subtask("text", "writer", intent=intent))(call)


async def stops_or_hangs(call: ModelCall) -> Turn:
    """The call of the deadly tool; for the other job a model that is at it for long."""
    return turn("", ("make_files", {})) if DEADLY in call.messages[0].text else await hangs(call)


async def stops_or_ends(call: ModelCall) -> Turn:
    """The same; the other job is done at once."""
    deadly = DEADLY in call.messages[0].text
    return turn("", ("make_files", {})) if deadly else await says(result("Harmless tea is ready."))(call)


PLAYED_SCENARIOS = MappingProxyType(
    {
        name: Scenario(name, {"planner": planner, "specialist:writer": words})
        for name, words in {"busy": stops_or_hangs, "quick": stops_or_ends}.items()
    }
)


def life(start: dict[str, Any]) -> int:
    """Be the bot of a `Start`, until killed."""
    asyncio.run(work(Start(**start), PLAYED_SCENARIOS, with_deadly))
    return 0


if __name__ == "__main__":
    serve(life)
