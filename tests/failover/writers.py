"""Writers through the real store, and what they were promised."""

import asyncio
import contextlib
import itertools
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from bot.store.redis.redis_store import Store
from bot.store.values import Claim, Commit, JobKey, StoreError
from tests.patience import eventually

LEASE = 60.0
"""Seconds: longer than any test, so that no job may be given to two."""


@dataclass
class PromiseRecord:
    """What the store said that it has, in any of its ways to say so."""

    ingested_events: list[tuple[JobKey, str]] = field(default_factory=list)
    intended_messages: list[tuple[JobKey, str]] = field(default_factory=list)
    committed_events: list[tuple[JobKey, str]] = field(default_factory=list)
    granted_claims: list[tuple[Claim, float, float]] = field(default_factory=list)
    """With the times from which and to which the job was worked on."""
    refusal_counts: Counter[str] = field(default_factory=Counter)

    @property
    def count(self) -> int:
        return len(self.ingested_events) + len(self.intended_messages) + len(self.committed_events)


class Writer:
    """Does over and over what the bot does with a job: takes it in, claims it, sends a message, commits."""

    def __init__(self, name: str, store: Store, jobs: Sequence[JobKey]) -> None:
        self.promise_record = PromiseRecord()
        self._name = name
        self._store = store
        self._jobs = jobs
        self._numbers = itertools.count(1)

    async def run(self, over: asyncio.Event) -> None:
        for key in itertools.cycle(self._jobs):
            if over.is_set():
                return
            try:
                await self._turn(key)
            except StoreError as error:
                self.promise_record.refusal_counts[str(error)] += 1
                await asyncio.sleep(0.05)

    async def _turn(self, key: JobKey) -> None:
        asked = self._payload("asked")
        if await self._store.jobs.ingest(key, asked, dedupe=[asked]):
            self.promise_record.ingested_events.append((key, asked))
        claim = await self._store.jobs.claim(self._name, lease=LEASE, schema=2, preferred_job=key)
        if claim is None:
            return
        began = time.monotonic()
        try:
            await self._work(claim)
        finally:
            self.promise_record.granted_claims.append((claim, began, time.monotonic()))
        await self._store.jobs.release(claim, due=None)

    async def _work(self, claim: Claim) -> None:
        key = claim.key
        log, inbox = await self._store.jobs.read_log(key), await self._store.jobs.read_inbox(key)
        message, said = self._payload("message"), self._payload("said")
        if await self._store.outbox.record_intent(claim, message, message) is not None:
            self.promise_record.intended_messages.append((key, message))
        events, taken = [*(entry.payload for entry in inbox), said], [entry.seq for entry in inbox]
        if await self._store.jobs.commit(claim, said, len(log), events, taken_entries=taken, schema=2) in {
            Commit.OK,
            Commit.DUP,
        }:
            self.promise_record.committed_events.append((key, said))

    def _payload(self, what: str) -> str:
        return json.dumps({what: f"{self._name} {next(self._numbers)}"})


@contextlib.asynccontextmanager
async def run_writers(writers: Sequence[Writer]) -> AsyncIterator[None]:
    """Have them write until the end of the block."""
    over = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        for writer in writers:
            tasks.create_task(writer.run(over))
        yield
        over.set()


async def list_broken_promises(store: Store, promises: Sequence[PromiseRecord]) -> list[str]:
    """Every promise that the store did not keep."""
    faults = []
    keys = {key for promised in promises for key, _ in promised.ingested_events}
    for key in sorted(keys, key=lambda key: key.job):
        log = Counter(entry.payload for entry in await store.jobs.read_log(key))
        there = log + Counter(entry.payload for entry in await store.jobs.read_inbox(key))
        messages = await store.outbox.read_messages(key)
        faults += [f"{key.job}: {payload} is there {count} times" for payload, count in there.items() if count > 1]
        for promised in promises:
            faults += [
                f"{key.job}: lost {text}" for of, text in promised.ingested_events if of == key and text not in there
            ]
            faults += [
                f"{key.job}: lost {text}" for of, text in promised.committed_events if of == key and text not in log
            ]
            faults += [
                f"{key.job}: lost {name}"
                for of, name in promised.intended_messages
                if of == key and name not in messages
            ]
    return faults + _worked_on_by_two([grant for promised in promises for grant in promised.granted_claims])


def _worked_on_by_two(granted_claims: list[tuple[Claim, float, float]]) -> list[str]:
    tokens = Counter((claim.key, claim.owner) for claim, _, _ in granted_claims)
    faults = [f"{key.job}: {owner} twice" for (key, owner), count in tokens.items() if count > 1]
    ordered = sorted(granted_claims, key=lambda grant: (grant[0].key.job, grant[1]))
    for (first, _, end), (second, start, _) in itertools.pairwise(ordered):
        if first.key == second.key and start < end:
            faults.append(f"{first.key.job}: {first.owner} and {second.owner} at a time")
    return faults


async def more(writers: Sequence[Writer], by: int = 20) -> None:
    """Until each of them was promised so much more."""
    counts = [writer.promise_record.count + by for writer in writers]

    async def has_enough() -> bool:
        return all(writer.promise_record.count >= count for writer, count in zip(writers, counts, strict=True))

    await eventually(has_enough)
