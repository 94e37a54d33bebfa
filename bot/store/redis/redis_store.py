"""The store on a Redis-compatible server: see `bot.store.interface` for what it promises.

Its parts are in `redis_parts`, one for each thing that it keeps. Everything that
decides or writes happens in a script of `scripts/`, and the same layout of keys
runs on one server, Sentinel and Cluster.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

from bot.store import bounds
from bot.store.interface import Claim, Commit, Entry, Head, Intent, JobKey, StoreError
from bot.store.redis.arrivals import Arrivals
from bot.store.redis.blobs import Blobs
from bot.store.redis.claiming import Claims
from bot.store.redis.fenced import Fenced
from bot.store.redis.job_reading import Reading
from bot.store.redis.keys import Keys
from bot.store.redis.outbox_records import Messages
from bot.store.redis.redis_counters import NOTICE, RedisCounters
from bot.store.redis.schedules import Schedules
from bot.store.redis.script_calls import Calls
from bot.store.redis.server_clock import ServerClock
from bot.store.server import Server


class RedisStore:
    """A `Store` on a server. Use `RedisStore.connect`, which also proves the server."""

    def __init__(
        self,
        server: Server,
        *,
        prefix: str = "lh",
        partitions: int = 16,
        retention: float = bounds.RETENTION,
        clock_offset_ms: int = 0,
    ) -> None:
        self._server = server
        self._keys = Keys(prefix, partitions)
        self._clock = ServerClock(clock_offset_ms)
        self._fullness = (-math.inf, "")
        calls = Calls(server, self._keys, self._clock)
        self._arrivals = Arrivals(calls, retention)
        self._fenced = Fenced(calls, retention)
        self._claims = Claims(calls, self._fenced)
        self._reading = Reading(calls)
        self._messages = Messages(calls)
        self._blobs = Blobs(calls, retention)
        self._schedules = Schedules(calls)
        self.counters = RedisCounters(calls)

    @classmethod
    async def connect(
        cls,
        url: str,
        *,
        prefix: str = "lh",
        partitions: int = 16,
        retention: float = bounds.RETENTION,
        timeout: float = 3.0,  # noqa: ASYNC109 - of each call later on, not of this one
        clock_offset_ms: int = 0,
    ) -> RedisStore:
        """Connect to a server that may be used.

        Args:
            url: redis://, rediss://, unix://, redis+sentinel://HOST:PORT,HOST:PORT/MASTER[/DB] or
                redis+cluster://HOST:PORT,HOST:PORT; the last two with rediss+ as well.
            prefix: What all keys start with: one for each deployment on a server.
            partitions: How many parts the jobs are spread over. Fixed by the first that connects.
            retention: Seconds that a finished job is kept.
            timeout: Seconds of silence after which a call is given up; it is tried three times.
            clock_offset_ms: Moves the store's clock, for tests.

        Raises:
            StoreError: It cannot be reached, refuses the login, is too old, read-only, or evicts keys.
        """
        options: dict[str, Any] = {"prefix": prefix, "partitions": partitions, "retention": retention}
        store = cls(Server(url, timeout), clock_offset_ms=clock_offset_ms, **options)
        try:
            await store._prove()
        except BaseException:
            await store.close()
            raise
        return store

    async def _prove(self) -> None:
        for fault in await self._server.faults():
            if fault.fatal:
                raise StoreError(fault.text)
        fixed = await self._server.command("GET", self._keys.fixed)
        if fixed is None:  # a server that is full refuses to be written to, and may be used all the same
            await self._server.command("SET", self._keys.fixed, self.partitions, "NX")
            fixed = await self._server.command("GET", self._keys.fixed)
        await self.now()
        if int(fixed) != self.partitions:
            raise StoreError(f"The jobs on this server are spread over {int(fixed)} partitions, not {self.partitions}.")

    # What comes in --------------------------------------------------------------------------------------

    async def ingest(
        self,
        key: JobKey,
        payload: str,
        *,
        dedupe: Sequence[str],
        user: str = "",
        fields: dict[str, str] | None = None,
    ) -> bool:
        """See `Store.ingest`. Raises PayloadTooLarge, also where 1000 events wait to be taken."""
        return await self._arrivals.receive(key, payload, dedupe, "any", user=user, fields=fields)

    async def signal(self, key: JobKey, payload: str, *, dedupe: Sequence[str]) -> bool:
        """See `Store.signal`. Raises PayloadTooLarge as `ingest` does."""
        return await self._arrivals.receive(key, payload, dedupe, "exists")

    async def reinstate(self, key: JobKey, payload: str) -> bool:
        """See `Store.reinstate`. Done even where 1000 events wait to be taken."""
        return await self._arrivals.receive(key, payload, (), "aside")

    # Who works ------------------------------------------------------------------------------------------

    async def claim(self, owner: str, *, lease: float, schema: int, prefer: JobKey | None = None) -> Claim | None:
        """See `Store.claim`. The claim's owner is `owner`, a dot, and an id of this claim alone.

        A job named by `prefer` is taken first if it is ready, in one round trip.
        """
        return await self._claims.claim(owner, lease=lease, schema=schema, prefer=prefer)

    async def beat(self, claim: Claim, *, lease: float) -> bool:
        """See `Store.beat`. A lease that ran out is renewed too, as long as nobody took the job."""
        return await self._fenced.beat(claim, lease=lease)

    async def release(self, claim: Claim, *, due: float | None, lost: bool | None = False) -> bool:
        """See `Store.release`."""
        return await self._fenced.let_go(claim, due, lost="" if lost is None else "+" if lost else 0)

    async def commit(  # noqa: PLR0913 - all that one script checks and writes
        self,
        claim: Claim,
        operation: str,
        expected: int,
        payloads: Sequence[str],
        *,
        taken: Sequence[int] = (),
        fields: dict[str, str] | None = None,
        schema: int = 1,
        ends: bool = False,
        progress: bool = True,
    ) -> Commit:
        """See `Store.commit`. Where something not taken is left in the inbox, the job does not end."""
        return await self._fenced.commit(
            claim,
            operation,
            expected,
            payloads,
            taken=taken,
            fields=fields or {},
            schema=schema,
            ends=ends,
            progress=progress,
        )

    async def set_aside(self, claim: Claim, payload: str, *, schema: int, fields: dict[str, str] | None = None) -> bool:
        """See `Store.set_aside`. Raises PayloadTooLarge only for a payload that cannot stay in the log."""
        return await self._fenced.set_aside(claim, payload, schema=schema, fields=fields or {})

    # What is known --------------------------------------------------------------------------------------

    async def log(self, key: JobKey, *, after: int = 0) -> list[Entry]:
        """See `Store.log`."""
        return await self._reading.log(key, after=after)

    async def inbox(self, key: JobKey) -> list[Entry]:
        """See `Store.inbox`."""
        return await self._reading.inbox(key)

    async def head(self, key: JobKey) -> Head | None:
        """See `Store.head`."""
        return await self._reading.head(key)

    async def jobs_of(self, team: str, user: str, *, limit: int = 20) -> list[Head]:
        """See `Store.jobs_of`. Knows the last 100 for each partition."""
        return await self._reading.jobs_of(team, user, limit=limit)

    # Messages, blobs, schedules -------------------------------------------------------------------------

    async def outbox_begin(self, claim: Claim, message: str, operation: str) -> Intent | None:
        """See `Store.outbox_begin`. Raises PayloadTooLarge where the job has 10,000 messages."""
        return await self._messages.begin(claim, message, operation)

    async def outbox_draft(self, claim: Claim, message: str, ts: str) -> bool:
        """See `Store.outbox_draft`."""
        return await self._messages.note(claim, message, "draft", ts)

    async def outbox_done(self, claim: Claim, message: str, ts: str) -> bool:
        """See `Store.outbox_done`."""
        return await self._messages.note(claim, message, "ts", ts)

    async def outbox(self, key: JobKey) -> dict[str, Intent]:
        """See `Store.outbox`. `first` is false in all of them."""
        return await self._messages.all_of(key)

    async def put_blob(self, key: JobKey, data: bytes) -> str:
        """See `Store.put_blob`. Also raises PayloadTooLarge where the job keeps 512 MB."""
        return await self._blobs.put(key, data)

    async def get_blob(self, key: JobKey, digest: str) -> bytes:
        """See `Store.get_blob`."""
        return await self._blobs.get(key, digest)

    async def put_schedule(self, team: str, schedule: str, payload: str, due: float | None) -> None:
        """See `Store.put_schedule`. Raises PayloadTooLarge where there are 10,000."""
        await self._schedules.put(team, schedule, payload, due)

    async def due_schedules(self, *, limit: int = 100) -> list[tuple[str, str, str, float]]:
        """See `Store.due_schedules`. Earliest first."""
        return await self._schedules.due(limit=limit)

    async def fire_schedule(self, team: str, schedule: str, due: float, following: float | None) -> bool:
        """See `Store.fire_schedule`."""
        return await self._schedules.fire(team, schedule, due, following)

    # The store itself -----------------------------------------------------------------------------------

    async def signals(self) -> AsyncIterator[JobKey]:
        """See `Store.signals`. Connects again by itself; what is sent meanwhile is missed."""
        with contextlib.suppress(StoreError):
            await self.counters.breakers()  # what they were told before we listened
        async for name in self._server.listen(self._keys.channel, self._keys.breaker_channel):
            if name.startswith(NOTICE):
                self.counters.noticed(name)
            else:
                yield bounds.job_key(name.decode())

    async def now(self) -> float:
        """See `Store.now`."""
        return await self._claims.now()

    def clock(self) -> float:
        """See `Store.clock`."""
        return self._clock()

    async def next_due(self) -> float | None:
        """See `Store.next_due`."""
        return await self._claims.next_due()

    async def full(self) -> str:
        """See `Store.full`; of a cluster, any primary counts. Raises StoreError."""
        until, text = self._fullness
        if time.monotonic() >= until:
            text = await self._server.fullness()
            self._fullness = (time.monotonic() + bounds.FULLNESS_FOR, text)
        return text

    async def check(self) -> list[str]:
        """See `Store.check`. What only is a risk starts with "Warning:"."""
        try:
            return [fault.text for fault in await self._server.faults()]
        except StoreError as error:
            return [str(error)]

    async def about(self) -> str:
        """The server in a few words: program, version, persistence, eviction. Raises StoreError."""
        return await self._server.about()

    async def memory(self) -> tuple[int, int]:
        """Bytes used and `maxmemory` (0: none), of a cluster the fullest primary's. Raises StoreError."""
        return await self._server.memory()

    @property
    def partitions(self) -> int:
        """How many parts the jobs are spread over."""
        return self._keys.partitions

    async def close(self) -> None:
        """See `Store.close`."""
        await self._server.close()
