"""How long a test waits at most for what must come: a bound that only a fault reaches, longer on a slower machine.

Nothing that works waits so long. `conftest.py` measures once, before the first test, how much slower all cores of this
machine are now than those the bounds were chosen on, and passes it on to workers and child processes.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

WALL, PROCESSOR = "TESTS_SLOWDOWN", "TESTS_SLOW_CORES"
QUICK = 0.36
"""Seconds that `WORK` takes on each core of a quick machine at rest, all cores at once."""
WORK = "import time; t = time.perf_counter(); sum(n * n for n in range(3_000_000)); "
WORK += "print(time.perf_counter() - t, time.process_time())"


SHARED_FACTOR = 3.0
"""How many times longer work may take beside other work, which is there after the measurement."""


def slowdown() -> float:
    """Return how many times longer than on a quick machine work takes here; at least 1."""
    return float(os.environ.get(WALL, "1"))


def slow_cores() -> float:
    """Return how many times more processor seconds than on a quick machine work takes here; at least 1."""
    return float(os.environ.get(PROCESSOR, "1"))


def patience(seconds: float = 60.0) -> float:
    """Return that many seconds of a quick machine to itself, in seconds of this one beside other work."""
    return SHARED_FACTOR * seconds * slowdown()


async def eventually(look: Callable[[], Awaitable[T] | T], seconds: float | None = None) -> T:
    """Wait for the first true value of a look, which may be async. Raises TimeoutError after `patience()`."""
    deadline, pause = time.monotonic() + (patience() if seconds is None else seconds), 0.01
    while True:
        found = look()
        value = await found if isinstance(found, Awaitable) else found
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimeoutError("it never came true")
        await asyncio.sleep(pause)
        pause = min(1.5 * pause, 0.05)


def count_cores() -> int:
    """Return how many cores this process may use. Not every system has nproc."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def count_workers() -> int:
    """Return how many workers run the tests: three a core, eight at most; fewer where it is more than twice slower."""
    measure_slowdown()
    cores = count_cores()
    return max(int(min(3 * cores, 8) * 2 / max(2.0, slowdown())), min(cores, 2))


def measure_slowdown() -> None:
    """Measure both, on all cores at once, and keep them in the environment for this process and those it starts."""
    if WALL in os.environ:
        return
    cores = count_cores()
    at_once = [subprocess.Popen([sys.executable, "-IS", "-c", WORK], stdout=subprocess.PIPE) for _ in range(cores)]
    took = [[float(part) for part in process.communicate()[0].split()] for process in at_once]
    for name, seconds in zip((WALL, PROCESSOR), map(max, zip(*took, strict=True)), strict=True):
        os.environ[name] = f"{max(1.0, seconds / QUICK):.2f}"


if __name__ == "__main__":
    print(count_workers())  # noqa: T201 - for the Makefile
