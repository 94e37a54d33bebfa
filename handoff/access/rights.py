"""Who may do what in a job: by request, not by thread, and decided from the job alone.

Whoever asked for something may stop it and see each step of it. Whoever spoke in the thread may see what the thread
showed of all of it. Admins may do both with everything. Who may answer a question is said by the question:
`handoff.state.state_values.may_answer`.
"""

from __future__ import annotations

from dataclasses import dataclass

from handoff import events as ev
from handoff.state.job_state import Job, RequestState


@dataclass(frozen=True, slots=True)
class Actor:
    """A person who wants to do something: a Slack id, the ids of their user groups, and if they are an admin."""

    user: str
    groups: tuple[str, ...] = ()
    admin: bool = False


def is_open(ask: RequestState) -> bool:
    """Return True while a Stop can still end the request: its answer or its failure is not fixed yet."""
    return not (ask.over or ask.run.answer or ask.run.failure)


def may_stop(ask: RequestState, actor: Actor) -> bool:
    """Return True if this person may end the request: it is theirs, or a second try at one of theirs."""
    return actor.admin or actor.user in {one.request.user for one in (ask, *ask.tries)}


def stoppable(job: Job, actor: Actor) -> tuple[RequestState, ...]:
    """Return the open requests of a job that end if this person says Stop."""
    return tuple(ask for ask in job.asks if is_open(ask) and may_stop(ask, actor))


def going_on(job: Job, actor: Actor) -> tuple[str, ...]:
    """Return who asked for the open requests that go on if this person says Stop: Slack ids, each once."""
    users = (ask.request.user for ask in job.asks if is_open(ask) and not may_stop(ask, actor))
    return tuple(dict.fromkeys(users))


def may_see(job: Job, actor: Actor) -> bool:
    """Return True if this person may see what the thread showed: they spoke in it."""
    return actor.admin or actor.user in job.people


def find_traceable_requests(job: Job, actor: Actor) -> frozenset[str]:
    """Return the ids of the requests whose every step this person may see."""
    return frozenset(ask.id for ask in job.asks if may_stop(ask, actor))


def is_step_of(event: ev.Event, own: frozenset[str], user: str) -> bool:
    """Return True if an event is a step of one of the `own` requests of `user`, or of the job itself.

    What others wrote in the thread is not: it became no request of theirs.
    """
    match event:
        case ev.RequestAdded():
            return event.request.id in own
        case ev.OfRequest():
            return event.request in own
        case ev.MessageHeard():
            return event.message.user == user
        case ev.MessageSorted() | ev.RequestEdited() | ev.RequestWithdrawn():
            return event.message in own
        case ev.MessageAcknowledged():
            return event.receipt in own
        case ev.CancelRequested() | ev.TakenOver() | ev.WorkResumed() | ev.SetAside() | ev.Released():
            return True
    return False
