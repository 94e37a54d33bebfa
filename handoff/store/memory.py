"""The store in this process: the twin that tests run on, held to the same suite as the server."""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace

from handoff.store import bounds
from handoff.store.interface import Claim, Commit, Entry, Head, Intent, JobKey, PayloadTooLarge

NOTICES = 1000
"""How many notices wait for a slow listener; more are dropped."""


@dataclass(slots=True)
class _Job:
    """One job, as the server's keys of it."""

    head: Head
    log: list[str] = field(default_factory=list)
    inbox: dict[int, str] = field(default_factory=dict)
    arrived: int = 0
    operations: dict[str, float] = field(default_factory=dict)
    forgets: float = math.inf
    """When its operations are forgotten, once nobody owns it."""
    outbox: dict[str, tuple[str, Intent]] = field(default_factory=dict)
    lease: float | None = None
    put_by: bool = False
    """Whether it waits, ready, for an instance that knows its schema."""
    fades: float | None = None
    """How long it lives without being touched, once it fades."""
    dies: float | None = None


class MemoryStore:
    """A `Store` in this process.

    Args:
        clock: Seconds since the epoch; tests pass one that they move.
        retention: Seconds that a finished job is kept.
    """

    def __init__(self, *, clock: Callable[[], float] = time.time, retention: float = bounds.RETENTION) -> None:
        self._clock = clock
        self._retention = retention
        self._jobs: dict[JobKey, _Job] = {}
        self._seen: dict[tuple[JobKey, str], float] = {}
        self._blobs: dict[JobKey, dict[str, bytes]] = {}
        self._asked: dict[tuple[str, str], dict[JobKey, float]] = {}
        self._schedules: dict[tuple[str, str], tuple[str, float | None]] = {}
        self._listeners: list[asyncio.Queue[JobKey]] = []

    async def ingest(
        self,
        key: JobKey,
        payload: str,
        *,
        dedupe: Sequence[str],
        user: str = "",
        fields: dict[str, str] | None = None,
    ) -> bool:
        """See `Store.ingest`."""
        bounds.check_fields(fields or {})
        if not self._receive(key, payload, dedupe, "any"):
            return False
        job = self._jobs[key]
        job.head = replace(job.head, fields={**(fields or {}), **job.head.fields})
        if user:
            asked = self._asked.setdefault((key.team, user), {})
            asked.pop(key, None)
            asked[key] = self._clock()
            while len(asked) > bounds.JOBS_OF_LIMIT:
                del asked[next(iter(asked))]
        return True

    async def signal(self, key: JobKey, payload: str, *, dedupe: Sequence[str]) -> bool:
        """See `Store.signal`."""
        return self._receive(key, payload, dedupe, "exists")

    async def reinstate(self, key: JobKey, payload: str, *, dedupe: Sequence[str] = ()) -> bool:
        """See `Store.reinstate`."""
        return self._receive(key, payload, dedupe, "aside")

    def _receive(self, key: JobKey, payload: str, dedupe: Sequence[str], where: str) -> bool:
        bounds.member(key)
        large = bool(bounds.digest_if_large(payload))
        now = self._clock()
        self._forget_seen(now)
        job = self._job(key)
        fits = {"any": True, "exists": job is not None, "aside": job is not None and job.head.aside}[where]
        if any((key, name) in self._seen for name in dedupe) or not fits:
            return False
        if job is not None and len(job.inbox) >= bounds.INBOX_LIMIT and where != "aside":
            raise PayloadTooLarge(bounds.JOB_FULL)
        if large:
            self._keep(key, payload.encode())
        if job is None:
            job = self._jobs[key] = _Job(Head(key, 0, 0, 0, None, "", now))
        if where == "aside":
            job.head = replace(job.head, aside=False, lost=0)
        self._seen.update({(key, name): now + bounds.SEEN_FOR for name in dedupe})
        job.arrived += 1
        job.inbox[job.arrived] = payload
        if job.head.aside:
            self._fade(job)
            return True
        job.fades = job.dies = None
        if job.lease is None:
            job.head = replace(job.head, due=now if job.head.due is None else min(now, job.head.due))
        self._tell(key)
        return True

    def _forget_seen(self, now: float) -> None:
        for name in [name for name, until in self._seen.items() if until <= now]:
            del self._seen[name]

    def _tell(self, key: JobKey) -> None:
        for queue in self._listeners:
            if not queue.full():
                queue.put_nowait(key)

    def _job(self, key: JobKey) -> _Job | None:
        job = self._jobs.get(key)
        if job is not None and job.dies is not None and job.dies <= self._clock():
            del self._jobs[key]
            self._blobs.pop(key, None)
            return None
        return job

    def _owned(self, claim: Claim) -> _Job | None:
        job = self._job(claim.key)
        ours = job is not None and (job.head.owner, job.head.epoch) == (claim.owner, claim.epoch)
        return job if ours else None

    def _fade(self, job: _Job, seconds: float | None = None) -> None:
        job.fades = job.fades if seconds is None else seconds
        job.dies = None if job.fades is None else self._clock() + job.fades

    async def claim(self, owner: str, *, lease: float, schema: int, prefer: JobKey | None = None) -> Claim | None:
        """See `Store.claim`. `prefer` is taken first if it is ready."""
        now = self._clock()
        ready: list[tuple[bool, int, float, str, _Job]] = []
        for key in list(self._jobs):
            job = self._job(key)
            if job is None:
                continue
            if job.lease is not None and job.lease <= now:
                kind, at = 0, job.lease
            elif job.head.due is not None and job.head.due <= now:
                kind, at = (1, float(job.head.schema)) if job.put_by else (2, job.head.due)
            else:
                continue
            if job.head.schema > schema:
                self._put_by(job, owner)
            else:
                ready.append((key != prefer, kind, at, bounds.member(key), job))
        if not ready:
            return None
        job = min(ready, key=lambda found: found[:4])[-1]
        token = f"{owner}.{os.urandom(8).hex()}"
        lost = job.head.lost + (job.lease is not None and _instance(job.head.owner) != owner)
        job.head = replace(job.head, epoch=job.head.epoch + 1, owner=token, due=None, lost=lost)
        if job.forgets <= now:
            job.operations.clear()
        job.forgets = math.inf
        job.put_by = False
        job.lease = now + lease
        return Claim(job.head.key, job.head.epoch, token, job.lease, lost)

    def _put_by(self, job: _Job, owner: str) -> None:
        if job.lease is not None:
            others = _instance(job.head.owner) != owner
            job.head = replace(job.head, owner="", due=self._clock(), lost=job.head.lost + others)
            job.lease = None
        if not job.put_by:
            job.put_by = True
            self._tell(job.head.key)

    async def beat(self, claim: Claim, *, lease: float) -> bool:
        """See `Store.beat`."""
        job = self._owned(claim)
        if job is None:
            return False
        job.lease = self._clock() + lease
        return True

    async def release(self, claim: Claim, *, due: float | None, lost: bool = False) -> bool:
        """See `Store.release`."""
        job = self._owned(claim)
        if job is None:
            return False
        now = self._clock()
        due = now if job.inbox else due
        job.lease = None
        job.head = replace(job.head, owner="", due=due, lost=job.head.lost + 1 if lost else 0)
        self._forget_operations(job)
        if due is not None:
            job.fades = job.dies = None
            if due <= now:
                self._tell(claim.key)
        elif job.fades is None:
            self._fade(job, bounds.IDLE_RETENTION)
        return True

    async def set_aside(self, claim: Claim, payload: str, *, schema: int, fields: dict[str, str] | None = None) -> bool:
        """See `Store.set_aside`."""
        bounds.check_fields(fields or {})
        large = bool(bounds.digest_if_large(payload))
        job = self._owned(claim)
        if job is None:
            return False
        if large:
            self._keep(claim.key, payload.encode())
        job.log.append(payload)
        job.lease = None
        head, kept = job.head, {**job.head.fields, **(fields or {})}
        newest = max(head.schema, schema)
        head = replace(head, seq=len(job.log), schema=newest, updated=self._clock(), fields=kept)
        job.head = replace(head, owner="", due=None, aside=True)
        self._forget_operations(job)
        self._fade(job, bounds.IDLE_RETENTION)
        return True

    def _forget_operations(self, job: _Job) -> None:
        while len(job.operations) > bounds.OPERATIONS_LEFT:
            del job.operations[next(iter(job.operations))]
        job.forgets = self._clock() + bounds.OPERATIONS_FOR

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
        """See `Store.commit`."""
        fields = fields or {}
        bounds.check_log(expected, payloads)
        bounds.check_fields(fields)
        large = [payload.encode() for payload in payloads if bounds.digest_if_large(payload)]
        job = self._job(claim.key)
        if job is not None and operation in job.operations and self._clock() < job.forgets:
            return Commit.DUP
        if job is None or self._owned(claim) is None:
            return Commit.FENCED
        if job.head.seq != expected:
            return Commit.CONFLICT
        for data in large:
            self._keep(claim.key, data)
        job.log += payloads
        for seq in taken:
            job.inbox.pop(seq, None)
        now = self._clock()
        kept = {**job.head.fields, **fields}
        lost = 0 if progress else job.head.lost
        job.head = replace(job.head, seq=len(job.log), schema=schema, updated=now, lost=lost, fields=kept)
        job.operations[operation] = now
        while len(job.operations) > bounds.OPERATIONS_KEPT:
            del job.operations[next(iter(job.operations))]
        self._fade(job, self._retention if ends and not job.inbox else None)
        return Commit.OK

    async def log(self, key: JobKey, *, after: int = 0) -> list[Entry]:
        """See `Store.log`."""
        job = self._job(key)
        return [] if job is None else [Entry(n, text) for n, text in enumerate(job.log, 1) if n > after]

    async def inbox(self, key: JobKey) -> list[Entry]:
        """See `Store.inbox`."""
        job = self._job(key)
        return [] if job is None else [Entry(n, text) for n, text in job.inbox.items()]

    async def head(self, key: JobKey) -> Head | None:
        """See `Store.head`."""
        job = self._job(key)
        return None if job is None else replace(job.head, fields=dict(job.head.fields))

    async def jobs_of(self, team: str, user: str, *, limit: int = 20) -> list[Head]:
        """See `Store.jobs_of`."""
        asked = self._asked.get((team, user), {})
        newest = sorted(asked, key=lambda key: asked[key], reverse=True)[:limit]
        heads = [await self.head(key) for key in newest]
        return [head for head in heads if head is not None]

    async def outbox_begin(self, claim: Claim, message: str, operation: str) -> Intent | None:
        """See `Store.outbox_begin`."""
        job = self._owned(claim)
        if job is None:
            return None
        if message not in job.outbox:
            if len(job.outbox) >= bounds.OUTBOX_LIMIT:
                raise PayloadTooLarge(bounds.JOB_FULL)
            job.outbox[message] = (operation, Intent(first=False, began=self._clock(), ts="", draft_ts=""))
            self._fade(job)
        by, intent = job.outbox[message]
        if not intent.ts and self._clock() - intent.began < bounds.SETTLES_IN:
            job.head = replace(job.head, lost=0)
        return replace(intent, first=by == operation)

    async def outbox_draft(self, claim: Claim, message: str, ts: str) -> bool:
        """See `Store.outbox_draft`."""
        return self._note(claim, message, lambda intent: replace(intent, draft_ts=ts))

    async def outbox_done(self, claim: Claim, message: str, ts: str) -> bool:
        """See `Store.outbox_done`."""
        return self._note(claim, message, lambda intent: replace(intent, ts=ts))

    def _note(self, claim: Claim, message: str, change: Callable[[Intent], Intent]) -> bool:
        job = self._owned(claim)
        if job is None:
            return False
        unknown = ("", Intent(first=False, began=self._clock(), ts="", draft_ts=""))
        by, intent = job.outbox.get(message, unknown)
        job.outbox[message] = (by, change(intent))
        self._fade(job)
        return True

    async def outbox(self, key: JobKey) -> dict[str, Intent]:
        """See `Store.outbox`."""
        job = self._job(key)
        return {} if job is None else {message: intent for message, (_, intent) in job.outbox.items()}

    async def put_blob(self, key: JobKey, data: bytes) -> str:
        """See `Store.put_blob`."""
        return self._keep(key, data)

    def _keep(self, key: JobKey, data: bytes) -> str:
        digest = bounds.blob_digest(data)
        bounds.member(key)
        blobs = self._blobs.setdefault(key, {})
        if digest not in blobs and sum(map(len, blobs.values())) + len(data) > bounds.JOB_BYTES_LIMIT:
            raise PayloadTooLarge(bounds.JOB_FULL)
        blobs[digest] = bytes(data)
        return digest

    async def get_blob(self, key: JobKey, digest: str) -> bytes:
        """See `Store.get_blob`."""
        self._job(key)  # an expired job takes its blobs along
        return self._blobs.get(key, {})[digest]

    async def put_schedule(self, team: str, schedule: str, payload: str, due: float | None) -> None:
        """See `Store.put_schedule`. An empty payload that is never due removes the schedule."""
        bounds.pair(team, schedule)
        if not payload and due is None:
            self._schedules.pop((team, schedule), None)
            return
        if len(self._schedules) >= bounds.SCHEDULE_LIMIT and (team, schedule) not in self._schedules:
            raise PayloadTooLarge(bounds.JOB_FULL)
        self._schedules[team, schedule] = (payload, due)

    async def due_schedules(self, *, limit: int = 100) -> list[tuple[str, str, str, float]]:
        """See `Store.due_schedules`. Earliest first."""
        now = self._clock()
        found = [
            (*name, payload, due) for name, (payload, due) in self._schedules.items() if due is not None and due <= now
        ]
        return sorted(found, key=lambda row: row[3])[:limit]

    async def fire_schedule(self, team: str, schedule: str, due: float, following: float | None) -> bool:
        """See `Store.fire_schedule`."""
        payload, planned = self._schedules.get((team, schedule), ("", None))
        if planned is None or planned != due:
            return False
        self._schedules[team, schedule] = (payload, following)
        return True

    async def signals(self) -> AsyncIterator[JobKey]:
        """See `Store.signals`."""
        queue: asyncio.Queue[JobKey] = asyncio.Queue(NOTICES)
        self._listeners.append(queue)
        try:
            while True:
                yield await queue.get()
        finally:
            self._listeners.remove(queue)

    async def now(self) -> float:
        """See `Store.now`."""
        return self._clock()

    def clock(self) -> float:
        """See `Store.clock`."""
        return self._clock()

    async def next_due(self) -> float | None:
        """See `Store.next_due`."""
        jobs = [job for job in map(self._job, list(self._jobs)) if job is not None]
        times = [at for job in jobs for at in (job.lease, job.head.due) if at is not None and not job.put_by]
        return min(times, default=None)

    async def full(self) -> str:
        """See `Store.full`: never."""
        return ""

    async def check(self) -> list[str]:
        """See `Store.check`: nothing can be wrong here."""
        return []

    async def close(self) -> None:
        """See `Store.close`: nothing to do."""


def _instance(owner: str) -> str:
    """The name in a claim's owner."""
    return owner.rpartition(".")[0]
