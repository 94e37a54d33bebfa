"""Less than a minute of chaos, from two seeds side by side. `make chaos` does the same for as long as one likes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.chaos.short import held_for_twenty_seconds

SEEDS = (83, 187)


@pytest.mark.timeout(300)
async def test_everything_ends_once_whatever_dies(tmp_path: Path) -> None:
    folders = [tmp_path / str(seed) for seed in SEEDS]
    for folder in folders:
        folder.mkdir()
    runs = [held_for_twenty_seconds(seed, folder) for seed, folder in zip(SEEDS, folders, strict=True)]
    assert await asyncio.gather(*runs) == [[], []]
