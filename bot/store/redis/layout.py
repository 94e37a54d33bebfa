"""The layout of the store on the server: the names of its keys, its limits and lifetimes, and parsers of rows.

Names are `PREFIX:{pN}:...`, where N is the number of the job's partition. All keys of a script are in one partition,
and so in one slot of a cluster. The parsers return the values of `bot.store.values`. Times are seconds, sizes are
bytes.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.store.values import (
    BLOB_LIMIT,
    EVENT_LIMIT,
    INLINE_LIMIT,
    LOG_LIMIT,
    Head,
    Intent,
    JobKey,
    LogBroken,
    LogEntry,
    PayloadTooLarge,
)

NUL = "\0"
"""The separator of audit entries in a script's argument. No JSON contains it."""
OWN_KEYS = ("head", "log", "in", "ops", "blobs", "out")
"""The last parts of the names of keys that belong to one job and expire with the job; its files may expire earlier."""
JOB_SETS = ("lease", "newer", "due")
"""The sets of a partition in which a job may wait for an owner, in the order in which they are served."""
HEAD, LOG, INBOX, BLOBS, OUTBOX, FILES, FORGOTTEN_AT, AUDIT, AUDIT_TEAMS = 0, 1, 2, 4, 5, 9, 10, 11, 12
"""The indexes of these keys in the list that `Keys.list_job_keys` returns."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The names of all keys of a deployment, which start with `prefix`; its jobs are spread over `partitions`."""

    prefix: str
    partitions: int

    def make_partition_prefix(self, number: int) -> str:
        """Return the prefix of a partition's keys. Partitions are numbered from 0."""
        return f"{self.prefix}:{{p{number}}}"

    def compute_partition_prefix(self, key: JobKey) -> str:
        """Return the prefix of the keys of a job's partition."""
        return self.make_partition_prefix(zlib.crc32(f"{key.team}/{key.job}".encode()) % self.partitions)

    def list_partition_prefixes(self) -> list[str]:
        """List the key prefixes of all partitions."""
        return [self.make_partition_prefix(number) for number in range(self.partitions)]

    def list_job_keys(self, key: JobKey) -> list[str]:
        """List the keys that every script about a job takes, in the order of `scripts/job.lua`."""
        part = self.compute_partition_prefix(key)
        base = f"{part}:{encode_job_key(key)}"
        own = (f"{base}:{name}" for name in OWN_KEYS)
        places = (f"{part}:{name}" for name in ("due", "lease", "newer"))
        return [
            *own,
            *places,
            f"{base}:files",
            f"{base}:gone",
            self.make_audit_key(part, key.team),
            self.make_audit_teams_key(part),
        ]

    def make_audit_key(self, part: str, team: str) -> str:
        """Return the key of a team's audit in a partition. Each partition has one, as a script touches one slot."""
        return f"{part}:audit:{team}"

    def make_audit_teams_key(self, part: str) -> str:
        """Return the key of the set of teams that have an audit in a partition."""
        return f"{part}:audits"

    def make_forgotten_outbox_key(self, key: JobKey) -> str:
        """Return the key of a forgotten job's outbox, which is kept until its messages are deleted in Slack."""
        return f"{self.compute_partition_prefix(key)}:{encode_job_key(key)}:posted"

    def make_file_jobs_key(self, part: str, team: str, file: str) -> str:
        """Return the key of the index of jobs in a partition that read a file; `file` is its id at its source."""
        return f"{part}:file:{team}/{file}"

    def make_dedupe_key(self, key: JobKey, name: str) -> str:
        """Return the key that remembers a dedupe id."""
        return f"{self.compute_partition_prefix(key)}:{encode_job_key(key)}:seen:{name}"

    def make_user_jobs_key(self, part: str, team: str, user: str) -> str:
        """Return the key of a partition's index of the jobs that a person asked for."""
        return f"{part}:user:{team}/{user}"

    @property
    def schedule_keys(self) -> tuple[str, str, str]:
        """The keys of all schedules, in one partition so that one script finds due ones: payloads, due times, fired."""
        part = f"{self.make_partition_prefix(0)}:schedule"
        return f"{part}:payload", f"{part}:due", f"{part}:fired"

    def make_settings_key(self, team: str) -> str:
        """Return the key of a team's settings that admins change. Raises ValueError for a name that is unusable."""
        return f"{self.make_partition_prefix(0)}:settings:{join_team_name(team, 'all')}"

    def make_memory_keys(self, team: str, place: str) -> tuple[str, str]:
        """Return the keys of a place's memories, and of the names of the team's places.

        Both are in one partition, so that one script keeps them consistent. Raises ValueError for an unusable name.
        """
        part = f"{self.make_partition_prefix(0)}:memories"
        return f"{part}:of:{join_team_name(team, place)}", self.make_memory_places_key(team)

    def make_memory_places_key(self, team: str) -> str:
        """Return the key of the names of a team's places that have memories. Raises ValueError for an unusable name."""
        return f"{self.make_partition_prefix(0)}:memories:places:{join_team_name(team, 'all')}"

    def make_sign_in_key(self, team: str, name: str) -> str:
        """Return the key of a sign-in's result, or of a sign-in under way. Raises ValueError for an unusable name."""
        return f"{self.make_partition_prefix(0)}:sign-in:{join_team_name(team, name)}"

    @property
    def installations_key(self) -> str:
        """The key of the app's installations, in one hash because each instance reads all of them every few seconds."""
        return f"{self.make_partition_prefix(0)}:installations"

    @property
    def board_key(self) -> str:
        """The key of the status rows of all instances."""
        return f"{self.make_partition_prefix(0)}:board"

    def make_homes_key(self, team: str) -> str:
        """Return the key of a team's open App Homes. Raises ValueError for an unusable name."""
        return f"{self.make_partition_prefix(0)}:homes:{join_team_name(team, 'all')}"

    def make_waiting_jobs_key(self, team: str, person: str) -> str:
        """Return the key of the jobs that wait for a person or a user group. Raises ValueError for an unusable name."""
        return f"{self.make_partition_prefix(0)}:waits:{join_team_name(team, person)}"

    @property
    def partition_count_key(self) -> str:
        """The key of the number of partitions that the jobs are spread over."""
        return f"{self.make_partition_prefix(0)}:partitions"

    @property
    def home_team_key(self) -> str:
        """The key of the team whose jobs the store keeps."""
        return f"{self.make_partition_prefix(0)}:home"

    @property
    def job_channel(self) -> str:
        """The channel of notices about jobs."""
        return f"{self.prefix}:signals"

    @property
    def limits_prefix(self) -> str:
        """The prefix of the keys of the shared counters, all in one slot so that one script reaches each."""
        return f"{self.prefix}:{{limits}}:"

    @property
    def breaker_channel(self) -> str:
        """The channel of notices about breakers. On `job_channel`, an older release would read them as jobs."""
        return f"{self.prefix}:breakers"


