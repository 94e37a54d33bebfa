"""The store: what all instances share, on a Redis-compatible server.

The small parts stand here, jobs and counters in files of their own. Everything that decides or writes happens in a
script of `scripts/`, and the same layout of keys runs on one server, Sentinel
and Cluster.

Times are seconds since the epoch on the store's own clock, the only one that decides who owns what: `clock` tells it,
and no other may be used for what is passed in as `due`. Every method that writes may be repeated after a lost reply:
a repeat changes nothing and answers as the first call did, or says DUP. Every method that asks the server raises
StoreError while the store is away.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bot.store.redis import layout
from bot.store.redis.layout import (
    BLOBS,
    FILES,
    OUTBOX,
    SETTINGS_LIMIT,
    Keys,
    decode_job_key,
    encode_job_key,
    join_names,
    split_names,
)
from bot.store.redis.redis_audit import Audit
from bot.store.redis.redis_counters import NOTICE, Counters
from bot.store.redis.redis_jobs import Jobs
from bot.store.redis.redis_records import Homes, Installations, InstanceRegistry, Memories, SignIns
from bot.store.redis.script_calls import Calls, ServerClock, nonce, raise_if_full, to_milliseconds
from bot.store.script import Arg
from bot.store.values import ANY_TEAM, DEFAULT_RETENTION, Claim, Intent, JobKey, PayloadTooLarge, Retention, StoreError

if TYPE_CHECKING:
    from bot.store.redis_server import Server

_AT_ONCE = 500
"""Commands that are sent together."""


class OutboxRecords:
    """The messages that jobs meant to send, and what became of each."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def begin(self, claim: Claim, message: str, operation: str, *, progress: bool = True) -> Intent | None:
        """Record that a message is about to be sent. None if the job is no longer ours.

        If `progress`, a new message, or one that is still in doubt within 30 seconds of its intent, counts as progress
        of the job: its count of lost owners goes back to 0. Raises PayloadTooLarge if the job has 10,000 messages.
        """
        about = (claim.owner, claim.epoch, message, operation)
        args = (*about, layout.OUTBOX_LIMIT, layout.SETTLES_IN, int(progress))
        reply = raise_if_full(await self._calls.run("outbox_begin", self._calls.keys.of_job(claim.key), *args))
        return None if reply is None else layout.intent(reply[1], first=bool(reply[0]))

    async def note_sending(self, claim: Claim, message: str) -> bool:
        """Record that a message is sent just now, later than it was begun. False if the job is no longer ours."""
        return await self._note_message(claim, message, "sent", "")

    async def note_draft(self, claim: Claim, message: str, ts: str) -> bool:
        """Record the id of a message that was begun and is not finished yet. False if the job is no longer ours."""
        return await self._note_message(claim, message, "draft", ts)

    async def note_finished(self, claim: Claim, message: str, ts: str) -> bool:
        """Record the id of the finished message. False if the job is no longer ours."""
        return await self._note_message(claim, message, "ts", ts)

    async def _note_message(self, claim: Claim, message: str, kind: str, ts: str) -> bool:
        args = (claim.owner, claim.epoch, message, kind, ts)
        return bool(await self._calls.run("outbox_note", self._calls.keys.of_job(claim.key), *args))

    async def messages(self, key: JobKey) -> dict[str, Intent]:
        """Read all messages of a job by their key. `first` is false in all of them."""
        rows = await self._calls.server.command("HGETALL", self._calls.keys.of_job(key)[OUTBOX])
        return {name.decode(): layout.intent(row, first=False) for name, row in rows.items()}

    async def read_left_behind(self, key: JobKey) -> dict[str, Intent]:
        """Read the messages of a job that was forgotten, as `messages` does: they are still to be taken back."""
        rows = await self._calls.server.command("HGETALL", self._calls.keys.forgotten_outbox(key))
        return {name.decode(): layout.intent(row, first=False) for name, row in rows.items()}

    async def erase_left_behind(self, key: JobKey) -> None:
        """Erase what `read_left_behind` reads."""
        await self._calls.server.command("DEL", self._calls.keys.forgotten_outbox(key))


