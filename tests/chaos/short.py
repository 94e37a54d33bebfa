"""A run that is short enough for the suite."""

from __future__ import annotations

from pathlib import Path

from tests.chaos.invariants import examine, whole_run
from tests.chaos.report import report
from tests.chaos.run import Options, started
from tests.patience import patience

SECONDS = 20.0
LEAST_ENDED = 10
"""Requests: a run in which hardly anything happened shows nothing."""
LEAST_FAULTS = 10


async def held_for_twenty_seconds(seed: int, folder: Path, *, teams: bool = False) -> list[str]:
    """What did not hold; empty if all did. The counts are printed."""
    options = Options(seed, SECONDS, rate=1.2, open=12, settle=patience(), teams=teams)
    async with started(options, folder) as run:
        await run.go()
        found, general = await examine(run), await whole_run(run)
        report(run, found, general)
    wrong = [f"{each.visit.key.job} {one.kind}: {one.text}" for each in found for one in each.violations]
    wrong += [f"{one.kind}: {one.text}" for one in general]
    if sum(ask.over for each in found if each.job for ask in each.job.asks) < LEAST_ENDED:
        wrong.append(f"fewer than {LEAST_ENDED} requests ended")
    if run.faults().total() < LEAST_FAULTS:
        wrong.append(f"fewer than {LEAST_FAULTS} faults came about")
    return wrong
