"""Walks through the log of a job: each event, the state before and after it, and the decisions of policy."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from bot.store.values import LogEntry
from handoff import events as ev
from handoff.engine.engine import CHECKPOINT_EVENTS, apply_event
from handoff.state.job_state import Job
from handoff.state.state_values import EngineDecision


@dataclass(frozen=True, slots=True)
class TraceStep:
    """An entry of a log, and the decisions of policy that followed from it."""

    entry: LogEntry
    decisions: tuple[EngineDecision, ...] = ()


class WalkedEntry(NamedTuple):
    """One entry on a walk through a log: its event, the job before and after it, and the decisions that followed.

    `event` is None if the entry cannot be read. `after` is None from the first such entry on: after a gap the state of
    the job is unknown.
    """

    entry: LogEntry
    event: ev.Event | None
    before: Job | None
    after: Job | None
    decisions: tuple[EngineDecision, ...] = ()


def list_steps(entries: Sequence[LogEntry]) -> list[TraceStep]:
    """Return all steps of a log. From the first entry on that cannot be read, steps have no decisions."""
    return [TraceStep(one.entry, one.decisions) for one in walk_log(entries)]


def walk_log(entries: Sequence[LogEntry], request_ids: frozenset[str] | None = None) -> Iterator[WalkedEntry]:
    """Yield the entries of a log in order. If `request_ids` is set, decisions on other requests are left out."""
    job: Job | None = None
    is_broken = False
    for entry in entries:
        event = _load_event(entry.payload)
        is_broken = is_broken or event is None
        if event is None or is_broken:
            yield WalkedEntry(entry, event, job, None)
            continue
        try:
            after = apply_event(job, event)
        except ValueError:
            is_broken = True
            yield WalkedEntry(entry, None, job, None)
            continue
        is_checkpoint = isinstance(event, CHECKPOINT_EVENTS)
        yield WalkedEntry(
            entry, event, job, after, () if is_checkpoint else _list_new_decisions(job, after, request_ids)
        )
        job = after


def _load_event(payload: str) -> ev.Event | None:
    try:
        return ev.load_event(payload)
    except ValueError:
        return None


def export_events(steps: Sequence[TraceStep]) -> list[dict[str, Any]]:
    """Return each event as JSON values as it was written, with its `seq` and the decisions, if any, in `decided`.

    An entry that is no JSON object is returned as text in `unreadable`.
    """
    return [
        {"seq": step.entry.seq, **_export_event(step.entry.payload), **_export_decisions(step.decisions)}
        for step in steps
    ]


def _list_new_decisions(
    before: Job | None, after: Job, request_ids: frozenset[str] | None
) -> tuple[EngineDecision, ...]:
    new: list[EngineDecision] = []
    earlier_requests = before.requests if before is not None else ()
    for place, request in enumerate(after.requests):
        earlier = earlier_requests[place] if place < len(earlier_requests) else None
        if earlier is not request and (request_ids is None or request.id in request_ids):
            new += request.decisions[len(earlier.decisions) if earlier is not None else 0 :]
    return tuple(new)


def _export_event(payload: str) -> dict[str, Any]:
    try:
        event = json.loads(payload)
    except ValueError:
        event = None
    return event if isinstance(event, dict) else {"unreadable": payload}


def _export_decisions(decisions: Sequence[EngineDecision]) -> dict[str, Any]:
    exported_decisions = [{"subtask": one.subtask, "what": one.what, "why": one.why} for one in decisions]
    return {"decided": exported_decisions} if exported_decisions else {}
