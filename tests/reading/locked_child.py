"""What code inside the reading process gets when it tries to leave it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from specialists.sandbox.confine import claim_stdout


def main() -> None:
    reply = claim_stdout()
    request = json.load(sys.stdin)
    tries: dict[str, Callable[[], object]] = {
        "connect": lambda: socket.create_connection(("127.0.0.1", request["port"])),
        "resolve": lambda: socket.getaddrinfo("localhost", 80),
        "run": lambda: subprocess.run(["true"], check=True),  # noqa: S607
        "fork": os.fork,
        "write": lambda: Path(request["folder"], "left.txt").write_text("x", encoding="utf-8"),
    }
    with reply:
        reply.write(json.dumps({name: _run_attempt(each) for name, each in tries.items()}).encode())


def _run_attempt(attempt: Callable[[], object]) -> str:
    try:
        attempt()
    except OSError as error:
        return type(error).__name__
    return "done"
