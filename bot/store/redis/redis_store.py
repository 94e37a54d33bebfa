"""The store: the data that all instances share, on a Redis-compatible server.

Outbox, blobs, schedules and settings are in this file; jobs, counters, the audit and small records have files of their
own. Decisions and most writes happen in scripts of `scripts/`. The same layout of keys works on one server, Sentinel
and Cluster.

Times are seconds since the epoch on the store's own clock, which alone decides who owns a job. `Store.clock` returns
it, and a `due` must be computed from it. Every method that writes may be repeated after a lost reply: a repeat changes
nothing and returns what the first call did, or DUP. Every method that asks the server raises StoreError if the store
cannot be reached.
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
    join_team_name,
    split_team_name,
)
from bot.store.redis.redis_audit import Audit
from bot.store.redis.redis_counters import NOTICE_PREFIX, Counters
from bot.store.redis.redis_jobs import Jobs
from bot.store.redis.redis_records import Installations, InstanceRegistry, Memories, OpenHomes, SignIns
from bot.store.redis.script_runner import ScriptRunner, ServerClock, check_reply, make_nonce, to_milliseconds
from bot.store.script import Arg
from bot.store.values import ANY_TEAM, DEFAULT_RETENTION, Claim, Intent, JobKey, PayloadTooLarge, Retention, StoreError

if TYPE_CHECKING:
    from bot.store.redis_server import Server

_BATCH_SIZE = 500
"""Commands that are sent together."""


class OutboxRecords:
    """The messages that jobs intend to send or have sent, with the Slack id of each that was sent."""

    def __init__(self, calls: ScriptRunner) -> None:
        self._calls = calls

    async def record_intent(
        self, claim: Claim, message: str, operation: str, *, is_progress: bool = True
    ) -> Intent | None:
        """Record that a message is about to be sent, and return its intent; None if the job is no longer ours.

        With `is_progress`, the count of the job's lost owners is reset to 0 if the message is new, or if its intent is
        less than 30 seconds old and has no Slack id yet. Raises PayloadTooLarge if the job has 10,000 messages already.
        """
        about = (claim.owner, claim.epoch, message, operation)
        args = (*about, layout.OUTBOX_LIMIT, layout.INTENT_SECONDS, int(is_progress))
        reply = check_reply(await self._calls.run("outbox_begin", self._calls.keys.list_job_keys(claim.key), *args))
        return None if reply is None else layout.parse_intent(reply[1], is_first=bool(reply[0]))

    async def record_sending(self, claim: Claim, message: str) -> bool:
        """Record that sending begins now, some time after the intent. Returns False if the job is no longer ours."""
        return await self._record_message(claim, message, "sent", "")

    async def record_draft(self, claim: Claim, message: str, ts: str) -> bool:
        """Record the Slack id of a message that is not complete yet. Returns False if the job is no longer ours."""
        return await self._record_message(claim, message, "draft", ts)

    async def record_sent_message(self, claim: Claim, message: str, ts: str) -> bool:
        """Record the Slack id of the complete message. Returns False if the job is no longer ours."""
        return await self._record_message(claim, message, "ts", ts)

    async def _record_message(self, claim: Claim, message: str, kind: str, ts: str) -> bool:
        args = (claim.owner, claim.epoch, message, kind, ts)
        return bool(await self._calls.run("outbox_note", self._calls.keys.list_job_keys(claim.key), *args))

    async def read_messages(self, key: JobKey) -> dict[str, Intent]:
        """Read the intents of all messages of a job, by message key. Their `is_first` is False."""
        rows = await self._calls.server.run_command("HGETALL", self._calls.keys.list_job_keys(key)[OUTBOX])
        return {name.decode(): layout.parse_intent(row, is_first=False) for name, row in rows.items()}

    async def read_forgotten_messages(self, key: JobKey) -> dict[str, Intent]:
        """Read the messages of a forgotten job, as `read_messages` does. They are still to be deleted in Slack."""
        rows = await self._calls.server.run_command("HGETALL", self._calls.keys.make_forgotten_outbox_key(key))
        return {name.decode(): layout.parse_intent(row, is_first=False) for name, row in rows.items()}

    async def erase_forgotten_messages(self, key: JobKey) -> None:
        """Erase the messages that `read_forgotten_messages` reads."""
        await self._calls.server.run_command("DEL", self._calls.keys.make_forgotten_outbox_key(key))


class Blobs:
    """Files that are stored with a job, by their sha256 (hex).

    They may be stored before the job exists. They expire with the job, or earlier by `Retention.materials`. If the job
    is never created, they are kept as long as a finished job.
    """

    def __init__(self, calls: ScriptRunner, retention: Retention) -> None:
        self._calls = calls
        self._retention_ms = to_milliseconds(retention.jobs)
        self._index_ms = to_milliseconds(max(retention.jobs, retention.waiting_jobs))

    async def put(self, key: JobKey, data: bytes) -> str:
        """Store bytes and return their sha256. Raises JobForgotten, or PayloadTooLarge, also if the job has 512 MB."""
        digest = layout.digest_blob(data)
        args = (digest, data, layout.JOB_BYTES_LIMIT, self._retention_ms)
        check_reply(await self._calls.run("keep", self._calls.keys.list_job_keys(key), *args))
        return digest

    async def get(self, key: JobKey, digest: str) -> bytes:
        """Return the bytes. Raises KeyError if they are not stored, or no longer."""
        keys = self._calls.keys.list_job_keys(key)
        for name in (keys[FILES], keys[BLOBS]):  # an earlier release kept them with the large events
            # The field `size` of the hash is the sum of the sizes, not a blob.
            data = await self._calls.server.run_command("HGET", name, digest) if digest != "size" else None
            if data is not None:
                return bytes(data)
        raise KeyError(digest)

    async def drop(self, key: JobKey, digests: Mapping[str, bytes]) -> None:
        """Delete bytes by their sha256, or replace them: `digests` maps to the new bytes (empty: delete)."""
        pairs = [part for digest, data in digests.items() for part in (digest, data)]
        if pairs:
            await self._calls.run("drop", self._calls.keys.list_job_keys(key), *pairs)

    async def measure_usage(self, key: JobKey) -> tuple[int, int]:
        """Return the number of a job's blobs, and their bytes together."""
        name = self._calls.keys.list_job_keys(key)[FILES]
        number, size = await self._calls.server.run_commands([("HLEN", name), ("HGET", name, "size")])
        return max(0, number - 1), int(size or 0)

    async def record_file_reads(self, key: JobKey, files: Sequence[str]) -> None:
        """Record that a job is about to read files, by their ids at their source. A repeat changes nothing."""
        names = self._calls.keys
        for file in files:
            name = names.make_file_jobs_key(names.compute_partition_prefix(key), key.team, file)
            await self._calls.server.run_commands(
                [("ZADD", name, 0, encode_job_key(key)), ("PEXPIRE", name, self._index_ms)]
            )

    async def list_jobs_that_read(self, team: str, file: str) -> list[JobKey]:
        """List the jobs that read a file, by its id at its source. Very old ones may be missing."""
        names = self._calls.keys
        replies = await self._calls.server.run_commands(
            [("ZRANGE", names.make_file_jobs_key(part, team, file), 0, -1) for part in names.list_partition_prefixes()]
        )
        return sorted((decode_job_key(one) for some in replies for one in some), key=lambda key: key.job)


