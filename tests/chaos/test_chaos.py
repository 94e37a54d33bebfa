"""Twenty seconds of chaos, from one seed, with one team and with several. `make chaos` does the same for longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.short import held_for_twenty_seconds

SEED = 83


@pytest.mark.timeout(1200)
async def test_everything_ends_once_whatever_dies(tmp_path: Path) -> None:
    assert await held_for_twenty_seconds(SEED, tmp_path) == []


@pytest.mark.timeout(1200)
async def test_nothing_crosses_between_teams_whatever_dies(tmp_path: Path) -> None:
    assert await held_for_twenty_seconds(SEED, tmp_path, teams=True) == []
