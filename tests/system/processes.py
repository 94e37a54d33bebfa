"""Bots in processes of their own, which tests may freeze and end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from bot.settings import VARIABLES
from bot.workspace.workspace_server import Workspace
from tests.nursery import forked
from tests.patience import eventually, patience
from tests.store.kit import until

PATIENCE = patience(60)
"""Seconds that a process gets to start, or to end, on a busy machine."""


@dataclass(frozen=True)
class BotProcess:
    """A bot, and what it logs: one JSON object a line."""

    process: asyncio.subprocess.Process | forked.ForkedCommand
    log: Path

    def records(self, event: str = "") -> list[dict[str, Any]]:
        """What it has logged so far; those of one `event` if that is named."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]
        return [line for line in lines if not event or line.get("event") == event]

    def at(self, words: str) -> float:
        """When it logged a message that begins so; seconds since the epoch."""
        found = next(each for each in self.records() if each["message"].startswith(words))
        return datetime.fromisoformat(found["time"]).timestamp()

    async def wait_for_record(self, event: str) -> dict[str, Any]:
        """The first record of that event."""
        return (await eventually(lambda: self.records(event)))[0]

    def freeze(self) -> None:
        """Stop it in the middle of whatever it does."""
        self.process.send_signal(signal.SIGSTOP)
        state = Path(f"/proc/{self.process.pid}/stat")
        until(lambda: state.read_text().rsplit(")", 1)[1].split()[0] == "T", "it does not freeze")

    def wake(self) -> None:
        """Let it go on."""
        self.process.send_signal(signal.SIGCONT)

    async def end(self) -> tuple[int, float]:
        """Tell it to end: its exit code, and the seconds that it took."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        code = await asyncio.wait_for(self.process.wait(), PATIENCE)
        return code, time.monotonic() - began


def make_environment(workspace: Workspace, redis_url: str, data: Path, **more: str) -> dict[str, str]:
    """Return the environment of a bot in that workspace, on that store. `more` are further settings."""
    settings = {
        "SLACK_BOT_TOKEN": workspace.bot_token,
        "SLACK_APP_TOKEN": workspace.app_token,
        "SLACK_API_URL": workspace.api_url,
        "REDIS_URL": redis_url,
        "LEADHAND_DATA": str(data),
        "LEADHAND_OPERATION": "off",
        "LEADHAND_LOG": "json",
        "OLLAMA_HOST": "127.0.0.1:9",
        **more,
    }
    return {name: value for name, value in os.environ.items() if name not in VARIABLES} | settings


@asynccontextmanager
async def bot_process(
    workspace: Workspace, redis_url: str, folder: Path, *, command: Sequence[str] = (), **more: str
) -> AsyncIterator[BotProcess]:
    """A bot in that workspace, on that store, once it listens. `more` are further settings.

    It is forked with its imports there already, unless it has a `command` of its own, for Python.
    """
    log = folder / "log"
    with log.open("wb") as lines:
        env, pipe = make_environment(workspace, redis_url, folder, **more), subprocess.PIPE
        process = (
            await asyncio.create_subprocess_exec(sys.executable, *command, env=env, stdout=pipe, stderr=lines)
            if command
            else await forked.start("bot", "run", env=env, out=pipe, err=lines.fileno())
        )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE):
            assert b"listening" in await process.stdout.readline(), log.read_text()[-2000:]
        yield BotProcess(process, log)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