class Blobs:
    """Bytes beside a job, under their sha256 (hex).

    They may come before the job does, and expire with it, or before it where the store keeps materials for less long.
    Bytes whose job never comes are kept as long as a finished job is.
    """

    def __init__(self, calls: Calls, retention: Retention) -> None:
        self._calls = calls
        self._retention_ms = to_milliseconds(retention.jobs)
        self._known_ms = to_milliseconds(max(retention.jobs, retention.waiting))

    async def put(self, key: JobKey, data: bytes) -> str:
        """Keep bytes and give their sha256. Raises PayloadTooLarge, also if the job keeps 512 MB already; Forgotten."""
        digest = layout.blob_digest(data)
        args = (digest, data, layout.JOB_BYTES_LIMIT, self._retention_ms)
        raise_if_full(await self._calls.run("keep", self._calls.keys.of_job(key), *args))
        return digest

    async def get(self, key: JobKey, digest: str) -> bytes:
        """Give the bytes. Raises KeyError if they are not there (any more)."""
        keys = self._calls.keys.of_job(key)
        for name in (keys[FILES], keys[BLOBS]):  # an earlier release kept them with the large events
            # Beside the blobs the hash holds the sum of their sizes.
            data = await self._calls.server.command("HGET", name, digest) if digest != "size" else None
            if data is not None:
                return bytes(data)
        raise KeyError(digest)

    async def drop(self, key: JobKey, digests: Mapping[str, bytes]) -> None:
        """Drop bytes by their sha256, or replace them by the bytes that are given (empty: none)."""
        pairs = [part for digest, data in digests.items() for part in (digest, data)]
        if pairs:
            await self._calls.run("drop", self._calls.keys.of_job(key), *pairs)

    async def count(self, key: JobKey) -> tuple[int, int]:
        """Tell how many pieces a job keeps, and their bytes together."""
        name = self._calls.keys.of_job(key)[FILES]
        number, size = await self._calls.server.commands([("HLEN", name), ("HGET", name, "size")])
        return max(0, number - 1), int(size or 0)

    async def note_files_read(self, key: JobKey, files: Sequence[str]) -> None:
        """Note that a job is about to read files, by the ids that their place gave them. A repeat changes nothing."""
        names = self._calls.keys
        for file in files:
            name = names.file_jobs(names.part_of(key), key.team, file)
            await self._calls.server.commands(
                [("ZADD", name, 0, encode_job_key(key)), ("PEXPIRE", name, self._known_ms)]
            )

    async def jobs_that_read(self, team: str, file: str) -> list[JobKey]:
        """List the jobs that read a file, as far as they are kept."""
        names = self._calls.keys
        found = await self._calls.server.commands(
            [("ZRANGE", names.file_jobs(part, team, file), 0, -1) for part in names.parts()]
        )
        return sorted((decode_job_key(one) for some in found for one in some), key=lambda key: key.job)


class Schedules:
    """Work that begins at a time, in whichever instance is first. `schedule` is a name within the team.

    A compare-and-set script lets each fire once.
    """

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def put(self, team: str, schedule: str, payload: str, due: float | None) -> None:
        """Create or change a schedule; None as `due` switches it off, an empty payload with it removes it.

        Raises PayloadTooLarge if there are 10,000 already.
        """
        args = (join_names(team, schedule), payload, "" if due is None else repr(due), layout.SCHEDULE_LIMIT)
        raise_if_full(await self._calls.run("schedule_put", self._calls.keys.schedules, *args))

    async def swap(self, team: str, schedule: str, seen: str, payload: str, *due: float | None) -> bool:
        """Change a schedule if its payload is still the one that was `seen`; False if somebody was quicker.

        Without `due` it stays due when it was, with None it is switched off; an empty payload removes it.
        """
        when = "keep" if not due else "" if due[0] is None else repr(due[0])
        args = (join_names(team, schedule), seen, payload, when)
        return bool(await self._calls.run("schedule_swap", self._calls.keys.schedules, *args))

    async def read(self, team: str, schedule: str) -> tuple[str, float | None] | None:
        """Read one: its payload, and when it is due; None if there is none."""
        payloads, due, _ = self._calls.keys.schedules
        name = join_names(team, schedule)
        payload, at = await self._calls.server.commands([("HGET", payloads, name), ("ZSCORE", due, name)])
        return None if payload is None else (payload.decode(), None if at is None else float(at))

    async def list_all(self, team: str, kind: str) -> list[tuple[str, str, float | None]]:
        """Read the schedules of a team whose names start with `kind`, due or not: (schedule, payload, due).

        Looks through the names of all schedules.
        """
        flat = await self._calls.run("schedule_of", self._calls.keys.schedules, f"{team}/{kind}")
        rows = zip(flat[::3], flat[1::3], flat[2::3], strict=True)
        return [(split_names(name)[1], payload.decode(), float(due) if due else None) for name, payload, due in rows]

    async def list_due(self, *, team: str = "", kind: str = "", limit: int = 100) -> list[tuple[str, str, str, float]]:
        """Read the schedules whose time has come, earliest first: (team, schedule, payload, due).

        Reads those whose names start with `kind`, of one team or (empty) of all.
        """
        flat = await self._calls.run("schedule_due", self._calls.keys.schedules, limit, kind, team)
        rows = zip(flat[::3], flat[1::3], flat[2::3], strict=True)
        return [(*split_names(name), payload.decode(), float(due)) for name, payload, due in rows]

    async def next_due(self, kind: str, *, team: str = "") -> float | None:
        """Return when the earliest schedule is due whose name starts with `kind`, of one team or of all; or None."""
        found = await self._calls.run("schedule_next", self._calls.keys.schedules, kind, team)
        return float(found) if found else None

    async def fire(self, team: str, schedule: str, due: float, following: float | None) -> bool:
        """Move a schedule on from `due` to `following`. True for exactly one caller: it does the work."""
        args = (join_names(team, schedule), repr(due), "" if following is None else repr(following), nonce())
        return bool(await self._calls.run("schedule_fire", self._calls.keys.schedules, *args))


