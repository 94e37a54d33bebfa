"""A server of their own for the tests of versions: whole processes share its one prefix."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from bot.store.embedded import start_embedded, stop_embedded
from tests.system.scene import Scene, scene_on


@pytest.fixture
def server_url(tmp_path: Path) -> Iterator[str]:
    """An embedded store with nothing in it."""
    yield asyncio.run(start_embedded(tmp_path))
    asyncio.run(stop_embedded(tmp_path))


@pytest.fixture
async def scene(server_url: str) -> AsyncIterator[Scene]:
    """A workspace that is as strict as Slack, and an empty store."""
    async with scene_on(server_url) as made:
        yield made
