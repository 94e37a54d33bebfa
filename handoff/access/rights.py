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
    """A person whose rights are checked: the Slack id, the ids of their user groups, and whether they are an admin."""

    user: str
    groups: tuple[str, ...] = ()
    is_admin: bool = False


def is_stoppable(request: RequestState) -> bool:
    """Return True while a request can be stopped: it has neither an answer nor a failure yet."""
    return not (request.is_over or request.run.answer or request.run.failure)


def may_stop(request: RequestState, actor: Actor) -> bool:
    """Return True if this person may stop the request: an admin, its requester, or the requester of an earlier try."""
    return actor.is_admin or actor.user in {one.spec.user for one in (request, *request.earlier_tries)}


def list_stoppable_requests(job: Job, actor: Actor) -> tuple[RequestState, ...]:
    """Return the open requests of a job that this person may stop."""
    return tuple(request for request in job.requests if is_stoppable(request) and may_stop(request, actor))


def list_other_requesters(job: Job, actor: Actor) -> tuple[str, ...]:
    """Return the Slack ids of the people whose open requests this person may not stop, each once."""
    users = (request.spec.user for request in job.requests if is_stoppable(request) and not may_stop(request, actor))
    return tuple(dict.fromkeys(users))


def may_see_thread(job: Job, actor: Actor) -> bool:
    """Return True if this person may see what the thread showed: an admin, or somebody who wrote in it."""
    return actor.is_admin or actor.user in job.people


def list_traceable_request_ids(job: Job, actor: Actor) -> frozenset[str]:
    """Return the ids of the requests whose full trace this person may see."""
    return frozenset(request.id for request in job.requests if may_stop(request, actor))


def concerns_requests(event: ev.Event, request_ids: frozenset[str], user: str) -> bool:
    """Return True if an event concerns one of these requests, a message of `user`, or the job as a whole."""
    match event:
        case ev.RequestAdded():
            return event.request.id in request_ids
        case ev.RequestEvent():
            return event.request in request_ids
        case ev.MessageHeard():
            return event.message.user == user
        case ev.MessageSorted() | ev.RequestEdited() | ev.RequestWithdrawn():
            return event.message in request_ids
        case ev.MessageAcknowledged():
            return event.receipt in request_ids
        case ev.CancelRequested() | ev.TakenOver() | ev.WorkResumed() | ev.SetAside() | ev.Released():
            return True
    return False


def list_requesters(job: Job) -> dict[str, str]:
    """Return the requesters of a job by request id, including those of messages that are not added as requests yet."""
    requesters = {request.id: request.spec.user for request in job.requests}
    return {
        **{one.message.id: one.message.user for one in job.pending_messages if one.outcome == "request"},
        **requesters,
    }


def may_erase(requesters: Iterable[str], user: str, *, admin: bool) -> bool:
    """Return True if `user` may have a job erased: an admin, or the only one of the job's `requesters`."""
    return admin or set(requesters) == {user}


def list_source_ids(job: Job) -> tuple[str, ...]:
    """Return the ids of the sources that a job read: the Slack ids of files, and the ids of memories."""
    attached_ids = [file.file_id for request in job.requests for file in request.spec.attachments]
    there = [one for request in job.requests for one in request.materials]
    memory_ids = [part.message for one in there if one.kind == "memory" for part in one.outline if part.message]
    return tuple(dict.fromkeys([*attached_ids, *(one.file_id for one in there if one.file_id), *memory_ids]))


def list_file_digests(job: Job) -> tuple[str, ...]:
    """Return the sha256 digests of the files that a job read and made. Instances may cache tables under them."""
    files = [one.file for request in job.requests for one in request.materials if one.file is not None]
    results = [
        subtask.result
        for request in job.requests
        for subtask in request.subtasks.values()
        if subtask.result is not None
    ]
    return tuple(dict.fromkeys(file.id for file in [*files, *(file for one in results for file in one.artifacts)]))


@dataclass(frozen=True, slots=True)
class AudienceCrossing:
    """Materials from one channel that would go to another channel, where other people may read them."""

    source: Audience
    """The channel that the materials come from."""
    target: Audience
    """The channel that they would go to."""
    material_names: tuple[str, ...]
    """The names of the materials."""


def may_pass_on(source: Audience, target: Audience) -> bool:
    """Return True if content from the channel `source` may go to the channel `target` without asking anybody."""
    return source.kind == "public" or source.channel == target.channel


def find_crossings(
    materials: Iterable[Material], job_audience: Audience, target: Audience
) -> tuple[AudienceCrossing, ...]:
    """Return the materials that may not go to `target` without asking, grouped by the channel that they come from.

    `job_audience` is the channel of their job: materials without an audience of their own come from there.
    """
    names_by_source: dict[Audience, list[str]] = {}
    for one in materials:
        source = one.audience or job_audience
        if not may_pass_on(source, target):
            names_by_source.setdefault(source, []).append(one.name)
    return tuple(
        AudienceCrossing(source, target, tuple(dict.fromkeys(names))) for source, names in names_by_source.items()
    )


def may_allow_crossing(crossing: AudienceCrossing, user: str, readers: Mapping[str, Collection[str]]) -> bool:
    """Return True if `user` may allow a crossing, as a reader of both channels. `readers` has the people by channel."""
    places = (crossing.source.channel, crossing.target.channel)
    return all(user in readers.get(channel, ()) for channel in places)
