"""What specialists read of a hundred pages, a contract and a pasted log, beside giving each of them everything."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from bot.store.embedded import start_embedded, stop_embedded
from tests.providers.rendering import Reply
from tests.providers.scripts import purpose_of
from tests.system.brains import plan, played, result, subtask
from tests.system.scene import Talk, scene_on

MANUAL = "\n\n".join(f"# Chapter {n}\n\n" + f"Part {n} of the manual is about the pump. " * 70 for n in range(100))
CONTRACT = "\n\n".join(f"# Clause {n}\n\n" + "The supplier bears the cost of any delay. " * 50 for n in range(12))
LOG = "\n".join(f"10:{n % 60:02} worker {n} finished its batch" for n in range(300))
REQUEST = f"Which chapter is on the pump, what does a delay cost, and which worker was last? Write a note.\n{LOG}"
NEEDS = {"analyst": "manual.md", "reviewer": "contract.md", "researcher": "request"}


async def much_to_read(data: Path, row: Callable[..., Any]) -> None:
    """Calls and prompt tokens of the job, and those of as many calls that are given all there is."""
    parts = [{**subtask(name, name), "needs": [need]} for name, need in NEEDS.items()]
    note = {**subtask("note", "writer", list(NEEDS)), "needs": []}
    words = {name: (lambda _: result("The pump is in chapter one.")) for name in (*NEEDS, "writer")}
    home = data / "much"
    home.mkdir()
    url = await start_embedded(home)
    try:
        async with (
            scene_on(url) as scene,
            played(
                scene, planner=lambda _: plan(*parts, note), synthesizer=lambda _: Reply("Done."), **words
            ) as server,
        ):
            files = [("manual.md", MANUAL.encode()), ("contract.md", CONTRACT.encode())]
            talk: Talk = await scene.ask(REQUEST, files=files)
            await talk.over()
            calls, tokens = server.stats.calls, server.stats.prompt_tokens
            readers = [one for one in server.requests if purpose_of(one).startswith("specialist:")]
    finally:
        await stop_embedded(home)
    everything = len(MANUAL + CONTRACT + REQUEST) // 4
    row("a hundred pages, a contract, a log: calls", str(calls), "", str(calls))
    by_hand = tokens - sum(one.prompt_tokens for one in readers) + len(readers) * everything
    row("  prompt tokens, beside all to each", f"{tokens:,}", "", f"{by_hand:,}", met=tokens * 2 <= by_hand)
