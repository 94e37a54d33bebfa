"""The store on a Redis-compatible server: see `handoff.store.interface` for what it promises.

Keys are `lh:{pN}:...`. N follows from the job, so that one script touches one
slot, and the same layout runs on one server, Sentinel and Cluster. Everything
that decides or writes happens in a script of `scripts/`.
"""

from __future__ import annotations

import asyncio
import os
import zlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

from handoff.store import bounds, records
from handoff.store.interface import Claim, Commit, Entry, Head, Intent, JobKey, PayloadTooLarge, StoreError
from handoff.store.script import load
from handoff.store.server import Arg, Server

OWN_KEYS = ("head", "log", "in", "ops", "blobs", "out")
LOG_PAGE = 1000
COMMITS = {commit.value.encode(): commit for commit in Commit}


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
        self._prefix = prefix
        self._partitions = partitions
        self._retention_ms = round(retention * 1000)
        self.clock_offset_ms = clock_offset_ms
        """Moves the store's clock. Only tests set it."""

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
        name = f"{self._prefix}:{{p0}}:partitions"
        await self._server.command("SET", name, self._partitions, "NX")
        fixed = int(await self._server.command("GET", name))
        if fixed != self._partitions:
            raise StoreError(f"The jobs on this server are spread over {fixed} partitions, not {self._partitions}.")

    # Keys -----------------------------------------------------------------------------------------------

    def _part(self, key: JobKey) -> str:
        number = zlib.crc32(f"{key.team}/{key.job}".encode()) % self._partitions
        return f"{self._prefix}:{{p{number}}}"

    def _part_of(self, number: int) -> str:
        return f"{self._prefix}:{{p{number}}}"

    def _keys(self, key: JobKey) -> list[str]:
        """The keys that every script about a job gets, in the order of `scripts/job.lua`."""
        part = self._part(key)
        base = f"{part}:{bounds.member(key)}"
        return [*(f"{base}:{name}" for name in OWN_KEYS), f"{part}:due", f"{part}:lease"]

    @property
    def _channel(self) -> str:
        return f"{self._prefix}:signals"

    async def _run(self, name: str, keys: Sequence[str], *args: Arg) -> Any:
        return await self._server.run(load(name), keys, [self.clock_offset_ms, *args])

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
        return await self._receive(key, payload, dedupe, user, fields or {}, must_exist=False)

    async def signal(self, key: JobKey, payload: str, *, dedupe: Sequence[str]) -> bool:
        """See `Store.signal`. Raises PayloadTooLarge as `ingest` does."""
        return await self._receive(key, payload, dedupe, "", {}, must_exist=True)

    async def _receive(
        self,
        key: JobKey,
        payload: str,
        dedupe: Sequence[str],
        user: str,
        fields: dict[str, str],
        *,
        must_exist: bool,
    ) -> bool:
        bounds.check_fields(fields)
        operation = _nonce()
        keys = self._keys(key)
        part, base = self._part(key), keys[0].removesuffix(":head")
        # Without an id of its own the event is told from its repeat by the operation alone.
        seen = [f"{base}:seen:{name}" for name in dedupe or (operation,)]
        reply = await self._run(
            "ingest",
            [*keys, f"{part}:user:{key.team}/{user}", *seen],
            bounds.member(key),
            operation,
            int(must_exist),
            bounds.digest_if_large(payload),
            payload,
            bounds.INBOX_LIMIT,
            bounds.JOB_BYTES_LIMIT,
            round(bounds.SEEN_FOR * 1000),
            user,
            bounds.JOBS_OF_LIMIT,
            self._retention_ms,
            self._channel,
            *_flat(fields),
        )
        return bool(_unless_full(reply))

    # Who works ------------------------------------------------------------------------------------------

    async def claim(self, owner: str, *, lease: float, schema: int, prefer: JobKey | None = None) -> Claim | None:
        """See `Store.claim`. The claim's owner is `owner`, a dot, and an id of this claim alone.

        A job named by `prefer` is taken first if it is ready, in one round trip.
        """
        token = f"{owner}.{_nonce()}"
        if prefer is not None:
            claim = await self._claim_in(self._part(prefer), token, lease, schema, bounds.member(prefer))
            if claim is not None:
                return claim
        now, scores = await self._peek()
        parts = [self._part_of(number) for number in range(self._partitions)]
        ready = [
            (kind, score, part)
            for kind in (0, 1)  # leases before what is due
            for part, score in zip(parts, scores[kind::2], strict=True)
            if score is not None and score <= now
        ]
        for part in dict.fromkeys(part for _, _, part in sorted(ready)):
            claim = await self._claim_in(part, token, lease, schema, "")
            if claim is not None:
                return claim
        return None

    async def _claim_in(self, part: str, token: str, lease: float, schema: int, prefer: str) -> Claim | None:
        keys = (f"{part}:lease", f"{part}:due", f"{part}:claim:{token}")
        reply = await self._run("claim", keys, f"{part}:", token, lease, schema, prefer)
        if reply is None:
            return None
        member, epoch, expires = reply
        return Claim(bounds.job_key(member.decode()), int(epoch), token, float(expires))

    async def _peek(self) -> tuple[float, list[float | None]]:
        """The time, and for each partition the earliest lease and the earliest due time."""
        pairs = [
            (f"{self._part_of(number)}:lease", f"{self._part_of(number)}:due") for number in range(self._partitions)
        ]
        if self._server.is_cluster:
            replies = await asyncio.gather(*(self._run("peek", pair) for pair in pairs))
        else:
            replies = [await self._run("peek", [key for pair in pairs for key in pair])]
        scores = [float(score) if score else None for reply in replies for score in reply[1:]]
        return float(replies[0][0]), scores

    async def beat(self, claim: Claim, *, lease: float) -> bool:
        """See `Store.beat`. A lease that ran out is renewed too, as long as nobody took the job."""
        args = (bounds.member(claim.key), claim.owner, claim.epoch, lease)
        return bool(await self._run("beat", self._keys(claim.key), *args))

    async def release(self, claim: Claim, *, due: float | None) -> bool:
        """See `Store.release`."""
        reply = await self._run(
            "release",
            self._keys(claim.key),
            bounds.member(claim.key),
            claim.owner,
            claim.epoch,
            _nonce(),
            "" if due is None else repr(due),
            round(bounds.IDLE_RETENTION * 1000),
            round(bounds.OPERATIONS_FOR * 1000),
            self._channel,
        )
        return bool(reply)

    async def commit(
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
    ) -> Commit:
        """See `Store.commit`. Where something not taken is left in the inbox, the job does not end."""
        fields = fields or {}
        bounds.check_log(expected, payloads)
        bounds.check_fields(fields)
        reply = await self._run(
            "commit",
            self._keys(claim.key),
            operation,
            claim.owner,
            claim.epoch,
            expected,
            schema,
            self._retention_ms if ends else "",
            bounds.OPERATIONS_KEPT,
            bounds.JOB_BYTES_LIMIT,
            len(taken),
            *taken,
            len(payloads),
            *(part for payload in payloads for part in (bounds.digest_if_large(payload), payload)),
            *_flat(fields),
        )
        return COMMITS[_unless_full(reply)]

    # What is known --------------------------------------------------------------------------------------

    async def log(self, key: JobKey, *, after: int = 0) -> list[Entry]:
        """See `Store.log`."""
        keys = self._keys(key)
        entries: list[Entry] = []
        while True:
            rows = await self._server.command("XRANGE", keys[1], f"{after + 1}-0", "+", "COUNT", LOG_PAGE)
            entries += await self._entries(keys[4], rows)
            if len(rows) < LOG_PAGE:
                return entries
            after = entries[-1].seq

    async def inbox(self, key: JobKey) -> list[Entry]:
        """See `Store.inbox`."""
        keys = self._keys(key)
        return await self._entries(keys[4], await self._server.command("XRANGE", keys[2], "-", "+"))

    async def _entries(self, blobs: str, rows: list[Any]) -> list[Entry]:
        wanted = list(dict.fromkeys(row[1][b"b"] for row in rows if b"b" in row[1]))
        kept = dict(zip(wanted, await self._server.command("HMGET", blobs, *wanted), strict=True)) if wanted else {}
        return [records.entry(row, kept) for row in rows]

    async def head(self, key: JobKey) -> Head | None:
        """See `Store.head`."""
        return records.head(key, await self._server.command("HGETALL", self._keys(key)[0]))

    async def jobs_of(self, team: str, user: str, *, limit: int = 20) -> list[Head]:
        """See `Store.jobs_of`. Knows the last 100 for each partition."""
        indexes = [f"{self._part_of(number)}:user:{team}/{user}" for number in range(self._partitions)]
        found = await self._server.commands([("ZRANGE", index, 0, limit - 1, "REV", "WITHSCORES") for index in indexes])
        scored = [(float(row[at + 1]), row[at]) for row in found for at in range(0, len(row), 2)]
        newest = sorted(scored, reverse=True)
        keys = [bounds.job_key(name.decode()) for _, name in newest[:limit]]
        states = await self._server.commands([("HGETALL", self._keys(key)[0]) for key in keys]) if keys else []
        heads = (records.head(key, state) for key, state in zip(keys, states, strict=True))
        return [head for head in heads if head is not None]

    # Messages, files, schedules -------------------------------------------------------------------------

    async def outbox_begin(self, claim: Claim, message: str, operation: str) -> Intent | None:
        """See `Store.outbox_begin`. Raises PayloadTooLarge where the job has 10,000 messages."""
        args = (claim.owner, claim.epoch, message, operation, bounds.OUTBOX_LIMIT)
        reply = _unless_full(await self._run("outbox_begin", self._keys(claim.key), *args))
        return None if reply is None else records.intent(reply[1], first=bool(reply[0]))

    async def outbox_draft(self, claim: Claim, message: str, ts: str) -> bool:
        """See `Store.outbox_draft`."""
        args = (claim.owner, claim.epoch, message, "draft", ts)
        return bool(await self._run("outbox_note", self._keys(claim.key), *args))

    async def outbox_done(self, claim: Claim, message: str, ts: str) -> bool:
        """See `Store.outbox_done`."""
        args = (claim.owner, claim.epoch, message, "ts", ts)
        return bool(await self._run("outbox_note", self._keys(claim.key), *args))

    async def outbox(self, key: JobKey) -> dict[str, Intent]:
        """See `Store.outbox`. `first` is false in all of them."""
        rows = await self._server.command("HGETALL", self._keys(key)[5])
        return {name.decode(): records.intent(row, first=False) for name, row in rows.items()}

    async def put_blob(self, key: JobKey, data: bytes) -> str:
        """See `Store.put_blob`. Also raises PayloadTooLarge where the job keeps 512 MB."""
        digest = bounds.blob_digest(data)
        args = (digest, data, bounds.JOB_BYTES_LIMIT, self._retention_ms)
        _unless_full(await self._run("keep", self._keys(key), *args))
        return digest

    async def get_blob(self, key: JobKey, digest: str) -> bytes:
        """See `Store.get_blob`."""
        data = await self._server.command("HGET", self._keys(key)[4], digest) if digest != "size" else None
        if data is None:
            raise KeyError(digest)
        return bytes(data)

    def _schedule_keys(self) -> tuple[str, str, str]:
        # Schedules are few: all of them share one slot, so that one look finds those that are due.
        return tuple(f"{self._part_of(0)}:schedule:{name}" for name in ("payload", "due", "fired"))  # type: ignore[return-value]

    async def put_schedule(self, team: str, schedule: str, payload: str, due: float | None) -> None:
        """See `Store.put_schedule`. An empty payload that is never due removes the schedule."""
        args = (bounds.pair(team, schedule), payload, "" if due is None else repr(due), bounds.SCHEDULE_LIMIT)
        _unless_full(await self._run("schedule_put", self._schedule_keys(), *args))

    async def due_schedules(self, *, limit: int = 100) -> list[tuple[str, str, str, float]]:
        """See `Store.due_schedules`. Earliest first."""
        flat = await self._run("schedule_due", self._schedule_keys(), limit)
        rows = zip(flat[::3], flat[1::3], flat[2::3], strict=True)
        return [(*records.names(name), payload.decode(), float(due)) for name, payload, due in rows]

    async def fire_schedule(self, team: str, schedule: str, due: float, following: float | None) -> bool:
        """See `Store.fire_schedule`."""
        args = (bounds.pair(team, schedule), repr(due), "" if following is None else repr(following), _nonce())
        return bool(await self._run("schedule_fire", self._schedule_keys(), *args))

    # The store itself -----------------------------------------------------------------------------------

    async def signals(self) -> AsyncIterator[JobKey]:
        """See `Store.signals`. Connects again by itself; what is sent meanwhile is missed."""
        async for name in self._server.listen(self._channel):
            yield bounds.job_key(name.decode())

    async def now(self) -> float:
        """See `Store.now`."""
        return float((await self._run("peek", ()))[0])

    async def next_due(self) -> float | None:
        """See `Store.next_due`. Counts jobs of a newer schema too, which this instance will not get."""
        _, scores = await self._peek()
        return min((score for score in scores if score is not None), default=None)

    async def check(self) -> list[str]:
        """See `Store.check`. What only is a risk starts with "Warning:"."""
        try:
            return [fault.text for fault in await self._server.faults()]
        except StoreError as error:
            return [str(error)]

    async def about(self) -> str:
        """The server in a few words: program, version, persistence, eviction. Raises StoreError."""
        return await self._server.about()

    async def close(self) -> None:
        """See `Store.close`."""
        await self._server.close()


def _nonce() -> str:
    return os.urandom(8).hex()


def _flat(fields: dict[str, str]) -> list[str]:
    return [part for pair in fields.items() for part in pair]


def _unless_full(reply: Any) -> Any:
    if reply == b"full":
        raise PayloadTooLarge(bounds.JOB_FULL)
    return reply
