"""A store whose calls are counted, and which notes when the instance last looked for work."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from bot.operation.metrics import Metrics
from bot.store.interface import Claim, Commit, PayloadTooLarge, Store, StoreError

Call = Callable[..., Awaitable[Any]]
LOOKING = frozenset({"claim", "next_due", "full"})
"""The calls that an instance makes again and again while it looks for work."""

MOST_CLAIMS = 1000
"""Claims that we remember until their first commit."""


class Heartbeat:
    """The time at which the instance last looked for work. `last` is in seconds on the monotonic clock."""

    def __init__(self) -> None:
        self.last = time.monotonic()

    def age(self) -> float:
        """Return the seconds since then."""
        return time.monotonic() - self.last


def metered_store(store: Store, metrics: Metrics, heartbeat: Heartbeat) -> Store:
    """Wrap the store: the same methods, each call counted."""
    return cast("Store", _MeteredStore(store, metrics, heartbeat))


class _MeteredStore:
    """Passes every call on. A method is wrapped when it is first used, and kept."""

    def __init__(self, store: Store, metrics: Metrics, heartbeat: Heartbeat) -> None:
        self._store = store
        self._metrics = metrics
        self._heartbeat = heartbeat
        self._claimed: dict[str, float] = {}
        self._seen: Mapping[str, Callable[[tuple[Any, ...], Any], None]] = {
            "claim": self._after_claim,
            "commit": self._after_commit,
            "release": self._after_release,
            "set_aside": self._after_set_aside,
            "reinstate": self._after_reinstate,
        }

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if not inspect.ismethod(found):
            return found
        if inspect.iscoroutinefunction(found):
            found = self._wrapped(name, found)
        setattr(self, name, found)
        return found

    def _wrapped(self, name: str, call: Call) -> Call:
        seen, looking = self._seen.get(name), name in LOOKING

        @functools.wraps(call)
        async def counted(*given: Any, **named: Any) -> Any:
            if looking:
                self._heartbeat.last = time.monotonic()
            try:
                answer = await call(*given, **named)
            except PayloadTooLarge:
                raise  # the caller's fault, and no trouble of the store's
            except StoreError:
                self._metrics.store_failed(name)
                raise
            if seen is not None:
                seen(given, answer)
            return answer

        return counted

    def _after_claim(self, _: tuple[Any, ...], claim: Claim | None) -> None:
        if claim is not None:
            self._metrics.claimed()
            self._claimed[claim.owner] = time.monotonic()
            if len(self._claimed) > MOST_CLAIMS:  # a job that was lost before its first commit is never heard of again
                del self._claimed[next(iter(self._claimed))]

    def _after_commit(self, given: tuple[Any, ...], outcome: Commit) -> None:
        self._metrics.committed(outcome.value)
        began = self._claimed.pop(given[0].owner, None)
        if began is not None and outcome in {Commit.OK, Commit.DUP}:
            self._metrics.first_commit(time.monotonic() - began)

    def _after_release(self, given: tuple[Any, ...], done: bool) -> None:  # noqa: FBT001 - the answer of a call
        self._claimed.pop(given[0].owner, None)
        if done:
            self._metrics.event("let_go")

    def _after_set_aside(self, given: tuple[Any, ...], done: bool) -> None:  # noqa: FBT001 - the same
        del done  # counted from the record that `bot.jobs.quarantine` logs
        self._claimed.pop(given[0].owner, None)

    def _after_reinstate(self, given: tuple[Any, ...], done: bool) -> None:  # noqa: FBT001 - the same
        del given
        if done:
            self._metrics.event("released")
