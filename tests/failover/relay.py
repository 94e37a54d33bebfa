"""A way into a server that can be shut for one side of a partition, without any right on the machine.

Each side's servers call from an address of their own on the loopback (`bind-source-addr`; all of 127.0.0.0/8 is
there), so that a relay knows who calls. What is cut off is neither answered nor refused: bytes just stop, as on a
network that lost a cable. Clients call from 127.0.0.1 and reach everything.
"""

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Iterator
from typing import Any

Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Relays:
    """All relays of a test, in a thread of their own: the test may block."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._open = asyncio.Event()
        self._open.set()
        self._cut_ways: set[tuple[int, str]] = set()
        self._lines: dict[asyncio.Task[None], tuple[int, str]] = {}

    def before(self, port: int, target: int) -> None:
        """Listen on `port` for the server on `target`."""
        self._do(self._listen(port, target))

    def cut_ways(self, ways: set[tuple[int, str]]) -> None:
        """Let nothing through any more between a relay's port and callers from an address."""
        self._do(self._set(ways))

    def heal(self) -> None:
        """Let everything through again. What hung is closed."""
        self._do(self._set(set()))

    def close(self) -> None:
        self._do(self._drop(list(self._lines)))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _set(self, ways: set[tuple[int, str]]) -> None:
        before, self._cut_ways = self._cut_ways, ways
        if ways:
            self._open.clear()
        else:
            self._open.set()
            await self._drop([task for task, way in self._lines.items() if way in before])

    async def _drop(self, tasks: list[asyncio.Task[None]]) -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _listen(self, port: int, target: int) -> None:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            way = (port, writer.get_extra_info("peername")[0])
            self._lines[task] = way
            try:
                await self._passable(way)
                there = await asyncio.open_connection("127.0.0.1", target)
                await self._both((reader, writer), there, way)
            except (OSError, asyncio.CancelledError):
                pass
            finally:
                del self._lines[task]
                writer.close()

        await asyncio.start_server(accept, "127.0.0.1", port)

    async def _both(self, here: Pair, there: Pair, way: tuple[int, str]) -> None:
        ways = [self._pump(here[0], there[1], way), self._pump(there[0], here[1], way)]
        pumps = [asyncio.ensure_future(pump) for pump in ways]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            there[1].close()

    async def _pump(self, source: asyncio.StreamReader, to: asyncio.StreamWriter, way: tuple[int, str]) -> None:
        while data := await source.read(65536):
            await self._passable(way)
            to.write(data)
            await to.drain()

    async def _passable(self, way: tuple[int, str]) -> None:
        while way in self._cut_ways:
            await self._open.wait()


@contextlib.contextmanager
def relays() -> Iterator[Relays]:
    made = Relays()
    try:
        yield made
    finally:
        made.close()
