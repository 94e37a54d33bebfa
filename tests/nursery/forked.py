"""The test's side of the process that starts commands: one for all tests of a worker, from the first that needs it."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.nursery.commands import NUMBER

ROOT = Path(__file__).parents[2]


class ForkedCommand:
    """A command that runs. As `asyncio.subprocess.Process`, as far as tests need it."""

    def __init__(self, line: socket.socket, stdout: asyncio.StreamReader | None = None) -> None:
        self._line = line
        (self.pid,) = NUMBER.unpack(line.recv(NUMBER.size, socket.MSG_WAITALL))
        line.setblocking(False)
        self._status: int | None = None
        self.stdout = stdout

    @property
    def returncode(self) -> int | None:
        """Its exit status, a signal as a negative number. None while it runs."""
        if self._status is None:
            with contextlib.suppress(BlockingIOError):
                self._take(self._line.recv(NUMBER.size))
        return self._status

    async def wait(self) -> int:
        """The exit status, once it has ended."""
        while (status := self.returncode) is None:
            self._take(await asyncio.get_running_loop().sock_recv(self._line, NUMBER.size))
        return status

    async def communicate(self) -> tuple[bytes, None]:
        """The rest of what it says, until it has ended."""
        rest = await self.stdout.read() if self.stdout is not None else b""
        await self.wait()
        return rest, None

    def send_signal(self, number: int) -> None:
        """Send a signal, if it still runs."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it, if it still runs."""
        self.send_signal(signal.SIGKILL)

    def _take(self, status_bytes: bytes) -> None:
        assert status_bytes, "the process that starts commands has ended"
        (self._status,) = NUMBER.unpack(status_bytes)
        self._line.close()


async def start(*arguments: str, env: Mapping[str, str], out: int, err: int = 2, folder: Path = ROOT) -> ForkedCommand:
    """Start `python -m ARGUMENTS`. `out` and `err` are where its outputs go, or `subprocess.PIPE` and `STDOUT`."""
    if out != subprocess.PIPE:
        return ForkedCommand(_fork(arguments, env, folder, out, out if err == subprocess.STDOUT else err))
    read, write = os.pipe()
    stdout = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stdout), os.fdopen(read, "rb", 0)
    )
    try:
        return ForkedCommand(_fork(arguments, env, folder, write, write if err == subprocess.STDOUT else err), stdout)
    finally:
        os.close(write)


def run(*arguments: str, env: Mapping[str, str], folder: Path, patience: float) -> subprocess.CompletedProcess[str]:
    """Run `python -m ARGUMENTS` to its end, and until nobody holds its outputs any more, as `subprocess.run` does."""
    (out, out_end), (err, err_end) = os.pipe(), os.pipe()
    forked = ForkedCommand(_fork(arguments, env, folder, out_end, err_end))
    os.close(out_end)
    os.close(err_end)
    with ThreadPoolExecutor(2) as pool:
        reading = [pool.submit(_all, each) for each in (out, err)]
        try:
            said = [each.result(patience) for each in reading]
        except TimeoutError:
            forked.kill()
            raise
    return subprocess.CompletedProcess(arguments, asyncio.run(forked.wait()), *said)


def _all(pipe: int) -> str:
    with os.fdopen(pipe, encoding="utf-8") as lines:
        return lines.read()


def _fork(arguments: tuple[str, ...], env: Mapping[str, str], folder: Path, out: int, err: int) -> socket.socket:
    line = socket.socket(socket.AF_UNIX)
    line.connect(_server())
    told = {"arguments": arguments, "env": dict(env), "folder": str(folder)}
    socket.send_fds(line, [json.dumps(told).encode()], [out, err])
    return line


@functools.cache
def _server() -> str:
    """The address of that process, which ends with this one."""
    folder = tempfile.mkdtemp(prefix="forks-")
    address = f"{folder}/socket"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        command = [sys.executable, "-m", "tests.nursery.commands", str(listener.fileno())]
        process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, pass_fds=[listener.fileno()])

    @atexit.register
    def end() -> None:
        process.communicate()
        shutil.rmtree(folder)

    return address
