"""The run's side of the process that starts instances."""

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

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Started:
    """A process. `ended` has its exit status once it has ended; a signal is a negative number."""

    pid: int
    ended: asyncio.Future[int]

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, if it still runs."""
        if not self.ended.done():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)


@dataclass
class Nursery:
    """Starts instances."""

    process: asyncio.subprocess.Process
    _starting: asyncio.Lock = field(default_factory=asyncio.Lock)
    _started: asyncio.Queue[Started] = field(default_factory=asyncio.Queue)
    _alive: dict[int, Started] = field(default_factory=dict)

    async def start(self, env: Mapping[str, str], log: Path) -> Started:
        """Start one. What it says is added to the file `log`."""
        if self.process.stdin is None:
            raise AssertionError("started without a pipe")
        async with self._starting:
            self.process.stdin.write(json.dumps({"env": dict(env), "log": str(log)}).encode() + b"\n")
            return await self._started.get()

    async def listen(self) -> None:
        """Hear of starts and ends."""
        if self.process.stdout is None:
            raise AssertionError("started without a pipe")
        async for line in self.process.stdout:
            word, pid, *status = line.decode().split()
            if word == "started":
                started = Started(int(pid), asyncio.get_running_loop().create_future())
                self._alive[started.pid] = started
                self._started.put_nowait(started)
            else:
                self._alive.pop(int(pid)).ended.set_result(int(status[0]))


@contextlib.asynccontextmanager
async def nursery(folder: Path) -> AsyncIterator[Nursery]:
    """A process that starts instances. On leaving it ends, and all of them with it."""
    with (folder / "nursery.log").open("ab") as errors:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.chaos.bot"),
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
        )
    made = Nursery(process)
    listening = asyncio.create_task(made.listen())
    try:
        yield made
    finally:
        if process.stdin is not None:
            process.stdin.close()
        await process.wait()
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
