"""The store, with what goes through it counted, and a note of when its instance last looked for work."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from bot.operation.metrics import Metrics
from bot.store.interface import Claim, Commit, PayloadTooLarge, StoreError
from bot.store.redis.redis_store import Store

Call = Callable[..., Awaitable[Any]]
Seen = Callable[[tuple[Any, ...], Any], None]
"""Told of a call: what it was given, and its answer."""
LOOKING = frozenset({"jobs.claim", "jobs.next_due", "full"})
"""The calls that an instance makes again and again while it looks for work."""
MOST_CLAIMS = 1000
"""Claims whose first commit is waited for."""


class Heartbeat:
    """The time at which the instance last looked for work. `last` is in seconds on the monotonic clock."""

    def __init__(self) -> None:
        self.last = time.monotonic()

    def age(self) -> float:
        """Seconds since then."""
        return time.monotonic() - self.last


def metered_store(store: Store, metrics: Metrics, heartbeat: Heartbeat) -> Store:
    """Give the same store, with what goes through it counted."""
    jobs = _JobCounts(metrics)
    parts = {
        "jobs": _Metered(store.jobs, metrics, heartbeat, name="jobs.", seen=jobs.seen),
        "outbox": _Metered(store.outbox, metrics, heartbeat, name="outbox."),
        "blobs": _Metered(store.blobs, metrics, heartbeat, name="blobs."),
        "schedules": _Metered(store.schedules, metrics, heartbeat, name="schedules."),
        "settings": _Metered(store.settings, metrics, heartbeat, name="settings."),
        "memories": _Metered(store.memories, metrics, heartbeat, name="memories."),
        "sign_ins": _Metered(store.sign_ins, metrics, heartbeat, name="sign_ins."),
        "installations": _Metered(store.installations, metrics, heartbeat, name="installations."),
        "audit": _Metered(store.audit, metrics, heartbeat, name="audit."),
        "board": _Metered(store.board, metrics, heartbeat, name="board."),
        "homes": _Metered(store.homes, metrics, heartbeat, name="homes."),
    }
    return cast("Store", _Metered(store, metrics, heartbeat, parts=parts))


class _Metered:
    """A store or a part of one. Passes every call on; methods are wrapped when they are first asked for, and kept.

    Errors are counted under the name of the part and the method. `seen` is told of answers, `parts` stand in for those
    of the store.
    """

    def __init__(
        self,
        of: object,
        metrics: Metrics,
        heartbeat: Heartbeat,
        *,
        name: str = "",
        seen: Mapping[str, Seen] | None = None,
        parts: Mapping[str, object] | None = None,
    ) -> None:
        self._of = of
        self._metrics = metrics
        self._heartbeat = heartbeat
        self._name = name
        self._seen = seen or {}
        self.__dict__.update(parts or {})

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._of, name)
        if not inspect.ismethod(found):
            return found
        if inspect.iscoroutinefunction(found):
            found = self._meter_call(name, found)
        setattr(self, name, found)
        return found

    def _meter_call(self, name: str, call: Call) -> Call:
        seen, looking = self._seen.get(name), self._name + name in LOOKING

        @functools.wraps(call)
        async def counted(*given: Any, **named: Any) -> Any:
            if looking:
                self._heartbeat.last = time.monotonic()
            try:
                answer = await call(*given, **named)
            except PayloadTooLarge:
                raise  # the caller's fault, and no trouble of the store's
            except StoreError:
                self._metrics.store_failed(self._name + name)
                raise
            if seen is not None:
                seen(given, answer)
            return answer

        return counted


class _JobCounts:
    """Counts of what was done with jobs, by the answers of the store."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._claimed: dict[str, float] = {}
        self.seen: Mapping[str, Seen] = {
            "claim": self._after_claim,
            "commit": self._after_commit,
            "release": self._after_release,
            "quarantine": self._after_quarantine,
            "release_quarantined": self._after_release_quarantined,
        }

    def _after_claim(self, _: tuple[Any, ...], claim: Claim | None) -> None:
        if claim is not None:
            self._metrics.count_claim(claim.key.team)
            self._claimed[claim.owner] = time.monotonic()
            if len(self._claimed) > MOST_CLAIMS:  # a job that was lost before its first commit is never heard of again
                del self._claimed[next(iter(self._claimed))]

    def _after_commit(self, given: tuple[Any, ...], outcome: Commit) -> None:
        self._metrics.count_commit(outcome.value)
        began = self._claimed.pop(given[0].owner, None)
        if began is not None and outcome in {Commit.OK, Commit.DUP}:
            self._metrics.first_commit(time.monotonic() - began)

    def _after_release(self, given: tuple[Any, ...], done: bool) -> None:  # noqa: FBT001 - the answer of a call
        self._claimed.pop(given[0].owner, None)
        if done:
            self._metrics.event("let_go")

    def _after_quarantine(self, given: tuple[Any, ...], done: bool) -> None:  # noqa: FBT001 - the same
        del done  # counted from the log, by whoever decided it
        self._claimed.pop(given[0].owner, None)

    def _after_release_quarantined(self, given: tuple[Any, ...], done: bool) -> None:  # noqa: FBT001 - the same
        del given
        if done:
            self._metrics.event("released")
