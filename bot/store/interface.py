"""What a store promises. `redis.py` keeps it on a server, `memory.py` in this process, for tests.

One suite holds both to the same words. A job is always in one of five places:

    due     there is something to do for it at a time; from then on `claim` gives it out
    lease   an instance owns it until a time, which `beat` moves on; after that `claim` gives it to another
    newer   due, but put by: those that looked at it do not know its schema, and only one that does gets it
    aside   it cost too many owners, or cannot be read: `claim` gives it to nobody
    none    nothing to do: it rests until something comes in, and is forgotten when its time to live is over

`ingest` makes a job and makes it due, as `signal` does with one that exists.
`claim` takes it into a lease. From there `release` makes it due again or lets it
rest, and `set_aside` puts it aside, until `reinstate` makes it due. What comes
in for a job in a lease waits in its inbox, and its owner hears of it; what comes
in for one that is aside only waits.

Times are seconds since the epoch on the store's own clock, the only one that
decides who owns what: `clock` tells it, and no other may be used for what is
passed in as `due`. Every method that writes may be repeated after a lost reply:
a repeat changes nothing and answers as the first call did, or says DUP.
"""

from __future__ import annotations

import enum
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from bot.store.counters import Counters

INLINE_LIMIT = 16 * 1024
"""Bytes of an event's JSON that stay in the log; a longer one is kept with the job's blobs."""
EVENT_LIMIT = 256 * 1024
"""Bytes of an event's JSON."""
LOG_LIMIT = 10_000
"""Events of a job."""
BLOB_LIMIT = 32 * 1024 * 1024
"""Bytes of a blob."""


@dataclass(frozen=True, slots=True)
class JobKey:
    """A job's address in the store: the team is part of every key."""

    team: str
    job: str


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to work on a job, until `expires` unless renewed. `epoch` and `owner` make the fencing token.

    `lost` counts the owners in a row that were lost without progress, the last one included: whose lease ran out
    until another instance took the job, or who let go of it as `lost`. Progress sets it to 0: see
    `Store.commit`, `Store.release` and `Store.outbox_begin`.
    """

    key: JobKey
    epoch: int
    owner: str
    expires: float
    lost: int = 0


class Entry(NamedTuple):  # quicker to make than a frozen dataclass, of which a long log would need thousands
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

    `lost` is that of `Claim`; a job that is `aside` is given to nobody until it is reinstated.
    """

    key: JobKey
    seq: int
    schema: int
    epoch: int
    due: float | None
    owner: str
    updated: float
    lost: int = 0
    aside: bool = False
    fields: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Intent:
    """The outbox's word on one message key.

    `first` is true for the call that recorded the intent (or its repeat by the same operation id);
    otherwise somebody may have sent it: `began` says when, and `ts` is its Slack id once known.
    `draft_ts` is the id of a message that was begun and not finished (a stream).
    """

    first: bool
    began: float
    ts: str
    draft_ts: str


class StoreError(Exception):
    """The store cannot be used: unreachable, evicting, too old, read-only, full. The text says what to do."""


class LogBroken(StoreError):
    """A job's log or inbox lost something on the server, so that the job cannot be worked on. The store is sound."""


class PayloadTooLarge(StoreError):
    """An event, a blob or a log would exceed its limit."""


