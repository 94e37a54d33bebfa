"""The server behind the store: a real one, killed and started again on the same folder."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from pathlib import Path
from typing import Self

from bot.store.embedded import find_server

SETTINGS = {
    "bind": "127.0.0.1",
    "appendonly": "yes",
    "appendfsync": "always",
    "save": "",
    "maxmemory-policy": "noeviction",
}
PATIENCE = 20.0


class RedisProcess:
    """A server on a port of the loopback, which stays the same."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = _free_port()
        self.kills = 0
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.kill()

    async def start(self) -> None:
        """Start it on its folder, and wait until it answers."""
        settings = {**SETTINGS, "port": str(self.port), "dir": str(self.folder)}
        program = await asyncio.to_thread(find_server)
        with (self.folder / "log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                program, *(part for name, value in settings.items() for part in (f"--{name}", value)), stdout=log
            )
        async with asyncio.timeout(PATIENCE):
            while not await self._answers():  # noqa: ASYNC110 - the server has to be asked
                await asyncio.sleep(0.01)

    async def kill(self) -> None:
        """SIGKILL."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    async def _answers(self) -> bool:
        with contextlib.suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            try:
                writer.write(b"PING\r\n")
                return (await reader.readline()).startswith(b"+PONG")
            finally:
                writer.close()
        return False


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
