"""Names of the keys on the server: `PREFIX:{pN}:...`, the number of the partition following from the job.

What one script touches shares a partition, and with it a slot of a cluster.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from bot.store.interface import JobKey

OWN = ("head", "log", "in", "ops", "blobs", "out")
"""The last words of the keys that belong to one job alone, and expire with it."""
PLACES = ("lease", "newer", "due")
"""The sets of a partition in which a job may wait for an owner, in the order in which they are served."""
HEAD, LOG, INBOX, BLOBS, OUTBOX = 0, 1, 2, 4, 5
"""The places of these keys in `Keys.of_job`."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The names of all keys of a deployment, which start with `prefix`; its jobs are spread over `partitions`."""

    prefix: str
    partitions: int

    def part(self, number: int) -> str:
        """Give the start of a partition's keys. Partitions are numbered from 0."""
        return f"{self.prefix}:{{p{number}}}"

    def part_of(self, key: JobKey) -> str:
        """Give the start of the keys of a job's partition."""
        return self.part(zlib.crc32(f"{key.team}/{key.job}".encode()) % self.partitions)

    def parts(self) -> list[str]:
        """List all partitions, each as `part` gives it."""
        return [self.part(number) for number in range(self.partitions)]

    def of_job(self, key: JobKey) -> list[str]:
        """List the nine keys that every script about a job gets, in the order of `scripts/job.lua`."""
        part = self.part_of(key)
        base = f"{part}:{member(key)}"
        return [*(f"{base}:{name}" for name in OWN), *(f"{part}:{name}" for name in ("due", "lease", "newer"))]

    def seen(self, key: JobKey, name: str) -> str:
        """Name the key that remembers a dedupe id."""
        return f"{self.part_of(key)}:{member(key)}:seen:{name}"

    def asked_by(self, part: str, team: str, user: str) -> str:
        """Name the index of the jobs of a partition that a person asked for."""
        return f"{part}:user:{team}/{user}"

    @property
    def schedules(self) -> tuple[str, str, str]:
        """Keys of all schedules. They are few and share one partition, so that one look finds those that are due."""
        part = f"{self.part(0)}:schedule"
        return f"{part}:payload", f"{part}:due", f"{part}:fired"

    @property
    def fixed(self) -> str:
        """Key of the number of partitions that the jobs are spread over."""
        return f"{self.part(0)}:partitions"

    @property
    def channel(self) -> str:
        """Channel of notices about jobs."""
        return f"{self.prefix}:signals"

    @property
    def limits(self) -> str:
        """Start of the keys of the shared counters: all in one slot, so that one script reaches each."""
        return f"{self.prefix}:{{limits}}:"

    @property
    def breaker_channel(self) -> str:
        """Channel of notices about breakers: an older release would take one for a job on `channel`."""
        return f"{self.prefix}:breakers"


def member(key: JobKey) -> str:
    """Write a job as indexes and notices do. Raises ValueError for parts that could not be told apart."""
    return pair(key.team, key.job)


def pair(team: str, name: str) -> str:
    """Join a team and a name within it. Raises ValueError for parts that could not be told apart."""
    if not team or not name or "/" in team:
        message = f"not usable in a key of the store: {team!r}, {name!r}"
        raise ValueError(message)
    return f"{team}/{name}"


def names(text: bytes) -> tuple[str, str]:
    """Take apart what `pair` joined."""
    team, _, name = text.decode().partition("/")
    return team, name


def job_key(text: bytes) -> JobKey:
    """Read the job that `member` wrote."""
    return JobKey(*names(text))
