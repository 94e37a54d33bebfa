"""The brief of a planner: the request, or the subtask of a crew, that it has to plan."""

from __future__ import annotations

from dataclasses import dataclass

from handoff.contracts import Artifact, Handoff, Note
from handoff.state import Ask, Job


@dataclass(frozen=True, slots=True)
class PlanBrief:
    """The text to plan, with its context.

    `earlier` are the earlier requests of the thread, and `notes` came with a subtask. A crew sees no more of the
    thread than its subtask's handoff tells.
    """

    text: str
    files: tuple[Artifact, ...] = ()
    file_faults: tuple[str, ...] = ()
    earlier: tuple[Ask, ...] = ()
    notes: tuple[Note, ...] = ()


def of_request(job: Job, ask: Ask) -> PlanBrief:
    """Return the brief on a request, with the files of the thread so far and the requests before it."""
    earlier = tuple(one for one in job.asks if one.id != ask.id and one.request.at < ask.request.at)
    files = tuple(file for one in job.asks if one.request.at <= ask.request.at for file in one.artifacts)
    return PlanBrief(ask.request.text, files, ask.file_faults, earlier)


def of_subtask(handoff: Handoff) -> PlanBrief:
    """Return the brief on a subtask, from its handoff."""
    return PlanBrief(handoff.intent, handoff.artifacts, notes=handoff.context)