class KeptSettings:
    """What admins set while the bot runs: a text by a name within the team, kept for good: one hash a team."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def put(self, team: str, name: str, payload: str, *, instead_of: str | None = None) -> bool:
        """Set a text. With `instead_of`, only if that is the present text (empty: there is none); False if it is not.

        Raises PayloadTooLarge over `INLINE_LIMIT`, or if there are 10,000 already.
        """
        compare = ("", "") if instead_of is None else ("1", instead_of)
        args, reply = (name, payload, SETTINGS_LIMIT, *compare), b"full"
        if not layout.digest_if_large(payload):
            reply = await self._calls.run("settings_put", [self._calls.keys.settings(team)], *args)
        if reply == b"full":
            raise PayloadTooLarge("these settings are larger than the store allows; name fewer people, or use groups")
        return bool(reply)

    async def read_team(self, team: str) -> dict[str, str]:
        """Read all of a team, by name."""
        rows = await self._calls.server.command("HGETALL", self._calls.keys.settings(team))
        return {name.decode(): row.decode() for name, row in rows.items()}


class Store:
    """The store: eleven parts and the shared `counters`, one clock. Use `Store.connect`, which also proves the server.

    The parts are `jobs`, the `outbox` of each job, `blobs` beside a job, `schedules`, the `settings` that admins make
    while the bot runs, the `memories` of what people had remembered, the `sign_ins` to servers, the `installations` of
    the app in workspaces, the `audit`, the `board` on which instances tell each other how they are, and the `homes` of
    people.
    """

    def __init__(
        self,
        server: Server,
        *,
        prefix: str = "lh",
        partitions: int = 16,
        retention: Retention = DEFAULT_RETENTION,
        clock_offset_ms: int = 0,
    ) -> None:
        self._server = server
        self._keys = Keys(prefix, partitions)
        self._clock = ServerClock(clock_offset_ms)
        self._fullness = (-math.inf, "")
        self._calls = Calls(server, self._keys, self._clock)
        self.jobs = Jobs(self._calls, retention)
        self.outbox = OutboxRecords(self._calls)
        self.blobs = Blobs(self._calls, retention)
        self.schedules = Schedules(self._calls)
        self.settings = KeptSettings(self._calls)
        self.memories = Memories(self._calls)
        self.sign_ins = SignIns(self._calls)
        self.installations = Installations(self._calls)
        self.audit = Audit(self._calls, retention)
        self.board = InstanceRegistry(self._calls)
        self.homes = Homes(self._calls, retention)
        self.counters = Counters(self._calls)

    @classmethod
    async def connect(
        cls,
        url: str,
        *,
        prefix: str = "lh",
        partitions: int = 16,
        retention: Retention = DEFAULT_RETENTION,
        timeout: float = 3.0,  # noqa: ASYNC109 - of each call later on, not of this one
        clock_offset_ms: int = 0,
    ) -> Store:
        """Connect to a server that may be used.

        Args:
            url: redis://, rediss://, unix://, redis+sentinel://HOST:PORT,HOST:PORT/MASTER[/DB] or
                redis+cluster://HOST:PORT,HOST:PORT; the last two with rediss+ as well.
            prefix: What all keys start with: one for each deployment on a server.
            partitions: How many parts the jobs are spread over. Fixed by the first that connects.
            retention: How long each kind of data is kept.
            timeout: Seconds of silence after which a call is given up; it is tried three times.
            clock_offset_ms: Moves the store's clock, for tests.

        Raises:
            StoreError: It cannot be reached, refuses the login, is too old, read-only, or evicts keys.
        """
        from bot.store.redis_server import Server  # noqa: PLC0415 - redis is imported when a store is opened

        options: dict[str, Any] = {"prefix": prefix, "partitions": partitions, "retention": retention}
        store = cls(Server(url, timeout), clock_offset_ms=clock_offset_ms, **options)
        try:
            await store._prove()
        except BaseException:
            await store.close()
            raise
        return store

    def set_clock_ahead(self, seconds: float) -> None:
        """Move this store's clock to so many seconds from the server's own, for a day that is played in a minute."""
        self._clock.offset_ms = round(seconds * 1000)

    async def _prove(self) -> None:
        for fault in await self._server.faults():
            if fault.fatal:
                raise StoreError(fault.text)
        fixed = await self._server.command("GET", self._keys.partition_count)
        if fixed is None:  # a server that is full refuses to be written to, and may be used all the same
            await self._server.command("SET", self._keys.partition_count, self.partitions, "NX")
            fixed = await self._server.command("GET", self._keys.partition_count)
        await self.now()
        if int(fixed) != self.partitions:
            raise StoreError(f"The jobs on this server are spread over {int(fixed)} partitions, not {self.partitions}.")

    async def signals(self) -> AsyncIterator[JobKey]:
        """Listen to other instances: jobs that something came in for or that became due. May miss some.

        What they tell of breakers goes to `counters` meanwhile. Connects again by itself.
        """
        with contextlib.suppress(StoreError):
            await self.counters.breakers()  # what they were told before we listened
        async for name in self._server.listen(self._keys.channel, self._keys.breaker_channel):
            if name.startswith(NOTICE):
                self.counters.take_notice(name)
            else:
                yield decode_job_key(name)

    async def now(self) -> float:
        """Ask the server for the store's time."""
        return await self._calls.now()

    def clock(self) -> float:
        """Return the store's time without asking: as last heard of, run on since; right within a round trip.

        Use it to stamp events and to work out a `due`, for the clocks of machines may be hours apart.
        """
        return self._clock()

    async def find_home_team(self, team: str) -> str:
        """Return the team whose jobs are kept here: the first that asked. An empty `team` asks without becoming it.

        `claim` does not look at this: it gives out jobs of any team.
        """
        known = await self._server.command("GET", self._keys.home_team)
        if known is None and team:
            with contextlib.suppress(StoreError):  # one that is full; if it is away, the next call says so
                await self._server.command("SET", self._keys.home_team, team, "NX")
            known = await self._server.command("GET", self._keys.home_team)
        return known.decode() if known is not None else team

    async def allow_any_team(self) -> None:
        """Open the store to the jobs of any team: from now on `find_home_team` tells `ANY_TEAM`."""
        await self._server.command("SET", self._keys.home_team, ANY_TEAM)

    async def forget_team(self, team: str) -> int:
        """Erase all that is kept for a team but its audit, and return how many keys that were. May be repeated.

        To be called where nobody works on the team's jobs any more: no owner is told.
        """
        if not team.isalnum():  # it becomes part of a pattern
            raise ValueError(f"not usable in a key of the store: {team!r}")
        start, server = f"{team}/".encode(), self._server
        sets = [f"{part}:{place}" for part in self._keys.parts() for place in layout.PLACES]
        found = await server.commands([("ZRANGE", one, 0, -1) for one in sets])
        listed = [(one, name) for one, some in zip(sets, found, strict=True) for name in some if name.startswith(start)]
        named = [name for name, _, _ in await self.schedules.list_all(team, "")]
        for schedule in named:
            await self.schedules.put(team, schedule, "", None)
        keys = await server.scan(f"{self._keys.prefix}:*:{team}/*")
        gone: list[tuple[Arg, ...]] = [("ZREM", one, name) for one, name in listed]
        gone += [("DEL", key) for key in keys]
        for at in range(0, len(gone), _AT_ONCE):
            await server.commands(gone[at : at + _AT_ONCE])
        return len(keys) + len(named)

    async def explain_fullness(self) -> str:
        """Say that the server's memory is 80 % full or more, and what to do: claim nothing then. Empty below that.

        Cheap enough to be asked before every claim: an answer holds for two seconds.
        Of a cluster, the fullest primary counts.
        """
        until, text = self._fullness
        if time.monotonic() >= until:
            text = await self._server.explain_fullness()
            self._fullness = (time.monotonic() + layout.FULLNESS_FOR, text)
        return text

    async def check(self) -> list[str]:
        """List everything wrong with the server, each with what to do; empty if it may be used.

        A mere risk starts with "Warning:".
        """
        try:
            return [fault.text for fault in await self._server.faults()]
        except StoreError as error:
            return [str(error)]

    async def describe(self) -> str:
        """Describe the server in a few words: program, version, persistence, eviction. Raises StoreError."""
        return await self._server.describe()

    async def memory(self) -> tuple[int, int]:
        """Tell the bytes used and `maxmemory` (0: none), of a cluster the fullest primary's. Raises StoreError."""
        return await self._server.memory()

    @property
    def partitions(self) -> int:
        """Number of parts that the jobs are spread over."""
        return self._keys.partitions

    async def close(self) -> None:
        """Close connections, inside the running loop."""
        await self._server.close()
