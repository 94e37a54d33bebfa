"""The process that starts bots: it has everything imported, and forks one for each line that it is told.

A fork is a process like any other, which is there at once even on a busy
machine. A line on standard input is a JSON object. On standard output come
`started PID`, and `ended PID STATUS` (a signal as a negative number). Once
standard input is closed, all are killed.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any

IMPORTED_MODULES = (
    *("bot.jobs.material_gathering", "bot.jobs.request_material", "bot.supervisor.planner", "bot.supervisor.replanner"),
    *(f"bot.supervisor.{role}" for role in ("dispatcher", "refiner", "synthesizer", "verifier")),
    *("encodings.utf_8_sig", "slack_bolt.listener_matcher.async_builtins"),
)
"""What a bot imports only once it has work: a third of what the short life of one takes."""
Life = Callable[[dict[str, Any]], int]
"""What a bot does with the object of its line, until it ends with an exit status."""


def serve(life: Life) -> None:
    """Fork for each line, and tell of each end, until standard input is closed."""
    for name in IMPORTED_MODULES:
        importlib.import_module(name)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    alive: set[int] = set()
    gc.freeze()  # what is imported stays shared between all bots
    while True:
        ready, _, _ = select.select([sys.stdin.fileno(), woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            _tell_ends(alive)
        if sys.stdin.fileno() in ready:
            line = _line()
            if not line:
                break
            alive.add(_fork(life, json.loads(line)))
    for pid in alive:
        os.kill(pid, signal.SIGKILL)


def _line() -> bytes:
    """One line, read byte by byte: what a buffer held back, `select` would not tell of."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(sys.stdin.fileno(), 1)
        if not byte:
            return b""
        line += byte
    return line


def _tell_ends(alive: set[int]) -> None:
    """Say which bots have ended, and strike them off."""
    while alive:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        alive.discard(pid)
        _tell(f"ended {pid} {os.waitstatus_to_exitcode(status)}")


def _fork(life: Life, start: dict[str, Any]) -> int:
    pid = os.fork()
    if pid:
        _tell(f"started {pid}")
        return pid
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        code = life(start)
    except BaseException:  # noqa: BLE001 - it must never go on as a copy of the process that forks
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _tell(line: str) -> None:
    os.write(sys.stdout.fileno(), f"{line}\n".encode())
