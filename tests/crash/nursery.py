"""The test's side of the process that starts bots."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.crash.bot import Start

ROOT = Path(__file__).parents[2]


@dataclass
class Nursery:
    """Starts bots. `log` holds what they said on standard error."""

    process: asyncio.subprocess.Process
    log: Path
    _starting: asyncio.Lock = field(default_factory=asyncio.Lock)
    _started: asyncio.Queue[int] = field(default_factory=asyncio.Queue)
    _ends: dict[int, asyncio.Future[int]] = field(default_factory=dict)

    @contextlib.asynccontextmanager
    async def bot(self, start: Start) -> AsyncIterator[asyncio.Future[int]]:
        """A bot, killed on leaving. Gives its end: the exit status, a signal as a negative number."""
        if self.process.stdin is None:
            raise AssertionError("started without a pipe")
        async with self._starting:
            self.process.stdin.write(json.dumps(asdict(start)).encode() + b"\n")
            pid = await self._started.get()
        ended = self._end_of(pid)
        try:
            yield ended
        finally:
            if not ended.done():
                os.kill(pid, signal.SIGKILL)
            await ended
            del self._ends[pid]

    def _end_of(self, pid: int) -> asyncio.Future[int]:
        return self._ends.setdefault(pid, asyncio.get_running_loop().create_future())

    async def listen(self) -> None:
        """Hear of starts and ends."""
        if self.process.stdout is None:
            raise AssertionError("started without a pipe")
        async for line in self.process.stdout:
            word, pid, *status = line.decode().split()
            if word == "started":
                self._started.put_nowait(int(pid))
            else:
                self._end_of(int(pid)).set_result(int(status[0]))


@contextlib.asynccontextmanager
async def nursery(folder: Path, module: str = "tests.crash.bot") -> AsyncIterator[Nursery]:
    """A process that starts bots, ended on leaving."""
    log = folder / "bots.log"
    with log.open("ab") as errors:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", module),
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
        )
    made = Nursery(process, log)
    listening = asyncio.create_task(made.listen())
    try:
        yield made
    finally:
        if process.stdin is not None:
            process.stdin.close()
        await process.wait()
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
