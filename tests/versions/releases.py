"""Releases of the bot as processes, and what is asked of them together."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from bot.settings import VARIABLES
from tests.nursery import forked
from tests.patience import patience
from tests.providers.server import ProviderServer
from tests.system.scene import Scene

ROOT = Path(__file__).parents[2]
PRESENT, NEXT = "bot", "tests.versions.next_release"


@dataclass
class Release:
    """A running one. `log` is the file with all that it said."""

    process: asyncio.subprocess.Process | forked.ForkedCommand
    log: Path

    def cpu(self) -> float:
        """CPU seconds so far."""
        times = psutil.Process(self.process.pid).cpu_times()
        return float(times.user + times.system)

    async def stop(self) -> None:
        """SIGTERM; it must end cleanly."""
        self.process.send_signal(signal.SIGTERM)
        code = await asyncio.wait_for(self.process.wait(), patience())
        said = self.log.read_text()
        assert code == 0, said
        assert "Traceback" not in said, said

    def kill(self) -> None:
        """Where a test failed."""
        if self.process.returncode is None:
            self.process.kill()


class Fleet:
    """Starts releases on one store, in one workspace, with one provider behind them."""

    def __init__(self, scene: Scene, provider: ProviderServer, folder: Path) -> None:
        self._folder = folder
        self._releases: list[Release] = []
        self._env = {name: value for name, value in os.environ.items() if name not in VARIABLES} | {
            "SLACK_BOT_TOKEN": scene.workspace.bot_token,
            "SLACK_APP_TOKEN": scene.workspace.app_token,
            "SLACK_API_URL": scene.workspace.api_url,
            "REDIS_URL": scene.url,
            "OPENAI_BASE_URL": provider.openai_url,
            "LEADHAND_LEASE": "5",
            "LEADHAND_SLACK_UNLIMITED": "1",
            "LEADHAND_OPERATION": "off",
            "PYTHONPATH": str(ROOT),
        }

    async def start(self, module: str) -> Release:
        """Start one, and return when it listens."""
        log = self._folder / f"{len(self._releases)}-{module}.log"
        with log.open("wb") as out:
            if module == PRESENT:
                process = await forked.start(module, "run", env=self._env, out=out.fileno(), err=out.fileno())
            else:  # it has to come before anything of `bot` is imported
                process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", module, "run"),
                    cwd=ROOT,
                    env=self._env,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                )
        release = Release(process, log)
        self._releases.append(release)
        deadline = time.monotonic() + patience(300)  # processes that start beside many others are slow
        while "listening" not in log.read_text():
            assert process.returncode is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            await asyncio.sleep(0.05)
        return release

    def end(self) -> None:
        """Leave nothing behind."""
        for release in self._releases:
            release.kill()
