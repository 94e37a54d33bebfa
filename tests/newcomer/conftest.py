"""`leadhand try` as a newcomer starts it, in a process of its own, and a browser."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.nursery import forked
from tests.patience import patience
from tests.workspace_page.browser import browser, chromium, open_page

__all__ = ["browser", "chromium", "open_page"]

ROOT = Path(__file__).parents[2]
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/\?token=\S+")
KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "REDIS_URL")


class Try:
    """A running `leadhand try`: `said` is what it printed until it was ready."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._starts = 0
        self.said = ""
        self.address = ""
        self.process: asyncio.subprocess.Process | forked.Forked | None = None

    async def start(self) -> None:
        """Start it and wait for the page's address. A second start has its imports there already."""
        env = {name: value for name, value in os.environ.items() if name not in KEYS}
        env |= {"LEADHAND_DATA": str(self._data), "LEADHAND_MODEL": "rehearsal"}
        command = ("bot", "try", "--port", "0", "--no-browser")
        self._starts += 1
        if self._starts == 1:
            self.process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", *command), cwd=ROOT, env=env, stdout=asyncio.subprocess.PIPE
            )
        else:
            self.process = await forked.start(*command, env=env, out=asyncio.subprocess.PIPE)
        assert self.process.stdout is not None
        self.said = ""
        while "Ctrl-C" not in self.said:
            line = await asyncio.wait_for(self.process.stdout.readline(), patience())
            assert line, f"it ended early: {self.said}"
            self.said += line.decode()
        found = ADDRESS.search(self.said)
        assert found, self.said
        self.address = found[0]

    async def stop(self) -> int:
        """Press Ctrl-C; the exit code."""
        assert self.process is not None
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGINT)
        return await asyncio.wait_for(self.process.wait(), patience())


@pytest_asyncio.fixture(loop_scope="session")
async def leadhand_try(tmp_path: Path) -> AsyncIterator[Try]:
    """`leadhand try` on a fresh data folder."""
    running = Try(tmp_path / "data")
    await running.start()
    yield running
    await running.stop()
