"""Told to stop, a bot ends in time and in order: whatever hangs, and however far its start had come."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.chaos.proxy import Proxy
from tests.store.kit import tcp_server
from tests.system.brains import Gate, plan, provider, result, subtask
from tests.system.processes import PATIENCE, bot_process, make_environment
from tests.system.scene import Scene, open_empty_store, scene_on

ONE = plan(subtask("only", "writer"))
GENEROUS = 4.0
"""Seconds from `stopping` to `stopped` on a machine that is busy: a call to a silent store takes nine."""


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    """A server for this test alone."""
    with tcp_server(tmp_path / "redis", "--save", "") as made:
        yield made


@pytest.fixture
async def lone(port: int) -> AsyncIterator[Scene]:
    """A scene on that server."""
    async with scene_on(f"redis://127.0.0.1:{port}") as made:
        store = await open_empty_store(made.url)
        yield replace(made, store=store, prefix="lh")
        await store.close()


async def test_a_store_in_a_black_hole_holds_nobody_up(lone: Scene, port: int, tmp_path: Path) -> None:
    gate = Gate(result("Written."))
    async with provider(planner=lambda _: ONE, writer=gate) as server, Proxy(port) as proxy:
        url, base = f"redis://127.0.0.1:{proxy.port}", server.openai_url
        async with bot_process(lone.workspace, url, tmp_path, OPENAI_BASE_URL=base) as bot:
            talk = await lone.ask("Do it")
            await gate.arrival_event.wait()
            await talk.wait_until_seen(talk.cards)
            proxy.shut()
            gate.open()  # what is reported now cannot be committed
            await lone.ask("Do something else")  # nor can this be recorded
            code, _ = await bot.end()
            told, over = (bot.at(words) for words in ("stopping", "stopped"))
            text = bot.log.read_text()
    assert code == 0, text
    assert over - told < GENEROUS, text
    assert not trouble(text), text


async def start(lone: Scene, folder: Path, redis_url: str, **more: str) -> asyncio.subprocess.Process:
    """A bot that is not waited for."""
    settings = {"LEADHAND_MODEL": "rehearsal", "LEADHAND_LOG": "text", **more}
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot", "run"),
        env=make_environment(lone.workspace, redis_url, folder / "data", **settings),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )


async def ends(process: asyncio.subprocess.Process) -> str:
    """Tell it to end: it does, with 0 and without a word of trouble. Gives what it said."""
    process.send_signal(signal.SIGTERM)
    try:
        said, _ = await asyncio.wait_for(process.communicate(), PATIENCE)
    except TimeoutError:
        process.kill()
        raise
    text = said.decode()
    assert process.returncode == 0, text
    assert not trouble(text), text
    return text


def trouble(output_text: str) -> list[str]:
    """Words of what was not brought to an end."""
    return [word for word in ("Traceback", "Unclosed", "never retrieved", "destroyed") if word in output_text]


@contextlib.asynccontextmanager
async def silent() -> AsyncIterator[tuple[str, asyncio.Event]]:
    """A server that takes a connection and says nothing; told of by the event."""
    called, lines = asyncio.Event(), []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines.append(writer)
        called.set()
        await reader.read()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}", called
    finally:
        server.close()
        for line in lines:
            line.transport.abort()


@pytest.mark.parametrize("far", ["store", "Slack"])
async def test_told_at_its_start_it_ends_as_well(lone: Scene, tmp_path: Path, far: str) -> None:
    async with silent() as (address, called):
        store = f"redis://{address}" if far != "Slack" else lone.url
        slack = {"SLACK_API_URL": f"http://{address}/api/"} if far == "Slack" else {}
        process = await start(lone, tmp_path, store, **slack)
        async with asyncio.timeout(PATIENCE):
            await called.wait()
        said = await ends(process)
    assert "listening" not in said


async def test_told_while_its_modules_are_read_it_ends_as_well(lone: Scene, tmp_path: Path) -> None:
    process = await start(lone, tmp_path, lone.url)
    async with asyncio.timeout(PATIENCE):
        while not catches(process.pid, signal.SIGTERM):  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.005)
    said = await ends(process)
    assert "listening" not in said


def catches(process: int, number: int) -> bool:
    """Whether a process has a handler for a signal, as Linux tells."""
    status = Path(f"/proc/{process}/status").read_text()
    mask = next(line for line in status.splitlines() if line.startswith("SigCgt")).split()[1]
    return bool(int(mask, 16) >> (number - 1) & 1)
