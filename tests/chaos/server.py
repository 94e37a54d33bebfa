"""The servers behind the store: real ones, killed and started again on the same folder, or changing places."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from bot.store.embedded import find_server
from tests.store.kit import free_port

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
        self._servers = [_Server(folder / "one"), _Server(folder / "two")]

    @property
    def port(self) -> int:
        """The port of the primary."""
        return self._servers[0].port

    async def __aenter__(self) -> Self:
        await self.start()
        await self._servers[1].start(f"127.0.0.1 {self.port}")
        return self

    async def __aexit__(self, *_: object) -> None:
        for server in self._servers:
            await server.kill()

    async def start(self) -> None:
        """Start the primary on its folder, and wait until it answers."""
        await self._servers[0].start()

    async def kill(self) -> None:
        """SIGKILL to the primary."""
        await self._servers[0].kill()

    async def fail_over(self) -> None:
        """Hand over to the other server, as planned: it gets all that was written, and the former one follows it."""
        former, new = self._servers
        async with asyncio.timeout(PATIENCE):
            while b"master_link_status:up" not in await new.ask("INFO replication"):  # noqa: ASYNC110 - has to be asked
                await asyncio.sleep(0.05)
            while b"role:master" not in await new.ask("INFO replication"):
                await former.ask(f"FAILOVER TO 127.0.0.1 {new.port} TIMEOUT 2000")
                await asyncio.sleep(0.05)
        self._servers.reverse()

    @contextlib.contextmanager
    def former_frozen(self) -> Iterator[None]:
        """Have the former primary hang inside the block: it takes connections, and answers nobody."""
        with self._servers[1].frozen():
            yield


class _Server:
    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self._folder = folder
        self._process: asyncio.subprocess.Process | None = None

    async def start(self, replica_of: str = "") -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        settings = {**SETTINGS, "port": str(self.port), "dir": str(self._folder)}
        words = [part for name, value in settings.items() for part in (f"--{name}", value)]
        if replica_of:
            words += ["--replicaof", *replica_of.split()]
        program = await asyncio.to_thread(find_server)
        with (self._folder / "log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(program, *words, stdout=log)
        async with asyncio.timeout(PATIENCE):
            while not (await self.ask("PING")).startswith(b"+PONG"):  # noqa: ASYNC110 - the server has to be asked
                await asyncio.sleep(0.01)

    async def kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    async def ask(self, command: str) -> bytes:
        """Send a command, and give the beginning of its reply; nothing if there is none."""
        with contextlib.suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            try:
                writer.write(f"{command}\r\n".encode())
                return await reader.read(65536)
            finally:
                writer.close()
        return b""