class Schedules:
    """Schedules, each with a time at which one instance fires it. `schedule` is a name within the team.

    A compare-and-set script lets only one instance fire a due time.
    """

    def __init__(self, calls: ScriptRunner) -> None:
        self._calls = calls

    async def put(self, team: str, schedule: str, payload: str, due: float | None) -> None:
        """Create or change a schedule. With `due` None it is switched off; with an empty payload it is removed.

        Raises PayloadTooLarge if there are 10,000 schedules already.
        """
        args = (join_team_name(team, schedule), payload, "" if due is None else repr(due), layout.SCHEDULE_LIMIT)
        check_reply(await self._calls.run("schedule_put", self._calls.keys.schedule_keys, *args))

    async def compare_and_set(
        self, team: str, schedule: str, old_payload: str, payload: str, *due: float | None
    ) -> bool:
        """Change a schedule if its payload is still `old_payload`. Returns False if somebody has changed it before.

        If `due` is left out, its time stays; if it is None, it is switched off. An empty payload removes it.
        """
        when = "keep" if not due else "" if due[0] is None else repr(due[0])
        args = (join_team_name(team, schedule), old_payload, payload, when)
        return bool(await self._calls.run("schedule_swap", self._calls.keys.schedule_keys, *args))

    async def read(self, team: str, schedule: str) -> tuple[str, float | None] | None:
        """Read a schedule as a pair of (payload, due time or None); None if it does not exist."""
        payloads, due, _ = self._calls.keys.schedule_keys
        name = join_team_name(team, schedule)
        payload, at = await self._calls.server.run_commands([("HGET", payloads, name), ("ZSCORE", due, name)])
        return None if payload is None else (payload.decode(), None if at is None else float(at))

    async def list_all(self, team: str, kind: str) -> list[tuple[str, str, float | None]]:
        """Read the schedules of a team whose names start with `kind`, as triples of (schedule, payload, due).

        It goes through the names of all schedules on the server.
        """
        flat = await self._calls.run("schedule_of", self._calls.keys.schedule_keys, f"{team}/{kind}")
        rows = zip(flat[::3], flat[1::3], flat[2::3], strict=True)
        return [
            (split_team_name(name)[1], payload.decode(), float(due) if due else None) for name, payload, due in rows
        ]

    async def list_due(self, *, team: str = "", kind: str = "", limit: int = 100) -> list[tuple[str, str, str, float]]:
        """Read the schedules that are due now, earliest first, as tuples of (team, schedule, payload, due).

        Only those whose names start with `kind`, and of one team or (empty) of all.
        """
        flat = await self._calls.run("schedule_due", self._calls.keys.schedule_keys, limit, kind, team)
        rows = zip(flat[::3], flat[1::3], flat[2::3], strict=True)
        return [(*split_team_name(name), payload.decode(), float(due)) for name, payload, due in rows]

    async def read_next_due(self, kind: str, *, team: str = "") -> float | None:
        """Return the earliest due time of schedules whose names start with `kind`, of one team or all; or None."""
        next_due = await self._calls.run("schedule_next", self._calls.keys.schedule_keys, kind, team)
        return float(next_due) if next_due else None

    async def fire(self, team: str, schedule: str, due: float, following: float | None) -> bool:
        """Move a schedule's time from `due` to `following`. Returns True for exactly one caller, to do the work."""
        args = (join_team_name(team, schedule), repr(due), "" if following is None else repr(following), make_nonce())
        return bool(await self._calls.run("schedule_fire", self._calls.keys.schedule_keys, *args))


