"""The store on a Redis-compatible server: see `handoff.store.interface` for what it promises.

Keys are `lh:{pN}:...`. N follows from the job, so that one script touches one
slot, and the same layout runs on one server, Sentinel and Cluster. Everything
that decides or writes happens in a script of `scripts/`.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import time
import zlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

from handoff.store import bounds, records
from handoff.store.interface import (
    Claim,
    Commit,
    Entry,
    Head,
    Intent,
    JobKey,
    LogBroken,
    PayloadTooLarge,
    StoreError,
)
from handoff.store.replicas import Unconfirmed
from handoff.store.script import load
from handoff.store.server import Arg, Server

OWN_KEYS = ("head", "log", "in", "ops", "blobs", "out")
PLACES = ("lease", "newer", "due")
"""The sets of a partition in which a job may wait for an owner, in the order in which they are served."""
LOG_PAGE = 1000
LOG_STRING = 32
"""Entries of a log to a string: see `scripts/log.lua`."""
AGAIN = 2.0
"""Seconds until a job is due again whose claim no replica has confirmed."""
SOON = 0.25
"""Seconds: an answer that took longer says little about what time it is."""
DURABLE = frozenset(
    {
        "ingest",
        "claim",
        "release",
        "commit",
        "set_aside",
        "outbox_begin",
        "outbox_note",
        "schedule_put",
        "schedule_fire",
    }
)
"""The scripts whose answer somebody relies on: what they wrote must be on a replica too, where there are any."""
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
        self._ahead = 0.0
        self._fullness = (-math.inf, "")
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
        fixed = await self._server.command("GET", name)
        if fixed is None:  # a server that is full refuses to be written to, and may be used all the same
            await self._server.command("SET", name, self._partitions, "NX")
            fixed = await self._server.command("GET", name)
        await self.now()
        if int(fixed) != self._partitions:
            raise StoreError(
                f"The jobs on this server are spread over {int(fixed)} partitions, not {self._partitions}."
            )

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
        return [*(f"{base}:{name}" for name in OWN_KEYS), *(f"{part}:{name}" for name in ("due", "lease", "newer"))]

    @property
    def _channel(self) -> str:
        return f"{self._prefix}:signals"

    async def _run(self, name: str, keys: Sequence[str], *args: Arg) -> Any:
        return await self._server.run(load(name), keys, [self.clock_offset_ms, *args], durable=name in DURABLE)

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
        return await self._receive(key, payload, dedupe, "any", user=user, fields=fields)

    async def signal(self, key: JobKey, payload: str, *, dedupe: Sequence[str]) -> bool:
        """See `Store.signal`. Raises PayloadTooLarge as `ingest` does."""
        return await self._receive(key, payload, dedupe, "exists")

    async def reinstate(self, key: JobKey, payload: str, *, dedupe: Sequence[str] = ()) -> bool:
        """See `Store.reinstate`. Done even where 1000 events wait to be taken."""
        return await self._receive(key, payload, dedupe, "aside")

    async def _receive(
        self,
        key: JobKey,
        payload: str,
        dedupe: Sequence[str],
        where: str,
        *,
        user: str = "",
        fields: dict[str, str] | None = None,
    ) -> bool:
        fields = fields or {}
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
            where,
            bounds.digest_if_large(payload),
            payload,
            bounds.INBOX_LIMIT,
            bounds.JOB_BYTES_LIMIT,
            round(bounds.SEEN_FOR * 1000),
            user,
            bounds.JOBS_OF_LIMIT,
            self._retention_ms,
            self._channel,
            int(self._server.replicas > 0),
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
            for kind, limit in enumerate((now, float(schema), now))  # leases, what was put by, what is due
            for part, score in zip(parts, scores[kind :: len(PLACES)], strict=True)
            if score is not None and score <= limit
        ]
        for part in dict.fromkeys(part for _, _, part in sorted(ready)):
            claim = await self._claim_in(part, token, lease, schema, "")
            if claim is not None:
                return claim
        return None

    async def _claim_in(self, part: str, token: str, lease: float, schema: int, prefer: str) -> Claim | None:
        keys = (f"{part}:lease", f"{part}:due", f"{part}:newer", f"{part}:claim:{token}")
        args = (f"{part}:", token, lease, schema, prefer, self._channel)
        reply: Any = b"more"
        try:
            while reply == b"more":
                reply = await self._run("claim", keys, *args)
        except Unconfirmed as error:
            if isinstance(error.reply, list):
                # Not ours. To let the lease run out would count as one more owner that was lost.
                claim = _claim(error.reply, token)
                with contextlib.suppress(StoreError):
                    await self._let_go(claim, claim.expires - lease + AGAIN, lost=claim.lost)
            raise
        if reply is None:
            return None
        return _claim(reply, token)

    async def _peek(self) -> tuple[float, list[float | None]]:
        """The time, and for each partition the earliest lease, the oldest schema put by, and the earliest due time."""
        parts = [[f"{self._part_of(number)}:{name}" for name in PLACES] for number in range(self._partitions)]
        asked = time.monotonic()
        if self._server.is_cluster:
            replies = await asyncio.gather(*(self._run("peek", part) for part in parts))
        else:
            replies = [await self._run("peek", [key for part in parts for key in part])]
        scores = [float(score) if score else None for reply in replies for score in reply[1:]]
        return self._heard(replies[0][0], asked), scores

    async def beat(self, claim: Claim, *, lease: float) -> bool:
        """See `Store.beat`. A lease that ran out is renewed too, as long as nobody took the job."""
        args = (bounds.member(claim.key), claim.owner, claim.epoch, lease)
        return bool(await self._run("beat", self._keys(claim.key), *args))

    async def release(self, claim: Claim, *, due: float | None, lost: bool = False) -> bool:
        """See `Store.release`."""
        return await self._let_go(claim, due, lost="+" if lost else 0)

    async def _let_go(self, claim: Claim, due: float | None, *, lost: int | str) -> bool:
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
            bounds.OPERATIONS_LEFT,
            lost,
        )
        return bool(reply)

    async def set_aside(self, claim: Claim, payload: str, *, schema: int, fields: dict[str, str] | None = None) -> bool:
        """See `Store.set_aside`. Raises PayloadTooLarge only for a payload that cannot stay in the log."""
        fields = fields or {}
        bounds.check_fields(fields)
        reply = await self._run(
            "set_aside",
            self._keys(claim.key),
            bounds.member(claim.key),
            claim.owner,
            claim.epoch,
            _nonce(),
            schema,
            bounds.digest_if_large(payload),
            payload,
            bounds.JOB_BYTES_LIMIT,
            round(bounds.IDLE_RETENTION * 1000),
            round(bounds.OPERATIONS_FOR * 1000),
            bounds.OPERATIONS_LEFT,
            *_flat(fields),
        )
        return bool(_unless_full(reply))

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
            int(progress),
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
        last, at, number = 0, after, LOG_PAGE
        while number == LOG_PAGE:
            seq, number, *strings = await self._run("log", (keys[1], keys[0]), at + 1, LOG_PAGE, LOG_STRING)
            last = last or int(seq)
            if strings:
                entries += records.joined(strings, at + 1)
            elif number:
                rows = await self._server.command("XRANGE", keys[1], f"{at + 1}-0", "+", "COUNT", LOG_PAGE)
                entries += await self._entries(key, rows)
            at = entries[-1].seq if entries else at
        try:
            # The head was read with the first page: what others append meanwhile is more than it says, never less.
            records.check_order(key, entries, after, last)
        except LogBroken:
            if await self.head(key) is None:
                return []  # it expired while it was read
            raise
        return entries

    async def inbox(self, key: JobKey) -> list[Entry]:
        """See `Store.inbox`."""
        return await self._entries(key, await self._server.command("XRANGE", self._keys(key)[2], "-", "+"))

    async def _entries(self, key: JobKey, rows: list[Any]) -> list[Entry]:
        wanted = list(dict.fromkeys(row[1][b"b"] for row in rows if b"b" in row[1]))
        found = await self._server.command("HMGET", self._keys(key)[4], *wanted) if wanted else []
        kept = dict(zip(wanted, found, strict=True))
        return [records.entry(key, row, kept) for row in rows]

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
        args = (claim.owner, claim.epoch, message, operation, bounds.OUTBOX_LIMIT, bounds.SETTLES_IN)
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
        asked = time.monotonic()
        return self._heard((await self._run("peek", ()))[0], asked)

    def clock(self) -> float:
        """See `Store.clock`. Any clock of this machine's may be wrong or be set: only the seconds since are its own."""
        return time.monotonic() + self._ahead + self.clock_offset_ms / 1000

    def _heard(self, told: bytes, asked: float) -> float:
        """Take note of the time the server told, unless the answer took too long to be news."""
        at, heard = float(told), time.monotonic()
        if self._ahead == 0 or heard - asked < SOON:
            self._ahead = at - self.clock_offset_ms / 1000 - heard
        return at

    async def next_due(self) -> float | None:
        """See `Store.next_due`."""
        _, scores = await self._peek()
        times = (score for kind, name in enumerate(PLACES) if name != "newer" for score in scores[kind :: len(PLACES)])
        return min((at for at in times if at is not None), default=None)

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
        return self._partitions

    async def close(self) -> None:
        """See `Store.close`."""
        await self._server.close()


def _claim(reply: list[bytes], token: str) -> Claim:
    member, epoch, expires, lost = reply
    return Claim(bounds.job_key(member.decode()), int(epoch), token, float(expires), int(lost))


def _nonce() -> str:
    return os.urandom(8).hex()


def _flat(fields: dict[str, str]) -> list[str]:
    return [part for pair in fields.items() for part in pair]


def _unless_full(reply: Any) -> Any:
    if reply == b"full":
        raise PayloadTooLarge(bounds.JOB_FULL)
    return reply
