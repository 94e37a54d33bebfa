"""Where things are on the server: `PREFIX:{pN}:...`, the number of the partition following from the job.

What one script touches shares a partition, and with it a slot of a cluster.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from bot.store import bounds
from bot.store.interface import JobKey

OWN = ("head", "log", "in", "ops", "blobs", "out")
"""What belongs to one job alone, and expires with it."""
PLACES = ("lease", "newer", "due")
"""The sets of a partition in which a job may wait for an owner, in the order in which they are served."""
HEAD, LOG, INBOX, BLOBS, OUTBOX = 0, 1, 2, 4, 5
"""Where these are in what `Keys.of_job` gives."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The names of all keys of a deployment, which start with `prefix`; its jobs are spread over `partitions`."""

    prefix: str
    partitions: int

    def part(self, number: int) -> str:
        """What the keys of a partition start with. They are numbered from 0."""
        return f"{self.prefix}:{{p{number}}}"

    def part_of(self, key: JobKey) -> str:
        """What the keys of a job's partition start with."""
        return self.part(zlib.crc32(f"{key.team}/{key.job}".encode()) % self.partitions)

    def parts(self) -> list[str]:
        """All partitions, as `part`."""
        return [self.part(number) for number in range(self.partitions)]

    def of_job(self, key: JobKey) -> list[str]:
        """The nine keys that every script about a job gets, in the order of `scripts/job.lua`."""
        part = self.part_of(key)
        base = f"{part}:{bounds.member(key)}"
        return [*(f"{base}:{name}" for name in OWN), *(f"{part}:{name}" for name in ("due", "lease", "newer"))]

    def seen(self, key: JobKey, name: str) -> str:
        """The key that remembers a dedupe id."""
        return f"{self.part_of(key)}:{bounds.member(key)}:seen:{name}"

    def asked_by(self, part: str, team: str, user: str) -> str:
        """The jobs of a partition that a person asked for."""
        return f"{part}:user:{team}/{user}"

    @property
    def schedules(self) -> tuple[str, str, str]:
        """Schedules are few: all of them share one partition, so that one look finds those that are due."""
        part = f"{self.part(0)}:schedule"
        return f"{part}:payload", f"{part}:due", f"{part}:fired"

    @property
    def fixed(self) -> str:
        """The key that says over how many partitions the jobs are spread."""
        return f"{self.part(0)}:partitions"

    @property
    def channel(self) -> str:
        """Where notices of jobs are published."""
        return f"{self.prefix}:signals"

    @property
    def limits(self) -> str:
        """What the keys of the shared counters start with: all in one slot, so that one script reaches each."""
        return f"{self.prefix}:{{limits}}:"

    @property
    def breaker_channel(self) -> str:
        """Where notices of breakers are published: an older release would take one for a job on `channel`."""
        return f"{self.prefix}:breakers"
