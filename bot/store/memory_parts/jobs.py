"""The jobs, each as long as it lives."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from bot.store import bounds
from bot.store.interface import Claim, Head, Intent, JobKey
from bot.store.memory_parts.blobs import Blobs


@dataclass(slots=True)
class StoredJob:
    """One job, as the server's keys of it."""

    head: Head
    log: list[str] = field(default_factory=list)
    inbox: dict[int, str] = field(default_factory=dict)
    arrived: int = 0
    operations: dict[str, float] = field(default_factory=dict)
    forgets: float = math.inf
    """When its operations are forgotten, once nobody owns it."""
    outbox: dict[str, tuple[str, Intent]] = field(default_factory=dict)
    """By the message's key: the operation that recorded it, and its intent."""
    lease: float | None = None
    put_by: bool = False
    """Whether it waits, ready, for an instance that knows its schema."""
    fades: float | None = None
    """How long it lives without being touched, once it fades."""
    dies: float | None = None


class Jobs:
    """All jobs by their key. One whose time is over is gone, with its blobs. `clock` tells seconds since the epoch."""

    def __init__(self, clock: Callable[[], float], blobs: Blobs) -> None:
        self._clock = clock
        self._blobs = blobs
        self._all: dict[JobKey, StoredJob] = {}

    def get(self, key: JobKey) -> StoredJob | None:
        """The job, or None."""
        job = self._all.get(key)
        if job is not None and job.dies is not None and job.dies <= self._clock():
            del self._all[key]
            self._blobs.drop(key)
            return None
        return job

    def add(self, key: JobKey) -> StoredJob:
        """A new job, which nobody has worked on."""
        job = self._all[key] = StoredJob(Head(key, 0, 0, 0, None, "", self._clock()))
        return job

    def __iter__(self) -> Iterator[StoredJob]:
        return (job for job in map(self.get, list(self._all)) if job is not None)

    def owned(self, claim: Claim) -> StoredJob | None:
        """The job, if the claim still holds."""
        job = self.get(claim.key)
        ours = job is not None and (job.head.owner, job.head.epoch) == (claim.owner, claim.epoch)
        return job if ours else None

    def fade(self, job: StoredJob, seconds: float) -> None:
        """Let it die after so many seconds without being touched."""
        job.fades = seconds
        self.touch(job)

    def touch(self, job: StoredJob) -> None:
        """A job that fades lives its whole time again."""
        job.dies = None if job.fades is None else self._clock() + job.fades

    def let_go(self, job: StoredJob, head: Head) -> None:
        """Nobody owns it any more; its last operations are remembered for a while."""
        job.lease = None
        job.head = replace(head, owner="")
        while len(job.operations) > bounds.OPERATIONS_LEFT:
            del job.operations[next(iter(job.operations))]
        job.forgets = self._clock() + bounds.OPERATIONS_FOR
