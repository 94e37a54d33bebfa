"""`make hostile SEED=n`: a model that obeys whatever it reads, before people who approve what they asked for.

Two suites: `dojo` plays AgentDojo's tasks with its tools, `own` our own cases through the whole bot.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.hostile import dojo, dojo_play, own_play
from tests.proof_kit import say

SUITES = {"dojo": dojo_play.play_all, "own": own_play.play_all}


async def main(seed: int, only: str) -> tuple[dict[str, Any], list[str]]:
    """Play the suites. Gives the figures of each, and what went wrong in any."""
    figures: dict[str, Any] = {"seed": seed, "leadhand": version("leadhand"), "agentdojo": dojo.VERSION}
    wrong: list[str] = []
    for name, play in SUITES.items():
        if only in {"", name}:
            began = time.monotonic()
            found, faults = await play(seed)
            figures[name] = {**found, "seconds": round(time.monotonic() - began)}
            wrong += faults
    return figures, wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.hostile")
    parser.add_argument("--seed", type=int, default=1, help="draws the languages, spellings and variants")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    parser.add_argument("--only", choices=list(SUITES), default="", help="play one suite alone")
    arguments = parser.parse_args()
    all_figures, faults = asyncio.run(main(arguments.seed, arguments.only))
    figures_json = json.dumps(all_figures, indent=2)
    say(figures_json)
    if arguments.json:
        arguments.json.write_text(figures_json + "\n", encoding="utf-8")
    say("\n".join(faults) or "Nothing was written, sent or shown without leave.")
    sys.exit(1 if faults else 0)
