"""The trace of a job: its log, as JSON for tools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from handoff.events import SCHEMA
from handoff.store.interface import Entry, Head


def trace_json(entries: Sequence[Entry], head: Head | None) -> dict[str, Any]:
    """Every step of a job in order, each with its `seq`, as `leadhand` keeps it."""
    return {
        "schema": SCHEMA,
        "team": head.key.team if head else "",
        "job": head.key.job if head else "",
        "state": head.fields.get("state", "") if head else "",
        "events": [{"seq": entry.seq, **json.loads(entry.payload)} for entry in entries],
    }
