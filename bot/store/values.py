"""The values that the store takes and gives, its errors and its limits: see `bot.store.redis.redis_store.Store`."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import NamedTuple

INLINE_LIMIT = 16 * 1024
"""Bytes of an event's JSON that stay in the log; a longer one is kept with the job's blobs."""
EVENT_LIMIT = 256 * 1024
"""Bytes of an event's JSON."""
LOG_LIMIT = 10_000
"""Events of a job."""
MEMORIES_LIMIT = 200
"""Things that are remembered for one place."""
BLOB_LIMIT = 32 * 1024 * 1024
"""Bytes of a blob."""
ANY_TEAM = "*"
"""In place of a team: a store that keeps the jobs of several."""
EVERYBODY = "*"
"""In place of a person: all jobs that wait for people, whoever they are."""
MOST_OPEN = 500
"""Open homes of a team that are remembered."""
MOST_WAITING = 1000
"""Jobs that wait for one person, or user group, that are known: those that began to wait last."""


@dataclass(frozen=True, slots=True)
class JobKey:
    """A job's address in the store: the team is part of every key."""

    team: str
    job: str


Holder = tuple[str, str]
"""Who has jobs: a team and a person of it, or a team with an empty name for all of it."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to work on a job, until `expires` unless renewed. `epoch` and `owner` make the fencing token.

    `lost` counts the owners in a row that were lost without progress, the last one included: those whose lease ran
    out until another instance took the job, and those that let go of it as `lost`. Progress sets it to 0: see
    `Jobs.commit`, `Jobs.release` and `OutboxRecords.begin`. `user` is the Slack id of the person who began the job.
    """

    key: JobKey
    epoch: int
    owner: str
    expires: float
    lost: int = 0
    user: str = ""


class LogEntry(NamedTuple):  # quicker to make than a frozen dataclass, of which a long log would need thousands
    """One entry of a log or an inbox. `seq` counts from 1 without a gap in a log; `payload` is an event's JSON."""

    seq: int
    payload: str


class Commit(enum.Enum):
    """How a commit ended. Only OK appended anything; DUP means that the same operation did so earlier."""

    OK = "ok"
    DUP = "dup"
    FENCED = "fenced"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True)
class Head:
    """The projection of a job beside its log, so that status needs no replay. `fields` are the committer's.

    `lost` is that of `Claim`; a job that is `quarantined` is given to nobody until it is released.
    """

    key: JobKey
    seq: int
    schema: int
    epoch: int
    due: float | None
    owner: str
    updated: float
    lost: int = 0
    quarantined: bool = False
    fields: dict[str, str] = field(default_factory=dict)


class JobGlance(NamedTuple):
    """What lists of jobs are filtered by: the job, the state of its latest request, when it last changed (seconds)."""

    key: JobKey
    state: str
    updated: float


@dataclass(frozen=True, slots=True)
class Intent:
    """The outbox's entry for one message key.

    `first` is true for the call that recorded the intent (or its repeat by the same operation id);
    otherwise somebody may have sent it: `began` says when, and `ts` is its Slack id once known.
    `draft_ts` is the id of a message that was begun and not finished (a stream). `sent` says when somebody last sent it
    later than it was begun; 0: nobody did.
    """

    first: bool
    began: float
    ts: str
    draft_ts: str
    sent: float = 0.0


class StoreError(Exception):
    """The store cannot be used: unreachable, evicting, too old, read-only, full. The text says what to do."""


class LogBroken(StoreError):
    """A job's log or inbox lost something on the server, so that the job cannot be worked on. The store is sound."""


class PayloadTooLarge(StoreError):
    """An event, a blob or a log would exceed its limit."""


class Forgotten(StoreError):
    """Somebody had the job forgotten while it was worked on: nothing more is kept for it."""


DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Retention:
    """The seconds for which things are kept.

    Attributes:
        jobs: A job after its last request has ended, with all that belongs to it.
        waiting: A job that is not finished and has nothing to do: a question that nobody ever answers.
        materials: The files of a job and their texts, after its last request has ended. None: as long as the job.
        audit: An entry of the audit.
    """

    jobs: float = 30 * DAY
    waiting: float = 180 * DAY
    materials: float | None = None
    audit: float = 365 * DAY


DEFAULT_RETENTION = Retention()
"""The retention that holds unless the settings say otherwise."""
