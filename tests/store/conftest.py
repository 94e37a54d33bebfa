from collections.abc import AsyncIterator, Iterator

import pytest

from tests.store.kit import Kit, ask, free_port, redis_kit, tcp_server, until


@pytest.fixture(scope="session")
def cluster_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A cluster of one node: it refuses every script that touches more than one slot."""
    folder = tmp_path_factory.mktemp("cluster")
    with tcp_server(folder, "--cluster-enabled", "yes", "--cluster-port", str(free_port()), "--save", "") as port:
        ask(port, "CLUSTER", "ADDSLOTSRANGE", "0", "16383")
        until(lambda: b"cluster_state:ok" in ask(port, "CLUSTER", "INFO"), "the cluster does not come up")
        yield f"redis+cluster://127.0.0.1:{port}"


@pytest.fixture(params=["server", "server, every script sent twice", "cluster"])
def kind(request: pytest.FixtureRequest) -> tuple[str, str]:
    """A kind of store and the URL it needs. Not async: what starts a server runs a loop of its own."""
    return request.param, request.getfixturevalue("cluster_url" if request.param == "cluster" else "server_url")


@pytest.fixture
async def kit(kind: tuple[str, str]) -> AsyncIterator[Kit]:
    """A store of each kind in turn."""
    name, url = kind
    # A cluster's client asks a lot of the server before its first command: one must do.
    made = await redis_kit(url, repeats="twice" in name, instances=1 if name == "cluster" else 3)
    yield made
    for store in (made.store, *made.others):
        await store.close()


@pytest.fixture
async def server_kit(server_url: str) -> AsyncIterator[Kit]:
    """A store on the embedded server."""
    made = await redis_kit(server_url)
    yield made
    for store in (made.store, *made.others):
        await store.close()
