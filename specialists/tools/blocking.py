"""Runs blocking work in threads with a time limit. The caller continues when time is up, even if the thread hangs."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from threading import Lock, Thread
from typing import TypeVar

IMPORT_TIMEOUT_SECONDS = 120.0
"""Seconds that importing modules may take, even on a busy machine."""
_T = TypeVar("_T")
_imported_modules: set[str] = set()
_import_lock = Lock()


async def run_in_thread(work: Callable[[], _T], seconds: float) -> _T:
    """Run `work` in its own thread and return its result, waiting at most `seconds`.

    The thread is a daemon: if it hangs, it blocks neither the event loop nor the exit of the process.

    Raises:
        TimeoutError: `work` took longer. Exceptions that `work` raises pass through.
    """
    future: Future[_T] = Future()
    Thread(target=_run_into_future, args=(future, work), daemon=True).start()
    async with asyncio.timeout(seconds):
        return await asyncio.wrap_future(future)


async def import_in_thread(*modules: str) -> None:
    """Import modules in a thread, so that the event loop is not blocked while a large library loads.

    Code that imports from these modules afterwards finds them fully loaded. Looking into `sys.modules` would not be
    enough: a module stands there while a thread still loads it.
    """
    if not _imported_modules.issuperset(modules):
        await run_in_thread(lambda: _import_modules(modules), IMPORT_TIMEOUT_SECONDS)


def _import_modules(modules: Iterable[str]) -> None:
    """Import modules under a lock: two threads that import parts of one library at once see it half loaded."""
    with _import_lock:
        for name in modules:
            importlib.import_module(name)
    _imported_modules.update(modules)


def _run_into_future(future: Future[_T], work: Callable[[], _T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001  # nothing is hidden: the waiting side raises it
        future.set_exception(error)
