"""`leadhand try` as a newcomer starts it, in a process of its own, and a browser."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest_asyncio

from tests.patience import patience
from tests.workspace_page.browser import browser, chromium, open_page

__all__ = ["browser", "chromium", "open_page"]

ROOT = Path(__file__).parents[2]
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/\?token=\S+")
KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "REDIS_URL")


@dataclass(frozen=True)
class Try:
    """A running `leadhand try`: what it printed until it was ready, and the page's address."""

    output: str
    address: str


@pytest_asyncio.fixture(loop_scope="session")
async def leadhand_try(tmp_path: Path) -> AsyncIterator[Try]:
    """`leadhand try` on a fresh data folder, ended by Ctrl-C."""
    env = {name: value for name, value in os.environ.items() if name not in KEYS}
    env |= {"LEADHAND_DATA": str(tmp_path / "data"), "LEADHAND_MODEL": "rehearsal"}
    command = (sys.executable, "-m", "bot", "try", "--port", "0", "--no-browser")
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, env=env, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    said = ""
    while "Ctrl-C" not in said:
        line = await asyncio.wait_for(process.stdout.readline(), patience())
        assert line, f"it ended early: {said}"
        said += line.decode()
    found = ADDRESS.search(said)
    assert found, said
    yield Try(said, found[0])
    process.send_signal(signal.SIGINT)
    assert await asyncio.wait_for(process.wait(), patience()) == 0
