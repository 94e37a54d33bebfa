"""Keeps long jobs that were let go of, for a while: whoever takes one up again reads only what came since.

A thread with hundreds of requests has thousands of events, and each request would have all of them read anew: 200
requests take a quarter of a second, the last of them alone a millisecond. What is kept here is an opened job and the
last line of its log; a log that does not go on from that very line (the job was forgotten and begun anew, a server lost
some of it) is read from its start, as if nothing were kept.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from bot.jobs.lease import boottime
from bot.store.values import JobKey, LogEntry
from handoff import events as ev
from handoff.engine.engine import apply
from handoff.state.job_state import Job

LONG = 150
"""Events from which on a job is kept: a shorter one is read in a few milliseconds."""
MOST_EVENTS = 20_000
"""Events of all that is kept."""
KEPT_FOR = 600.0
"""Seconds. What people had forgotten in the store is gone from here after that at the latest."""


@dataclass(frozen=True, slots=True)
class ReleasedJob:
    """A job as its log describes it up to `line`, the last one; `since` is when it was let go of."""

    job: Job
    line: str
    since: float


class ReleasedJobs:
    """The long jobs that an instance let go of last. `boottime` is the clock."""

    def __init__(self) -> None:
        self._kept: OrderedDict[JobKey, ReleasedJob] = OrderedDict()
        self._events = 0

    def keep(self, key: JobKey, job: Job, line: str) -> None:
        """Keep a job that is let go of, if it is long."""
        self.drop(key)
        if not LONG <= job.seq <= MOST_EVENTS:
            return
        self._kept[key] = ReleasedJob(job, line, boottime())
        self._events += job.seq
        while self._events > MOST_EVENTS:
            self.drop(next(iter(self._kept)))

    def drop(self, key: JobKey) -> None:
        """Remove a job."""
        gone = self._kept.pop(key, None)
        self._events -= gone.job.seq if gone is not None else 0

    def drop_old(self) -> None:
        """Drop what was kept for long enough."""
        oldest = boottime() - KEPT_FOR
        for key in [key for key, one in self._kept.items() if one.since < oldest]:
            self.drop(key)

    def find(self, key: JobKey) -> ReleasedJob | None:
        """Return a job that is kept; None if it is not."""
        return self._kept.get(key)


def apply_new_entries(opened: ReleasedJob, entries: Sequence[LogEntry]) -> Job | None:
    """Return the job after what came since; None if the log does not go on from it.

    `entries` begin with the last one that was known. Raises as `events.load` and `apply`.
    """
    if not entries or entries[0].seq != opened.job.seq or entries[0].payload != opened.line:
        return None
    job = opened.job
    for entry in entries[1:]:
        job = apply(job, ev.load(entry.payload))
    return job
