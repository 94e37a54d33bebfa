"""The shutdown of a process: after the stop signal everything ends within one time limit, even if a task hangs."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

log = logging.getLogger(__name__)

SHUTDOWN_SECONDS = 1.7
"""Seconds that the program gets to end by itself."""
CANCEL_PAUSE_SECONDS = 0.1
"""Seconds between two cancellations of tasks still running: a library may swallow one, and cleanup may hang too."""
MAX_CANCELS = 3
"""How many times tasks still running are cancelled."""


class StopSignal:
    """The signal to stop this process.

    A program sets `is_ready` once it can end by itself. A signal before that cancels the program.
    """

    def __init__(self) -> None:
        self.is_program_ready = False
        self._stop_event = asyncio.Event()

    def listen(self) -> None:
        """Handle SIGTERM, Ctrl-C and the closing of the terminal from now on."""
        call_on_stop_signal(self._stop_event.set)

    async def wait(self) -> None:
        """Wait until the signal is received."""
        await self._stop_event.wait()


def call_on_stop_signal(callback: Callable[[], object], *, ctrl_c: bool = True) -> None:
    """Call `callback` at SIGTERM, at SIGHUP (the terminal was closed) and, unless asyncio is to handle it, at Ctrl-C.

    A SIGHUP that we were started to ignore, as by nohup, stays ignored.
    """
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGHUP, *([signal.SIGINT] if ctrl_c else ())):
        if name != signal.SIGHUP or signal.getsignal(name) is not signal.SIG_IGN:
            loop.add_signal_handler(name, callback)


async def wait_for_stop() -> None:
    """Wait until this process is told to stop."""
    stop = StopSignal()
    stop.listen()
    await stop.wait()


async def run_until_stopped(program: Callable[[StopSignal], Coroutine[Any, Any, None]]) -> None:
    """Run the program to its end. After a stop signal, wait `SHUTDOWN_SECONDS`, then cancel all tasks still running.

    If `StopSignal.is_ready` is not set when the signal comes, the program is cancelled at once, and its exceptions are
    ignored. Otherwise an exception of the program is raised.
    """
    stop_signal, outer_tasks = StopSignal(), asyncio.all_tasks()
    stop_signal.listen()
    running = asyncio.create_task(program(stop_signal))
    wait_task = asyncio.create_task(stop_signal.wait())
    await asyncio.wait({running, wait_task}, return_when=asyncio.FIRST_COMPLETED)
    wait_task.cancel()
    if running.done():
        running.result()
        return
    was_cancelled = not stop_signal.is_program_ready
    if was_cancelled:
        running.cancel()
    await asyncio.wait({running}, timeout=SHUTDOWN_SECONDS)
    if not running.done():
        await _cancel_remaining_tasks(lambda: asyncio.all_tasks() - outer_tasks)
    if running.done() and not running.cancelled() and (error := running.exception()) is not None and not was_cancelled:
        raise error


async def _cancel_remaining_tasks(list_remaining: Callable[[], Iterable[asyncio.Task[Any]]]) -> None:
    text = "not all of it ended within %g s; what the store was not told, it finds when leases run out"
    log.warning(text, SHUTDOWN_SECONDS)
    for _ in range(MAX_CANCELS):
        alive = [task for task in list_remaining() if not task.done()]
        for task in alive:
            task.cancel()
        if alive:
            await asyncio.wait(alive, timeout=CANCEL_PAUSE_SECONDS)
