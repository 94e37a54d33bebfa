"""Passes changes of the workspace on to the pages that show them and to the tests that wait for one."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")
MAX_RECENT_CHANGES = 8
POLL_SECONDS = 0.2
"""Seconds after which a predicate is called again without a change: it may use state outside the workspace."""


@dataclass(frozen=True)
class Change:
    """One change that people can see.

    `body` is the JSON that the page gets. `channel` limits it to the members
    of a channel and `user` to one person; if both are None, everybody gets it.
    """

    body: dict[str, Any]
    channel: str | None = None
    user: str | None = None


class ChangePublisher:
    """Passes every change to the watchers, and wakes the callers that wait for one."""

    def __init__(self) -> None:
        self.watchers: set[Callable[[Change], None]] = set()
        self._waiting_futures: set[asyncio.Future[None]] = set()
        self._recent: deque[str] = deque(maxlen=MAX_RECENT_CHANGES)

    def publish(self, change: Change) -> None:
        """Pass a change to the watchers, and wake the callers that wait."""
        self._recent.append(_summarize_change(change))
        self.notify_watchers(change)
        self.wake_waiters()

    def notify_watchers(self, change: Change) -> None:
        """Pass a change to the watchers, without waking the callers that wait."""
        for watcher in tuple(self.watchers):
            watcher(change)

    def wake_waiters(self) -> None:
        """Call every waiting predicate again, after a change that the page does not show."""
        for future in self._waiting_futures:
            if not future.done():
                future.set_result(None)
        self._waiting_futures.clear()

    async def wait_until(self, predicate: Callable[[], T], timeout: float) -> T:  # noqa: ASYNC109  # part of the public call
        """Wait until `predicate` returns something true, and return that.

        Args:
            predicate: Called at once, after each change and every `POLL_SECONDS`.
            timeout: Seconds to wait at most.

        Raises:
            TimeoutError: It returned nothing true in time; the text has its last value and the last changes.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        while True:
            is_last = loop.time() >= deadline
            value = predicate()
            if value:
                return value
            if is_last:
                recent_changes = "\n  ".join(self._recent) or "nothing"
                raise TimeoutError(
                    f"not true within {timeout:g} s; last value {value!r:.500}; last changes:\n  {recent_changes}"
                )
            future: asyncio.Future[None] = loop.create_future()
            self._waiting_futures.add(future)
            try:
                await asyncio.wait({future}, timeout=min(POLL_SECONDS, max(0.0, deadline - loop.time())))
            finally:
                self._waiting_futures.discard(future)


def _summarize_change(change: Change) -> str:
    body = change.body
    message = body.get("message")
    what = message.get("text", "") if isinstance(message, dict) else {k: v for k, v in body.items() if k != "type"}
    return f"{body.get('type')}: {what!r:.160}"
