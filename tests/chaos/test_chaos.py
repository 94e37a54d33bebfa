"""Twenty seconds of chaos, from one seed. `make chaos` does the same for as long as one likes, from any."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.short import held_for_twenty_seconds

SEED = 83


@pytest.mark.timeout(300)
async def test_everything_ends_once_whatever_dies(tmp_path: Path) -> None:
    assert await held_for_twenty_seconds(SEED, tmp_path) == []
