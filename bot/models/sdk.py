"""A provider's SDK and its client, made when they are first needed, by one caller, in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar


class Closable(Protocol):
    """What both SDKs' clients can do."""

    async def close(self) -> None:
        """Release connections."""


C = TypeVar("C", bound=Closable)


class Connection(Generic[C]):
    """An SDK that takes seconds to import, and its client.

    Args:
        connect: Imports the SDK and makes a client; gives both. It may block.
    """

    def __init__(self, connect: Callable[[], tuple[Any, C]]) -> None:
        self._connect = connect
        self._made: tuple[Any, C] | None = None
        self._making = asyncio.Lock()

    async def open(self) -> tuple[Any, C]:
        """The SDK's module and the client, made at the first call."""
        if self._made is None:
            async with self._making:
                if self._made is None:
                    self._made = await asyncio.to_thread(self._connect)
        return self._made

    async def close(self) -> None:
        """Release connections, inside the running loop."""
        if self._made is not None:
            await self._made[1].close()
