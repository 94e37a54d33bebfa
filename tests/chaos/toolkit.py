"""The tools of the run's crew: two make a file, one only reads, and one writes to a far side that counts."""

from __future__ import annotations

import os

import aiohttp
from pydantic import BaseModel, ConfigDict

from specialists.tools.tool import Tool, ToolOutcome, Workbench

FAR_SIDE = "CHAOS_FAR_SIDE"
"""The variable that names the far side's address."""


class FileArguments(BaseModel):
    """What the makers of files take."""

    model_config = ConfigDict(extra="forbid")
    name: str
    text: str


class RecordArguments(BaseModel):
    """What `enter_record` takes."""

    model_config = ConfigDict(extra="forbid")
    record: str


async def make_file(arguments: FileArguments, workbench: Workbench) -> ToolOutcome:
    """Make a text file for the thread."""
    kept = await workbench.keep(
        arguments.name, arguments.text.encode(), media_type="text/csv", about="", publish_as="file"
    )
    return ToolOutcome(f"Made {kept.name}.", artifacts=(kept,))


class WeighArguments(BaseModel):
    """What `weigh` takes."""

    model_config = ConfigDict(extra="forbid")
    figure: int


async def weigh(arguments: WeighArguments, workbench: Workbench) -> ToolOutcome:
    """Weigh a figure."""
    del workbench
    return ToolOutcome(f"It weighs {arguments.figure}.")


async def enter_record(arguments: RecordArguments, workbench: Workbench) -> ToolOutcome:
    """Enter a record in the book. Entering it twice does harm."""
    del workbench
    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as session,
        session.post(f"{os.environ[FAR_SIDE]}/enter", json={"record": arguments.record}) as response,
    ):
        return ToolOutcome(f"Entered: {await response.text()}.")


def tools() -> tuple[Tool, ...]:
    """One tool a specialist: no two share one."""
    return (
        Tool("make_file_a", "read", FileArguments, make_file),
        Tool("make_file_b", "read", FileArguments, make_file),
        Tool("weigh", "read", WeighArguments, weigh),
        Tool("enter_record", "write", RecordArguments, enter_record),
    )
