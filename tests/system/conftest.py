"""One embedded server for all tests of the whole; a workspace and a prefix of its own for each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from bot.store.embedded import start_embedded, stop_embedded
from tests.system.scene import Scene, scene_on


@pytest.fixture(scope="session")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The embedded store, as a newcomer's is."""
    data = tmp_path_factory.mktemp("system")
    yield asyncio.run(start_embedded(data))
    asyncio.run(stop_embedded(data))


@pytest.fixture
async def scene(server_url: str) -> AsyncIterator[Scene]:
    """A workspace that is as strict as Slack, and an empty store."""
    async with scene_on(server_url) as made:
        yield made
