import asyncio
from collections.abc import Iterator

import pytest

from bot.store.embedded import start_embedded, stop_embedded
from tests.store.kit import tcp_server


@pytest.fixture(scope="session")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real embedded server; tests keep apart by their prefix."""
    data = tmp_path_factory.mktemp("embedded")
    yield asyncio.run(start_embedded(data))
    asyncio.run(stop_embedded(data))


@pytest.fixture
def plain_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A server that knows nothing of TLS."""
    with tcp_server(tmp_path_factory.mktemp("plain"), "--save", "") as port:
        yield port
