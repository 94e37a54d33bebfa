"""The book that `enter_record` writes to. It keeps every entry, and loses some of its answers."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random
from typing import Self

from aiohttp import web


class FarSide:
    """Serves on loopback. `entered` counts each record's entries."""

    def __init__(self, seed: int, *, calm: bool) -> None:
        self.entered: Counter[str] = Counter()
        self.url = ""
        self.lost_answers = 0
        self._seed = seed
        self._calm = calm
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_post("/enter", self._enter)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _enter(self, request: web.Request) -> web.Response:
        record = str((await request.json())["record"])
        rng = Random(f"{self._seed}/{record}")
        await asyncio.sleep(rng.uniform(0.05, 0.3))
        self.entered[record] += 1
        await asyncio.sleep(rng.uniform(0.05, 0.6))
        if not self._calm and rng.random() < 0.1 and request.transport is not None:
            self.lost_answers += 1
            request.transport.abort()
        return web.Response(text=record)
