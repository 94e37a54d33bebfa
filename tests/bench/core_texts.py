"""What the core does with long texts, beside the least that could be done with them: a regular expression, or JSON."""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from handoff import events as ev
from handoff.checking.figures import find_unsupported_figures

Row = Callable[..., None]

TRIES = 9
FIGURES_BAR, EVENT_BAR = 60.0, 2.0
NUMBER = re.compile(r"\d[\d,.]*")


async def core_texts(_: Path, row: Row) -> None:
    """The figures of a long reply looked up in a long table, and an event parsed, each beside its least."""
    rows = "\n".join(f"{50_000 + at},Abt,{at * 7919 % 400_000 / 100:.2f},{at % 60}" for at in range(4_500))
    text = " ".join(f"{at * 104_729 % 4_000_000 / 100:,.2f} and {at % 90}.3 %" for at in range(60))
    table = "order,customer,amount,qty\n" + rows
    beside(
        row,
        "figures of a long reply",
        lambda: find_unsupported_figures(text, [table]),
        lambda: NUMBER.findall(table),
        FIGURES_BAR,
    )
    turn = {"text": "word " * 100, "stop": "end", "usage": {}}
    line = ev.dump(
        ev.TurnTaken.model_validate({"at": 1.0, "request": "1.0", "subtask": "s", "attempt": 1, "turn": turn})
    )
    beside(row, "an event of today read", lambda: ev.load(line), lambda: ev._adapter.validate_json(line), EVENT_BAR)


def beside(row: Row, name: str, work: Callable[[], object], least: Callable[[], object], bar: float) -> None:
    """Two rows: the time of a call, and that as a multiple of the least, in turn."""
    pairs = [(seconds_of(work), seconds_of(least)) for _ in range(TRIES)]
    ours, hands = (statistics.median(column) * 1e6 for column in zip(*pairs, strict=True))
    row(name, f"{ours:,.0f} us", "", f"{hands:,.0f} us")
    ratio = statistics.median(our / hand for our, hand in pairs)
    row("  as a multiple of the least", f"{ratio:.2f} x", f"<= {bar:.2f} x", met=ratio <= bar)


def seconds_of(call: Callable[[], object]) -> float:
    """Return the seconds of one call, from as many as take a twentieth of a second."""
    calls, began = 0, time.perf_counter()
    while (took := time.perf_counter() - began) < 0.05:
        call()
        calls += 1
    return took / calls
