"""Which job is next, and who gets it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import replace

from bot.store import bounds
from bot.store.interface import Claim, JobKey
from bot.store.memory_parts.jobs import Jobs, StoredJob


class Claims:
    """Looks for a job that is ready, and takes it. `tell` is told of each job that is put by."""

    def __init__(self, jobs: Jobs, clock: Callable[[], float], tell: Callable[[JobKey], None]) -> None:
        self._jobs = jobs
        self._clock = clock
        self._tell = tell

    def claim(self, owner: str, *, lease: float, schema: int, prefer: JobKey | None) -> Claim | None:
        """See `Store.claim`."""
        now = self._clock()
        ready: list[tuple[bool, int, float, str, StoredJob]] = []
        for job in self._jobs:
            if job.lease is not None and job.lease <= now:
                kind, at = 0, job.lease
            elif job.head.due is not None and job.head.due <= now:
                kind, at = (1, float(job.head.schema)) if job.put_by else (2, job.head.due)
            else:
                continue
            if job.head.schema > schema:
                self._put_by(job, owner)
            else:
                key = job.head.key
                ready.append((key != prefer, kind, at, bounds.member(key), job))
        if not ready:
            return None
        return self._take(min(ready, key=lambda found: found[:4])[-1], owner, now + lease)

    def _take(self, job: StoredJob, owner: str, expires: float) -> Claim:
        token = f"{owner}.{os.urandom(8).hex()}"
        lost = job.head.lost + _counts(job, owner)
        job.head = replace(job.head, epoch=job.head.epoch + 1, owner=token, due=None, lost=lost)
        if job.forgets <= self._clock():
            job.operations.clear()
        job.forgets = math.inf
        job.put_by = False
        job.lease = expires
        return Claim(job.head.key, job.head.epoch, token, expires, lost)

    def _put_by(self, job: StoredJob, owner: str) -> None:
        if job.lease is not None:
            lost = job.head.lost + _counts(job, owner)
            job.head = replace(job.head, owner="", due=self._clock(), lost=lost)
            job.lease = None
        if not job.put_by:
            job.put_by = True
            self._tell(job.head.key)


def _counts(job: StoredJob, owner: str) -> bool:
    """Whether an owner is lost by this. Who takes up again what it held itself is alive: nobody was lost."""
    return job.lease is not None and job.head.owner.rpartition(".")[0] != owner
