"""A Python process of the benchmark: spoken to by lines, its log kept, always ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[2]
START_SECONDS = 60.0
END_SECONDS = 10.0
LOG_LINES = 40


class ChildBroke(Exception):
    """A process of ours ended, fell silent, or did not end. The text carries the end of its log."""


@dataclass(slots=True)
class Child:
    """A running process. `log` is the file with its standard error."""

    process: asyncio.subprocess.Process
    usage: psutil.Process
    name: str
    log: Path

    async def line(self, seconds: float = START_SECONDS) -> str:
        """The next line it prints. Raises ChildBroke if none comes in time."""
        assert self.process.stdout is not None
        try:
            line = await asyncio.wait_for(self.process.stdout.readline(), seconds)
        except TimeoutError:
            raise ChildBroke(f"{self.name} printed nothing for {seconds:g} s.\n{self.end_of_log()}") from None
        if not line:
            raise ChildBroke(f"{self.name} ended.\n{self.end_of_log()}")
        return line.decode().strip()

    async def ask(self, text: str) -> str:
        """Send a line and give the one that answers it."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{text}\n".encode())
        return await self.line()

    def cpu(self) -> float:
        """CPU seconds so far."""
        times = self.usage.cpu_times()
        return float(times.user + times.system)

    def memory(self) -> float:
        """Resident memory in MB."""
        return float(self.usage.memory_info().rss) / 1024 / 1024

    def end_of_log(self) -> str:
        """The last lines of its standard error."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-LOG_LINES:])

    async def end(self) -> None:
        """SIGTERM, and SIGKILL where that does nothing. Raises ChildBroke in the second case."""
        if self.process.returncode is not None:
            return
        self.process.terminate()
        try:
            await asyncio.wait_for(self.process.wait(), END_SECONDS)
        except TimeoutError:
            self.process.kill()
            await self.process.wait()
            told = f"{self.name} did not end within {END_SECONDS:g} s of SIGTERM.\n{self.end_of_log()}"
            raise ChildBroke(told) from None


@contextlib.asynccontextmanager
async def child(folder: Path, module: str, *arguments: str, env: dict[str, str] | None = None) -> AsyncIterator[Child]:
    """`python -m MODULE ARGUMENTS`, ended on leaving. Its log goes into `folder`."""
    log = folder / f"{module}.log"
    with log.open("ab") as errors:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", module, *arguments),
            cwd=ROOT,
            env={**os.environ, **(env or {})},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
        )
    started = Child(process, psutil.Process(process.pid), module, log)
    try:
        yield started
    finally:
        await started.end()


async def output(*arguments: str) -> str:
    """What a Python process prints that ends by itself. Raises ChildBroke if it fails."""
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments, cwd=ROOT, stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    if process.returncode:
        raise ChildBroke(f"{' '.join(arguments)} failed with {process.returncode}")
    return out.decode()
