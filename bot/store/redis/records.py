"""Readers of what the server keeps: they make the values of `bot.store.interface` of it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bot.store.interface import Entry, Head, Intent, JobKey, LogBroken

REPAIR = "Something deleted it on the server: restore that from a backup, or ask again in a new thread."


def entry(key: JobKey, row: Any, kept: Mapping[bytes, bytes | None]) -> Entry:
    """Read an entry of a stream; a payload kept beside it is looked up in `kept`. Raises LogBroken if it is gone."""
    name, fields = row
    seq = int(name.partition(b"-")[0])
    payload = fields.get(b"p")
    if payload is None:
        payload = kept.get(fields.get(b"b", b""))
    if payload is None:
        message = f"The contents of event {seq} of job {key.job} are gone. {REPAIR}"
        raise LogBroken(message)
    return Entry(seq, payload.decode())


def joined(strings: Iterable[bytes], first: int) -> list[Entry]:
    """Read the entries of `scripts/log.lua`, which have no gap from `first` on."""
    payloads = [payload for some in strings for payload in some.decode().split("\0")]
    return list(map(Entry, itertools.count(first), payloads))


def check_order(key: JobKey, entries: Sequence[Entry], after: int, last: int) -> None:
    """Raise LogBroken unless a log goes on after event `after` without a gap to event `last` at least."""
    for found in entries:
        if found.seq != after + 1:
            where = f"jumps from event {after} to {found.seq}" if after else f"begins with event {found.seq}"
            message = f"The log of job {key.job} {where}. {REPAIR}"
            raise LogBroken(message)
        after = found.seq
    if after < last:
        message = f"The log of job {key.job} ends with event {after} of {last}. {REPAIR}"
        raise LogBroken(message)


def head(key: JobKey, state: Mapping[bytes, bytes]) -> Head | None:
    """Read a head from its hash; None if that is empty."""
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
        updated=float(texts["_updated"]),
        lost=int(texts.get("_lost", 0)),
        quarantined=texts.get("_aside") == "1",
        fields={name: value for name, value in texts.items() if not name.startswith("_")},
    )


def intent(record: bytes, *, first: bool) -> Intent:
    """Read an outbox record."""
    known = json.loads(record)
    return Intent(first=first, began=float(known["began"]), ts=known["ts"], draft_ts=known["draft"])
