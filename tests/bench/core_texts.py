"""What the core does with long texts, beside the least that could be done with them: a regular expression, or JSON."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

from handoff import events as ev
from handoff.checking.figures import find_unsupported_figures
from tests.bench.stage import compare

TRIES = 9
FIGURES_BAR, EVENT_BAR = 60.0, 2.0
NUMBER = re.compile(r"\d[\d,.]*")


async def core_texts(_: Path) -> None:
    """The figures of a long reply looked up in a long table, and an event parsed, each beside its least."""
    rows = "\n".join(f"{50_000 + at},Abt,{at * 7919 % 400_000 / 100:.2f},{at % 60}" for at in range(4_500))
    text = " ".join(f"{at * 104_729 % 4_000_000 / 100:,.2f} and {at % 90}.3 %" for at in range(60))
    table = "order,customer,amount,qty\n" + rows
    turn = {"text": "word " * 100, "stop": "end", "usage": {}}
    taken = {"at": 1.0, "request": "1.0", "subtask": "s", "attempt": 1, "turn": turn}
    line = ev.dump_event(ev.TurnTaken.model_validate(taken))
    tables: tuple[Callable[[], object], ...] = (
        lambda: find_unsupported_figures(text, [table]),
        lambda: NUMBER.findall(table),
    )
    events: tuple[Callable[[], object], ...] = (
        lambda: ev.load_event(line),
        lambda: ev._EVENT_ADAPTER.validate_json(line),
    )
    for name, both, bar in (
        ("figures of a long reply", tables, FIGURES_BAR),
        ("an event of today read", events, EVENT_BAR),
    ):
        pairs = [[_seconds_of_call(call) for call in both] for _ in range(TRIES)]
        compare(name, *zip(*pairs, strict=True), bar, "ms")


def _seconds_of_call(call: Callable[[], object]) -> float:
    """Return the seconds of one call, from as many as take a twentieth of a second."""
    calls, began = 0, time.perf_counter()
    while (took := time.perf_counter() - began) < 0.05:
        call()
        calls += 1
    return took / calls
