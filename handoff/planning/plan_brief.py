"""The brief of a planner: what it is to plan, of a request or of a subtask that a crew was given."""

from __future__ import annotations

from dataclasses import dataclass

from handoff.contracts import Artifact, Handoff, Note
from handoff.state import Ask, Job


@dataclass(frozen=True, slots=True)
class PlanBrief:
    """What is to be planned. `earlier` are the requests before it in the thread, `notes` what came with a subtask.

    A crew sees no more of the thread than its subtask's handoff tells.
    """

    text: str
    files: tuple[Artifact, ...] = ()
    file_faults: tuple[str, ...] = ()
    earlier: tuple[Ask, ...] = ()
    notes: tuple[Note, ...] = ()


def of_request(job: Job, ask: Ask) -> PlanBrief:
    """The brief on a request: with the files of the thread so far, and the requests before it."""
    earlier = tuple(one for one in job.asks if one.id != ask.id and one.request.at < ask.request.at)
    files = tuple(file for one in job.asks if one.request.at <= ask.request.at for file in one.artifacts)
    return PlanBrief(ask.request.text, files, ask.file_faults, earlier)


def of_subtask(handoff: Handoff) -> PlanBrief:
    """The brief on a subtask, from its handoff."""
    return PlanBrief(handoff.intent, handoff.artifacts, notes=handoff.context)
