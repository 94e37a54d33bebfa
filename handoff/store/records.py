"""What the server keeps, read back into the values of `handoff.store.interface`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from handoff.store.interface import Entry, Head, Intent, JobKey, StoreError


def entry(row: Any, kept: Mapping[bytes, bytes | None]) -> Entry:
    """An entry of a stream; a payload kept beside it is looked up in `kept`. Raises StoreError if it is gone."""
    name, fields = row
    seq = int(name.partition(b"-")[0])
    payload = fields.get(b"p")
    if payload is None:
        payload = kept[fields[b"b"]]
    if payload is None:
        message = f"the payload of event {seq} is gone from the server; was a key deleted there?"
        raise StoreError(message)
    return Entry(seq, payload.decode())


def head(key: JobKey, state: Mapping[bytes, bytes]) -> Head | None:
    """A head from its hash; None where that is empty."""
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
        fields={name: value for name, value in texts.items() if not name.startswith("_")},
    )


def intent(record: bytes, *, first: bool) -> Intent:
    """An outbox record."""
    known = json.loads(record)
    return Intent(first=first, began=float(known["began"]), ts=known["ts"], draft_ts=known["draft"])


def names(member: bytes) -> tuple[str, str]:
    """The team and the name within it."""
    team, _, name = member.decode().partition("/")
    return team, name
