"""A workspace of its own for each test of the whole, and an empty store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.store.kit import tcp_server
from tests.system.scene import Scene, scene_on


@pytest.fixture
async def scene(server_url: str) -> AsyncIterator[Scene]:
    """A workspace that is as strict as Slack, and an empty store."""
    async with scene_on(server_url) as made:
        yield made


@pytest.fixture
def redis_url(tmp_path: Path) -> Iterator[str]:
    """A server for this test alone: processes all use the same prefix."""
    with tcp_server(tmp_path / "redis", "--save", "") as port:
        yield f"redis://127.0.0.1:{port}"
