"""A network between two sides that loses requests and replies, or swallows everything for a while."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, deque
from typing import Literal, Self

Loss = Literal["request lost", "reply lost"]
CHUNK = 1 << 16


class Proxy:
    """Listens on loopback and passes new connections on to `targets` (ports of the loopback) in turn."""

    def __init__(self, *targets: int) -> None:
        self.port = 0
        self.targets = targets
        self._turn = 0
        self.loss_counts: Counter[str] = Counter()
        """Losses that came about."""
        self._losses: deque[Loss] = deque()
        self._links = 0
        self._open = asyncio.Event()
        self._open.set()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def lose(self, loss: Loss) -> None:
        """Let the next command of any connection go wrong. Where nobody is connected, nothing happens."""
        if self._links:
            self._losses.append(loss)

    def shut(self) -> None:
        """A black hole from now on: connections stay open and nothing passes. What is sent meanwhile arrives later."""
        self._open.clear()

    def open(self) -> None:
        """No black hole any more."""
        self._open.set()

    @property
    def is_open(self) -> bool:
        """Whether it is no black hole now."""
        return self._open.is_set()

    def clear(self) -> None:
        """No faults any more."""
        self._losses.clear()
        self._open.set()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        await self._open.wait()
        found = await self._connect()
        if found is None:
            writer.transport.abort()
            return
        there, onward = found
        link = _Link(self, reader, writer, there, onward)
        self._links += 1
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(link.requests())
                group.create_task(link.replies())
        except* (OSError, _LinkEnded):
            pass
        finally:
            for side in (writer, onward):
                side.transport.abort()
            self._links -= 1
            if not self._links:  # the next start must not meet all that its predecessor was spared
                self._losses.clear()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """Connect to the next target that takes the connection; None if none does."""
        self._turn += 1
        for number in range(len(self.targets)):
            port = self.targets[(self._turn + number) % len(self.targets)]
            with contextlib.suppress(OSError):
                return await asyncio.open_connection("127.0.0.1", port)
        return None

    async def passes(self) -> None:
        """Wait while it is a black hole."""
        await self._open.wait()

    def next_loss(self) -> Loss | None:
        """The loss that the command at hand suffers."""
        if not self._losses:
            return None
        loss = self._losses.popleft()
        self.loss_counts[loss] += 1
        return loss


class _LinkEnded(Exception):
    """One side closed, or a loss: both go."""


class _Link:
    """One connection and its onward half."""

    def __init__(
        self,
        proxy: Proxy,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        there: asyncio.StreamReader,
        onward: asyncio.StreamWriter,
    ) -> None:
        self._proxy = proxy
        self._reader, self._writer = reader, writer
        self._there, self._onward = there, onward
        self._swallow = False

    async def requests(self) -> None:
        """Pass on what the instance sends."""
        while data := await self._reader.read(CHUNK):
            await self._proxy.passes()
            loss = self._proxy.next_loss()
            if loss == "request lost":
                break
            if loss == "reply lost":
                self._swallow = True
            self._onward.write(data)
            await self._onward.drain()
        raise _LinkEnded

    async def replies(self) -> None:
        """Pass on what the server answers: it has done its part by then."""
        while data := await self._there.read(CHUNK):
            await self._proxy.passes()
            if self._swallow:
                break
            self._writer.write(data)
            with contextlib.suppress(ConnectionError):
                await self._writer.drain()
        raise _LinkEnded
