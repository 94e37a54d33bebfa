"""The store in this process: the twin that tests run on, held to the same suite as the server."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Literal

from bot.store import bounds
from bot.store.interface import Claim, Commit, Entry, Head, Intent, JobKey, PayloadTooLarge
from bot.store.memory_parts.blobs import Blobs
from bot.store.memory_parts.claims import Claims
from bot.store.memory_parts.counters import MemoryCounters
from bot.store.memory_parts.jobs import Jobs, StoredJob
from bot.store.memory_parts.messages import Messages
from bot.store.memory_parts.notices import Notices
from bot.store.memory_parts.schedules import Schedules


class MemoryStore:
    """A `Store` in this process.

    Args:
        clock: Seconds since the epoch; tests pass one that they move.
        retention: Seconds that a finished job is kept.
    """

    def __init__(self, *, clock: Callable[[], float] = time.time, retention: float = bounds.RETENTION) -> None:
        self._clock = clock
        self._retention = retention
        self._blobs = Blobs()
        self._jobs = Jobs(clock, self._blobs)
        self._notices = Notices()
        self._claims = Claims(self._jobs, clock, self._notices.tell)
        self._messages = Messages(self._jobs, clock)
        self._schedules = Schedules(clock)
        self._seen: dict[tuple[JobKey, str], float] = {}
        self._asked: dict[tuple[str, str], dict[JobKey, float]] = {}
        self.counters = MemoryCounters(clock)

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
        """See `Store.ingest`."""
        bounds.check_fields(fields or {})
        job = self._receive(key, payload, dedupe, "any")
        if job is None:
            return False
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
        return self._receive(key, payload, dedupe, "exists") is not None

    async def reinstate(self, key: JobKey, payload: str) -> bool:
        """See `Store.reinstate`."""
        return self._receive(key, payload, (), "aside") is not None

    def _receive(
        self, key: JobKey, payload: str, dedupe: Sequence[str], where: Literal["any", "exists", "aside"]
    ) -> StoredJob | None:
        bounds.member(key)
        large = bool(bounds.digest_if_large(payload))
        now = self._clock()
        self._forget_seen(now)
        job = self._jobs.get(key)
        fits = {"any": True, "exists": job is not None, "aside": job is not None and job.head.aside}[where]
        if any((key, name) in self._seen for name in dedupe) or not fits:
            return None
        if job is not None and len(job.inbox) >= bounds.INBOX_LIMIT and where != "aside":
            raise PayloadTooLarge(bounds.JOB_FULL)
        if large:
            self._blobs.keep(key, payload.encode())
        if job is None:
            job = self._jobs.add(key)
        if where == "aside":
            job.head = replace(job.head, aside=False, lost=0)
        self._seen.update({(key, name): now + bounds.SEEN_FOR for name in dedupe})
        job.arrived += 1
        job.inbox[job.arrived] = payload
        if job.head.aside:
            self._jobs.touch(job)
            return job
        job.fades = job.dies = None
        if job.lease is None:
            job.head = replace(job.head, due=now if job.head.due is None else min(now, job.head.due))
        self._notices.tell(key)
        return job

    def _forget_seen(self, now: float) -> None:
        for name in [name for name, until in self._seen.items() if until <= now]:
            del self._seen[name]

    # Who works ------------------------------------------------------------------------------------------

    async def claim(self, owner: str, *, lease: float, schema: int, prefer: JobKey | None = None) -> Claim | None:
        """See `Store.claim`. `prefer` is taken first if it is ready."""
        return self._claims.claim(owner, lease=lease, schema=schema, prefer=prefer)

    async def beat(self, claim: Claim, *, lease: float) -> bool:
        """See `Store.beat`."""
        job = self._jobs.owned(claim)
        if job is None:
            return False
        job.lease = self._clock() + lease
        return True

    async def release(self, claim: Claim, *, due: float | None, lost: bool | None = False) -> bool:
        """See `Store.release`."""
        job = self._jobs.owned(claim)
        if job is None:
            return False
        now = self._clock()
        due = now if job.inbox else due
        count = job.head.lost if lost is None else job.head.lost + 1 if lost else 0
        self._jobs.let_go(job, replace(job.head, due=due, lost=count))
        if due is not None:
            job.fades = job.dies = None
            if due <= now:
                self._notices.tell(claim.key)
        elif job.fades is None:
            self._jobs.fade(job, bounds.IDLE_RETENTION)
        return True

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
        job = self._jobs.get(claim.key)
        if job is not None and operation in job.operations and self._clock() < job.forgets:
            return Commit.DUP
        if job is None or self._jobs.owned(claim) is None:
            return Commit.FENCED
        if job.head.seq != expected:
            return Commit.CONFLICT
        for data in large:
            self._blobs.keep(claim.key, data)
        job.log += payloads
        for seq in taken:
            job.inbox.pop(seq, None)
        now, kept, lost = self._clock(), {**job.head.fields, **fields}, 0 if progress else job.head.lost
        job.head = replace(job.head, seq=len(job.log), schema=schema, updated=now, lost=lost, fields=kept)
        job.operations[operation] = now
        while len(job.operations) > bounds.OPERATIONS_KEPT:
            del job.operations[next(iter(job.operations))]
        if ends and not job.inbox:
            self._jobs.fade(job, self._retention)
        else:
            self._jobs.touch(job)
        return Commit.OK

    async def set_aside(self, claim: Claim, payload: str, *, schema: int, fields: dict[str, str] | None = None) -> bool:
        """See `Store.set_aside`."""
        bounds.check_fields(fields or {})
        large = bool(bounds.digest_if_large(payload))
        job = self._jobs.owned(claim)
        if job is None:
            return False
        if large:
            self._blobs.keep(claim.key, payload.encode())
        job.log.append(payload)
        head, kept = job.head, {**job.head.fields, **(fields or {})}
        newest = max(head.schema, schema)
        head = replace(head, seq=len(job.log), schema=newest, updated=self._clock(), fields=kept)
        self._jobs.let_go(job, replace(head, due=None, aside=True))
        self._jobs.fade(job, bounds.IDLE_RETENTION)
        return True

    # What is known --------------------------------------------------------------------------------------

    async def log(self, key: JobKey, *, after: int = 0) -> list[Entry]:
        """See `Store.log`."""
        job = self._jobs.get(key)
        return [] if job is None else [Entry(n, text) for n, text in enumerate(job.log, 1) if n > after]

    async def inbox(self, key: JobKey) -> list[Entry]:
        """See `Store.inbox`."""
        job = self._jobs.get(key)
        return [] if job is None else [Entry(n, text) for n, text in job.inbox.items()]

    async def head(self, key: JobKey) -> Head | None:
        """See `Store.head`."""
        job = self._jobs.get(key)
        return None if job is None else replace(job.head, fields=dict(job.head.fields))

    async def jobs_of(self, team: str, user: str, *, limit: int = 20) -> list[Head]:
        """See `Store.jobs_of`."""
        asked = self._asked.get((team, user), {})
        newest = sorted(asked, key=lambda key: asked[key], reverse=True)[:limit]
        heads = [await self.head(key) for key in newest]
        return [head for head in heads if head is not None]

    # Messages, blobs, schedules -------------------------------------------------------------------------

    async def outbox_begin(self, claim: Claim, message: str, operation: str) -> Intent | None:
        """See `Store.outbox_begin`."""
        return self._messages.begin(claim, message, operation)

    async def outbox_draft(self, claim: Claim, message: str, ts: str) -> bool:
        """See `Store.outbox_draft`."""
        return self._messages.note(claim, message, lambda intent: replace(intent, draft_ts=ts))

    async def outbox_done(self, claim: Claim, message: str, ts: str) -> bool:
        """See `Store.outbox_done`."""
        return self._messages.note(claim, message, lambda intent: replace(intent, ts=ts))

    async def outbox(self, key: JobKey) -> dict[str, Intent]:
        """See `Store.outbox`."""
        job = self._jobs.get(key)
        return {} if job is None else {message: intent for message, (_, intent) in job.outbox.items()}

    async def put_blob(self, key: JobKey, data: bytes) -> str:
        """See `Store.put_blob`."""
        return self._blobs.keep(key, data)

    async def get_blob(self, key: JobKey, digest: str) -> bytes:
        """See `Store.get_blob`."""
        self._jobs.get(key)  # an expired job takes its blobs along
        return self._blobs.get(key, digest)

    async def put_schedule(self, team: str, schedule: str, payload: str, due: float | None) -> None:
        """See `Store.put_schedule`."""
        self._schedules.put(team, schedule, payload, due)

    async def due_schedules(self, *, limit: int = 100) -> list[tuple[str, str, str, float]]:
        """See `Store.due_schedules`. Earliest first."""
        return self._schedules.due(limit=limit)

    async def fire_schedule(self, team: str, schedule: str, due: float, following: float | None) -> bool:
        """See `Store.fire_schedule`."""
        return self._schedules.fire(team, schedule, due, following)

    # The store itself -----------------------------------------------------------------------------------

    def signals(self) -> AsyncIterator[JobKey]:
        """See `Store.signals`."""
        return self._notices.listen()

    async def now(self) -> float:
        """See `Store.now`."""
        return self._clock()

    def clock(self) -> float:
        """See `Store.clock`."""
        return self._clock()

    async def next_due(self) -> float | None:
        """See `Store.next_due`."""
        times = [at for job in self._jobs for at in (job.lease, job.head.due) if at is not None and not job.put_by]
        return min(times, default=None)

    async def full(self) -> str:
        """See `Store.full`: never."""
        return ""

    async def check(self) -> list[str]:
        """See `Store.check`: nothing can be wrong here."""
        return []

    async def close(self) -> None:
        """See `Store.close`: nothing to do."""
