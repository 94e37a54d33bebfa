"""What a fault in one place costs the six-part job: how much of it is answered, after how many calls, how late."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from handoff.contracts import ToolCall
from tests.bench.stage import stage
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.scripts import purpose_of, six, slowed, task_of
from tests.providers.server import Latency, ProviderServer
from tests.providers.wire import WireRequest

BAD = "w1"
CALL = 0.2
SILENT_DEADLINE = 3.0
SILENT_BAR = 3.0
MOST_CALLS = 60
"""Plan, six parts of three rounds (two calls each), answer, and a little more."""


@dataclass
class Play:
    """The six-part job with one thing wrong. `fault` answers the calls of the bad part."""

    fault: Callable[[], Reply | Fault] | None = None
    unsure: bool = False
    answered: set[str] = field(default_factory=set)
    bad_calls: int = 0

    def __call__(self, request: WireRequest) -> Reply | Fault:
        purpose = purpose_of(request)
        if not purpose.startswith("specialist"):
            return six(request)
        part = (re.search(r"\bw[1-6]\b", task_of(request)) or [""])[0]
        if part == BAD and self.fault is not None:
            self.bad_calls += 1
            return self.fault()
        reply = six(request)
        if any(call.name == "return_result" for call in reply.calls):
            self.answered.add(part)
            if self.unsure:
                return Reply(calls=tuple(_unsure(call) for call in reply.calls), stop=reply.stop)
        return reply


def _unsure(call: ToolCall) -> ToolCall:
    return call.model_copy(update={"arguments": {**call.arguments, "confidence": 20}})


async def _played(data: Path, name: str, play: Play, latency: float | Latency = 0.0, **env: str) -> tuple[float, int]:
    """One job: its seconds, and all model calls."""
    folder = data / f"fault-{name}"
    folder.mkdir()
    async with ProviderServer(play, latency=latency) as server, stage(folder, server.openai_url, **env) as scene:
        seconds = await scene.job()
        return seconds, server.stats.calls


async def faults(data: Path, row: Callable[..., Any]) -> None:
    """All four rows."""
    play = Play(lambda: Fault("unavailable"))
    await _played(data, "failing", play)
    row("one specialist always failing: answered", f"{len(play.answered)} of 6", "5 of 6", met=len(play.answered) == 5)
    row("  its failed calls", str(play.bad_calls), "<= 3", met=play.bad_calls <= 3)
    play = Play(lambda: Fault("hang"))
    seconds, _ = await _played(data, "silent", play, LEADHAND_SUBTASK_DEADLINE=f"{SILENT_DEADLINE:g}")
    row("one specialist silent: answered", f"{len(play.answered)} of 6", "5 of 6", met=len(play.answered) == 5)
    plain, _ = await _played(data, "plain", Play())
    row("  wall beyond its deadline", f"{seconds - SILENT_DEADLINE:.2f} s", "", f"{plain:.2f} s")
    ratio = (seconds - SILENT_DEADLINE) / plain
    label = "    as a multiple of the job without a fault"
    row(label, f"{ratio:.2f} x", f"<= {SILENT_BAR:.2f} x", met=ratio <= SILENT_BAR)
    play = Play()
    await _played(data, "slow", play, slowed(CALL, BAD, 5.0))
    row(
        "one specialist five times slower: answered",
        f"{len(play.answered)} of 6",
        "6 of 6",
        met=len(play.answered) == 6,
    )
    play = Play(unsure=True)
    _, calls = await _played(data, "asking", play)
    row("a supervisor that never stops asking: calls", str(calls), f"<= {MOST_CALLS}", met=calls <= MOST_CALLS)
