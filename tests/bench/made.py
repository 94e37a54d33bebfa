"""Ten parts worked on by specialists made for the job, beside the same by fixed ones of the same skill.

Both crews get the same plan of ten, the same briefs and the same tools, from the same script. So this measures what
making costs (calls, tokens, time). It cannot show whether a model would ask for the right ones, or brief them well.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from handoff.contracts import ToolCall
from tests.bench.stage import Stage, stage
from tests.providers.rendering import Reply
from tests.providers.scripts import first_text, purpose_of, task_of
from tests.providers.server import ProviderServer
from tests.providers.wire import WireRequest

SKILLS = 5
CALL = 0.1
PAIRS = 7
CALLS = 22
"""Plan, ten parts of two calls, answer."""
PATH = 8
"""Calls one after the other: plan, three layers of two, answer."""
AFTER = {"p6": ["p1", "p2"], "p7": ["p2", "p3"], "p8": ["p3", "p4"], "p9": ["p5"], "p10": ["p6", "p7", "p8", "p9"]}
BRIEF = (
    "Call lookup_{n} once for the part that the task names, then return in one sentence what the figure means. "
    "Quote the figure exactly as the lookup gave it. If the lookup fails, say so and return what you have."
)
DESCRIPTION = "Looks up figures of the kind {n} and says what they mean."


def script(request: WireRequest) -> Reply:
    """The same for both crews: a planner that may have specialists made asks for them, and gives them the work."""
    purpose = purpose_of(request)
    if purpose == "planner":
        return Reply(json.dumps(_plan(made="Specialists made for this job" in request.system)))
    if not purpose.startswith("specialist"):
        return Reply("All ten parts are in, and each of them agrees with the others.")
    part = (re.search(r"\bp(?:10|[1-9])\b", task_of(request)) or ["p1"])[0]
    replies = [reply.text for message in request.messages for reply in message.replies]
    if not replies:
        call = ToolCall(id=f"call_{part}", name=request.tools[0].name, arguments={"part": part})
    else:
        said = replies[-1]
        result = {"summary": f"{part}: {said[:80]}", "content": f"The figure of {part}: {said[:200]}", "confidence": 90}
        call = ToolCall(id=f"end_{part}", name="return_result", arguments=result)
    return Reply(calls=(call,), stop="tool_use")


def _plan(*, made: bool) -> dict[str, Any]:
    parts = [f"p{n}" for n in range(1, 11)]
    subtasks = [
        {
            "id": part,
            "title": f"Work out part {part}",
            "intent": f"Part {part}: look up the figure of {part} and say in one sentence what it means.",
            "specialist": f"skill_{index % SKILLS + 1}",
            "after": AFTER.get(part, []),
            "done_when": f"The figure of {part} is stated.",
            "tier": None,
        }
        for index, part in enumerate(parts)
    ]
    plan = {"goal": "Ten parts, put together", "subtasks": subtasks, "strategy": "merge", "missing": []}
    return {"made": [_wish(n) for n in range(1, SKILLS + 1)], **plan} if made else plan


def _wish(n: int) -> dict[str, Any]:
    return {
        "name": f"skill_{n}",
        "why": f"nobody there looks up figures of the kind {n}",
        "description": DESCRIPTION.format(n=n),
        "brief": BRIEF.format(n=n),
        "tools": [f"lookup_{n}"],
        "tier": "balanced",
    }


def _crew(folder: Path, *, made: bool) -> Path:
    """The crew as files: with the five, or with one who does none of it and leave to have five made."""
    folder.mkdir()
    page = "---\nname: {name}\ndescription: {about}\ntools: [{tool}]\nmodel: balanced\nmax_turns: 8\n---\n{prompt}\n"
    if made:
        about, prompt = "Writes letters. Cannot look anything up.", "You are the clerk. You write letters."
        (folder / "clerk.md").write_text(page.format(name="clerk", about=about, tool="", prompt=prompt))
        tools = ", ".join(f"lookup_{n}" for n in range(1, SKILLS + 1))
        (folder / "crew.yml").write_text(f"make: {{tools: [{tools}], at_most: {SKILLS}}}\n")
        return folder
    for n in range(1, SKILLS + 1):
        name, prompt = f"skill_{n}", f"You are the skill_{n} of this crew. {BRIEF.format(n=n)}"
        text = page.format(name=name, about=DESCRIPTION.format(n=n), tool=f"lookup_{n}", prompt=prompt)
        (folder / f"{name}.md").write_text(text)
    return folder


async def made_beside_fixed(data: Path, row: Callable[..., Any]) -> None:
    """Calls, tokens and time of both, the jobs of a pair one right after the other."""
    row("ten parts by five specialists", "made", "", "fixed")
    homes = {kind: data / f"made-{kind}" for kind in ("made", "fixed")}
    crews = {kind: _crew(data / f"crew-{kind}", made=kind == "made") for kind in homes}
    for home in homes.values():
        home.mkdir()
    async with (
        ProviderServer(script, latency=CALL) as made,
        ProviderServer(script, latency=CALL) as fixed,
        stage(homes["made"], made.openai_url, BENCH_CREW=str(crews["made"])) as one,
        stage(homes["fixed"], fixed.openai_url, BENCH_CREW=str(crews["fixed"])) as other,
    ):
        await one.job()
        await other.job()
        _account(made, fixed, row)
        await _walls(one, other, row)


def _account(made: ProviderServer, fixed: ProviderServer, row: Callable[..., Any]) -> None:
    """What the first job of each took."""
    calls, theirs = made.stats.calls, fixed.stats.calls
    row("  model calls", str(calls), str(CALLS), str(theirs), met=calls == theirs == CALLS)
    row("  prompt tokens", f"{made.stats.prompt_tokens:,}", "", f"{fixed.stats.prompt_tokens:,}")
    for label, planner in (("  of those to the planner", True), ("  of those a call of a specialist", False)):
        ours, its = (_tokens(server, planner=planner) for server in (made, fixed))
        row(label, f"{ours:,}", "", f"{its:,}")
    row("  tokens that the planner writes", f"{_written(made=True):,}", "", f"{_written(made=False):,}")


def _tokens(server: ProviderServer, *, planner: bool) -> int:
    """Of the planner's call, or of a specialist's on average; characters by four."""
    chosen = [request for request in server.requests if _is_planners(request) == planner]
    asked = [request for request in chosen if planner or "# Task" in first_text(request)]
    return round(statistics.mean(len(json.dumps(request.body)) / 4 for request in asked))


def _is_planners(request: WireRequest) -> bool:
    return purpose_of(request) == "planner"


def _written(*, made: bool) -> int:
    return len(json.dumps(_plan(made=made))) // 4


async def _walls(one: Stage, other: Stage, row: Callable[..., Any]) -> None:
    await one.job()
    await other.job()
    walls: list[tuple[float, float]] = []
    for number in range(PAIRS):
        if number % 2:
            theirs = await other.job()
            walls.append((await one.job(), theirs))
        else:
            walls.append((await one.job(), await other.job()))
        await one.settled()
        await other.settled()
    ours, theirs_all = [pair[0] for pair in walls], [pair[1] for pair in walls]
    label = f"  wall at {CALL * 1000:.0f} ms a call (critical path {CALL * PATH:.1f} s)"
    row(label, f"{statistics.median(ours):.2f} s", "", f"{statistics.median(theirs_all):.2f} s")
    ratios = sorted(mine / its for mine, its in walls)
    median = statistics.median(ratios)
    row(
        f"  made by fixed ({PAIRS} pairs)",
        f"{median:.2f} x",
        "<= 1.15 x",
        f"{ratios[0]:.2f}-{ratios[-1]:.2f} x",
        met=median <= 1.15,
    )
