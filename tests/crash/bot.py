"""The process that starts bots: it has everything imported, and forks one for each line that it is told.

A line on standard input is a `Start` as JSON. On standard output come
`started PID`, and `ended PID STATUS` (a signal as a negative number).
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import select
import signal
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path

from bot.app import running
from bot.serve import connected
from bot.settings import Settings
from handoff.store.redis import RedisStore
from specialists.registry import load_crew
from tests.crash.points import Passages
from tests.crash.proxies import WatchedModel, watched_slack, watched_store, watched_tools
from tests.crash.scenarios import SCENARIOS, PlayedModel, tools

CREW = Path(__file__).parent / "crew"


@dataclass(frozen=True)
class Start:
    """A bot to be started.

    `crash_at` names the passage at which it dies, none if empty. `later` is by how many seconds the store's clock is
    ahead for it, so that it need not wait for an earlier bot's lease and calls. `passages` is the file
    for names, and `far_side` that for what its tools write.
    """

    scenario: str
    bot_token: str
    app_token: str
    api_url: str
    store_url: str
    prefix: str
    passages: str
    far_side: str
    crash_at: str = ""
    later: float = 0.0


async def work(start: Start) -> None:
    """Be that bot, until killed."""
    passages = Passages(Path(start.passages), start.crash_at)
    settings = Settings(
        env={},
        bot_token=start.bot_token,
        app_token=start.app_token,
        slack_api_url=start.api_url,
        slack_unlimited=True,
    )
    store = await RedisStore.connect(start.store_url, prefix=start.prefix, clock_offset_ms=round(start.later * 1000))
    model = WatchedModel(PlayedModel(SCENARIOS[start.scenario]), passages)
    crew = load_crew(CREW, watched_tools(tools(Path(start.far_side)), passages))
    with watched_slack(passages):
        async with (
            watched_store(store, passages) as watched,
            running(settings, watched, model, crew, looks=(0.0,)) as app,
            connected(app.bolt, settings),
        ):
            await asyncio.Event().wait()


def serve() -> None:
    """Fork for each line, and tell of each end, until standard input is closed."""
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
            tell_ends(alive)
        if sys.stdin.fileno() in ready:
            line = _line()
            if not line:
                break
            alive.add(_fork(Start(**json.loads(line))))
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


def tell_ends(alive: set[int]) -> None:
    """Say which bots have ended, and strike them off."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        alive.discard(pid)
        _tell(f"ended {pid} {os.waitstatus_to_exitcode(status)}")


def _fork(start: Start) -> int:
    pid = os.fork()
    if pid:
        _tell(f"started {pid}")
        return pid
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    code = 0
    try:
        asyncio.run(work(start))
    except BaseException:  # noqa: BLE001 - it must never go on as a copy of the process that forks
        traceback.print_exc()
        code = 1
    finally:
        sys.stderr.flush()
        os._exit(code)


def _tell(line: str) -> None:
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


if __name__ == "__main__":
    serve()
