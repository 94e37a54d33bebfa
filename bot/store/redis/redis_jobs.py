"""The jobs of the store. Every script about an owned job checks the claim's token first."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Collection, Sequence
from typing import Any, Literal

from bot.store.redis import layout
from bot.store.redis.layout import BLOBS, FORGOTTEN_AT, HEAD, INBOX, JOB_SETS, LOG, decode_job_key, encode_job_key
from bot.store.redis.script_runner import ScriptRunner, check_reply, flatten_pairs, make_nonce, to_milliseconds
from bot.store.script import Arg, WriteUnconfirmed
from bot.store.values import Claim, Commit, Head, Holder, JobKey, JobStatus, LogBroken, LogEntry, Retention, StoreError

IngestTarget = Literal["any", "exists", "quarantined"]
"""The jobs that may receive an event: any job, one that exists, or one in quarantine, which the event releases."""
COMMIT_BY_REPLY = {commit.value.encode(): commit for commit in Commit}
UNCONFIRMED_CLAIM_SECONDS = 2.0
"""Seconds until a job is due again after a claim that no replica has confirmed."""
LOG_PAGE_ENTRIES = 250
ENTRIES_PER_STRING = 125
"""Entries in each string of a reply of `scripts/log.lua`."""


class Jobs:
    """Jobs, each with its log, its inbox and its head. A job is always in one of five places.

        due          has something to do at a time; from then on `claim` returns it
        lease        is owned by an instance until a time, which `beat` extends; after that, others may claim it
        newer        is due, but parked for an instance that knows its schema, as those that claimed it do not
        quarantined  has lost too many owners, or cannot be read: `claim` does not return it
        none         has nothing to do: it rests until an event comes in, and expires when its time to live is over

    `ingest` creates a job and makes it due, and `signal` makes an existing one due. `claim` gives it a lease. Then
    `release` makes it due again or lets it rest, or `quarantine` withholds it until `release_quarantined` makes it due.
    An event for a job with a lease waits in its inbox, and the owner is notified. An event for a job in quarantine only
    waits.
    """

    def __init__(self, calls: ScriptRunner, retention: Retention) -> None:
        self._calls = calls
        self._ready = ReadyJobs(calls)
        self._retention_ms = to_milliseconds(retention.jobs)
        self._waiting_ms = to_milliseconds(retention.waiting_jobs)
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
        said_at: float | None = None,
    ) -> bool:
        """Put an event in the job's inbox and make the job due now, all in one script.

        A running owner is notified through `Store.listen`.

        Args:
            key: The job, which is created if it does not exist.
            payload: The event's JSON.
            dedupe: Ids of the event, each remembered for an hour.
            user: The requester, who can then find the job by `read_heads_asked_by`.
            fields: Fields to set in the head, except those that it has already.
            said_at: When the message was written, in seconds since the epoch; None skips the check against forgetting.

        Returns:
            False, with nothing changed, if any of the `dedupe` ids is remembered, or if the job was forgotten after
            `said_at`.

        Raises:
            PayloadTooLarge: The payload is too large, or 1000 events wait in the inbox.
        """
        return await self._receive(key, payload, dedupe, "any", user=user, fields=fields, said_at=said_at)

    async def signal(self, key: JobKey, payload: str, *, dedupe: Sequence[str]) -> bool:
        """Put an event in the inbox of an existing job, as `ingest` does. Returns False also if there is no such job.

        An event for a job in quarantine waits in its inbox and does not make the job due.
        """
        return await self._receive(key, payload, dedupe, "exists")

    async def release_quarantined(self, key: JobKey, payload: str) -> bool:
        """Release a job from quarantine: put an event in its inbox, even a full one, make it due, reset lost owners.

        Returns False, with nothing changed, if it is not in quarantine.
        """
        return await self._receive(key, payload, (), "quarantined")

    async def _receive(
        self,
        key: JobKey,
        payload: str,
        dedupe: Sequence[str],
        target: IngestTarget,
        *,
        user: str = "",
        fields: dict[str, str] | None = None,
        said_at: float | None = None,
    ) -> bool:
        """Put an event in the inbox. Returns False, with nothing changed, for a repeat or if there is no such job."""
        fields = fields or {}
        layout.check_field_names(fields)
        operation = make_nonce()
        keys = self._calls.keys
        # Without dedupe ids, only the operation id shows that a call is a repeat.
        dedupe_keys = [keys.make_dedupe_key(key, name) for name in dedupe or (operation,)]
        reply = await self._calls.run(
            "ingest",
            [
                *keys.list_job_keys(key),
                keys.make_user_jobs_key(keys.compute_partition_prefix(key), key.team, user),
                *dedupe_keys,
            ],
            encode_job_key(key),
            operation,
            target,
            layout.digest_if_large(payload),
            payload,
            layout.INBOX_LIMIT,
            layout.JOB_BYTES_LIMIT,
            to_milliseconds(layout.DEDUPE_SECONDS),
            user,
            layout.USER_JOBS_LIMIT,
            self._retention_ms,
            keys.job_channel,
            int(self._calls.server.required_replicas > 0),
            "" if said_at is None else repr(said_at),
            *flatten_pairs(fields),
        )
        return bool(check_reply(reply))

    # Owners ---------------------------------------------------------------------------------------------

    async def claim(
        self,
        owner: str,
        *,
        lease: float,
        schema: int,
        preferred_job: JobKey | None = None,
        skipped_holders: Collection[Holder] = (),
    ) -> Claim | None:
        """Claim one job: `preferred_job` if it is ready, then one with an expired lease, a parked one, or a due one.

        The claim increments the job's epoch, and counts an owner whose lease expired as lost (`Claim.lost_owners`),
        unless it was the same `owner`. `Claim.owner` is `owner`, a dot and a random part, which is never the same
        twice, while epochs may decrease in a failover.

        Args:
            owner: The name of the instance.
            lease: Seconds of the lease.
            schema: The newest schema that the instance knows. A job with a newer one is parked, and only an instance
                that knows its schema can claim it.
            preferred_job: A job to try first, which takes one round trip.
            skipped_holders: Holders whose due jobs are not claimed, so that jobs of others have their turn.

        Returns:
            The claim; None if no job is ready.
        """
        token = f"{owner}.{make_nonce()}"
        if preferred_job is not None:
            part = self._calls.keys.compute_partition_prefix(preferred_job)
            claim = await self._claim_in(part, token, lease, schema, encode_job_key(preferred_job), skipped_holders)
            if claim is not None:
                return claim
        for part in await self._ready.find_partitions(schema):
            claim = await self._claim_in(part, token, lease, schema, "", skipped_holders)
            if claim is not None:
                return claim
        return None

    async def _claim_in(
        self, part: str, token: str, lease: float, schema: int, preferred_job: str, skipped_holders: Collection[Holder]
    ) -> Claim | None:
        keys = (f"{part}:lease", f"{part}:due", f"{part}:newer", f"{part}:claim:{token}")
        args: list[Arg] = [f"{part}:", token, lease, schema, preferred_job, self._calls.keys.job_channel]
        args += [f"{team}/{user}" for team, user in sorted(skipped_holders)]
        reply: Any = b"more"
        try:
            while reply == b"more":
                reply = await self._calls.run("claim", keys, *args)
        except WriteUnconfirmed as error:
            if isinstance(error.reply, list):
                # The claim does not count. If its lease just expired, that would count as one more lost owner.
                claim = _parse_claim(error.reply, token)
                with contextlib.suppress(StoreError):
                    await self._release_lease(
                        claim, claim.expires_at - lease + UNCONFIRMED_CLAIM_SECONDS, lost_owners=claim.lost_owners
                    )
            raise
        if reply is None:
            return None
        return _parse_claim(reply, token)

    async def read_next_due(self) -> float | None:
        """Return when the earliest job is due or lease expires; None for neither. Parked jobs do not count."""
        return await self._ready.find_next_due()

    async def beat(self, claim: Claim, *, lease: float) -> bool:
        """Renew a lease, even an expired one. Returns False if another instance has claimed the job."""
        args = (encode_job_key(claim.key), claim.owner, claim.epoch, lease)
        return bool(await self._calls.run("beat", self._calls.keys.list_job_keys(claim.key), *args))

    async def release(self, claim: Claim, *, due: float | None, counts_as_lost: bool | None = False) -> bool:
        """Release the lease of a job. Returns False if the job was not ours.

        Args:
            claim: The claim.
            due: When the job is due again; None: only when an event comes in. It is due at once if its inbox is not
                empty.
            counts_as_lost: False resets the count of lost owners to 0. True adds one, for work that stalled or broke.
                None leaves it, for a release in the middle of the work.
        """
        return await self._release_lease(
            claim, due, lost_owners="" if counts_as_lost is None else "+" if counts_as_lost else 0
        )

    async def _release_lease(self, claim: Claim, due: float | None, *, lost_owners: int | str) -> bool:
        """Release the lease of a job. `lost_owners` is the new count of lost owners; "+" adds one, "" leaves it."""
        reply = await self._calls.run(
            "release",
            self._calls.keys.list_job_keys(claim.key),
            encode_job_key(claim.key),
            claim.owner,
            claim.epoch,
            make_nonce(),
            "" if due is None else repr(due),
            self._waiting_ms,
            to_milliseconds(layout.JOB_OPERATION_SECONDS),
            self._calls.keys.job_channel,
            layout.OPERATIONS_AFTER_RELEASE,
            lost_owners,
        )
        return bool(reply)

    async def quarantine(
        self, claim: Claim, payload: str, *, schema: int, fields: dict[str, str] | None = None
    ) -> bool:
        """Put a job in quarantine, where nobody can claim it until its release. Returns False if it was not ours.

        `payload` (an event's JSON) is appended at the end of the log without a check of the sequence, so that this
        works for a job whose log cannot be read. The head's schema rises to `schema` at least. Events that come in
        meanwhile wait in the inbox. Raises PayloadTooLarge only for a payload that is too large for the log.
        """
        fields = fields or {}
        layout.check_field_names(fields)
        reply = await self._calls.run(
            "quarantine",
            self._calls.keys.list_job_keys(claim.key),
            encode_job_key(claim.key),
            claim.owner,
            claim.epoch,
            make_nonce(),
            schema,
            layout.digest_if_large(payload),
            payload,
            layout.JOB_BYTES_LIMIT,
            self._waiting_ms,
            to_milliseconds(layout.JOB_OPERATION_SECONDS),
            layout.OPERATIONS_AFTER_RELEASE,
            *flatten_pairs(fields),
        )
        return bool(check_reply(reply))

    async def commit(  # noqa: PLR0913 - all that one script checks and writes
        self,
        claim: Claim,
        operation: str,
        expected_seq: int,
        payloads: Sequence[str],
        *,
        taken_entries: Sequence[int] = (),
        fields: dict[str, str] | None = None,
        schema: int = 1,
        starts_expiry: bool = False,
        is_progress: bool = True,
        audit_entries: Sequence[str] = (),
    ) -> Commit:
        """Append events to the log, remove inbox entries and update the head, all in one script.

        Checked in this order: operation id (DUP), token (FENCED), sequence (CONFLICT).

        Args:
            claim: The claim, which has the token.
            operation: The operation id, which shows that a call is a repeat.
            expected_seq: The sequence number of the last event before these.
            payloads: The events' JSON.
            taken_entries: Sequence numbers of inbox entries to remove.
            fields: Fields to set in the head.
            schema: The schema of the events.
            starts_expiry: True to start the job's time to live, unless an event is left in the inbox. A later `ingest`
                stops it.
            is_progress: True to reset the count of lost owners to 0.
            audit_entries: Audit entries (JSON) that follow from the events.

        Raises:
            PayloadTooLarge: An event, the log or the job is over its limit.
        """
        fields = fields or {}
        layout.check_log_length(expected_seq, payloads)
        layout.check_field_names(fields)
        reply = await self._calls.run(
            "commit",
            self._calls.keys.list_job_keys(claim.key),
            operation,
            claim.owner,
            claim.epoch,
            expected_seq,
            schema,
            self._retention_ms if starts_expiry else "",
            self._files_ms,
            layout.JOB_OPERATIONS_LIMIT,
            layout.JOB_BYTES_LIMIT,
            int(is_progress),
            *(claim.key.team, layout.NUL.join(audit_entries), self._audit_ms),
            len(taken_entries),
            *taken_entries,
            len(payloads),
            *(part for payload in payloads for part in (layout.digest_if_large(payload), payload)),
            *flatten_pairs(fields),
        )
        return COMMIT_BY_REPLY[check_reply(reply)]

    # Forgetting -----------------------------------------------------------------------------------------

    async def forget(
        self, key: JobKey, *, users: Sequence[str], files: Sequence[str] = (), audit_entries: Sequence[str] = ()
    ) -> bool:
        """Erase a job and all its data, and add `audit_entries` (JSON) to the audit, in one script.

        Returns False if there is no such job. Its owner is fenced and notified. `read_heads_asked_by` of `users` and
        `Blobs.list_jobs_that_read` of `files` no longer list it. `OutboxRecords.read_forgotten_messages` still returns
        its messages. A later event for the same key makes a new job.
        """
        names = self._calls.keys
        part = names.compute_partition_prefix(key)
        indexes = [names.make_user_jobs_key(part, key.team, user) for user in users]
        indexes += [names.make_file_jobs_key(part, key.team, file) for file in files]
        keys = [*names.list_job_keys(key), names.make_forgotten_outbox_key(key), *indexes]
        args = (
            encode_job_key(key),
            self._waiting_ms,
            names.job_channel,
            key.team,
            layout.NUL.join(audit_entries),
            self._audit_ms,
        )
        return bool(await self._calls.run("forget", keys, *args))

    async def read_forget_time(self, key: JobKey) -> float | None:
        """Return when a job was forgotten (seconds since the epoch); None if it was not, or long ago."""
        at = await self._calls.server.run_command("GET", self._calls.keys.list_job_keys(key)[FORGOTTEN_AT])
        return None if at is None else float(at)

    # Reading, which changes nothing and needs no token --------------------------------------------------

    async def read_log(self, key: JobKey, *, after_seq: int = 0) -> list[LogEntry]:
        """Read the events after `after_seq`, in order; [] if the job expired. Raises LogBroken if one is missing."""
        entries, last = await self._read_page(key, after_seq + 1)
        # Side by side: the server reads a page while the one before it is parsed here.
        starts = range(after_seq + 1 + LOG_PAGE_ENTRIES, last + 1, LOG_PAGE_ENTRIES)
        for page, _ in await asyncio.gather(*(self._read_page(key, start) for start in starts)):
            entries += page
        try:
            # The head was read with the first page, so that the log can only be longer than it says, never shorter.
            layout.check_log_order(key, entries, after_seq, last)
        except LogBroken:
            if await self.read_head(key) is None:
                return []  # it expired while it was read
            raise
        return entries

    async def _read_page(self, key: JobKey, start: int) -> tuple[list[LogEntry], int]:
        """Read a page of entries from sequence number `start` on. Returns them and the last number in the head."""
        keys = self._calls.keys.list_job_keys(key)
        seq, number, *strings = await self._calls.run(
            "log", (keys[LOG], keys[HEAD]), start, LOG_PAGE_ENTRIES, ENTRIES_PER_STRING
        )
        if strings or not number:
            return layout.parse_entries(strings, start), int(seq)
        rows = await self._calls.server.run_command("XRANGE", keys[LOG], f"{start}-0", "+", "COUNT", LOG_PAGE_ENTRIES)
        return await self._resolve_entries(key, rows), int(seq)

    async def read_inbox(self, key: JobKey) -> list[LogEntry]:
        """Read the events that wait in the inbox, in order of arrival. Raises LogBroken if one cannot be read."""
        name = self._calls.keys.list_job_keys(key)[INBOX]
        return await self._resolve_entries(key, await self._calls.server.run_command("XRANGE", name, "-", "+"))

    async def _resolve_entries(self, key: JobKey, rows: list[Any]) -> list[LogEntry]:
        digests = list(dict.fromkeys(row[1][b"b"] for row in rows if b"b" in row[1]))
        name = self._calls.keys.list_job_keys(key)[BLOBS]
        blobs = await self._calls.server.run_command("HMGET", name, *digests) if digests else []
        payloads = dict(zip(digests, blobs, strict=True))
        return [layout.parse_entry(key, row, payloads) for row in rows]

    async def read_head(self, key: JobKey) -> Head | None:
        """Read the job's head; None for an unknown job."""
        return layout.parse_head(
            key, await self._calls.server.run_command("HGETALL", self._calls.keys.list_job_keys(key)[HEAD])
        )

    async def read_heads_asked_by(self, team: str, user: str, *, limit: int = 20, skip: int = 0) -> list[Head]:
        """Read the heads of the jobs that a person asked for, newest first: of the last 1000 in each partition.

        It may return fewer than `limit`, as jobs that no longer exist are left out.
        """
        return await self.read_heads(await self.list_keys_asked_by(team, user, limit=limit, skip=skip))

    async def list_keys_asked_by(self, team: str, user: str, *, limit: int, skip: int = 0) -> list[JobKey]:
        """List the keys of the jobs that a person asked for, newest first, without reading their heads."""
        names = self._calls.keys
        indexes = [names.make_user_jobs_key(part, team, user) for part in names.list_partition_prefixes()]
        newest = await self._read_scores(
            [("ZRANGE", index, 0, skip + limit - 1, "REV", "WITHSCORES") for index in indexes]
        )
        return [decode_job_key(name) for _, name in sorted(newest, reverse=True)[skip : skip + limit]]

    async def count_jobs_asked_by(self, team: str, user: str) -> int:
        """Count the jobs that a person asked for, at most the last 1000 in each partition."""
        names = self._calls.keys
        counts = await self._calls.server.run_commands(
            [("ZCARD", names.make_user_jobs_key(part, team, user)) for part in names.list_partition_prefixes()]
        )
        return sum(map(int, counts))

    async def list_keys_under_way(self, *, limit: int, team: str = "") -> list[JobKey]:
        """List the keys of jobs that have a lease, are due at some time, or are parked, soonest first.

        `team` selects the jobs of one team. The entries of all teams are read for that, as they share the sets.
        """
        sets = [f"{part}:{place}" for part in self._calls.keys.list_partition_prefixes() for place in JOB_SETS]
        last = -1 if team else limit - 1
        soonest = await self._read_scores([("ZRANGE", one, 0, last, "WITHSCORES") for one in sets])
        if team:
            soonest = [(score, name) for score, name in soonest if name.startswith(f"{team}/".encode())]
        return [decode_job_key(name) for name in list(dict.fromkeys(name for _, name in sorted(soonest)))[:limit]]

    async def read_statuses(self, keys: Sequence[JobKey]) -> list[JobStatus]:
        """Read the state of many jobs at little cost, in the order of `keys`, without jobs that do not exist."""
        names = self._calls.keys
        commands = [("HMGET", names.list_job_keys(key)[HEAD], "state", "_updated") for key in keys]
        replies = await self._calls.server.run_commands(commands) if commands else []
        return [
            JobStatus(key, (state or b"submitted").decode(), float(updated_at))
            for key, (state, updated_at) in zip(keys, replies, strict=True)
            if updated_at is not None
        ]

    async def read_heads(self, keys: Sequence[JobKey]) -> list[Head]:
        """Read the heads of jobs, in the order of `keys`, without jobs that do not exist."""
        names, server = self._calls.keys, self._calls.server
        states = (
            await server.run_commands([("HGETALL", names.list_job_keys(key)[HEAD]) for key in keys]) if keys else []
        )
        heads = (layout.parse_head(key, state) for key, state in zip(keys, states, strict=True))
        return [head for head in heads if head is not None]

    async def _read_scores(self, commands: Sequence[tuple[Arg, ...]]) -> list[tuple[float, bytes]]:
        replies = await self._calls.server.run_commands(list(commands))
        return [(float(row[at + 1]), row[at]) for row in replies for at in range(0, len(row), 2)]


def _parse_claim(reply: list[bytes], token: str) -> Claim:
    name, epoch, expires, lost_owners, user = reply
    return Claim(decode_job_key(name), int(epoch), token, float(expires), int(lost_owners), user.decode())


class ReadyJobs:
    """Finds ready jobs by the first job in each of `JOB_SETS` of each partition."""

    def __init__(self, calls: ScriptRunner) -> None:
        self._calls = calls
        self._sets = [(kind, part) for part in calls.keys.list_partition_prefixes() for kind in range(len(JOB_SETS))]
        self._names = [f"{part}:{JOB_SETS[kind]}" for kind, part in self._sets]

    async def find_partitions(self, schema: int) -> list[str]:
        """List the partitions that have a job ready for an instance that knows `schema`, in the order of service."""
        now, first_jobs = await self._read_first_jobs()
        limits = (now, float(schema), now)  # for the sets in `JOB_SETS`: lease, newer, due
        ready = [(kind, score, part) for kind, score, part in first_jobs if score <= limits[kind]]
        return list(dict.fromkeys(part for _, _, part in sorted(ready)))

    async def find_next_due(self) -> float | None:
        """Return when the earliest job is due or lease expires; None for neither. Parked jobs do not count."""
        _, first_jobs = await self._read_first_jobs()
        return min((score for kind, score, _ in first_jobs if JOB_SETS[kind] != "newer"), default=None)

    async def _read_first_jobs(self) -> tuple[float, list[tuple[int, float, str]]]:
        """Read the time, and the first job in each set, as triples of (index in `JOB_SETS`, score, partition).

        The score is when a lease expires or a job is due, or the schema of a parked job.
        """
        asked_at = time.monotonic()
        at_once = len(JOB_SETS) if self._calls.server.is_cluster else len(self._names)
        calls = (self._calls.run("peek", self._names[at : at + at_once]) for at in range(0, len(self._names), at_once))
        replies = await asyncio.gather(*calls)
        first_jobs = []
        for number, (_, *firsts) in enumerate(replies):
            for place, score in zip(firsts[::2], firsts[1::2], strict=True):
                kind, part = self._sets[number * at_once + place - 1]
                first_jobs.append((kind, float(score), part))
        return self._calls.clock.set_from_answer(replies[0][0], asked_at), first_jobs
