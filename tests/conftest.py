"""One embedded server for all tests of a worker: they keep apart by the prefix of their keys."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from bot.store.embedded import start_embedded, stop_embedded
from bot.store.redis.redis_store import RedisStore
from tests.store.kit import fresh_store


@pytest.fixture(scope="session")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The embedded server, as a newcomer's is."""
    data = tmp_path_factory.mktemp("embedded")
    yield asyncio.run(start_embedded(data))
    asyncio.run(stop_embedded(data))


@pytest.fixture
async def store(server_url: str) -> AsyncIterator[RedisStore]:
    """An empty store."""
    made = await fresh_store(server_url)
    yield made
    await made.close()
