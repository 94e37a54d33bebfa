"""Runs one of our modules in a process of its own: what may crash, hang or eat memory does so there.

The request goes in as JSON on stdin, the reply comes back on stdout. The child
has its own session, an almost empty environment and an empty folder to stand in.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from specialists.toolkits.scratch import scratch

Failure = Literal["", "time", "cpu", "crash", "too_much"]

_ROOT = Path(__file__).parents[2]
_PIECE = 64 * 1024
_BOOT = "import sys, importlib; sys.path.append(sys.argv[1]); importlib.import_module(sys.argv[2]).main()"
_STDERR_TAIL = 4000
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ChildReply:
    """A child's reply. `failure` is empty if the child ended well, else why there is no output.

    `time`: the wall-clock deadline passed. `cpu`: it used up its processor time.
    `too_much`: it wrote more than asked for. `crash`: anything else, out of memory included.
    """

    output: bytes = b""
    failure: Failure = ""


async def run_child(
    module: str,
    request: Mapping[str, Any],
    *,
    deadline: float,
    largest_reply: int,
    environment: Mapping[str, str] | None = None,
) -> ChildReply:
    """Run `main()` of a module with the request. Ends the child on cancellation too.

    Args:
        module: dotted name of a module of ours. Its `main` reads stdin and writes stdout.
        request: anything that JSON can carry.
        deadline: wall-clock seconds for all of it.
        largest_reply: bytes of stdout that are accepted.
        environment: variables beside the few that every child gets.
    """
    folder = Path(tempfile.mkdtemp(prefix="leadhand-", dir=scratch()))
    try:
        async with _started(module, folder, dict(environment or {})) as process:
            try:
                async with asyncio.timeout(deadline):
                    output, errors = await _exchange(process, json.dumps(request).encode(), largest_reply)
                    code = await process.wait() if output is not None else 0
            except TimeoutError:
                return ChildReply(failure="time")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if output is None:
        return ChildReply(failure="too_much")
    if code == 0:
        return ChildReply(output=output)
    log.warning("%s ended with code %s (%s)", module, code, _kind_of_error(errors))
    return ChildReply(failure="cpu" if code == -signal.SIGXCPU else "crash")


@contextlib.asynccontextmanager
async def _started(module: str, folder: Path, extra: dict[str, str]) -> AsyncIterator[asyncio.subprocess.Process]:
    environment = {"PATH": os.defpath, "LANG": "C.UTF-8", "TZ": "UTC", "HOME": str(folder)}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        # -I: neither the environment nor the current folder can bring in code. Our own root comes last.
        *("-I", "-c", _BOOT, str(_ROOT), module),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=folder,
        env=environment | {"TMPDIR": str(folder)} | extra,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            # Its own session: the group's id is the child's own, and holds nobody else.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


async def _exchange(process: asyncio.subprocess.Process, request: bytes, largest: int) -> tuple[bytes | None, bytes]:
    """Read all of stdout (None if it is longer than `largest` bytes) and the end of stderr."""
    if process.stdin is None or process.stdout is None or process.stderr is None:
        raise RuntimeError("the child was started without pipes")
    errors = asyncio.ensure_future(_tail(process.stderr))
    try:
        with contextlib.suppress(ConnectionError):  # it died before it read everything: its exit code says why
            process.stdin.write(request)
            await process.stdin.drain()
        process.stdin.close()
        output = bytearray()
        while piece := await process.stdout.read(_PIECE):
            output += piece
            if len(output) > largest:
                return None, b""
        return bytes(output), await errors
    finally:
        errors.cancel()


async def _tail(stream: asyncio.StreamReader) -> bytes:
    tail = b""
    while piece := await stream.read(_PIECE):
        tail = (tail + piece)[-_STDERR_TAIL:]
    return tail


def _kind_of_error(errors: bytes) -> str:
    """Name the exception it died of. Its text may quote a person's file, so it is not logged."""
    lines = errors.decode(errors="replace").strip().splitlines()
    return lines[-1].split(":")[0][:80] if lines else "no message"
