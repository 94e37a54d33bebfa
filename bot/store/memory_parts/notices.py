"""Notices of jobs, for whoever listens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from bot.store.interface import JobKey

WAITING = 1000
"""How many notices wait for a slow listener; more are dropped."""


class Notices:
    """Tells every listener of every job that something came in for or that became due."""

    def __init__(self) -> None:
        self._listeners: list[asyncio.Queue[JobKey]] = []

    def tell(self, key: JobKey) -> None:
        """Tell all that listen now."""
        for queue in self._listeners:
            if not queue.full():
                queue.put_nowait(key)

    async def listen(self) -> AsyncIterator[JobKey]:
        """What is told from now on."""
        queue: asyncio.Queue[JobKey] = asyncio.Queue(WAITING)
        self._listeners.append(queue)
        try:
            while True:
                yield await queue.get()
        finally:
            self._listeners.remove(queue)
