"""The servers behind the store: real ones, killed and started again on the same folder, or changing places."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from tests.failover.servers import HERE, Node

SETTINGS = {
    "bind": "127.0.0.1",
    "appendonly": "yes",
    "appendfsync": "always",
    "save": "",
    "maxmemory-policy": "noeviction",
    "repl-diskless-sync-delay": "0",
}
PATIENCE = 20.0


class RedisProcess:
    """A server and one that follows it, each on a port of the loopback, which stays the same."""

    def __init__(self, folder: Path) -> None:
        self._servers = [Node(folder / "one", HERE), Node(folder / "two", HERE)]

    @property
    def port(self) -> int:
        """The port of the primary."""
        return self._servers[0].port

    async def __aenter__(self) -> Self:
        await self.start()
        await self._start(self._servers[1], "--replicaof", "127.0.0.1", str(self.port))
        return self

    async def __aexit__(self, *_: object) -> None:
        for server in self._servers:
            await asyncio.to_thread(server.kill)

    async def start(self) -> None:
        """Start the primary on its folder, and wait until it answers."""
        await self._start(self._servers[0])

    async def kill(self) -> None:
        """SIGKILL to the primary."""
        await asyncio.to_thread(self._servers[0].kill)

    async def _start(self, server: Node, *more: str) -> None:
        words = [part for name, value in SETTINGS.items() for part in (f"--{name}", value)]
        await asyncio.to_thread(server.start, *words, *more)
        await self._until(server, b"+PONG", "PING")

    @staticmethod
    async def _until(server: Node, reply: bytes, *command: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while reply not in await asyncio.to_thread(server.ask, *command):  # noqa: ASYNC110 - it has to be asked
                await asyncio.sleep(0.01)

    async def fail_over(self) -> None:
        """Hand over to the other server, as planned: it gets all that was written, and the former one follows it."""
        former, new = self._servers
        await self._until(new, b"master_link_status:up", "INFO", "replication")
        async with asyncio.timeout(PATIENCE):
            while b"role:master" not in await asyncio.to_thread(new.ask, "INFO", "replication"):
                words = ("FAILOVER", "TO", "127.0.0.1", str(new.port), "TIMEOUT", "2000")
                await asyncio.to_thread(former.ask, *words)
                await asyncio.sleep(0.05)
        self._servers.reverse()

    @contextlib.contextmanager
    def former_frozen(self) -> Iterator[None]:
        """Have the former primary hang inside the block: it takes connections, and answers nobody."""
        self._servers[1].freeze()
        try:
            yield
        finally:
            self._servers[1].resume()
