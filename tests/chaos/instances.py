"""Three instances of the bot as processes: killed, frozen, deployed, and started again whenever they end."""

from __future__ import annotations

import asyncio
import signal
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from tests.nursery.nursery import Nursery, StartedProcess

END_SECONDS = 15.0
PAUSE = 0.5
"""Seconds until one that could not start (the store is away, say) is started again."""
LISTENS = "Leadhand is listening"
RESTS = "CHAOS_RESTS"
"""The variable that says after how many seconds a job is looked at again whose team cannot be reached."""


class Instance:
    """One instance. `run` keeps it running until it is cancelled."""

    def __init__(self, number: int, nursery: Nursery, folder: Path, env: Mapping[str, str]) -> None:
        self.number = number
        self.log = folder / f"instance-{number}.log"
        self.codes: Counter[int] = Counter()
        """How its processes ended that were neither killed nor told to end."""
        self.slowest_end = 0.0
        """Seconds from SIGTERM to the end."""
        self.bad_ends: list[str] = []
        self.frozen = False
        self.env = dict(env)
        """What its next process gets."""
        self.starts = 0
        """How many processes it had so far."""
        self._nursery = nursery
        self._process: StartedProcess | None = None
        self._is_end_expected = False
        self._listen_count = 0
        self._came_up = False

    async def run(self) -> None:
        """Start it, and again whenever it ends."""
        try:
            while True:
                self._listen_count, self._came_up = self._listens(), False
                self._process = await self._nursery.start({"env": self.env, "log": str(self.log)})
                self._is_end_expected = False
                self.starts += 1
                code = await asyncio.shield(self._process.exit_future)
                if not self._is_end_expected:
                    self.codes[code] += 1
                    await asyncio.sleep(PAUSE)
        finally:
            await self._end()

    @property
    def up(self) -> bool:
        """Whether it is at work."""
        alive = self._process is not None and not self._process.exit_future.done() and not self._is_end_expected
        self._came_up = self._came_up or (alive and self._listens() > self._listen_count)
        return alive and not self.frozen and self._came_up

    def is_named(self, name: str) -> bool:
        """Whether the process at work calls itself so in its log."""
        return self.up and name in self.log.read_text(errors="replace")

    def kill(self) -> None:
        """SIGKILL."""
        self._is_end_expected = True
        self._signal(signal.SIGKILL)

    async def freeze(self, seconds: float) -> None:
        """SIGSTOP, and SIGCONT after so long."""
        process = self._process
        if process is None:
            return
        process.signal(signal.SIGSTOP)
        self.frozen = True
        try:
            await asyncio.sleep(seconds)
        finally:
            self.frozen = False
            process.signal(signal.SIGCONT)

    async def deploy(self) -> None:
        """SIGTERM: it must end by itself, with 0."""
        process = self._process
        if process is None:
            return
        self._is_end_expected = True
        began = time.monotonic()
        process.signal(signal.SIGTERM)
        try:
            code = await asyncio.wait_for(asyncio.shield(process.exit_future), END_SECONDS)
        except TimeoutError:
            self.bad_ends.append(f"instance {self.number} did not end within {END_SECONDS:g} s of SIGTERM")
            process.signal(signal.SIGKILL)
            return
        self.slowest_end = max(self.slowest_end, time.monotonic() - began)
        if code not in {0, -signal.SIGKILL}:
            self.bad_ends.append(f"instance {self.number} ended with {code} after SIGTERM")

    def _listens(self) -> int:
        """How many of its processes so far came to listen."""
        return self.log.read_text(errors="replace").count(LISTENS) if self.log.exists() else 0

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.signal(number)

    async def _end(self) -> None:
        self._signal(signal.SIGCONT)
        self._signal(signal.SIGTERM)
        if self._process is not None:
            try:
                await asyncio.wait_for(asyncio.shield(self._process.exit_future), END_SECONDS)
            except TimeoutError:
                self._signal(signal.SIGKILL)
                await self._process.exit_future
