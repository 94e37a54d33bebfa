"""The job that every row of the benchmark does, and the tools of its six specialists.

w1 to w4 stand on their own, w5 needs all four, w6 needs w5; each makes one
tool call. With the plan, the answer and its verifier that is 15 model calls, and
a critical path of nine.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from specialists.tools.tool import Tool, ToolOutcome, Workbench

CREW = Path(__file__).parent / "crew"
REQUEST = "Work out the figures of the six parts w1 to w6 and tell us in a few lines what they mean together."
CALLS = 15
LAYERS = 9
"""Model calls one after the other on the critical path: plan, three layers of two, answer, verifier."""


class LookupArguments(BaseModel):
    """What a lookup takes."""

    model_config = ConfigDict(extra="forbid")
    part: str


async def lookup(arguments: LookupArguments, workbench: Workbench) -> ToolOutcome:
    """Look up the figure of a part, such as w1."""
    del workbench
    part = arguments.part
    figure = sum(part.encode()) * 37
    text = (
        f"Part {part}: the figure is {figure:,} units in the last quarter, {figure // 9:,} more than in the quarter "
        f"before, measured on {figure % 28 + 1} days by two independent readings that agree within one per cent."
    )
    return ToolOutcome(text)


def lookups() -> dict[str, Tool]:
    """Six tools, one a specialist: no two share one."""
    return {f"lookup_{n}": Tool(f"lookup_{n}", "read", LookupArguments, lookup) for n in range(1, 7)}
