"""The test's side of the process that starts bots."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class StartedProcess:
    """A process. `exit_future` has its exit status once it has ended; a signal is a negative number."""

    pid: int
    exit_future: asyncio.Future[int]

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, if it still runs."""
        if not self.exit_future.done():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)


@dataclass
class Nursery:
    """Starts bots. `log` holds what they said on standard error."""

    process: asyncio.subprocess.Process
    log: Path
    _starting: asyncio.Lock = field(default_factory=asyncio.Lock)
    _start_queue: asyncio.Queue[StartedProcess] = field(default_factory=asyncio.Queue)
    _alive: dict[int, StartedProcess] = field(default_factory=dict)

    async def start(self, life: Mapping[str, Any]) -> StartedProcess:
        """Start one, with what the module of this nursery takes."""
        if self.process.stdin is None:
            raise AssertionError("started without a pipe")
        async with self._starting:
            self.process.stdin.write(json.dumps(dict(life)).encode() + b"\n")
            return await self._start_queue.get()

    @contextlib.asynccontextmanager
    async def bot(self, life: Mapping[str, Any]) -> AsyncIterator[asyncio.Future[int]]:
        """Start one, killed on leaving. Gives its end: the exit status, a signal as a negative number."""
        started = await self.start(life)
        try:
            yield started.exit_future
        finally:
            started.signal(signal.SIGKILL)
            await started.exit_future

    async def listen(self) -> None:
        """Hear of starts and ends."""
        if self.process.stdout is None:
            raise AssertionError("started without a pipe")
        async for line in self.process.stdout:
            word, pid, *status = line.decode().split()
            if word == "started":
                started = StartedProcess(int(pid), asyncio.get_running_loop().create_future())
                self._alive[started.pid] = started
                self._start_queue.put_nowait(started)
            else:
                self._alive.pop(int(pid)).exit_future.set_result(int(status[0]))


@contextlib.asynccontextmanager
async def nursery(folder: Path, module: str) -> AsyncIterator[Nursery]:
    """A process that runs `module`, which starts bots. On leaving it ends, and all of them with it."""
    log = folder / "bots.log"
    with log.open("ab") as errors:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", module),
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
