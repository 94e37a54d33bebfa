"""Tests what a sandboxed child can reach on this machine, by having a child try to get out."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from specialists.sandbox.child_process import ChildLimits, run_child
from specialists.sandbox.kernel_walls import SCOPES_SINCE, WALLS, Wall

NAMES: Mapping[Wall, str] = {"namespace": "namespaces", "landlock": "Landlock", "seccomp": "seccomp"}


class ChildBroken(Exception):
    """No child could run, so nothing that people attach or link can be read. The text says how it ended."""


@dataclass(frozen=True, slots=True)
class WallReport:
    """The sandbox layers that are active in a child on this machine, and what the child reached.

    Attributes:
        standing: The active layers.
        landlock: The version of Landlock on this system, 0 for none.
        reached: What the child reached though it should not, each in a few words; () if nothing.
    """

    standing: frozenset[Wall]
    landlock: int
    reached: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """True if all layers are active, as LEADHAND_SANDBOX=required demands."""
        return self.standing == set(WALLS)

    @property
    def missing(self) -> tuple[str, ...]:
        """The names of the missing layers, and of a Landlock that is too old to confine signals."""
        named = [NAMES[wall] for wall in WALLS if wall not in self.standing]
        if "landlock" in self.standing and self.landlock < SCOPES_SINCE:
            named.append(f"the rules of Landlock {SCOPES_SINCE} (it is version {self.landlock} here)")
        return tuple(named)


async def prove_walls() -> WallReport:
    """Have a child try to get out. Returns what it reached and its active layers. Raises ChildBroken."""
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
                "specialists.sandbox.wall_proof_child",
                request,
                limits=ChildLimits(memory_mb=500, cpu_seconds=5),
                deadline=20.0,
                largest_reply=10_000,
                trial=True,
            )
    if reply.failure:
        raise ChildBroken(reply.failure)
    told = json.loads(reply.output)
    return WallReport(frozenset(told["standing"]), told["landlock"], tuple(told["reached"]))


async def _hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()
