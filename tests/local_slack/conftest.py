"""The command as people start it, and the page's own requests to act in it."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest

from tests.patience import patience

ROOT = Path(__file__).parents[2]
APPS = Path(__file__).parent / "apps"
Json = dict[str, Any]


class Running:
    """A started command: what it printed, and a person who acts on its page."""

    def __init__(self, process: asyncio.subprocess.Process, session: aiohttp.ClientSession) -> None:
        self.process, self._session = process, session
        self.lines: list[str] = []
        self.me = self._base = self._token = ""
        self.channels: dict[str, str] = {}

    async def read_until(self, stream: asyncio.StreamReader, start: str) -> None:
        """Read lines up to the one that starts so."""
        while not (self.lines and self.lines[-1].startswith(start)):
            line = await asyncio.wait_for(stream.readline(), patience())
            assert line, "\n".join(self.lines)
            self.lines.append(line.decode().rstrip("\n"))

    async def open_page(self) -> None:
        """Take the page's token and who is there."""
        address = urlsplit(next(line for line in self.lines if line.startswith("Page:")).removeprefix("Page:").strip())
        self._base, self._token = f"http://{address.netloc}", parse_qs(address.query)["token"][0]
        headers = {"X-Workspace-Token": self._token}
        async with self._session.ws_connect(f"{self._base}/local/live", headers=headers) as live:
            hello = await live.receive_json()
        self.me = hello["me"]
        self.channels = {each["name"]: each["id"] for each in hello["workspace"]["channels"]}

    async def post(self, name: str, **body: Any) -> Json:
        """Do one thing that the page does, as ana."""
        headers = {"X-Workspace-Token": self._token}
        async with self._session.post(
            f"{self._base}/local/{name}", json={"as": self.me, **body}, headers=headers
        ) as answer:
            done: Json = await answer.json()
        assert done["ok"], done
        return done

    async def answers(self, text: str, count: int = 1) -> list[Json]:
        """Say something in #general, and wait for that many replies in its thread."""
        said = await self.post("say", channel=self.channels["general"], text=text)
        async with asyncio.timeout(patience()):
            while True:
                assert self.process.returncode is None, "it ended"
                thread = await self.post("thread", channel=self.channels["general"], ts=said["ts"])
                if len(thread["messages"]) > count:
                    return list(thread["messages"])
                await asyncio.sleep(0.1)

    async def stop(self, number: int = signal.SIGINT) -> int:
        """Press Ctrl-C. Returns the exit code."""
        self.process.send_signal(number)
        return await asyncio.wait_for(self.process.wait(), patience())


Start = Callable[..., Awaitable[Running]]


def clean_environment() -> dict[str, str]:
    """This environment without what would lead an app to a Slack, and with a proxy that reaches nothing."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLACK_", "LEADHAND_"))}
    return {**kept, "HTTPS_PROXY": "http://127.0.0.1:9"}


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """Start `python -m bot.workspace`: `await start("--manifest", path, "--", "python", "app.py")`."""
    started: list[Running] = []
    async with aiohttp.ClientSession() as session:

        async def start(*arguments: str | Path, module: str = "bot.workspace", **options: Any) -> Running:
            words = [str(each) for each in arguments]
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", module, *words),
                cwd=options.get("cwd", ROOT),
                env={**clean_environment(), "PYTHONPATH": str(ROOT), **options.get("env", {})},
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                preexec_fn=options.get("before"),
            )
            running = Running(process, session)
            started.append(running)
            stream = process.stderr if "--" in words else process.stdout
            assert stream is not None
            await running.read_until(stream, "Ctrl-C")
            await running.open_page()
            return running

        yield start
        for running in started:
            if running.process.returncode is None:
                running.process.terminate()
                await running.process.wait()
