"""The trace of a job: its log as JSON for tools, and what policy decided at each step of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bot.store.interface import Entry, Head
from handoff import events as ev
from handoff.engine.engine import apply
from handoff.events import SCHEMA
from handoff.state import Decision, Job


def trace_json(entries: Sequence[Entry], head: Head | None) -> dict[str, Any]:
    """Every step of a job in order, each with its `seq`, as `leadhand` keeps it."""
    return {
        "schema": SCHEMA,
        "team": head.key.team if head else "",
        "job": head.key.job if head else "",
        "state": head.fields.get("state", "") if head else "",
        "events": events_json(entries),
    }


def events_json(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """The events as they were written, by whatever release; one that is no JSON object stands as `unreadable` text.

    Where policy decided something on one, `decided` says what, of which subtask and why.
    """
    found = decisions_at(entries)
    return [
        {"seq": entry.seq, **_event(entry.payload), **_decided(found.get(place, ()))}
        for place, entry in enumerate(entries)
    ]


def _decided(decisions: Sequence[Decision]) -> dict[str, Any]:
    told = [{"subtask": one.subtask, "what": one.what, "why": one.why} for one in decisions]
    return {"decided": told} if told else {}


def _event(payload: str) -> dict[str, Any]:
    try:
        event = json.loads(payload)
    except ValueError:
        event = None
    return event if isinstance(event, dict) else {"unreadable": payload}


def decisions_at(entries: Sequence[Entry]) -> Mapping[int, tuple[Decision, ...]]:
    """The decisions that followed from each entry, by its place from 0. They end where the log cannot be read."""
    found: dict[int, tuple[Decision, ...]] = {}
    job: Job | None = None
    for place, entry in enumerate(entries):
        try:
            after = apply(job, ev.load(entry.payload))
        except ValueError:
            break
        new = [one for ask in after.asks for one in ask.decisions[_known(job, ask.id) :]]
        if new:
            found[place] = tuple(new)
        job = after
    return found


def _known(job: Job | None, request: str) -> int:
    ask = job.ask(request) if job is not None else None
    return len(ask.decisions) if ask is not None else 0
