"""Who may do what in a job: by request, not by thread, and decided from the job alone.

Whoever asked for something may stop it and see each step of it. Whoever spoke in the thread may see what the thread
showed of all of it. Admins may do both with everything. Who may answer a question is said by the question:
`handoff.state.state_values.may_answer`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from handoff import events as ev
from handoff.contracts import Audience, Material
from handoff.state.job_state import Job, RequestState


@dataclass(frozen=True, slots=True)
class Actor:
    """A person who wants to do something: a Slack id, the ids of their user groups, and whether they are an admin."""

    user: str
    groups: tuple[str, ...] = ()
    admin: bool = False


def is_open(ask: RequestState) -> bool:
    """Return True while a Stop can still end the request: its answer or its failure is not fixed yet."""
    return not (ask.is_over or ask.run.answer or ask.run.failure)


def may_stop(ask: RequestState, actor: Actor) -> bool:
    """Return True if this person may end the request: it is theirs, or a second try at one of theirs."""
    return actor.admin or actor.user in {one.request.user for one in (ask, *ask.tries)}


def list_stoppable_requests(job: Job, actor: Actor) -> tuple[RequestState, ...]:
    """Return the open requests of a job that end if this person says Stop."""
    return tuple(ask for ask in job.asks if is_open(ask) and may_stop(ask, actor))


def list_other_requesters(job: Job, actor: Actor) -> tuple[str, ...]:
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
        case ev.RequestEvent():
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


def list_requesters(job: Job) -> dict[str, str]:
    """Return the people who asked in a job, by the ids of their requests, also of those that were not begun."""
    asked = {ask.id: ask.request.user for ask in job.asks}
    return {**{one.message.id: one.message.user for one in job.heard if one.outcome == "request"}, **asked}


def may_forget(who_asked: Iterable[str], user: str, *, admin: bool) -> bool:
    """Return True if a person may have a job forgotten: an admin, or the only person who asked for things in it."""
    return admin or set(who_asked) == {user}


def list_read_ids(job: Job) -> tuple[str, ...]:
    """List the ids of what a job read: files, as their place knows them, and what was remembered."""
    asked = [file.file_id for ask in job.asks for file in ask.request.attachments]
    there = [one for ask in job.asks for one in ask.materials]
    told = [part.message for one in there if one.kind == "memory" for part in one.outline if part.message]
    return tuple(dict.fromkeys([*asked, *(one.file_id for one in there if one.file_id), *told]))


def list_file_digests(job: Job) -> tuple[str, ...]:
    """List the digests of what a job read and made: machines may have tables of them in a cache."""
    files = [one.file for ask in job.asks for one in ask.materials if one.file is not None]
    results = [work.result for ask in job.asks for work in ask.work.values() if work.result is not None]
    return tuple(dict.fromkeys(file.id for file in [*files, *(file for one in results for file in one.artifacts)]))


@dataclass(frozen=True, slots=True)
class Crossing:
    """Material that would go where not everybody may read it: where it came from, where it would go, and its names."""

    came: Audience
    goes: Audience
    names: tuple[str, ...]


def may_pass_on(came: Audience, goes: Audience) -> bool:
    """Return True if what came from one place may go to another without being asked about."""
    return came.kind == "public" or came.channel == goes.channel


def crossings(materials: Iterable[Material], here: Audience, goes: Audience) -> tuple[Crossing, ...]:
    """Return what of some materials may not go to a place unasked; `here` is the place of their job."""
    found: dict[Audience, list[str]] = {}
    for one in materials:
        came = one.audience or here
        if not may_pass_on(came, goes):
            found.setdefault(came, []).append(one.name)
    return tuple(Crossing(came, goes, tuple(dict.fromkeys(names))) for came, names in found.items())


def may_allow(crossing: Crossing, user: str, readers: Mapping[str, Collection[str]]) -> bool:
    """Return True if a person may allow it: they may read both places. `readers` are the people of each, by channel."""
    places = (crossing.came.channel, crossing.goes.channel)
    return all(user in readers.get(channel, ()) for channel in places)
