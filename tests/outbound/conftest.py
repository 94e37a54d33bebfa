"""A machine that reaches nothing but by a proxy, which ends TLS with an authority of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from specialists.outbound.network import NETWORK_VARIABLES
from tests.outbound.connect_proxy import Authority, ConnectProxy, connect_proxy, environment


@pytest.fixture(autouse=True)
def no_proxy_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what the machine that runs the tests says of proxies."""
    for name in NETWORK_VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
async def proxy(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[ConnectProxy]:
    """The proxy, which the environment names. Its hosts end in `.test` or `.example`, and no DNS knows those."""
    folder: Path = tmp_path_factory.mktemp("authority")
    async with connect_proxy(Authority(folder), with_password=True) as running:
        for name, value in environment(running):
            monkeypatch.setenv(name, value)
        yield running
