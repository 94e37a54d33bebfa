"""What can be seen only while the run goes on: what Slack was told, and how owners and epochs of jobs moved."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from bot.store.redis.layout import encode_job_key
from bot.store.redis.redis_store import Store
from bot.store.redis_server import await_cancellable
from bot.store.values import JobKey
from bot.workspace.transport import Ack, PayloadKind, Retry, Transport

LOOK = 0.3
"""Seconds between two looks at the heads of the open jobs."""
EVENTS = frozenset({"app_mention", "message"})


class Witness:
    """Stands between the workspace and the app, and remembers which messages were acknowledged.

    A mention comes as two events, of which the one that says so counts. What is acknowledged while the app is not
    installed does not count: nobody has to answer it.
    """

    def __init__(self, transport: Transport, is_installed: Callable[[], bool]) -> None:
        self.acknowledged_messages: set[str] = set()
        """The `ts` of messages that the app said it has."""
        self.again = 0
        """Deliveries that were not the first of their event."""
        self.payload_count = 0
        """Payloads in all: events, clicks, commands."""
        self._transport = transport
        self._is_installed = is_installed

    async def send(self, kind: PayloadKind, payload: dict[str, Any], retry: Retry | None = None) -> Ack:
        """Pass it on."""
        self.payload_count += 1
        ack = await self._transport.send(kind, payload, retry)
        event = payload.get("event", {})
        if kind == "events_api" and event.get("type") in EVENTS and not event.get("bot_id"):
            self.again += retry is not None
            bot = payload["authorizations"][0]["user_id"]
            mentions = f"<@{bot}>" in str(event.get("text"))
            if ack.ok and self._is_installed() and (event["type"] == "app_mention" or not mentions):
                self.acknowledged_messages.add(str(event.get("ts")))
        return ack


@dataclass
class JobProgress:
    """A job as it was seen: the highest epoch and sequence."""

    epoch: int = 0
    seq: int = 0


class Watch:
    """Looks at the heads of open jobs again and again."""

    def __init__(
        self, store: Store, port: int, jobs: Callable[[], Iterable[JobKey]], hands: Callable[[], bool]
    ) -> None:
        self.job_progress: dict[JobKey, JobProgress] = {}
        self.quarantined_jobs: set[JobKey] = set()
        """Open jobs that are set aside."""
        self.late: dict[tuple[JobKey, float], float] = {}
        """Until when a lease that had run out was seen to have no taker: by job and the end of the lease."""
        self.fallen: list[str] = []
        """Epochs or sequences that went back."""
        self._jobs = jobs
        self._hands = hands
        self._without: list[tuple[float, float]] = []
        """When no instance could have taken anything: from, until (seconds since the epoch)."""
        self._redis = Redis(port=port, socket_timeout=2.0, protocol=2)
        self._store = store
        self._looking = asyncio.Lock()  # of two looks at once, the later one might be heard of first

    async def run(self) -> None:
        """Look until cancelled."""
        before = time.time()
        while True:
            await self.look()
            await asyncio.sleep(LOOK)
            if not self._hands():
                self._without.append((before, time.time()))
            before = time.time()

    def without_hands(self, start: float, end: float) -> float:
        """Seconds between the two in which every instance was away, frozen or cut off."""
        return sum(max(0.0, min(until, end) - max(since, start)) for since, until in self._without)

    async def look(self) -> None:
        """One look. The server may be away: then there is nothing to see."""
        await await_cancellable(self._look())

    async def _look(self) -> None:
        keys = list(self._jobs())
        with contextlib.suppress(RedisError, OSError):
            async with self._looking, self._redis.pipeline(transaction=False) as pipeline:
                for key in keys:
                    pipeline.hmget(self._store._keys.list_job_keys(key)[0], ["_epoch", "_seq", "_aside"])
                    pipeline.zscore(f"{self._store._keys.compute_partition_prefix(key)}:lease", encode_job_key(key))
                replies = await pipeline.execute()
                for number, key in enumerate(keys):
                    self._saw(key, replies[2 * number], replies[2 * number + 1])

    def _saw(self, key: JobKey, head: list[bytes | None], expires: float | None) -> None:
        if head[0] is None or head[1] is None:
            return
        epoch, seq = int(head[0]), int(head[1])
        (self.quarantined_jobs.add if head[2] == b"1" else self.quarantined_jobs.discard)(key)
        seen = self.job_progress.setdefault(key, JobProgress())
        if epoch < seen.epoch or seq < seen.seq:
            self.fallen.append(f"{key.job}: epoch {seen.epoch} -> {epoch}, seq {seen.seq} -> {seq}")
        seen.epoch, seen.seq = max(epoch, seen.epoch), max(seq, seen.seq)
        if expires is not None:
            end, now = float(expires), time.time()
            if end < now:
                self.late[key, end] = now

    async def close(self) -> None:
        """Close the connection."""
        await self._redis.aclose()
