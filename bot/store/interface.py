"""The promises of a store. `bot.store.redis` keeps them on a Redis-compatible server.

A store has eleven parts: `jobs`, the `outbox` of each job, `blobs` beside a job, `schedules`, the `settings` that
admins make while the bot runs, the `memories` of what people had remembered, the `sign_ins` to servers, the
`installations` of the app in workspaces, the `audit`, the `board` on which instances tell each other how they are, the
`homes` of people, and the `counters` that all share (`bot.store.counters`).
A job is always in one of five places:

    due     there is something to do for it at a time; from then on `claim` gives it out
    lease   an instance owns it until a time, which `beat` moves on; after that `claim` gives it to another
    newer   due, but put by: those that looked at it do not know its schema, and only one that does gets it
    quarantined   it cost too many owners, or cannot be read: `claim` gives it to nobody
    none    nothing to do: it rests until something comes in, and is forgotten when its time to live is over

`ingest` makes a job and makes it due, as `signal` does with one that exists.
`claim` takes it into a lease. From there `release` makes it due again or lets it
rest, and `quarantine` gives it to nobody, until `release_quarantined` makes it due. What comes
in for a job in a lease waits in its inbox, and its owner hears of it; what comes
in for one in quarantine only waits.

Times are seconds since the epoch on the store's own clock, the only one that
decides who owns what: `clock` tells it, and no other may be used for what is
passed in as `due`. Every method that writes may be repeated after a lost reply:
a repeat changes nothing and answers as the first call did, or says DUP.
Every method that asks the server raises StoreError while the store is away.
"""

from __future__ import annotations

import enum
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from bot.store.counters import Counters

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


class Glance(NamedTuple):
    """What a list is sorted out by: the job, the state of its latest request, and when it last changed (seconds)."""

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


