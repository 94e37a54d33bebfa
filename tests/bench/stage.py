"""What a benchmark needs around the bot: a provider's server, an embedded Redis, the workspace, the bot's process."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.app import manifest_path
from bot.store.embedded import start_embedded, stop_embedded
from bot.workspace.workspace_server import Workspace
from handoff.contracts import Place
from tests.bench.child import Child, ChildBroke, child
from tests.bench.scenario import REQUEST

ANSWER_SECONDS = 30.0
"""A job without an answer after so long is reported as a failure of the benchmark."""


@contextlib.asynccontextmanager
async def provider(
    data: Path, latency_ms: float, slow: str = "", factor: float = 1.0, script: str = "six"
) -> AsyncIterator[str]:
    """The scripted server in its own process; gives the address for OpenAI's SDK."""
    arguments = ["--latency-ms", str(latency_ms), "--script", script]
    if slow:
        arguments += ["--slow", slow, "--slow-factor", str(factor)]
    async with child(data, "tests.providers.server", *arguments) as server:
        yield f"http://127.0.0.1:{await server.line()}/v1"


@dataclass(slots=True)
class Stage:
    """A running bot in its workspace."""

    workspace: Workspace
    bot: Child

    async def job(self, channel: str = "#general") -> float:
        """One job from mention to answer; the seconds that it took. Raises ChildBroke where none comes."""
        start = time.perf_counter()
        ts = await self.workspace.person("ana").say(channel, f"@leadhand {REQUEST}")
        try:
            await self.workspace.until(lambda: self.answer(channel, ts), timeout=ANSWER_SECONDS)
        except TimeoutError:
            raise ChildBroke(await self._silence(channel, ts)) from None
        return time.perf_counter() - start

    async def settled(self) -> None:
        """Wait until what follows an answer (the card's end, the session's status, the lease) is done as well."""
        idle = 0
        seen = self.bot.cpu()
        while idle < 3:
            await asyncio.sleep(0.1)
            now = self.bot.cpu()
            idle, seen = (idle + 1 if now == seen else 0), now

    async def _silence(self, channel: str, ts: str) -> str:
        thread = self.workspace.thread(channel, ts)
        lines = [f"  {one['ts']} {one.get('user')}: {str(one.get('text'))[:200]!r}" for one in thread]
        begin = f"a job had no answer after {ANSWER_SECONDS:g} s; its thread:"
        return "\n".join([begin, *lines, "the bot's log and tasks:", await self.bot.tell()])

    def answer(self, channel: str, ts: str) -> dict[str, Any] | None:
        """The answer's message, once it is whole."""
        for message in self.workspace.thread(channel, ts)[1:]:
            payload = (message.get("metadata") or {}).get("event_payload", {})
            if str(payload.get("key", "")).endswith(":answer") and not message.get("streaming"):
                return message
        return None

    def place(self, channel: str, ts: str) -> Place:
        """Where a job lives."""
        return Place(team=self.workspace.team_id, channel=self.workspace.channel_id(channel), thread_ts=ts)


def settings_of(workspace: Workspace, url: str, model_url: str, **env: str) -> dict[str, str]:
    """The environment of a bot in a workspace, on the store at `url`; `env` is added to it."""
    return {
        "SLACK_BOT_TOKEN": workspace.bot_token,
        "SLACK_APP_TOKEN": workspace.app_token,
        "SLACK_API_URL": workspace.api_url,
        "REDIS_URL": url,
        "OPENAI_API_KEY": "bench",
        "OPENAI_BASE_URL": model_url,
        "LEADHAND_MODEL": "openai",
        **env,
    }


@contextlib.asynccontextmanager
async def stage(data: Path, model_url: str, **env: str) -> AsyncIterator[Stage]:
    """The bot at work, with persistence and Slack posting on, and Slack's rate limits off on both sides."""
    data = Path(tempfile.mkdtemp(dir=data))  # a store belongs to one workspace
    url = await start_embedded(data)
    try:
        workspace = await Workspace.start(manifest_path(), rate_limits=False)
        try:
            settings = settings_of(workspace, url, model_url, LEADHAND_SLACK_UNLIMITED="1", **env)
            async with child(data, "tests.bench.bot", env=settings) as bot:
                await bot.line()
                yield Stage(workspace, bot)
        finally:
            await workspace.stop()
    finally:
        await stop_embedded(data)