class Store(Protocol):
    """Jobs, their logs, inboxes and outboxes; blobs; schedules."""

    @property
    def counters(self) -> Counters:
        """What all instances count together."""

    async def ingest(
        self,
        key: JobKey,
        payload: str,
        *,
        dedupe: Sequence[str],
        user: str = "",
        fields: dict[str, str] | None = None,
    ) -> bool:
        """Put an event in the job's inbox and make the job due now, all in one script.

        False, with nothing changed, if any of the `dedupe` ids was seen within the last hour. `user` (the
        requester) gets the job into `jobs_of`. `fields` are set in the head only where it has none yet.
        A running owner is told through `signals`.
        """

    async def signal(self, key: JobKey, payload: str, *, dedupe: Sequence[str]) -> bool:
        """As `ingest`, but only for a job that exists; False also where there is none.

        What comes in for a job that is set aside waits in its inbox and makes nothing due.
        """

    async def claim(self, owner: str, *, lease: float, schema: int, prefer: JobKey | None = None) -> Claim | None:
        """Take one job: `prefer` if it is ready, else an expired lease, else one that was put by, else one that is due.

        None if nothing is ready. Raises the job's epoch, and counts the owner whose lease expired (`Claim.lost`),
        unless that was a claim by the same `owner`. `Claim.owner` is `owner` and a random part: epochs may fall in a
        failover, such a name never comes twice. Jobs whose head names a newer schema than `schema` are put by: only
        an instance that knows it sees them again, and gets them with its next claim.
        """

    async def beat(self, claim: Claim, *, lease: float) -> bool:
        """Renew. False if the job is no longer ours."""

    async def release(self, claim: Claim, *, due: float | None, lost: bool | None = False) -> bool:
        """Let go: due again at that time, or (None) only when something comes in.

        Where the inbox is not empty the job is due at once whatever was asked. The count of lost owners goes back
        to 0; with `lost`, which says that the work stalled or broke, it goes up by one; with None, for who lets go in
        the middle of the work, it stays. False if the job was not ours.
        """

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
        """Append events after seq `expected`, drop the `taken` inbox entries, update the head: one script.

        `ends` starts the job's time to live; a later ingest lifts it again. `progress` sets the count of lost
        owners back to 0. Checked in this order: operation id (DUP), token (FENCED), sequence (CONFLICT).
        Raises PayloadTooLarge.
        """

    async def set_aside(self, claim: Claim, payload: str, *, schema: int, fields: dict[str, str] | None = None) -> bool:
        """Let go of a job and give it to nobody until it is reinstated. False if it was not ours.

        `payload` (an event's JSON) is appended to the log, wherever that ends, so that this works for a job whose
        log cannot be read. The head's schema rises to `schema` at least. What comes in meanwhile waits in its inbox.
        """

    async def reinstate(self, key: JobKey, payload: str) -> bool:
        """Put an event in the inbox of a job that is set aside, and make it due with no lost owners.

        False, with nothing changed, if it is not set aside.
        """

    async def log(self, key: JobKey, *, after: int = 0) -> list[Entry]:
        """The job's events in order, those behind blob keys included. Raises LogBroken where one is missing."""

    async def inbox(self, key: JobKey) -> list[Entry]:
        """What came in and was not taken yet, in order of arrival. Raises LogBroken where one cannot be read."""

    async def head(self, key: JobKey) -> Head | None:
        """The job's projection, or None for an unknown job."""

    async def jobs_of(self, team: str, user: str, *, limit: int = 20) -> list[Head]:
        """The jobs that a person asked for, newest first."""

    async def outbox_begin(self, claim: Claim, message: str, operation: str) -> Intent | None:
        """Record that a message is about to be sent. None if the job is no longer ours.

        That is progress, as is looking for a message in doubt within its first half minute: no owner counts as
        lost any more.
        """

    async def outbox_draft(self, claim: Claim, message: str, ts: str) -> bool:
        """Record the id of a message that was begun and is not finished yet."""

    async def outbox_done(self, claim: Claim, message: str, ts: str) -> bool:
        """Record the id of the finished message. False if the job is no longer ours."""

    async def outbox(self, key: JobKey) -> dict[str, Intent]:
        """All messages of a job by their key."""

    async def put_blob(self, key: JobKey, data: bytes) -> str:
        """Keep bytes beside a job, under their sha256 (hex), which is returned. Raises PayloadTooLarge."""

    async def get_blob(self, key: JobKey, digest: str) -> bytes:
        """The bytes. Raises KeyError if they are not there (any more)."""

    async def put_schedule(self, team: str, schedule: str, payload: str, due: float | None) -> None:
        """Create or change a schedule; None as `due` switches it off, an empty payload with it removes it.

        Raises PayloadTooLarge where there are too many.
        """

    async def due_schedules(self, *, limit: int = 100) -> list[tuple[str, str, str, float]]:
        """Schedules whose time has come: (team, schedule, payload, due)."""

    async def fire_schedule(self, team: str, schedule: str, due: float, following: float | None) -> bool:
        """Move a schedule on from `due` to `following`. True for exactly one caller: it does the work."""

    def signals(self) -> AsyncIterator[JobKey]:
        """Jobs that something came in for or that became due, as told by other instances. May miss some."""

    async def now(self) -> float:
        """The store's clock, asked for."""

    def clock(self) -> float:
        """The store's clock as last heard with any claim, and run on since: right within a round trip, at no cost.

        Whoever stamps events or works out a `due` uses this, for the clocks of machines may be hours apart.
        """

    async def next_due(self) -> float | None:
        """When the earliest job or lease of all partitions comes up, or None. Jobs that were put by do not count."""

    async def full(self) -> str:
        """Empty, or (from 80 % of the server's memory on) the line that says so and what to do: claim nothing then.

        Cheap enough to be asked before every claim: an answer holds for two seconds.
        """

    async def check(self) -> list[str]:
        """Everything wrong with the server, each with what to do; empty if it may be used."""

    async def close(self) -> None:
        """Close connections, inside the running loop."""
