"""The trace of a job as JSON, for tools: each event of its log, and what policy decided when it came."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bot.store.interface import Entry, Head
from handoff import events as ev
from handoff.engine.engine import apply
from handoff.state import Job
from handoff.state_values import Decision


def trace_json(entries: Sequence[Entry], head: Head | None) -> dict[str, Any]:
    """Return the whole trace of a job: what its head says of it, and its events in order."""
    return {
        "schema": ev.SCHEMA,
        "team": head.key.team if head else "",
        "job": head.key.job if head else "",
        "state": head.fields.get("state", "") if head else "",
        "events": events_json(entries),
    }


def events_json(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return each event as it was written, by whatever release, with its `seq` and what was `decided`, if anything.

    An entry that is no JSON object stands as `unreadable` text.
    """
    decisions = decisions_at(entries)
    return [
        {"seq": entry.seq, **_event_json(entry.payload), **_decided_json(decisions.get(place, ()))}
        for place, entry in enumerate(entries)
    ]


def decisions_at(entries: Sequence[Entry]) -> Mapping[int, tuple[Decision, ...]]:
    """Return the decisions that followed from each entry, by its place from 0, up to the first that cannot be read."""
    found: dict[int, tuple[Decision, ...]] = {}
    job: Job | None = None
    for place, entry in enumerate(entries):
        try:
            after = apply(job, ev.load(entry.payload))
        except ValueError:
            break
        if new := _new_decisions(job, after):
            found[place] = new
        job = after
    return found


def _new_decisions(before: Job | None, after: Job) -> tuple[Decision, ...]:
    new: list[Decision] = []
    for ask in after.asks:
        earlier = before.ask(ask.id) if before is not None else None
        new += ask.decisions[len(earlier.decisions) if earlier is not None else 0 :]
    return tuple(new)


def _event_json(payload: str) -> dict[str, Any]:
    try:
        event = json.loads(payload)
    except ValueError:
        event = None
    return event if isinstance(event, dict) else {"unreadable": payload}


def _decided_json(decisions: Sequence[Decision]) -> dict[str, Any]:
    decided = [{"subtask": one.subtask, "what": one.what, "why": one.why} for one in decisions]
    return {"decided": decided} if decided else {}
