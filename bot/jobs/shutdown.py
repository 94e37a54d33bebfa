"""The way out of a process: told to stop at any moment, all of it ends within one bound, whatever hangs."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

log = logging.getLogger(__name__)

ENDS_IN = 1.7
"""Seconds that everything gets to end by itself."""
CUT_OFF = 0.1
"""Seconds between two cancellations of what did not: a library may swallow one, and cleaning up may hang as well."""
CUTS = 3


class Told:
    """Whether, and since when, we are told to stop. `ready`: what runs then ends by itself, and is not cancelled."""

    def __init__(self) -> None:
        self.ready = False
        self._event = asyncio.Event()

    def listen(self) -> None:
        """Hear SIGTERM, Ctrl-C and the closing of the terminal from now on."""
        hear(self._event.set)

    async def wait(self) -> None:
        """Return once we are."""
        await self._event.wait()


def hear(told: Callable[[], object], *, ctrl_c: bool = True) -> None:
    """Call it at SIGTERM, at Ctrl-C (unless that is left to asyncio), and at SIGHUP: the terminal was closed.

    Not at a SIGHUP that we were started to ignore, as by nohup.
    """
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGHUP, *([signal.SIGINT] if ctrl_c else ())):
        if name != signal.SIGHUP or signal.getsignal(name) is not signal.SIG_IGN:
            loop.add_signal_handler(name, told)


async def until_told() -> None:
    """Return when we are told to stop."""
    told = Told()
    told.listen()
    await told.wait()


async def run_until_told(life: Callable[[Told], Coroutine[Any, Any, None]]) -> None:
    """Run it until it ends, or until we are told to stop; then give it `ENDS_IN` seconds and cut off what is left.

    Before it is `Told.ready` it is cancelled instead. What it raises is raised, but not where that may come of it.
    """
    told, around = Told(), asyncio.all_tasks()
    told.listen()
    living = asyncio.create_task(life(told))
    telling = asyncio.create_task(told.wait())
    await asyncio.wait({living, telling}, return_when=asyncio.FIRST_COMPLETED)
    telling.cancel()
    if living.done():
        living.result()
        return
    early = not told.ready
    if early:
        living.cancel()
    await asyncio.wait({living}, timeout=ENDS_IN)
    if not living.done():
        await _cut_off(lambda: asyncio.all_tasks() - around)
    if living.done() and not living.cancelled() and (error := living.exception()) is not None and not early:
        raise error


async def _cut_off(rest: Callable[[], Iterable[asyncio.Task[Any]]]) -> None:
    log.warning("not all of it ended within %g s; what the store was not told, it finds when leases run out", ENDS_IN)
    for _ in range(CUTS):
        alive = [task for task in rest() if not task.done()]
        for task in alive:
            task.cancel()
        if alive:
            await asyncio.wait(alive, timeout=CUT_OFF)