class AdminSettings:
    """The settings that admins change while the bot runs: a text for each name within a team, which never expires."""

    def __init__(self, calls: ScriptRunner) -> None:
        self._calls = calls

    async def put(self, team: str, name: str, payload: str, *, old_payload: str | None = None) -> bool:
        """Set a text.

        With `old_payload`, only if this is still the text (empty: there is none); otherwise return False. Raises
        PayloadTooLarge for a text over `INLINE_LIMIT`, or if the team has 10,000 texts already.
        """
        compare = ("", "") if old_payload is None else ("1", old_payload)
        args, reply = (name, payload, SETTINGS_LIMIT, *compare), b"full"
        if not layout.digest_if_large(payload):
            reply = await self._calls.run("settings_put", [self._calls.keys.make_settings_key(team)], *args)
        if reply == b"full":
            raise PayloadTooLarge("these settings are larger than the store allows; name fewer people, or use groups")
        return bool(reply)

    async def read_team(self, team: str) -> dict[str, str]:
        """Read all texts of a team, by name."""
        rows = await self._calls.server.run_command("HGETALL", self._calls.keys.make_settings_key(team))
        return {name.decode(): row.decode() for name, row in rows.items()}


class Store:
    """The store: its parts, and one clock. Make it with `Store.connect`, which also checks the server.

    Attributes:
        jobs: Jobs, with log, inbox and head.
        outbox: The messages of each job.
        blobs: The files of each job.
        schedules: Schedules of all teams.
        settings: Settings that admins change while the bot runs.
        memories: What the bot remembers for people.
        sign_ins: Sign-ins of people to servers.
        installations: Workspaces that installed the app.
        audit: A record of who did what.
        board: The status rows of all instances.
        homes: Open App Homes, and the jobs that wait for people.
        counters: Rates, slots, budgets, lanes and breakers of all instances.
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
        self._calls = ScriptRunner(server, self._keys, self._clock)
        self.jobs = Jobs(self._calls, retention)
        self.outbox = OutboxRecords(self._calls)
        self.blobs = Blobs(self._calls, retention)
        self.schedules = Schedules(self._calls)
        self.settings = AdminSettings(self._calls)
        self.memories = Memories(self._calls)
        self.sign_ins = SignIns(self._calls)
        self.installations = Installations(self._calls)
        self.audit = Audit(self._calls, retention)
        self.board = InstanceRegistry(self._calls)
        self.homes = OpenHomes(self._calls, retention)
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
        """Connect to a server, and check that it can be used.

        Args:
            url: redis://, rediss://, unix://, redis+sentinel://HOST:PORT,HOST:PORT/MASTER[/DB] or
                redis+cluster://HOST:PORT,HOST:PORT; the last two with rediss+ as well.
            prefix: The prefix of all keys, another one for each deployment on a server.
            partitions: How many partitions the jobs are spread over. The first connection fixes the number.
            retention: How long each kind of data is kept.
            timeout: Seconds of silence after which a call is given up; it is tried three times.
            clock_offset_ms: Moves the store's clock, for tests.

        Raises:
            StoreError: The server cannot be reached, refuses the login, is too old, read-only, or evicts keys; or its
                jobs are spread over another number of partitions.
        """
        from bot.store.redis_server import Server  # noqa: PLC0415 - redis is imported when a store is opened

        options: dict[str, Any] = {"prefix": prefix, "partitions": partitions, "retention": retention}
        store = cls(Server(url, timeout), clock_offset_ms=clock_offset_ms, **options)
        try:
            await store._check_server()
        except BaseException:
            await store.close()
            raise
        return store

    def set_clock_ahead(self, seconds: float) -> None:
        """Set this store's clock `seconds` ahead of the server's, for a demo that plays a day in a minute."""
        self._clock.offset_ms = round(seconds * 1000)

    async def _check_server(self) -> None:
        for fault in await self._server.find_faults():
            if fault.is_fatal:
                raise StoreError(fault.text)
        stored_count = await self._server.run_command("GET", self._keys.partition_count_key)
        if stored_count is None:  # read first, as a full server refuses writes and can be used nevertheless
            await self._server.run_command("SET", self._keys.partition_count_key, self.partitions, "NX")
            stored_count = await self._server.run_command("GET", self._keys.partition_count_key)
        await self.read_time()
        if int(stored_count) != self.partitions:
            raise StoreError(
                f"The jobs on this server are spread over {int(stored_count)} partitions, not {self.partitions}."
            )

    async def listen(self) -> AsyncIterator[JobKey]:
        """Listen to notices of other instances, and yield jobs with a new event or due now. Some may be missed.

        Notices about breakers update `counters` meanwhile. A lost connection is opened again.
        """
        with contextlib.suppress(StoreError):
            await self.counters.read_breakers()  # changes from before this instance listened
        async for name in self._server.listen(self._keys.job_channel, self._keys.breaker_channel):
            if name.startswith(NOTICE_PREFIX):
                self.counters.apply_breaker_notice(name)
            else:
                yield decode_job_key(name)

    async def read_time(self) -> float:
        """Ask the server for the store's time (seconds since the epoch)."""
        return await self._calls.read_time()

    def clock(self) -> float:
        """Return the store's time without asking the server, by its last answer; exact to about a round trip.

        Use it to stamp events and to compute a `due`, as the clocks of machines may be hours apart.
        """
        return self._clock()

    async def claim_home_team(self, team: str) -> str:
        """Return the store's home team: the first `team` that called this. An empty `team` never becomes it.

        `Jobs.claim` ignores the home team and returns jobs of any team.
        """
        home_team = await self._server.run_command("GET", self._keys.home_team_key)
        if home_team is None and team:
            with contextlib.suppress(StoreError):  # a full server; if it is away, the next call raises
                await self._server.run_command("SET", self._keys.home_team_key, team, "NX")
            home_team = await self._server.run_command("GET", self._keys.home_team_key)
        return home_team.decode() if home_team is not None else team

    async def allow_any_team(self) -> None:
        """Open the store to the jobs of any team: from now on `claim_home_team` returns `ANY_TEAM`."""
        await self._server.run_command("SET", self._keys.home_team_key, ANY_TEAM)

    async def forget_team(self, team: str) -> int:
        """Erase all data of a team except its audit, and return the number of erased keys and schedules.

        Call it when no instance works on the team's jobs any more, as owners are not notified. It may be repeated.
        """
        if not team.isalnum():  # it becomes part of a pattern
            raise ValueError(f"not usable in a key of the store: {team!r}")
        start, server = f"{team}/".encode(), self._server
        sets = [f"{part}:{place}" for part in self._keys.list_partition_prefixes() for place in layout.JOB_SETS]
        replies = await server.run_commands([("ZRANGE", one, 0, -1) for one in sets])
        members = [
            (one, name) for one, some in zip(sets, replies, strict=True) for name in some if name.startswith(start)
        ]
        schedule_names = [name for name, _, _ in await self.schedules.list_all(team, "")]
        for schedule in schedule_names:
            await self.schedules.put(team, schedule, "", None)
        keys = await server.scan_keys(f"{self._keys.prefix}:*:{team}/*")
        commands: list[tuple[Arg, ...]] = [("ZREM", one, name) for one, name in members]
        commands += [("DEL", key) for key in keys]
        for at in range(0, len(commands), _BATCH_SIZE):
            await server.run_commands(commands[at : at + _BATCH_SIZE])
        return len(keys) + len(schedule_names)

    async def explain_fullness(self) -> str:
        """Return a warning if the server's memory is 80 % full or more, else "". With a warning, claim no jobs.

        An answer is reused for two seconds, so it may be called before every claim. In a cluster, the warning is about
        the first primary that is so full.
        """
        until, text = self._fullness
        if time.monotonic() >= until:
            text = await self._server.explain_fullness()
            self._fullness = (time.monotonic() + layout.FULLNESS_SECONDS, text)
        return text

    async def list_faults(self) -> list[str]:
        """List the faults of the server, each with what to do; [] if there are none.

        A fault that is only a risk starts with "Warning:".
        """
        try:
            return [fault.text for fault in await self._server.find_faults()]
        except StoreError as error:
            return [str(error)]

    async def describe(self) -> str:
        """Describe the server in a few words: program, version, persistence, eviction, replicas. Raises StoreError."""
        return await self._server.describe()

    async def read_memory_usage(self) -> tuple[int, int]:
        """Return the used bytes and `maxmemory` (0: none); in a cluster, of the fullest primary. Raises StoreError."""
        return await self._server.read_memory()

    @property
    def partitions(self) -> int:
        """The number of partitions that the jobs are spread over."""
        return self._keys.partitions

    async def close(self) -> None:
        """Close connections, inside the running loop."""
        await self._server.close()