def encode_job_key(key: JobKey) -> str:
    """Return a job's name in indexes and notices. Raises ValueError for an unusable name."""
    return join_team_name(key.team, key.job)


def join_team_name(team: str, name: str) -> str:
    """Join a team and a name within it. Raises ValueError if either is empty or the team has a slash."""
    if not team or not name or "/" in team:
        message = f"not usable in a key of the store: {team!r}, {name!r}"
        raise ValueError(message)
    return f"{team}/{name}"


def split_team_name(text: bytes) -> tuple[str, str]:
    """Split a text of `join_team_name` into the team and the name."""
    team, _, name = text.decode().partition("/")
    return team, name


def decode_job_key(text: bytes) -> JobKey:
    """Parse a job's name as `encode_job_key` returns it."""
    return JobKey(*split_team_name(text))


REPAIR_ADVICE = "Something deleted it on the server: restore that from a backup, or ask again in a new thread."


def parse_entry(key: JobKey, row: Any, payloads: Mapping[bytes, bytes | None]) -> LogEntry:
    """Parse a stream's entry. A large payload is not in the stream and comes from `payloads`, by its sha256.

    Raises LogBroken if it is not there.
    """
    name, fields = row
    seq = int(name.partition(b"-")[0])
    payload = fields.get(b"p")
    if payload is None:
        payload = payloads.get(fields.get(b"b", b""))
    if payload is None:
        message = f"The contents of event {seq} of job {key.job} are gone. {REPAIR_ADVICE}"
        raise LogBroken(message)
    return LogEntry(seq, payload.decode())


def parse_entries(strings: Iterable[bytes], first: int) -> list[LogEntry]:
    """Parse the entries in a reply of `scripts/log.lua`, which are numbered from `first` on without a gap."""
    payloads = [payload for some in strings for payload in some.decode().split("\0")]
    return list(map(LogEntry, itertools.count(first), payloads))


