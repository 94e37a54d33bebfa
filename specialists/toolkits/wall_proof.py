"""Proves on this machine what a child that reads people's files can reach, by having one try."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from pathlib import Path

from specialists.toolkits.child_process import Limits, run_child


class ChildBroken(Exception):
    """No child ran, so nothing that people attach or link can be read. The text says how it ended."""


async def reached_by_children() -> tuple[str, ...]:
    """Return what a child reached that is none of its business; nothing where all walls stand. Raises ChildBroken."""
    with tempfile.TemporaryDirectory(prefix="leadhand-") as name:
        folder = Path(name)
        (folder / "file").write_bytes(b"x")
        port = await asyncio.start_server(_hang_up, "127.0.0.1", 0)
        door = await asyncio.start_unix_server(_hang_up, folder / "door")
        async with port, door:
            request = {
                "parent": os.getpid(),
                "port": port.sockets[0].getsockname()[1],
                "socket": str(folder / "door"),
                "file": str(folder / "file"),
            }
            reply = await run_child(
                "specialists.toolkits.wall_proof_child",
                request,
                limits=Limits(memory_mb=500, cpu_seconds=5),
                deadline=20.0,
                largest_reply=10_000,
            )
    if reply.failure:
        raise ChildBroken(reply.failure)
    return tuple(json.loads(reply.output))


async def _hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()
