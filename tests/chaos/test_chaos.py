"""Twenty seconds of chaos, from one seed, with one team and with several. `make chaos` does the same for longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.invariants import examine, whole_run
from tests.chaos.report import report
from tests.chaos.run import Options, start_run
from tests.patience import patience

SEED, SECONDS = 83, 20.0
MIN_ENDED, MIN_FAULTS = 10, 10
"""Requests and faults: a run in which hardly anything happened shows nothing."""


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("teams", [False, True], ids=["one team", "several teams"])
async def test_everything_ends_once_and_nothing_crosses_whatever_dies(tmp_path: Path, *, teams: bool) -> None:
    options = Options(SEED, SECONDS, rate=1.2, open=12, settle=patience(), teams=teams)
    async with start_run(options, tmp_path) as run:
        await run.go()
        found, general = await examine(run), await whole_run(run)
        report(run, found, general)
    assert not general
    assert not [f"{each.visit.key.job} {one.kind}: {one.text}" for each in found for one in each.violations]
    assert sum(request.is_over for each in found if each.job for request in each.job.requests) >= MIN_ENDED
    assert run.faults().total() >= MIN_FAULTS
