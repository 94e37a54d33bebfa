"""Half a minute of chaos. `make chaos` does the same for as long as one likes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.short import held_for_half_a_minute


@pytest.mark.timeout(240)
async def test_everything_ends_once_whatever_dies(tmp_path: Path) -> None:
    assert await held_for_half_a_minute(83, tmp_path) == []
