"""The rights of people in a job, decided from the job alone.

A requester may stop their request and see each step of it. People who wrote in the thread may see what the thread
showed of every request. Admins may do both for all requests. For questions, see
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
    """A person whose rights are checked: their Slack id, the ids of their user groups, and True for an admin."""

    user: str
    groups: tuple[str, ...] = ()
    admin: bool = False


def is_open(ask: RequestState) -> bool:
    """Return True while a request can be stopped: it has neither an answer nor a failure yet."""
    return not (ask.is_over or ask.run.answer or ask.run.failure)


def may_stop(ask: RequestState, actor: Actor) -> bool:
    """Return True if this person may stop the request: an admin, its requester, or the requester of an earlier try."""
    return actor.admin or actor.user in {one.request.user for one in (ask, *ask.tries)}


def list_stoppable_requests(job: Job, actor: Actor) -> tuple[RequestState, ...]:
    """Return the open requests of a job that this person may stop."""
    return tuple(ask for ask in job.asks if is_open(ask) and may_stop(ask, actor))


def list_other_requesters(job: Job, actor: Actor) -> tuple[str, ...]:
    """Return the Slack ids of the people whose open requests this person may not stop, each once."""
    users = (ask.request.user for ask in job.asks if is_open(ask) and not may_stop(ask, actor))
    return tuple(dict.fromkeys(users))


def may_see(job: Job, actor: Actor) -> bool:
    """Return True if this person may see what the thread showed: an admin, or somebody who wrote in it."""
    return actor.admin or actor.user in job.people


def find_traceable_requests(job: Job, actor: Actor) -> frozenset[str]:
    """Return the ids of the requests whose full trace this person may see."""
    return frozenset(ask.id for ask in job.asks if may_stop(ask, actor))


def is_step_of(event: ev.Event, own: frozenset[str], user: str) -> bool:
    """Return True if an event concerns one of the requests `own` (ids), a message of `user`, or the job as a whole.

    Messages of other people are none of these.
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
    """Return the requesters of a job by request id, including requests that are not recorded as such yet."""
    asked = {ask.id: ask.request.user for ask in job.asks}
    return {**{one.message.id: one.message.user for one in job.heard if one.outcome == "request"}, **asked}


def may_forget(who_asked: Iterable[str], user: str, *, admin: bool) -> bool:
    """Return True if a person may have a job erased: an admin, or the only one of its requesters (`who_asked`)."""
    return admin or set(who_asked) == {user}


def list_read_ids(job: Job) -> tuple[str, ...]:
    """Return the ids of the sources that a job read: the Slack ids of files, and the ids of memories."""
    asked = [file.file_id for ask in job.asks for file in ask.request.attachments]
    there = [one for ask in job.asks for one in ask.materials]
    told = [part.message for one in there if one.kind == "memory" for part in one.outline if part.message]
    return tuple(dict.fromkeys([*asked, *(one.file_id for one in there if one.file_id), *told]))


def list_file_digests(job: Job) -> tuple[str, ...]:
    """Return the digests of the files that a job read and made. Machines may cache tables by these digests."""
    files = [one.file for ask in job.asks for one in ask.materials if one.file is not None]
    results = [work.result for ask in job.asks for work in ask.work.values() if work.result is not None]
    return tuple(dict.fromkeys(file.id for file in [*files, *(file for one in results for file in one.artifacts)]))


@dataclass(frozen=True, slots=True)
class Crossing:
    """Materials from one channel that would go to another channel, where other people may read them."""

    came: Audience
    """The channel that the materials come from."""
    goes: Audience
    """The channel that they would go to."""
    names: tuple[str, ...]
    """The names of the materials."""


def may_pass_on(came: Audience, goes: Audience) -> bool:
    """Return True if content from the channel `came` may go to the channel `goes` without asking anybody."""
    return came.kind == "public" or came.channel == goes.channel


def crossings(materials: Iterable[Material], here: Audience, goes: Audience) -> tuple[Crossing, ...]:
    """Return the materials that may not go to `goes` without asking, grouped by the channel that they come from.

    `here` is the channel of their job: materials without an audience of their own come from there.
    """
    found: dict[Audience, list[str]] = {}
    for one in materials:
        came = one.audience or here
        if not may_pass_on(came, goes):
            found.setdefault(came, []).append(one.name)
    return tuple(Crossing(came, goes, tuple(dict.fromkeys(names))) for came, names in found.items())


def may_allow(crossing: Crossing, user: str, readers: Mapping[str, Collection[str]]) -> bool:
    """Return True if a person may allow a crossing: they may read both channels. `readers` are people by channel."""
    places = (crossing.came.channel, crossing.goes.channel)
    return all(user in readers.get(channel, ()) for channel in places)
