"""How much the store takes of each thing, and how long it keeps it. Times are seconds, sizes are bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from bot.store.interface import BLOB_LIMIT, EVENT_LIMIT, INLINE_LIMIT, LOG_LIMIT, PayloadTooLarge

DAY = 86_400.0
RETENTION = 30 * DAY
"""How long a finished job is kept."""
IDLE_RETENTION = 180 * DAY
"""How long a job is kept that is not finished and has nothing to do: a question that nobody ever answers."""
FULLNESS_FOR = 2.0
"""How long an answer of `full` holds."""
SEEN_FOR = 3600.0
"""How long a dedupe id is remembered."""
OPERATIONS_FOR = 600.0
"""How long the operation ids of a job are remembered once nobody owns it."""
OPERATIONS_KEPT = 100
OPERATIONS_LEFT = 2
"""Of them, once nobody owns the job: whoever owned it made one after the other."""
SETTLES_IN = 30.0
"""How long after its intent it may take until it is known if a message was sent. For so long, to look into that is
progress, and an owner that is lost over it says nothing against the job."""
INBOX_LIMIT = 1000
OUTBOX_LIMIT = LOG_LIMIT
SCHEDULE_LIMIT = 10_000
JOB_BYTES_LIMIT = 512 * 1024 * 1024
"""Bytes that one job may keep outside its log: blobs, and payloads over `INLINE_LIMIT`."""
ASKED_BY_LIMIT = 100

JOB_FULL = "this job holds as much as the store keeps for one job; start a new thread"


def digest_if_large(payload: str) -> str:
    """Give the sha256 (hex) of an event's JSON that is too large for the log, else nothing. Raises PayloadTooLarge."""
    # A character takes four bytes at most, so that most payloads need not be encoded to be measured.
    if len(payload) * 4 <= INLINE_LIMIT:
        return ""
    data = payload.encode()
    if len(data) > EVENT_LIMIT:
        message = f"an event of {len(data)} bytes is over the limit of {EVENT_LIMIT}; keep its bulk in a blob"
        raise PayloadTooLarge(message)
    return hashlib.sha256(data).hexdigest() if len(data) > INLINE_LIMIT else ""


def blob_digest(data: bytes) -> str:
    """Give the sha256 (hex) of a blob. Raises PayloadTooLarge."""
    if len(data) > BLOB_LIMIT:
        message = f"a file of {len(data)} bytes is over the limit of {BLOB_LIMIT}"
        raise PayloadTooLarge(message)
    return hashlib.sha256(data).hexdigest()


def check_log(expected: int, payloads: Sequence[str]) -> None:
    """Raise PayloadTooLarge if the log would get longer than `LOG_LIMIT`."""
    if expected + len(payloads) > LOG_LIMIT:
        message = f"the log would be over the limit of {LOG_LIMIT} events"
        raise PayloadTooLarge(message)


def check_fields(fields: Iterable[str]) -> None:
    """Raise ValueError for a field name that the store keeps for itself."""
    for name in fields:
        if name.startswith("_"):
            message = f"a head field must not start with an underscore: {name!r}"
            raise ValueError(message)
