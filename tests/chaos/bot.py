"""Starts instances: `leadhand run` as it is, with the run's own tools beside those of the catalogue.

Everything is imported once, and each instance is a fork: a process like any
other, which is there at once even on a busy machine. A line on standard input
is `{"env": {...}, "log": PATH}`. On standard output come `started PID`, and
`ended PID STATUS` (a signal as a negative number). Once standard input is
closed, all are killed.
"""

from __future__ import annotations

import gc
import json
import os
import random
import select
import signal
import sys
import traceback
from typing import Any

import openai.resources.chat.completions
import redis.asyncio
import slack_bolt.adapter.socket_mode.aiohttp

import bot.app
import bot.models.openai_chat
import bot.serve
from bot.__main__ import main
from specialists.toolkits import catalogue
from specialists.toolkits.fetch import FetchSettings
from specialists.toolkits.search import SearchSettings
from specialists.toolkits.tool import Tool
from tests.chaos.toolkit import tools

IMPORTED = (openai.resources.chat.completions, redis.asyncio, slack_bolt.adapter.socket_mode.aiohttp, bot.serve)
"""What an instance would import one by one when it starts."""


def with_ours(search: SearchSettings | None = None, fetch: FetchSettings | None = None) -> dict[str, Tool]:
    """All tools there are, and ours."""
    return {**catalogue.all_tools(search, fetch), **{tool.name: tool for tool in tools()}}


def serve() -> None:
    """Fork for each line, and tell of each end, until standard input is closed."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    alive: set[int] = set()
    gc.freeze()  # what is imported stays shared between all instances
    while True:
        ready, _, _ = select.select([sys.stdin.fileno(), woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            _tell_ends(alive)
        if sys.stdin.fileno() in ready:
            line = _line()
            if not line:
                break
            alive.add(_fork(**json.loads(line)))
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
    while alive:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        alive.discard(pid)
        _tell(f"ended {pid} {os.waitstatus_to_exitcode(status)}")


def _fork(env: dict[str, str], log: str) -> int:
    pid = os.fork()
    if pid:
        _tell(f"started {pid}")
        return pid
    code: Any = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(file, sys.stdout.fileno())
        os.dup2(file, sys.stderr.fileno())
        os.environ.update(env)
        random.seed()
        code = main(["run"])
    except BaseException:  # noqa: BLE001 - it must never go on as a copy of the process that forks
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _tell(line: str) -> None:
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


if __name__ == "__main__":
    bot.app.all_tools = with_ours  # type: ignore[attr-defined]  # the one place where a crew's tools come from
    serve()