def check_log_order(key: JobKey, entries: Sequence[LogEntry], after_seq: int, last_seq: int) -> None:
    """Raise LogBroken unless entries follow event `after_seq` without a gap and reach event `last_seq`."""
    for entry in entries:
        if entry.seq != after_seq + 1:
            where = f"jumps from event {after_seq} to {entry.seq}" if after_seq else f"begins with event {entry.seq}"
            message = f"The log of job {key.job} {where}. {REPAIR_ADVICE}"
            raise LogBroken(message)
        after_seq = entry.seq
    if after_seq < last_seq:
        message = f"The log of job {key.job} ends with event {after_seq} of {last_seq}. {REPAIR_ADVICE}"
        raise LogBroken(message)


def parse_head(key: JobKey, state: Mapping[bytes, bytes]) -> Head | None:
    """Parse a job's head from its hash; None if the hash is empty."""
    if not state:
        return None
    texts = {name.decode(): value.decode() for name, value in state.items()}
    return Head(
        key=key,
        seq=int(texts["_seq"]),
        schema=int(texts["_schema"]),
        epoch=int(texts["_epoch"]),
        due=float(texts["_due"]) if texts["_due"] else None,
        owner=texts["_owner"],
        updated_at=float(texts["_updated"]),
        lost_owners=int(texts.get("_lost", 0)),
        is_quarantined=texts.get("_aside") == "1",
        fields={name: value for name, value in texts.items() if not name.startswith("_")},
    )


def parse_intent(record: bytes, *, is_first: bool) -> Intent:
    """Parse an outbox record. The record does not contain `is_first`."""
    fields = json.loads(record)
    began, sent_at = float(fields["began"]), float(fields.get("sent", 0))
    return Intent(is_first=is_first, began_at=began, ts=fields["ts"], draft_ts=fields["draft"], sent_at=sent_at)


FULLNESS_SECONDS = 2.0
"""How long an answer of `Store.explain_fullness` is reused."""
DEDUPE_SECONDS = 3600.0
"""How long a dedupe id is remembered."""
JOB_OPERATION_SECONDS = 600.0
"""How long the operation ids of a job are remembered after its release."""
JOB_OPERATIONS_LIMIT = 100
OPERATIONS_AFTER_RELEASE = 2
"""Operation ids that are kept after a job's release, as its last owner repeats only its last operations."""
INTENT_SECONDS = 30.0
"""Seconds after a message's intent for which it may be unknown whether the message was sent. During them, a lookup of
the message counts as progress of the job, which resets the job's count of lost owners to 0."""
INBOX_LIMIT = 1000
OUTBOX_LIMIT = LOG_LIMIT
SCHEDULE_LIMIT = 10_000
SETTINGS_LIMIT = 10_000
INSTALLATIONS_LIMIT = 10_000
JOB_BYTES_LIMIT = 512 * 1024 * 1024
"""Bytes that one job may keep outside its log: blobs, and payloads over `INLINE_LIMIT`."""
USER_JOBS_LIMIT = 1000
"""Most jobs of a person in a partition's index, where `forget me` finds the jobs to erase."""

JOB_FULL_MESSAGE = "this job holds as much as the store keeps for one job; start a new thread"


def digest_if_large(payload: str) -> str:
    """Return the sha256 (hex) of an event's JSON if it is too large for the log, else "". Raises PayloadTooLarge."""
    # A character takes four bytes at most, so that most payloads need not be encoded to be measured.
    if len(payload) * 4 <= INLINE_LIMIT:
        return ""
    data = payload.encode()
    if len(data) > EVENT_LIMIT:
        message = f"an event of {len(data)} bytes is over the limit of {EVENT_LIMIT}; keep its bulk in a blob"
        raise PayloadTooLarge(message)
    return hashlib.sha256(data).hexdigest() if len(data) > INLINE_LIMIT else ""


def digest_blob(data: bytes) -> str:
    """Return the sha256 (hex) of a blob. Raises PayloadTooLarge."""
    if len(data) > BLOB_LIMIT:
        message = f"a file of {len(data)} bytes is over the limit of {BLOB_LIMIT}"
        raise PayloadTooLarge(message)
    return hashlib.sha256(data).hexdigest()


def check_log_length(expected_seq: int, payloads: Sequence[str]) -> None:
    """Raise PayloadTooLarge if the log would get longer than `LOG_LIMIT`."""
    if expected_seq + len(payloads) > LOG_LIMIT:
        message = f"the log would be over the limit of {LOG_LIMIT} events"
        raise PayloadTooLarge(message)


def check_field_names(fields: Iterable[str]) -> None:
    """Raise ValueError for a field name that begins with an underscore, which the store reserves."""
    for name in fields:
        if name.startswith("_"):
            message = f"a head field must not start with an underscore: {name!r}"
            raise ValueError(message)
