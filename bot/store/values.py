"""The values that the store (`bot.store.redis.redis_store.Store`) takes and returns, its errors and its limits."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import NamedTuple

INLINE_LIMIT = 16 * 1024
"""Most bytes of an event's JSON that are stored in the log. A longer one is stored with the job's blobs."""
EVENT_LIMIT = 256 * 1024
"""Most bytes of an event's JSON."""
LOG_LIMIT = 10_000
"""Most events of a job."""
MEMORIES_LIMIT = 200
"""Most texts that are remembered for one place."""
BLOB_LIMIT = 32 * 1024 * 1024
"""Most bytes of a blob."""
ANY_TEAM = "*"
"""Stands for the home team of a store that keeps the jobs of several teams."""
EVERYBODY = "*"
"""Stands for a person: the jobs that wait for anybody."""
OPEN_HOMES_LIMIT = 500
"""Most open App Homes of a team that are stored."""
WAITING_JOBS_LIMIT = 1000
"""Most jobs that are stored as waiting for one person or user group: the last that began to wait."""


@dataclass(frozen=True, slots=True)
class JobKey:
    """A job's address in the store: the team is part of every key."""

    team: str
    job: str


Holder = tuple[str, str]
"""The holder of jobs: a pair of (team, person), or (team, "") for all people of the team."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to work on a job.

    Attributes:
        key: The job.
        epoch: The number of the claim; with `owner`, the fencing token.
        owner: The instance's name, a dot and a random part.
        expires_at: When the lease ends unless it is renewed.
        lost_owners: Owners in a row that were lost without progress: their lease expired and another instance claimed
            the job, or they released it with `counts_as_lost`. Progress resets it to 0, by `Jobs.commit`,
            `Jobs.release` or `OutboxRecords.record_intent`.
        user: The Slack id of the person who began the job.
    """

    key: JobKey
    epoch: int
    owner: str
    expires_at: float
    lost_owners: int = 0
    user: str = ""


class LogEntry(NamedTuple):  # faster to create than a frozen dataclass: a long log has thousands
    """One entry of a log or an inbox. `seq` counts from 1 without a gap in a log; `payload` is an event's JSON."""

    seq: int
    payload: str


class Commit(enum.Enum):
    """How a commit ended.

    OK: the events are appended. DUP: the same operation has appended them earlier. FENCED: the job is no longer ours.
    CONFLICT: the log does not end at the expected event.
    """

    OK = "ok"
    DUP = "dup"
    FENCED = "fenced"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True)
class Head:
    """The projection of a job, stored beside its log so that its status needs no replay.

    Attributes:
        key: The job.
        seq: The number of its last event.
        schema: The newest schema of its events.
        epoch: The number of its last claim.
        due: When it has something to do; None if it does not.
        owner: The owner of its lease; "" for none.
        updated_at: When it last changed.
        lost_owners: As in `Claim`.
        is_quarantined: True if nobody can claim it until it is released.
        fields: The fields that commits have set.
    """

    key: JobKey
    seq: int
    schema: int
    epoch: int
    due: float | None
    owner: str
    updated_at: float
    lost_owners: int = 0
    is_quarantined: bool = False
    fields: dict[str, str] = field(default_factory=dict)


class JobStatus(NamedTuple):
    """The part of a head that lists of jobs filter by: the state of its last request, and when it changed (seconds)."""

    key: JobKey
    state: str
    updated_at: float


@dataclass(frozen=True, slots=True)
class Intent:
    """The outbox's record of one message, written before it is sent.

    Attributes:
        is_first: True for the call that wrote the record, or its repeat with the same operation id. If False, somebody
            may have sent the message.
        began_at: When the record was written.
        ts: The Slack id of the message; "" while it is not known.
        draft_ts: The Slack id of a message that is not complete yet, such as a stream; "" for none.
        sent_at: When its last sending began, if that was noted after `began_at`; else 0.
    """

    is_first: bool
    began_at: float
    ts: str
    draft_ts: str
    sent_at: float = 0.0


class StoreError(Exception):
    """The store cannot be used: it is unreachable, evicting, too old, read-only or full. The text says what to do."""


class LogBroken(StoreError):
    """A job's log or inbox has lost data on the server, so that nobody can work on the job. The store itself works."""


class PayloadTooLarge(StoreError):
    """An event, a blob, a log or another record would exceed its limit of bytes or entries."""


class JobForgotten(StoreError):
    """The job was forgotten while an instance worked on it, so that no more data is stored for it."""


DAY_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class Retention:
    """How long the store keeps data, in seconds.

    Attributes:
        jobs: A job and all its data, after its last request has ended.
        waiting_jobs: A job that has not ended and has nothing to do, as when nobody answers a question.
        materials: The files of a job and their texts, after its last request has ended. None: as long as the job.
        audit: An entry of the audit.
    """

    jobs: float = 30 * DAY_SECONDS
    waiting_jobs: float = 180 * DAY_SECONDS
    materials: float | None = None
    audit: float = 365 * DAY_SECONDS


DEFAULT_RETENTION = Retention()
"""The retention if no setting changes it."""
