"""The jobs of the store. Every script about an owned job checks the claim's token first."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Collection, Sequence
from typing import Any, Literal

from bot.store.redis import layout
from bot.store.redis.layout import BLOBS, GONE, HEAD, INBOX, LOG, PLACES, decode_job_key, encode_job_key
from bot.store.redis.script_calls import Calls, flatten_pairs, nonce, raise_if_full, to_milliseconds
from bot.store.script import Arg, Unconfirmed
from bot.store.values import Claim, Commit, Head, Holder, JobGlance, JobKey, LogBroken, LogEntry, Retention, StoreError

IngestTarget = Literal["any", "exists", "quarantined"]
"""The jobs that an event may come in for: any, one that exists, or one in quarantine, which is given out again."""
COMMITS = {commit.value.encode(): commit for commit in Commit}
AGAIN = 2.0
"""Seconds until a job is due again whose claim no replica has confirmed."""
LOG_PAGE = 250
LOG_STRING = 125
"""Entries of a log to a string: see `scripts/log.lua`."""


class Jobs:
    """Jobs, each with its log, its inbox and its head. A job is always in one of five places.

        due     there is something to do for it at a time; from then on `claim` gives it out
        lease   an instance owns it until a time, which `beat` moves on; after that `claim` gives it to another
        newer   due, but put by: those that looked at it do not know its schema, and only one that does gets it
        quarantined   it cost too many owners, or cannot be read: `claim` gives it to nobody
        none    nothing to do: it rests until something comes in, and is forgotten when its time to live is over

    `ingest` makes a job and makes it due, as `signal` does with one that exists. `claim` takes it into a lease. From
    there `release` makes it due again or lets it rest, and `quarantine` gives it to nobody, until
    `release_quarantined` makes it due. What comes in for a job in a lease waits in its inbox, and its owner hears of
    it; what comes in for one in quarantine only waits.
    """

    def __init__(self, calls: Calls, retention: Retention) -> None:
        self._calls = calls
        self._ready = ReadyJobs(calls)
        self._retention_ms = to_milliseconds(retention.jobs)
        self._waiting_ms = to_milliseconds(retention.waiting)
        self._files_ms = to_milliseconds(min(retention.jobs, retention.materials or retention.jobs))
        self._audit_ms = to_milliseconds(retention.audit)

    # Events that come in --------------------------------------------------------------------------------

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
        requester) gets the job into `user_jobs`. `fields` are set in the head only if it has none of that name yet.
        A running owner is told through `Store.signals`. Raises PayloadTooLarge, also if 1000 events wait to be taken.
        """
        return await self._receive(key, payload, dedupe, "any", user=user, fields=fields, said=said)

    async def signal(self, key: JobKey, payload: str, *, dedupe: Sequence[str]) -> bool:
        """Do as `ingest`, but only for a job that exists; False also if there is none.

        What comes in for a job in quarantine waits in its inbox and makes nothing due.
        """
        return await self._receive(key, payload, dedupe, "exists")

    async def release_quarantined(self, key: JobKey, payload: str) -> bool:
        """Put an event in the inbox of a job in quarantine, even a full one, and make the job due with no lost owners.

        False, with nothing changed, if it is not in quarantine.
        """
        return await self._receive(key, payload, (), "quarantined")

    async def _receive(
        self,
        key: JobKey,
        payload: str,
        dedupe: Sequence[str],
        where: IngestTarget,
        *,
        user: str = "",
        fields: dict[str, str] | None = None,
        said: float | None = None,
    ) -> bool:
        """Put an event in the inbox. False, with nothing changed, if it was seen before or there is no such job."""
        fields = fields or {}
        layout.check_fields(fields)
        operation = nonce()
        keys = self._calls.keys
        # Without an id of its own the event is told from its repeat by the operation alone.
        seen = [keys.dedupe_mark(key, name) for name in dedupe or (operation,)]
        reply = await self._calls.run(
            "ingest",
            [*keys.of_job(key), keys.user_jobs(keys.part_of(key), key.team, user), *seen],
            encode_job_key(key),
            operation,
            where,
            layout.digest_if_large(payload),
            payload,
            layout.INBOX_LIMIT,
            layout.JOB_BYTES_LIMIT,
            to_milliseconds(layout.SEEN_FOR),
            user,
            layout.ASKED_BY_LIMIT,
            self._retention_ms,
            keys.channel,
            int(self._calls.server.replicas > 0),
            "" if said is None else repr(said),
            *flatten_pairs(fields),
        )
        return bool(raise_if_full(reply))

    # Owners ---------------------------------------------------------------------------------------------

    async def claim(
        self, owner: str, *, lease: float, schema: int, prefer: JobKey | None = None, leave: Collection[Holder] = ()
    ) -> Claim | None:
        """Take one job: `prefer` if it is ready, else an expired lease, else one that was put by, else one that is due.

        None if nothing is ready. Raises the job's epoch, and counts the owner whose lease expired (`Claim.lost`),
        unless that was a claim by the same `owner`. `Claim.owner` is `owner`, a dot, and a random part: epochs may fall
        in a failover, such a name never comes twice. Jobs whose head names a newer schema than `schema` are put by:
        only an instance that knows it sees them again, and gets them with its next claim. Due jobs of those in `leave`
        are left to wait, so that others have their turn.
        A job named by `prefer` that is ready takes one round trip.
        """
        token = f"{owner}.{nonce()}"
        if prefer is not None:
            part = self._calls.keys.part_of(prefer)
            claim = await self._claim_in(part, token, lease, schema, encode_job_key(prefer), leave)
            if claim is not None:
                return claim
        for part in await self._ready.partitions(schema):
            claim = await self._claim_in(part, token, lease, schema, "", leave)
            if claim is not None:
                return claim
        return None

    async def _claim_in(
        self, part: str, token: str, lease: float, schema: int, prefer: str, leave: Collection[Holder]
    ) -> Claim | None:
        keys = (f"{part}:lease", f"{part}:due", f"{part}:newer", f"{part}:claim:{token}")
        args: list[Arg] = [f"{part}:", token, lease, schema, prefer, self._calls.keys.channel]
        args += [f"{team}/{user}" for team, user in sorted(leave)]
        reply: Any = b"more"
        try:
            while reply == b"more":
                reply = await self._calls.run("claim", keys, *args)
        except Unconfirmed as error:
            if isinstance(error.reply, list):
                # Not ours. To let the lease run out would count as one more owner that was lost.
                claim = _parse_claim(error.reply, token)
                with contextlib.suppress(StoreError):
                    await self._let_go(claim, claim.expires - lease + AGAIN, lost=claim.lost)
            raise
        if reply is None:
            return None
        return _parse_claim(reply, token)

    async def next_due(self) -> float | None:
        """Tell when the earliest job or lease comes up, or None. Jobs that were put by do not count."""
        return await self._ready.next_due()

    async def beat(self, claim: Claim, *, lease: float) -> bool:
        """Renew a lease, even one that ran out, unless somebody took the job. False if the job is no longer ours."""
        args = (encode_job_key(claim.key), claim.owner, claim.epoch, lease)
        return bool(await self._calls.run("beat", self._calls.keys.of_job(claim.key), *args))

    async def release(self, claim: Claim, *, due: float | None, lost: bool | None = False) -> bool:
        """Let go of a job: it is due again at that time, or (None) only when something comes in.

        If the inbox is not empty, the job is due at once in any case. The count of lost owners goes back to 0. With
        `lost`, which says that the work stalled or broke, it goes up by one; with None, which is for letting go in the
        middle of the work, it stays. False if the job was not ours.
        """
        return await self._let_go(claim, due, lost="" if lost is None else "+" if lost else 0)

    async def _let_go(self, claim: Claim, due: float | None, *, lost: int | str) -> bool:
        """Let go of a job. `lost` is the new count of lost owners; "+": one more than before, "": as many."""
        reply = await self._calls.run(
            "release",
            self._calls.keys.of_job(claim.key),
            encode_job_key(claim.key),
            claim.owner,
            claim.epoch,
            nonce(),
            "" if due is None else repr(due),
            self._waiting_ms,
            to_milliseconds(layout.OPERATIONS_FOR),
            self._calls.keys.channel,
            layout.OPERATIONS_LEFT,
            lost,
        )
        return bool(reply)

    async def quarantine(
        self, claim: Claim, payload: str, *, schema: int, fields: dict[str, str] | None = None
    ) -> bool:
        """Let go of a job and give it to nobody until it is released. False if it was not ours.

        `payload` (an event's JSON) is appended to the log, wherever that ends, so that this works for a job whose
        log cannot be read. The head's schema rises to `schema` at least. What comes in meanwhile waits in its inbox.
        Raises PayloadTooLarge only for a payload that cannot stay in the log.
        """
        fields = fields or {}
        layout.check_fields(fields)
        reply = await self._calls.run(
            "quarantine",
            self._calls.keys.of_job(claim.key),
            encode_job_key(claim.key),
            claim.owner,
            claim.epoch,
            nonce(),
            schema,
            layout.digest_if_large(payload),
            payload,
            layout.JOB_BYTES_LIMIT,
            self._waiting_ms,
            to_milliseconds(layout.OPERATIONS_FOR),
            layout.OPERATIONS_LEFT,
            *flatten_pairs(fields),
        )
        return bool(raise_if_full(reply))

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
        fields = fields or {}
        layout.check_log(expected, payloads)
        layout.check_fields(fields)
        reply = await self._calls.run(
            "commit",
            self._calls.keys.of_job(claim.key),
            operation,
            claim.owner,
            claim.epoch,
            expected,
            schema,
            self._retention_ms if ends else "",
            self._files_ms,
            layout.OPERATIONS_KEPT,
            layout.JOB_BYTES_LIMIT,
            int(progress),
            *(claim.key.team, layout.NUL.join(audit), self._audit_ms),
            len(taken),
            *taken,
            len(payloads),
            *(part for payload in payloads for part in (layout.digest_if_large(payload), payload)),
            *flatten_pairs(fields),
        )
        return COMMITS[raise_if_full(reply)]

    # Forgetting -----------------------------------------------------------------------------------------

    async def forget(
        self, key: JobKey, *, users: Sequence[str], files: Sequence[str] = (), audit: Sequence[str] = ()
    ) -> bool:
        """Erase a job and all that belongs to it, and note `audit`, in one script. False if there is no such job.

        Whoever owns it is fenced, and told. It is taken out of `user_jobs` of `users` and `jobs_that_read` of `files`.
        `OutboxRecords.read_left_behind` still gives what it posted. A later event for the same key makes a new job.
        """
        names = self._calls.keys
        part = names.part_of(key)
        indexes = [names.user_jobs(part, key.team, user) for user in users]
        indexes += [names.file_jobs(part, key.team, file) for file in files]
        keys = [*names.of_job(key), names.forgotten_outbox(key), *indexes]
        args = (encode_job_key(key), self._waiting_ms, names.channel, key.team, layout.NUL.join(audit), self._audit_ms)
        return bool(await self._calls.run("forget", keys, *args))

    async def read_forget_time(self, key: JobKey) -> float | None:
        """Return when a job was forgotten (seconds since the epoch); None if it was not, or that is too long ago."""
        at = await self._calls.server.command("GET", self._calls.keys.of_job(key)[GONE])
        return None if at is None else float(at)

    # Reading, which changes nothing and asks for no token -----------------------------------------------

    async def log(self, key: JobKey, *, after: int = 0) -> list[LogEntry]:
        """Read the job's events in order, those behind blob keys included. Raises LogBroken if one is missing."""
        entries, last = await self._read_page(key, after + 1)
        # Side by side: the server reads a page while the one before it is taken in here.
        starts = range(after + 1 + LOG_PAGE, last + 1, LOG_PAGE)
        for page, _ in await asyncio.gather(*(self._read_page(key, start) for start in starts)):
            entries += page
        try:
            # The head was read with the first page: what others append meanwhile is more than it says, never less.
            layout.check_order(key, entries, after, last)
        except LogBroken:
            if await self.head(key) is None:
                return []  # it expired while it was read
            raise
        return entries

    async def _read_page(self, key: JobKey, start: int) -> tuple[list[LogEntry], int]:
        """Read the entries of one page, from that sequence on, and the last sequence that the head tells."""
        keys = self._calls.keys.of_job(key)
        seq, number, *strings = await self._calls.run("log", (keys[LOG], keys[HEAD]), start, LOG_PAGE, LOG_STRING)
        if strings or not number:
            return layout.read_entries(strings, start), int(seq)
        rows = await self._calls.server.command("XRANGE", keys[LOG], f"{start}-0", "+", "COUNT", LOG_PAGE)
        return await self._make_entries(key, rows), int(seq)

    async def inbox(self, key: JobKey) -> list[LogEntry]:
        """Read what came in and was not taken yet, in order of arrival. Raises LogBroken if one cannot be read."""
        name = self._calls.keys.of_job(key)[INBOX]
        return await self._make_entries(key, await self._calls.server.command("XRANGE", name, "-", "+"))

    async def _make_entries(self, key: JobKey, rows: list[Any]) -> list[LogEntry]:
        wanted = list(dict.fromkeys(row[1][b"b"] for row in rows if b"b" in row[1]))
        name = self._calls.keys.of_job(key)[BLOBS]
        found = await self._calls.server.command("HMGET", name, *wanted) if wanted else []
        kept = dict(zip(wanted, found, strict=True))
        return [layout.entry(key, row, kept) for row in rows]

    async def head(self, key: JobKey) -> Head | None:
        """Read the job's projection; None for an unknown job."""
        return layout.head(key, await self._calls.server.command("HGETALL", self._calls.keys.of_job(key)[HEAD]))

    async def list_asked_by(self, team: str, user: str, *, limit: int = 20, skip: int = 0) -> list[Head]:
        """Read the heads of the jobs that a person asked for, newest first. Knows the last 1000 of each partition.

        Of the newest `skip + limit` those that were forgotten meanwhile are left out.
        """
        return await self.heads(await self.keys_asked_by(team, user, limit=limit, skip=skip))

    async def keys_asked_by(self, team: str, user: str, *, limit: int, skip: int = 0) -> list[JobKey]:
        """List the keys of the jobs that a person asked for, newest first, without reading their heads."""
        names = self._calls.keys
        indexes = [names.user_jobs(part, team, user) for part in names.parts()]
        newest = await self._read_scores(
            [("ZRANGE", index, 0, skip + limit - 1, "REV", "WITHSCORES") for index in indexes]
        )
        return [decode_job_key(name) for _, name in sorted(newest, reverse=True)[skip : skip + limit]]

    async def count_asked_by(self, team: str, user: str) -> int:
        """Count the jobs that a person asked for, as far as `user_jobs` knows them."""
        names = self._calls.keys
        counts = await self._calls.server.commands(
            [("ZCARD", names.user_jobs(part, team, user)) for part in names.parts()]
        )
        return sum(map(int, counts))

    async def keys_under_way(self, *, limit: int, team: str = "") -> list[JobKey]:
        """List jobs of a team, or of all, that somebody works on or that are due at some time, soonest first.

        For one team, all jobs are looked through: those of other teams may come before its own.
        """
        sets = [f"{part}:{place}" for part in self._calls.keys.parts() for place in PLACES]
        last = -1 if team else limit - 1
        soonest = await self._read_scores([("ZRANGE", one, 0, last, "WITHSCORES") for one in sets])
        if team:
            soonest = [(score, name) for score, name in soonest if name.startswith(f"{team}/".encode())]
        return [decode_job_key(name) for name in list(dict.fromkeys(name for _, name in sorted(soonest)))[:limit]]

    async def read_glances(self, keys: Sequence[JobKey]) -> list[JobGlance]:
        """Read the state of many jobs at little cost, in that order, without those that are not there."""
        names = self._calls.keys
        wanted = [("HMGET", names.of_job(key)[HEAD], "state", "_updated") for key in keys]
        found = await self._calls.server.commands(wanted) if wanted else []
        return [
            JobGlance(key, (state or b"submitted").decode(), float(updated))
            for key, (state, updated) in zip(keys, found, strict=True)
            if updated is not None
        ]

    async def heads(self, keys: Sequence[JobKey]) -> list[Head]:
        """Read the heads of jobs, in that order, without those that are not there."""
        names, server = self._calls.keys, self._calls.server
        states = await server.commands([("HGETALL", names.of_job(key)[HEAD]) for key in keys]) if keys else []
        heads = (layout.head(key, state) for key, state in zip(keys, states, strict=True))
        return [head for head in heads if head is not None]

    async def _read_scores(self, commands: Sequence[tuple[Arg, ...]]) -> list[tuple[float, bytes]]:
        found = await self._calls.server.commands(list(commands))
        return [(float(row[at + 1]), row[at]) for row in found for at in range(0, len(row), 2)]


