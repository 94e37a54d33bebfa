"""What may be done once only: no step of a job stands twice in its log, and no call is made again without need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from bot.store.counters import RATE_SECONDS
from bot.store.values import Head
from handoff import events as ev

ONCE: dict[type[ev.RequestEvent], Callable[..., tuple[object, ...]]] = {
    ev.MaterialGathered: lambda _: (),
    ev.PlanProposed: lambda event: (event.within,),
    ev.PlanRevised: lambda event: (event.within, event.subtask),
    ev.AttemptStarted: lambda event: (event.subtask, event.attempt),
    ev.ResultReturned: lambda event: (event.subtask, event.attempt),
    ev.AttemptFailed: lambda event: (event.subtask, event.attempt),
    ev.Escalated: lambda event: (event.subtask, event.attempt),
    ev.BriefRefined: lambda event: (event.subtask, event.attempt),
    ev.MaterialReduced: lambda event: (event.within, event.round, event.part),
    ev.AnswerVerified: lambda event: (event.within,),
    ev.AnswerWritten: lambda event: (event.within, event.draft),
    ev.RequestFailed: lambda event: (event.step,),
    ev.Posted: lambda event: (event.key,),
}
"""What tells one step from another of its type. No errand has a crew try again, or two such looks at one plan."""
LATE = 15.0
"""Seconds by which a call may come late to its minute: an instance was frozen when it had been let through."""


def twice_in(events: Sequence[ev.Event]) -> Iterator[str]:
    """What stands more than once in a log, in words."""
    steps = Counter(
        (event.type, event.request, *about(event))
        for event in events
        if isinstance(event, ev.RequestEvent) and (about := ONCE.get(type(event))) is not None
    )
    for step, count in steps.items():
        if count > 1:
            yield f"{' '.join(map(str, step))} stands {count} times in the log"


def find_repeated_calls(calls: Counter[str], head: Head | None, retries: int) -> Iterator[str]:
    """Calls that were answered more often than they can have been in flight when the job changed hands.

    `calls` are those of one request of the job, each by what was said to the model. Every epoch is an owner, and one
    that lost the job may have lost one answer of each; `retries` is how often the same was tried on purpose.
    """
    owners = head.epoch if head is not None else 0
    for call, count in calls.items():
        if count > max(1, owners) + retries:
            yield f"{call} was answered {count} times, and the job had {owners} owners"


def too_many_a_minute(times: Sequence[float], limit: int) -> int:
    """The most calls that came within what is surely one minute, where that is more than the limit; else 0."""
    ordered = sorted(times)
    most = max(
        (sum(start <= other < start + RATE_SECONDS - LATE for other in ordered) for start in ordered),
        default=0,
    )
    return most if most > limit else 0
