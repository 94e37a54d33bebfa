"""Blocking work with a deadline: the caller goes on when time is up, whatever the thread does."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from threading import Lock, Thread
from typing import TypeVar

LOADING = 120.0
"""Seconds that importing modules may take, on a machine that has other work."""
_T = TypeVar("_T")
_loaded: set[str] = set()
_one_at_a_time = Lock()


async def run_in_thread(work: Callable[[], _T], seconds: float) -> _T:
    """Run `work` in a thread of its own and wait at most `seconds` for it.

    The thread is a daemon: one that hangs is left behind, and holds up neither the loop nor the exit.

    Raises:
        TimeoutError: It took longer. What `work` raises passes through.
    """
    future: Future[_T] = Future()
    Thread(target=_settle, args=(future, work), daemon=True).start()
    async with asyncio.timeout(seconds):
        return await asyncio.wrap_future(future)


async def load(*modules: str) -> None:
    """Import modules in a thread, unless they are there: a large library takes seconds, and the loop goes on meanwhile.

    Whoever imports from them afterwards, on the loop, finds them loaded whole. That a module is in `sys.modules` would
    not be enough: a thread may still be loading it.
    """
    if not _loaded.issuperset(modules):
        await run_in_thread(lambda: _import(modules), LOADING)


def _import(modules: Iterable[str]) -> None:
    """Import modules while no other thread does: two that import parts of one library at once see it half loaded."""
    with _one_at_a_time:
        for name in modules:
            importlib.import_module(name)
    _loaded.update(modules)


def _settle(future: Future[_T], work: Callable[[], _T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001  # nothing is hidden: the waiting side raises it
        future.set_exception(error)
