"""The jobs that the benchmark has done: six parts by six specialists, and jobs of any size.

Of the six, w1 to w4 stand on their own, w5 needs all four, w6 needs w5; each makes one tool call. With the plan, the
answer and its verifier that is 15 model calls, and a critical path of nine.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType

from pydantic import BaseModel, ConfigDict

from specialists.crew import Crew
from specialists.tools.tool import Tool, ToolOutcome, Workbench
from tests.proof_kit import Worker, make_crew

REQUEST = "Work out the figures of the six parts w1 to w6 and tell us in a few lines what they mean together."
CALLS = 15
LAYERS = 9
"""Model calls one after the other on the critical path: plan, three layers of two, answer, verifier."""
_PROMPT = (
    "Call your lookup once for the part that the task names, then return in one sentence what\nthe figure means. Quote "
    "the figure exactly as the lookup gave it. If the lookup fails, say so and return what you have."
)
_COMPASS = ("north", "south", "west")


class LookupArguments(BaseModel):
    """What a lookup takes."""

    model_config = ConfigDict(extra="forbid")
    part: str


Run = Callable[[LookupArguments, Workbench], Awaitable[ToolOutcome]]


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


def make_six(run: Run = lookup) -> Crew:
    """Return the crew of six, each with a tool of its own, which `run` runs."""
    tools = {f"lookup_{n}": Tool(f"lookup_{n}", "read", LookupArguments, run) for n in range(1, 7)}
    about = "Looks up the figure of part w{n}. Cannot do any other part."
    workers = {f"w{n}": Worker(about.format(n=n), (f"lookup_{n}",), prompt=_PROMPT) for n in range(1, 7)}
    return make_crew(workers, tools)


def make_grown() -> Crew:
    """Return the crew whose jobs are of any size: one question, or so many parts in three crews."""
    worker = Worker("Works out one figure by itself, in one turn.", turns=4)
    quick = Worker("Answers a small question by itself, in one turn.", turns=4)
    inside = {name: f"Works out many figures of the {name}. Cannot book rooms." for name in _COMPASS}
    return make_crew({"quick": quick, **{f"{name}/worker": worker for name in _COMPASS}}, {}, inside)


CREWS: Mapping[str, Callable[[], Crew]] = MappingProxyType({"six": make_six, "grown": make_grown})
