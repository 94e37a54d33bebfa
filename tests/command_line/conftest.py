"""What the commands are tried with: a table, a Redis-compatible server, a workspace."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.workspace.workspace_server import Workspace
from tests.command_line.command import ROOT
from tests.store.kit import ask, tcp_server

MONTHS = ("2026-01", "2026-02", "2026-03")


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sales by month and region: North 10, 20, 30 and South 5, 15, 25."""
    path = tmp_path_factory.mktemp("tables") / "sales.csv"
    rows = [f"{month}-01,North,{10 * n}\n{month}-01,South,{10 * n - 5}\n" for n, month in enumerate(MONTHS, start=1)]
    path.write_text("month,region,revenue\n" + "".join(rows), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def redis_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A server as it should be."""
    with tcp_server(tmp_path_factory.mktemp("redis"), "--appendonly", "yes") as port:
        yield port


@pytest.fixture
def redis_url(redis_port: int) -> str:
    """The same, empty: each test has a workspace of its own, and a store belongs to one."""
    ask(redis_port, "FLUSHALL")
    return f"redis://127.0.0.1:{redis_port}"


@pytest.fixture
async def workspace() -> AsyncIterator[Callable[..., Awaitable[Workspace]]]:
    """Starts workspaces that stop with the test; Leadhand's own manifest unless told otherwise."""
    started: list[Workspace] = []

    async def start(manifest: Path = ROOT / "manifest.yml", **options: Any) -> Workspace:
        started.append(await Workspace.start(manifest, **options))
        return started[-1]

    yield start
    for each in started:
        await each.stop()
