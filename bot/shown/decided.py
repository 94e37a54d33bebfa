"""What policy decided in a job, and why, by the place in its log where it did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from handoff import events as ev
from handoff.engine import apply
from handoff.job import Job
from handoff.store.interface import Entry
from handoff.work import Decision


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