def _parse_claim(reply: list[bytes], token: str) -> Claim:
    name, epoch, expires, lost, user = reply
    return Claim(decode_job_key(name), int(epoch), token, float(expires), int(lost), user.decode())


class ReadyJobs:
    """The first job in each of `PLACES` of each partition."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._sets = [(kind, part) for part in calls.keys.parts() for kind in range(len(PLACES))]
        self._names = [f"{part}:{PLACES[kind]}" for kind, part in self._sets]

    async def partitions(self, schema: int) -> list[str]:
        """List the partitions that have a job ready for an instance that knows `schema`, in the order of service."""
        now, found = await self._read_first_of_each()
        limits = (now, float(schema), now)  # for leases, what was put by, what is due
        ready = [(kind, score, part) for kind, score, part in found if score <= limits[kind]]
        return list(dict.fromkeys(part for _, _, part in sorted(ready)))

    async def next_due(self) -> float | None:
        """Tell when the earliest job or lease comes up, or None. Jobs that were put by do not count."""
        _, found = await self._read_first_of_each()
        return min((score for kind, score, _ in found if PLACES[kind] != "newer"), default=None)

    async def _read_first_of_each(self) -> tuple[float, list[tuple[int, float, str]]]:
        """Ask for the time, and the first of each place: which of `PLACES`, its score, the partition.

        The score is the time of the earliest lease or due job, or the oldest schema put by.
        """
        asked = time.monotonic()
        at_once = len(PLACES) if self._calls.server.is_cluster else len(self._names)
        calls = (self._calls.run("peek", self._names[at : at + at_once]) for at in range(0, len(self._names), at_once))
        replies = await asyncio.gather(*calls)
        found = []
        for number, (_, *firsts) in enumerate(replies):
            for place, score in zip(firsts[::2], firsts[1::2], strict=True):
                kind, part = self._sets[number * at_once + place - 1]
                found.append((kind, float(score), part))
        return self._calls.clock.note_time(replies[0][0], asked), found