class Jobs(Protocol):
    """Jobs, each with its log, its inbox and its head."""

    async def ingest(
        self,
        key: JobKey,
        payload: str,
        *,
        dedupe: Sequence[str],
        user: str = "",
        fields: dict[str, str] | None = None,
        said: float | None = None,
    ) -> bool:
        """Put an event in the job's inbox and make the job due now, all in one script.

        False, with nothing changed, if any of the `dedupe` ids was seen within the last hour, or if the job was
        forgotten after it was `said` (seconds since the epoch; None: that does not matter). `user` (the
        requester) gets the job into `asked_by`. `fields` are set in the head only if it has none of that name yet.
        A running owner is told through `Store.signals`. Raises PayloadTooLarge, also if 1000 events wait to be taken.
        """

    async def signal(self, key: JobKey, payload: str, *, dedupe: Sequence[str]) -> bool:
        """Do as `ingest`, but only for a job that exists; False also if there is none.

        What comes in for a job in quarantine waits in its inbox and makes nothing due.
        """

    async def claim(
        self, owner: str, *, lease: float, schema: int, prefer: JobKey | None = None, leave: Collection[Holder] = ()
    ) -> Claim | None:
        """Take one job: `prefer` if it is ready, else an expired lease, else one that was put by, else one that is due.

        None if nothing is ready. Raises the job's epoch, and counts the owner whose lease expired (`Claim.lost`),
        unless that was a claim by the same `owner`. `Claim.owner` is `owner`, a dot, and a random part: epochs may fall
        in a failover, such a name never comes twice. Jobs whose head names a newer schema than `schema` are put by:
        only an instance that knows it sees them again, and gets them with its next claim. Due jobs of those in `leave`
        are left to wait, so that others have their turn.
        """

    async def beat(self, claim: Claim, *, lease: float) -> bool:
        """Renew, also a lease that ran out unless somebody took the job. False if the job is no longer ours."""

    async def release(self, claim: Claim, *, due: float | None, lost: bool | None = False) -> bool:
        """Let go: due again at that time, or (None) only when something comes in.

        If the inbox is not empty the job is due at once whatever was asked. The count of lost owners goes back
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
        audit: Sequence[str] = (),
    ) -> Commit:
        """Append events after seq `expected`, drop the `taken` inbox entries, update the head: one script.

        `ends` starts the job's time to live, unless something is left in the inbox; a later ingest lifts it again.
        `progress` sets the count of lost owners back to 0. `audit` are entries (JSON) that follow from the events.
        Checked in this order: operation id (DUP), token (FENCED),
        sequence (CONFLICT). Raises PayloadTooLarge.
        """

    async def quarantine(
        self, claim: Claim, payload: str, *, schema: int, fields: dict[str, str] | None = None
    ) -> bool:
        """Let go of a job and give it to nobody until it is released. False if it was not ours.

        `payload` (an event's JSON) is appended to the log, wherever that ends, so that this works for a job whose
        log cannot be read. The head's schema rises to `schema` at least. What comes in meanwhile waits in its inbox.
        """

    async def release_quarantined(self, key: JobKey, payload: str) -> bool:
        """Put an event in the inbox of a job in quarantine, however full, and make it due with no lost owners.

        False, with nothing changed, if it is not in quarantine.
        """

    async def log(self, key: JobKey, *, after: int = 0) -> list[Entry]:
        """Read the job's events in order, those behind blob keys included. Raises LogBroken if one is missing."""

    async def inbox(self, key: JobKey) -> list[Entry]:
        """Read what came in and was not taken yet, in order of arrival. Raises LogBroken if one cannot be read."""

    async def head(self, key: JobKey) -> Head | None:
        """Read the job's projection; None for an unknown job."""

    async def asked_by(self, team: str, user: str, *, limit: int = 20, skip: int = 0) -> list[Head]:
        """Read the heads of the jobs that a person asked for, newest first. Knows the last 1000 of each partition.

        Of the newest `skip + limit` those that were forgotten meanwhile are left out.
        """

    async def keys_asked_by(self, team: str, user: str, *, limit: int, skip: int = 0) -> list[JobKey]:
        """Do the same without reading any head."""

    async def number_asked_by(self, team: str, user: str) -> int:
        """Count the jobs that a person asked for: as many as `asked_by` knows."""

    async def keys_under_way(self, *, limit: int, team: str = "") -> list[JobKey]:
        """List jobs of a team, or of all, that somebody works on or that are due at some time, soonest first."""

    async def glance(self, keys: Sequence[JobKey]) -> list[Glance]:
        """Read the state of many jobs at little cost, in that order, without those that are not there."""

    async def heads(self, keys: Sequence[JobKey]) -> list[Head]:
        """Read the heads of jobs, in that order, without those that are not there."""

    async def forget(
        self, key: JobKey, *, users: Sequence[str], files: Sequence[str] = (), audit: Sequence[str] = ()
    ) -> bool:
        """Erase a job and all that belongs to it, and note `audit`, in one script. False if there is no such job.

        Whoever owns it is fenced, and told. It is taken out of `asked_by` of `users` and `jobs_that_read` of `files`.
        What it posted is known to `OutboxRecords.left_behind`; what is said from then on in its place makes a new job.
        """

    async def forgotten(self, key: JobKey) -> float | None:
        """Tell when a job was forgotten (seconds since the epoch); None if it was not, or so long ago as to be over."""

    async def next_due(self) -> float | None:
        """Tell when the earliest job or lease comes up, or None. Jobs that were put by do not count."""


class OutboxRecords(Protocol):
    """The messages that jobs meant to send, and what became of each."""

    async def begin(self, claim: Claim, message: str, operation: str, *, progress: bool = True) -> Intent | None:
        """Record that a message is about to be sent. None if the job is no longer ours.

        That is progress, unless said otherwise, as is looking for a message in doubt within its first half minute: no
        owner counts as lost any more. Raises PayloadTooLarge if the job has 10,000 messages.
        """

    async def sending(self, claim: Claim, message: str) -> bool:
        """Record that a message is sent just now, later than it was begun. False if the job is no longer ours."""

    async def draft(self, claim: Claim, message: str, ts: str) -> bool:
        """Record the id of a message that was begun and is not finished yet. False if the job is no longer ours."""

    async def done(self, claim: Claim, message: str, ts: str) -> bool:
        """Record the id of the finished message. False if the job is no longer ours."""

    async def messages(self, key: JobKey) -> dict[str, Intent]:
        """Read all messages of a job by their key. `first` is false in all of them."""

    async def left_behind(self, key: JobKey) -> dict[str, Intent]:
        """Read the messages of a job that was forgotten, as `messages` does: they are still to be taken back."""

    async def taken_back(self, key: JobKey) -> None:
        """Erase what `left_behind` tells."""


class Blobs(Protocol):
    """Bytes beside a job, under their sha256 (hex).

    They may come before the job does, and expire with it, or before it where the store keeps materials for less long.
    """

    async def put(self, key: JobKey, data: bytes) -> str:
        """Keep bytes and give their sha256. Raises PayloadTooLarge, also if the job keeps 512 MB already; Forgotten."""

    async def get(self, key: JobKey, digest: str) -> bytes:
        """Give the bytes. Raises KeyError if they are not there (any more)."""

    async def drop(self, key: JobKey, digests: Mapping[str, bytes]) -> None:
        """Take bytes out by their sha256, or put what is given in their place (empty: nothing)."""

    async def count(self, key: JobKey) -> tuple[int, int]:
        """Tell how many pieces a job keeps, and their bytes together."""

    async def came_from(self, key: JobKey, files: Sequence[str]) -> None:
        """Note that a job is about to read files, by the ids that their place gave them."""

    async def jobs_that_read(self, team: str, file: str) -> list[JobKey]:
        """List the jobs that read a file, as far as they are kept."""


class Schedules(Protocol):
    """Work that begins at a time, in whichever instance is first. `schedule` is a name within the team."""

    async def put(self, team: str, schedule: str, payload: str, due: float | None) -> None:
        """Create or change a schedule; None as `due` switches it off, an empty payload with it removes it.

        Raises PayloadTooLarge if there are 10,000 already.
        """

    async def swap(self, team: str, schedule: str, seen: str, payload: str, *due: float | None) -> bool:
        """Change a schedule if its payload is still the one that was `seen`; False if somebody was quicker.

        Without `due` it stays due when it was, with None it is switched off; an empty payload removes it.
        """

    async def read(self, team: str, schedule: str) -> tuple[str, float | None] | None:
        """Read one: its payload, and when it is due; None if there is none."""

    async def of(self, team: str, kind: str) -> list[tuple[str, str, float | None]]:
        """Read the schedules of a team whose names start with `kind`, due or not: (schedule, payload, due).

        Looks at the names of all that there are.
        """

    async def due(self, *, team: str = "", kind: str = "", limit: int = 100) -> list[tuple[str, str, str, float]]:
        """Read the schedules whose time has come, earliest first: (team, schedule, payload, due).

        Those whose names start with `kind`, of one team or (empty) of all.
        """

    async def next_due(self, kind: str, *, team: str = "") -> float | None:
        """Tell when the earliest of them is due, or None."""

    async def fire(self, team: str, schedule: str, due: float, following: float | None) -> bool:
        """Move a schedule on from `due` to `following`. True for exactly one caller: it does the work."""


class KeptSettings(Protocol):
    """What admins set while the bot runs: a text by a name within the team, kept for good."""

    async def put(self, team: str, name: str, payload: str, *, instead_of: str | None = None) -> bool:
        """Set one. With `instead_of` only if that is what stands there (empty: nothing does); False: it is not.

        Raises PayloadTooLarge over `INLINE_LIMIT`, or if there are 10,000 already.
        """

    async def of(self, team: str) -> dict[str, str]:
        """Read all of a team, by name."""


class Memories(Protocol):
    """What people had remembered: a text by a name within a place of the team (a channel or a person), kept for good.

    What is written says what was there before, so that two who change the same do not undo each other.
    """

    async def put(self, team: str, place: str, name: str, payload: str, *, was: str = "") -> bool:
        """Set one that was `was` so far (empty: there was none), or with an empty payload drop it.

        False, with nothing changed, if it is another by now. Raises PayloadTooLarge over `INLINE_LIMIT`, or if the
        place has `MEMORIES_LIMIT` already.
        """

    async def of(self, team: str, place: str) -> dict[str, str]:
        """Read all of a place, by name."""

    async def places(self, team: str) -> frozenset[str]:
        """Name the places for which something is remembered."""


class SignIns(Protocol):
    """What people got by signing in to servers, and sign-ins under way: a text by a name within the team.

    They hold tokens: whoever can read the store can use them.
    """

    async def keep(self, team: str, name: str, payload: str, lasts: float | None = None) -> None:
        """Set one, for so many seconds; None: until it is taken. Raises PayloadTooLarge over `INLINE_LIMIT`."""

    async def read(self, team: str, name: str) -> str:
        """Read one; empty if there is none."""

    async def take(self, team: str, name: str) -> str:
        """Read one and drop it: of several calls at once one gets it, the others nothing."""


class Installations(Protocol):
    """The workspaces and organisations that installed the app: a text by their id, kept for good.

    It holds tokens, encrypted by whoever keeps it.
    """

    async def put(self, name: str, payload: str, *, was: str) -> bool:
        """Set one that was `was` so far (empty: there was none), or with an empty payload drop it.

        False, with nothing changed, if it is another by now. Raises PayloadTooLarge over `INLINE_LIMIT`, or if there
        are 10,000 already.
        """

    async def read(self, name: str) -> str:
        """Read one; empty if there is none."""

    async def all(self) -> dict[str, str]:
        """Read all, by name."""

    async def keep_state(self, state: str, lasts: float) -> None:
        """Keep the state of an installation under way for so many seconds."""

    async def take_state(self, state: str) -> bool:
        """Drop a state. True for exactly one caller, and only if it was kept and is not over."""


class Audit(Protocol):
    """Who did what, apart from the jobs: it is added to, and goes when its time is over, never before.

    Entries are JSON, one line each. Those that follow from a job's events are written with their commit.
    """

    async def note(self, team: str, job: str, entry: str) -> None:
        """Add an entry that follows from no event. `job` may be empty."""

    def read(self, *, since: float = 0.0) -> AsyncIterator[str]:
        """Read the entries of all teams that were added since a time (seconds since the epoch), in that order."""


class Board(Protocol):
    """What instances tell each other of themselves: a text each, which the next one replaces."""

    async def put(self, instance: str, row: str) -> None:
        """Set the text of an instance."""

    async def rows(self) -> dict[str, tuple[float, str]]:
        """Read all, by instance: how old each is, in seconds, and the text. After some minutes a text is dropped."""


class Homes(Protocol):
    """Open homes, and the jobs that wait for people.

    All of it follows from what is kept elsewhere, or is soon over: to lose it loses nothing that people asked for.
    """

    async def put(self, team: str, user: str, row: str) -> None:
        """Note how somebody's home is, as a text. A row is dropped some time after the last of the team was put."""

    async def drop(self, team: str, users: Sequence[str]) -> None:
        """Drop the rows of those whose home is open no more."""

    async def rows(self, team: str) -> Mapping[str, str]:
        """Read the rows of all whose home is open, by person."""

    async def waits(self, key: JobKey, *, now: Sequence[str], before: Sequence[str] = ()) -> None:
        """Note for whom a job waits now, and for whom it did: ids of people and user groups, or `EVERYBODY`."""

    async def waiting(self, team: str, who: Sequence[str], *, limit: int = 100) -> list[JobKey]:
        """List the jobs that wait for any of these, who waits longest first.

        Some may wait no more, or be gone: their heads say so.
        """


class Store(Protocol):
    """The place that all instances share: eleven parts, one clock."""

    @property
    def jobs(self) -> Jobs:
        """Jobs, their logs and inboxes, and who works on them."""

    @property
    def outbox(self) -> OutboxRecords:
        """The messages that jobs send."""

    @property
    def blobs(self) -> Blobs:
        """Files and other bulk beside jobs."""

    @property
    def schedules(self) -> Schedules:
        """Work that begins at a time."""

    @property
    def settings(self) -> KeptSettings:
        """What admins set while the bot runs."""

    @property
    def memories(self) -> Memories:
        """What people had remembered."""

    @property
    def sign_ins(self) -> SignIns:
        """What people got by signing in to servers."""

    @property
    def installations(self) -> Installations:
        """Where the app is installed."""

    @property
    def audit(self) -> Audit:
        """Who did what."""

    @property
    def board(self) -> Board:
        """What instances tell each other."""

    @property
    def homes(self) -> Homes:
        """Open homes of people, and the jobs that wait for them."""

    @property
    def counters(self) -> Counters:
        """Rates, budgets and breakers of all instances together."""

    def signals(self) -> AsyncIterator[JobKey]:
        """Listen to other instances: jobs that something came in for or that became due. May miss some.

        What they tell of breakers goes to `counters` meanwhile. Connects again by itself.
        """

    def clock(self) -> float:
        """Tell the store's time, as last heard with any claim and run on since: right within a round trip, at no cost.

        Whoever stamps events or works out a `due` uses this, for the clocks of machines may be hours apart.
        """

    async def now(self) -> float:
        """Ask the server for the store's time."""

    async def home(self, team: str) -> str:
        """Tell whose jobs are kept here: the team that asked first; an empty one only asks.

        `claim` gives jobs out whosever they are.
        """

    async def share(self) -> None:
        """Open the store to the jobs of any team: from now on `home` tells `ANY_TEAM`."""

    async def forget_team(self, team: str) -> int:
        """Erase all that is kept for a team but its audit, and return how many keys that were. May be repeated.

        To be called where nobody works on the team's jobs any more: no owner is told.
        """

    async def full(self) -> str:
        """Say, from 80 % of the server's memory on, that it is full and what to do: claim nothing then. Else empty.

        Cheap enough to be asked before every claim: an answer holds for two seconds.
        """

    async def check(self) -> list[str]:
        """List everything wrong with the server, each with what to do; empty if it may be used.

        A mere risk starts with "Warning:".
        """

    async def close(self) -> None:
        """Close connections, inside the running loop."""
