"""A review of a change of 40 files and 2,000 lines: five lenses side by side beside the same one by one."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

from handoff import events as ev
from specialists.registry import CREWS_FOLDER, load_crew
from specialists.tools.toolkit import ToolSettings
from tests.bench.made_change import FILES, made_change
from tests.own_tools import all_toolkits
from tests.proof_kit import open_store_server, row
from tests.providers.rendering import Reply
from tests.providers.scripts import first_text, purpose_of
from tests.providers.wire import WireRequest
from tests.system.brains import connect, plan, provider, result, subtask, tool_call
from tests.system.scene import Scene, Talk, scene_on

CALL = 1.0
LENSES = ("house_rules", "bugs", "history", "earlier_requests", "comments")
SPEED, SHARE = 4.0, 1.3
APART = "one by one"


async def code_review(data: Path) -> None:
    """Seconds of the lenses both ways, and the tokens of each lens beside those of the diff."""
    home = data / "review"
    home.mkdir()
    revisions, diff = made_change(home / "repository")
    settings = ToolSettings({"LEADHAND_REPOSITORIES": f"shop={home / 'repository'}"}, home / "copies")
    crew = load_crew(CREWS_FOLDER / "review", {}, settings, further_toolkits=all_toolkits(settings))
    words = dict.fromkeys(LENSES, _lens)
    async with (
        open_store_server(home) as url,
        scene_on(url) as scene,
        provider(planner=_plan_review, synthesizer=lambda _: Reply("Fine."), **words) as server,
        scene.bot(connect("chat", server), crew=crew),
    ):
        server.latency = CALL
        together = await _seconds(scene, f"Review shop {revisions}")
        asked = [one for one in server.requests if purpose_of(one).partition(":")[2] in LENSES]
        apart = await _seconds(scene, f"Review shop {revisions}, {APART}")
    row(f"review of {FILES} files, {diff.count(chr(10)):,} lines, {CALL:g} s a call", f"{together:.2f} s", "", "")
    row("  lenses one by one", f"{apart:.2f} s")
    row("  side by side faster by", f"{apart / together:.2f} x", f">= {SPEED:g} x", is_met=apart / together >= SPEED)
    _tokens(asked, diff)


async def _seconds(scene: Scene, text: str) -> float:
    """From the beginning of the first lens to the end of the last."""
    talk: Talk = await scene.ask(text)
    await talk.over(patience=120)
    begun = [event.at for event in await talk.of(ev.AttemptStarted) if _lens_of(event) in LENSES]
    return max(event.at for event in await talk.of(ev.ResultReturned) if _lens_of(event) in LENSES) - min(begun)


def _lens_of(event: ev.AttemptStarted | ev.ResultReturned) -> str:
    return event.subtask.rpartition("/")[2]


def _plan_review(request: WireRequest) -> Reply:
    """Side by side by the crew's own plan; one by one by a plan that has each lens wait for the one before it."""
    asked = first_text(request)
    if APART not in asked:
        return Reply(json.dumps({"why": "a review", "next": {"who": "whole_review"}}))
    name = next(line for line in asked.splitlines() if ".diff" in line).split(" (")[0].removeprefix("- ")
    before: list[list[str]] = [[], *([lens] for lens in LENSES)]
    parts = [
        {**subtask(lens, lens, one, f"Look at the change {name} of shop."), "needs": [name]}
        for lens, one in zip(LENSES, before, strict=False)
    ]
    return plan(*parts, goal="Review the change")


def _lens(request: WireRequest) -> Reply:
    replies = list(itertools.chain.from_iterable(message.replies for message in request.messages))
    tool = next(tool.name for tool in request.tools if tool.name not in {"return_result", "escalate"})
    arguments = {"list_files": {}, "read_code": {"path": "src"}, "line_history": {"path": "src", "start": 1, "end": 2}}
    return result("Nothing.", 90) if replies else tool_call(tool, **arguments.get(tool, {}))


def _tokens(requests: list[WireRequest], diff: str) -> None:
    """Of the first call of each lens: it holds the whole change. Later ones repeat it, which providers cache."""
    firsts = {purpose_of(one): one for one in reversed(requests)}
    sizes = {name: len(json.dumps(one.body, ensure_ascii=False)) / len(diff) for name, one in firsts.items()}
    worst = max(sizes, key=lambda name: sizes[name])
    whole = all(line[1:].strip() in first_text(one) for one in firsts.values() for line in diff.splitlines()[5:])
    row(
        f"  tokens of a lens by the diff's {len(diff) // 4:,}",
        f"{sizes[worst]:.2f} x",
        f"<= {SHARE:g} x",
        is_met=sizes[worst] <= SHARE,
    )
    row("  each lens sees the whole diff", "yes" if whole else "no", "yes", is_met=whole and len(firsts) == len(LENSES))
