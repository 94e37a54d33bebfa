"""The process that starts commands: it has what they import, and forks for each `python -m MODULE ARGUMENTS`.

What runs is the command itself: its `__main__`, in an environment, a folder
and with outputs of its own, and it ends as Python ends. Only what it imports
is there already, which is most of the time that a start takes. A few tests
start each command as people do, from nothing.

A connection is a command: its first message tells which, with standard output
and error beside it. Back come its pid and, once it has ended, its status (a
signal as a negative number). With standard input closed, all are killed.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import struct
import sys
import tempfile
from typing import Any

IMPORTED_MODULES = (
    *(
        "bot.command_line.check",
        "bot.command_line.serve",
        "bot.command_line.try_out",
        "bot.models.rehearsal.rehearsal",
        "bot.models.openai_chat",
    ),
    *(
        "bot.team_bot",
        "bot.jobs.instance",
        "bot.workspace.message_text",
        "bot.store.embedded",
        "bot.store.redis.redis_store",
    ),
)
"""What the commands import, as far as most of them do."""
SDKS = {
    "ANTHROPIC_API_KEY": ("anthropic.resources.messages",),
    "OPENAI_API_KEY": ("openai.resources.responses", "openai.resources.chat.completions", "httpcore2"),
}
"""What those import besides that have such a setting: a provider's SDK takes a second, once and not for each."""
LARGEST = 1 << 20
NUMBER = struct.Struct("!q")
"""How a pid or a status is told."""


def serve(listener: socket.socket) -> None:
    """Fork for each connection, and tell of each end. Returns in a fork alone, which then is that command."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    alive: dict[int, socket.socket] = {}
    gc.freeze()  # what is imported stays shared between all commands
    while True:
        ready, _, _ = select.select([sys.stdin.fileno(), woken, listener], [], [])
        if woken in ready:
            os.read(woken, 4096)
            _tell_ends(alive)
        if listener in ready:
            line, _ = listener.accept()
            told, outputs, _, _ = socket.recv_fds(line, LARGEST, 2)
            if not told:  # whoever asked was ended before it had said what for
                line.close()
                continue
            start = json.loads(told)
            _import_sdks(start["env"])
            if not (pid := os.fork()):
                os.close(woken)
                os.close(wake)
                for other in (listener, line, *alive.values()):
                    other.close()
                _become(start, *outputs)
                return
            for output in outputs:
                os.close(output)
            alive[pid] = line
            _tell(line, pid)
        if sys.stdin.fileno() in ready:
            for pid in alive:
                os.kill(pid, signal.SIGKILL)
            os._exit(0)


def _import_sdks(env: dict[str, str]) -> None:
    for setting, names in SDKS.items():
        if setting in env and names[0] not in sys.modules:
            for name in names:
                importlib.import_module(name)
            gc.freeze()


def _tell_ends(alive: dict[int, socket.socket]) -> None:
    while alive:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        with alive.pop(pid) as line:
            _tell(line, os.waitstatus_to_exitcode(status))


def _tell(line: socket.socket, number: int) -> None:
    """Tell a number to whoever asked, if it still waits: a test that was ended must not end the commands of others."""
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        line.sendall(NUMBER.pack(number))


def _become(start: dict[str, Any], out: int, err: int) -> None:
    """Be a process that has just begun, but for its imports."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored by what a shell starts in the background
    with open(os.devnull) as nothing:  # noqa: PTH123 - a device
        os.dup2(nothing.fileno(), 0)
    for given, number in ((out, 1), (err, 2)):
        os.dup2(given, number)
        os.close(given)
    sys.stdin, sys.stdout = open(0), open(1, "w")  # noqa: SIM115 - buffered as befits what they are now
    os.chdir(start["folder"])
    os.environ.clear()
    os.environ.update(start["env"])
    tempfile.tempdir = None  # it follows from the environment
    sys.argv = ["", *start["arguments"]]


if __name__ == "__main__":
    for name in IMPORTED_MODULES:
        importlib.import_module(name)
    with socket.socket(fileno=int(sys.argv[1])) as here:
        serve(here)
    module, *sys.argv[1:] = sys.argv[1:]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
