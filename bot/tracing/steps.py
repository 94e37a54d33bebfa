"""The trace of a job, step by step: each event of its log, and what policy decided when it came; as JSON for tools."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bot.store.interface import Entry, Head
from handoff import events as ev
from handoff.engine.engine import apply
from handoff.rights import is_step_of
from handoff.state import Job
from handoff.state_values import Decision


def trace_json(entries: Sequence[Entry], head: Head | None) -> dict[str, Any]:
    """Return the whole trace of a job: what its head says of it, and its events in order."""
    return {
        "schema": ev.SCHEMA,
        "team": head.key.team if head else "",
        "job": head.key.job if head else "",
        "state": head.fields.get("state", "") if head else "",
        "events": events_json(steps_of(entries)),
    }


@dataclass(frozen=True, slots=True)
class Step:
    """An entry of a log, and the decisions that followed from it."""

    entry: Entry
    decided: tuple[Decision, ...] = ()


def steps_of(entries: Sequence[Entry]) -> list[Step]:
    """Return all steps of a log. From the first entry on that cannot be read they are without decisions."""
    return [step for step, _ in _steps(entries, None)]


def own_steps(entries: Sequence[Entry], own: frozenset[str], user: str) -> list[Step]:
    """Return the steps of the `own` requests of `user` alone, and those of the job itself.

    Raises ValueError if an entry cannot be read: nobody knows then whose it is.
    """
    found = list(_steps(entries, own))
    if any(event is None for _, event in found):
        raise ValueError("an entry of the log cannot be read")
    return [step for step, event in found if event is not None and is_step_of(event, own, user)]


def _steps(entries: Sequence[Entry], own: frozenset[str] | None) -> Iterator[tuple[Step, ev.Event | None]]:
    """Yield each step with its event, None if that cannot be read. `own`: leave out decisions on other requests."""
    job: Job | None = None
    broken = False
    for entry in entries:
        event = _read(entry.payload)
        broken = broken or event is None
        if event is None or broken:
            yield Step(entry), event
            continue
        try:
            after = apply(job, event)
        except ValueError:
            broken = True
            yield Step(entry), None
            continue
        yield Step(entry, _new_decisions(job, after, own)), event
        job = after


def _read(payload: str) -> ev.Event | None:
    try:
        return ev.load(payload)
    except ValueError:
        return None


def events_json(steps: Sequence[Step]) -> list[dict[str, Any]]:
    """Return each event as it was written, by whatever release, with its `seq` and what was `decided`, if anything.

    An entry that is no JSON object stands as `unreadable` text.
    """
    return [{"seq": step.entry.seq, **_event_json(step.entry.payload), **_decided_json(step.decided)} for step in steps]


def _new_decisions(before: Job | None, after: Job, own: frozenset[str] | None) -> tuple[Decision, ...]:
    new: list[Decision] = []
    for ask in (ask for ask in after.asks if own is None or ask.id in own):
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
