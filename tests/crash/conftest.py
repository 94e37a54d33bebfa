"""One embedded server for all crashes; a prefix of its own for each."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from bot.store.embedded import start_embedded, stop_embedded


@pytest.fixture(scope="session")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The embedded store, which syncs each write to the disk."""
    data = tmp_path_factory.mktemp("crash")
    yield asyncio.run(start_embedded(data))
    asyncio.run(stop_embedded(data))
