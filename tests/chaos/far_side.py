"""The book that `enter_record` writes to. It keeps every entry, and loses some of its answers."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random

from aiohttp import web


class FarSide:
    """`entry_counts` counts each record's entries; `enter` is to be served."""

    def __init__(self, seed: int, *, calm: bool) -> None:
        self.entry_counts: Counter[str] = Counter()
        self.lost_answers = 0
        self._seed = seed
        self._calm = calm

    async def enter(self, request: web.Request) -> web.Response:
        """Enter a record."""
        record = str((await request.json())["record"])
        rng = Random(f"{self._seed}/{record}")
        await asyncio.sleep(rng.uniform(0.05, 0.3))
        self.entry_counts[record] += 1
        await asyncio.sleep(rng.uniform(0.05, 0.6))
        if not self._calm and rng.random() < 0.1 and request.transport is not None:
            self.lost_answers += 1
            request.transport.abort()
        return web.Response(text=record)
