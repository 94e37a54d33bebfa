"""`leadhand try` with its page: it starts, stops with all that belongs to it, and shows the same threads again."""

import asyncio
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from bot.command_line.try_out import _start_workspace
from bot.store.embedded import is_server_running
from tests.command_line.command import PATIENCE, Running, environment, leadhand, processes_in

PAGE = ("try", "--port", "0", "--no-browser")


class Page:
    """The page's own way in: its address with the token, and who we are there."""

    def __init__(self, session: aiohttp.ClientSession, base: str, me: str, channel: str) -> None:
        self._session, self._base, self._me, self._channel = session, base, me, channel

    @classmethod
    @asynccontextmanager
    async def open(cls, running: Running) -> AsyncIterator["Page"]:
        """Open the page that a command has printed the address of, in #general."""
        line = await running.says("Page:")
        found = re.search(r"(http://127\.0\.0\.1:\d+)/\?token=(\S+)", line)
        assert found, line
        async with aiohttp.ClientSession(headers={"X-Workspace-Token": found[2]}) as session:
            async with session.ws_connect(f"{found[1]}/local/live") as live:
                hello = await live.receive_json()
            (general,) = [each["id"] for each in hello["workspace"]["channels"] if each["name"] == "general"]
            yield cls(session, found[1], hello["me"], general)

    async def post(self, name: str, **body: Any) -> Any:
        body = {"as": self._me, "channel": self._channel, **body}
        async with self._session.post(f"{self._base}/local/{name}", json=body) as response:
            answer = await response.json()
        assert answer["ok"], answer
        return answer

    async def texts(self) -> list[str]:
        """What the channel shows, threads left out."""
        return [message["text"] for message in (await self.post("history"))["messages"]]

    async def replies(self, ts: str) -> list[Any]:
        return list((await self.post("thread", ts=ts))["messages"][1:])

    async def until(self, ts: str, words: str) -> list[Any]:
        """The replies of a thread, once one of them has these words."""
        async with asyncio.timeout(PATIENCE):
            while words not in str(replies := await self.replies(ts)):  # noqa: ASYNC110 - it is another process
                await asyncio.sleep(0.05)
        return replies


async def test_stopping_loses_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    env = environment(
        tmp_path, LEADHAND_REHEARSAL_PACE="2", REDIS_URL="redis://127.0.0.1:9", SLACK_BOT_TOKEN="xoxb-not"
    )
    first = await Running.start(*PAGE, env=env, afresh=True)
    async with Page.open(first) as page:
        await first.says("Ctrl-C")
        assert "rehearsal (no language model)" in first.out
        ts = (await page.post("say", text="<@leadhand> @leadhand what is (17 + 3) * 23?"))["ts"]
        await page.until(ts, "'type': 'plan'")
        said = await page.texts()
        twice = await asyncio.to_thread(leadhand, *PAGE, env=env)
    assert twice.code == 1
    assert "running already with the data in" in twice.err
    assert await first.stop(signal.SIGINT) == 0
    assert not is_server_running(tmp_path / "try")
    assert processes_in(tmp_path) == []

    second = await Running.start(*PAGE, env={**env, "LEADHAND_REHEARSAL_PACE": "0"})
    async with Page.open(second) as page:
        assert await page.texts() == said
        replies = await page.until(ts, "rehearsal (no language model)")
        assert len([reply for reply in replies if "rehearsal (no language model)" in str(reply)]) == 1
        assert len([reply for reply in replies if "'type': 'plan'" in str(reply)]) == 1
    # Where the tests run below nohup, what they start ignores the signal, as it should.
    hangs_up = signal.getsignal(signal.SIGHUP) != signal.SIG_IGN
    assert await second.stop(signal.SIGHUP if hangs_up else signal.SIGTERM) == 0, "as where the terminal is closed"
    assert processes_in(tmp_path) == []


async def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = str(server.sockets[0].getsockname()[1])
    env = environment(tmp_path)
    ended = await asyncio.to_thread(leadhand, "try", "--port", port, "--no-browser", env=env)
    server.close()
    assert ended.code == 1
    assert f"port {port} cannot be used (Address already in use)" in ended.err
    assert "--port" in ended.err
    assert processes_in(tmp_path) == []


async def test_the_usual_port_gives_way_where_it_is_taken() -> None:
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    workspace = await _start_workspace(None, port, is_port_fixed=False)
    try:
        assert f":{port}/" not in workspace.page_url
    finally:
        await workspace.stop()
        server.close()


async def test_a_data_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ended = await asyncio.to_thread(leadhand, *PAGE, env=environment(tmp_path / "file"))
    assert ended.code == 1
    assert "LEADHAND_DATA" in ended.err


async def test_a_signal_in_the_middle_of_a_job_leaves_nothing(tmp_path: Path) -> None:
    env = environment(tmp_path, LEADHAND_REHEARSAL_PACE="30", TMPDIR=str(tmp_path))
    running = await Running.start("try", "--ask", "Write a note.", env=env)
    await running.says("@leadhand Write a note.")
    assert processes_in(tmp_path) != []
    assert await running.stop(signal.SIGTERM) == 130
    assert processes_in(tmp_path) == []
