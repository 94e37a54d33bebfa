"""Slack's rate limits, kept by ourselves: one budget per workspace and method.

In this process for now; what it promises does not depend on that, so that a
budget shared by all instances can take its place.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

Priority = Literal["answer", "question", "file", "stream", "card", "status"]
"""The order in which calls are let through when Slack's limits are near."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A limit of Slack's: calls a minute, counted for each channel or for the whole workspace.

    `burst` may come at once; with what flows in meanwhile, no minute sees more than is allowed.
    """

    per_minute: int
    burst: int
    by_channel: bool = False

    @property
    def per_second(self) -> float:
        """Return how many spent calls come back in a second."""
        return (self.per_minute - self.burst) / 60 if not self.by_channel else self.per_minute / 60


_TIER_2, _TIER_3, _TIER_4 = Rate(20, 8), Rate(50, 20), Rate(100, 40)
RATES: dict[str, Rate] = {
    "chat.postMessage": Rate(60, 3, by_channel=True),
    "chat.startStream": _TIER_2,
    "chat.stopStream": _TIER_2,
    "chat.appendStream": _TIER_4,
    "chat.update": _TIER_3,
    "chat.delete": _TIER_3,
    "chat.postEphemeral": _TIER_4,
    "reactions.add": _TIER_3,
    "conversations.info": _TIER_3,
    "conversations.replies": _TIER_3,
    "conversations.open": _TIER_3,
    "agents.sessions.rename": _TIER_3,
    "agents.sessions.setStatus": _TIER_3,
    "assistant.threads.setSuggestedPrompts": _TIER_3,
    "users.info": _TIER_4,
    "views.open": _TIER_4,
    "views.publish": _TIER_4,
    "files.getUploadURLExternal": _TIER_4,
    "files.completeUploadExternal": _TIER_4,
    "files.info": _TIER_4,
    "files.delete": _TIER_3,
    "canvases.delete": _TIER_3,
    "canvases.create": _TIER_2,
    "canvases.access.set": _TIER_3,
    "slackLists.create": _TIER_2,
    "slackLists.access.set": _TIER_3,
    "slackLists.items.create": _TIER_3,
    "slackLists.items.list": _TIER_3,
}
_RANK: dict[Priority, int] = {"answer": 0, "question": 0, "file": 1, "stream": 2, "card": 3, "status": 3}
_PATIENT = 2
"""The rank from which on a call leaves part of the burst to what people wait for."""
_KEPT_BACK = 0.25


@dataclass
class _Bucket:
    rate: Rate
    left: float
    at: float
    held: bool = False
    """Since a "too many": what is kept back then would have to flow in first, and the rest would wait for that."""
    waiting: list[tuple[int, int, asyncio.Future[None]]] = field(default_factory=list)
    timer: asyncio.TimerHandle | None = None

    def refill(self, now: float) -> None:
        if now > self.at:
            self.left = min(float(self.rate.burst), self.left + (now - self.at) * self.rate.per_second)
            self.at = now
            self.held = self.held and self.left < 1.0 + self._kept_back()

    def needed(self, rank: int) -> float:
        """Return what must be left for a call of that rank to go."""
        return 1.0 + (self._kept_back() if rank >= _PATIENT and not self.held else 0)

    def _kept_back(self) -> int:
        return int(self.rate.burst * _KEPT_BACK)


class Budget:
    """The calls that may go, and when. `unlimited` (for benchmarks) lets everything go at once."""

    def __init__(self, *, unlimited: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._unlimited = unlimited
        self._clock = clock
        self._buckets: dict[tuple[str, str], _Bucket] = {}
        self._count = itertools.count()

    async def take(self, method: str, channel: str = "", priority: Priority = "answer") -> None:
        """Wait for a turn and use it up: higher priorities first, then in order.

        Args:
            method: Slack's name of it, such as `chat.postMessage`. One without a known limit goes at once.
            channel: The channel's id; only methods limited by channel look at it.
            priority: What the call is for.
        """
        bucket = self._bucket(method, channel)
        if bucket is None:
            return
        bucket.refill(self._clock())
        rank = _RANK[priority]
        ahead = bool(bucket.waiting) and bucket.waiting[0][0] <= rank
        if not ahead and bucket.left >= bucket.needed(rank):
            bucket.left -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        heapq.heappush(bucket.waiting, (rank, next(self._count), turn))
        self._pump(bucket)
        await turn

    def room(self, method: str, channel: str = "", priority: Priority = "card") -> bool:
        """Return True if a call of that priority would go at once."""
        bucket = self._bucket(method, channel)
        if bucket is None:
            return True
        bucket.refill(self._clock())
        return not bucket.waiting and bucket.left >= bucket.needed(_RANK[priority])

    def short(self, method: str, channel: str = "") -> bool:
        """Return True if there is no room for what can be left out, such as a stream."""
        return not self.room(method, channel, "stream")

    def hold(self, method: str, channel: str, seconds: float) -> None:
        """Slack said "too many": nobody goes for so many seconds; then one call of any priority, and others in time."""
        bucket = self._bucket(method, channel)
        if bucket is not None:
            bucket.refill(self._clock())
            bucket.left, bucket.held = min(bucket.left, 1.0 - seconds * bucket.rate.per_second), True

    def _bucket(self, method: str, channel: str) -> _Bucket | None:
        rate = RATES.get(method)
        if rate is None or self._unlimited:
            return None
        key = (method, channel if rate.by_channel else "")
        if key not in self._buckets:
            self._buckets[key] = _Bucket(rate, float(rate.burst), self._clock())
        return self._buckets[key]

    def _pump(self, bucket: _Bucket) -> None:
        if bucket.timer is not None:
            bucket.timer.cancel()
            bucket.timer = None
        now = self._clock()
        bucket.refill(now)
        while bucket.waiting:
            rank, _, turn = bucket.waiting[0]
            if turn.done():  # who waited has been cancelled
                heapq.heappop(bucket.waiting)
                continue
            short = bucket.needed(rank) - bucket.left
            if short > 0:
                delay = max(0.0, bucket.at - now) + short / bucket.rate.per_second
                bucket.timer = asyncio.get_running_loop().call_later(delay + 0.001, self._pump, bucket)
                return
            heapq.heappop(bucket.waiting)
            bucket.left -= 1
            turn.set_result(None)
