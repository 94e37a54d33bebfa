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
from specialists.sandbox.kernel_layers import SANDBOX_LAYERS, SCOPES_SINCE_VERSION, SandboxLayer

LAYER_NAMES: Mapping[SandboxLayer, str] = {"namespace": "namespaces", "landlock": "Landlock", "seccomp": "seccomp"}


class ChildFailed(Exception):
    """No child could run, so nothing that people attach or link can be read. The text says how it ended."""


@dataclass(frozen=True, slots=True)
class SandboxReport:
    """The sandbox layers that are active in a child on this machine, and what the child reached.

    Attributes:
        active_layers: The active layers.
        landlock_version: The version of Landlock on this system, 0 for none.
        reached_targets: What the child reached though it should not, each in a few words; () if nothing.
    """

    active_layers: frozenset[SandboxLayer]
    landlock_version: int
    reached_targets: tuple[str, ...]

    @property
    def is_complete(self) -> bool:
        """True if all layers are active, as LEADHAND_SANDBOX=required demands."""
        return self.active_layers == set(SANDBOX_LAYERS)

    @property
    def missing_layers(self) -> tuple[str, ...]:
        """The names of the missing layers, and of a Landlock that is too old to confine signals."""
        names = [LAYER_NAMES[wall] for wall in SANDBOX_LAYERS if wall not in self.active_layers]
        if "landlock" in self.active_layers and self.landlock_version < SCOPES_SINCE_VERSION:
            names.append(f"the rules of Landlock {SCOPES_SINCE_VERSION} (it is version {self.landlock_version} here)")
        return tuple(names)


async def probe_sandbox() -> SandboxReport:
    """Have a child try to get out. Returns what it reached and its active layers. Raises ChildFailed."""
    with tempfile.TemporaryDirectory(prefix="leadhand-") as name:
        folder = Path(name)
        (folder / "file").write_bytes(b"x")
        tcp_server = await asyncio.start_server(_close_connection, "127.0.0.1", 0)
        unix_server = await asyncio.start_unix_server(_close_connection, folder / "door")
        async with tcp_server, unix_server:
            request = {
                "parent": os.getpid(),
                "port": tcp_server.sockets[0].getsockname()[1],
                "socket": str(folder / "door"),
                "file": str(folder / "file"),
            }
            reply = await run_child(
                "specialists.sandbox.sandbox_probe_child",
                request,
                limits=ChildLimits(memory_mb=500, cpu_seconds=5),
                timeout_seconds=20.0,
                max_reply_bytes=10_000,
                is_trial=True,
            )
    if reply.failure:
        raise ChildFailed(reply.failure)
    report_fields = json.loads(reply.output)
    return SandboxReport(
        frozenset(report_fields["standing"]), report_fields["landlock"], tuple(report_fields["reached"])
    )


async def _close_connection(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()
