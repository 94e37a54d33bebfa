"""The child that tries to get out of the sandbox, for `wall_proof`. It calls the C library, past Python's audit hooks.

Input: `{"parent", "port", "socket", "file"}`: a process id, a port on loopback, the path of a Unix socket, and a file
that it was not given. Output: `{"standing", "landlock", "reached"}`, see `wall_proof.SandboxReport`.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import struct
import sys
from typing import Any

from specialists.sandbox.confine import active_layers, claim_stdout
from specialists.sandbox.kernel_layers import SCOPES_SINCE_VERSION, read_landlock_version

_INET, _UNIX, _STREAM = 2, 1, 1
_F_SETOWN = 8


def main() -> None:
    """Answer the request on stdin."""
    request = json.load(sys.stdin)
    reply = claim_stdout()
    with reply:
        report = {
            "standing": sorted(active_layers),
            "landlock": read_landlock_version(),
            "reached": _list_reached_targets(request),
        }
        reply.write(json.dumps(report).encode())


def _list_reached_targets(request: dict[str, Any]) -> list[str]:
    libc = ctypes.CDLL(None, use_errno=True)
    loopback = struct.pack("=H", _INET) + struct.pack(">H", request["port"]) + bytes([127, 0, 0, 1]) + bytes(8)
    local = struct.pack("=H", _UNIX) + os.fsencode(request["socket"]) + b"\0"
    is_reached_by_target = {
        "the network": _can_connect(libc, _INET, loopback),
        "sockets of this machine": _can_connect(libc, _UNIX, local),
        "the bot's environment": _can_read(f"/proc/{request['parent']}/environ"),
        "other files": _can_read(request["file"]),
        "the modes, owners and times of other files": libc.chmod(os.fsencode(request["file"]), 0o600) == 0,
        "other processes": libc.kill(request["parent"], 0) == 0,
        "signals to other processes": _can_signal(libc, request["parent"]),
        "other programs": _can_fork(libc),
    }
    return [what for what, is_reached in is_reached_by_target.items() if is_reached]


def _can_connect(libc: ctypes.CDLL, family: int, address: bytes) -> bool:
    descriptor = libc.socket(family, _STREAM, 0)
    return bool(
        descriptor >= 0
        and libc.connect(descriptor, ctypes.create_string_buffer(address, len(address)), len(address)) == 0
    )


def _can_read(path: str) -> bool:
    with contextlib.suppress(OSError), open(path, "rb") as file:  # noqa: PTH123 - the shortest way
        return bool(file.read(1))
    return False


def _can_signal(libc: ctypes.CDLL, process: int) -> bool:
    """Return True if the kernel can be made to send another process a signal, as it does when a pipe has data."""
    are_signals_confined = "landlock" in active_layers and read_landlock_version() >= SCOPES_SINCE_VERSION
    end, _ = os.pipe()
    return not are_signals_confined and libc.fcntl(end, _F_SETOWN, process) == 0


def _can_fork(libc: ctypes.CDLL) -> bool:
    process = int(libc.fork())
    if process == 0:
        os._exit(0)
    return process > 0
