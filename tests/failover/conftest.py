from collections.abc import Iterator

import pytest

from tests.store.kit import tcp_server


@pytest.fixture
def plain_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A server that knows nothing of TLS."""
    with tcp_server(tmp_path_factory.mktemp("plain"), "--save", "") as port:
        yield port
