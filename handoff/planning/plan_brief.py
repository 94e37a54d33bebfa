"""The brief of a planner: the request, or the subtask of a crew, that it has to plan."""

from __future__ import annotations

from dataclasses import dataclass

from handoff.contracts import Artifact, Handoff, Note
from handoff.state import Ask, Job


@dataclass(frozen=True, slots=True)
class PlanBrief:
    """The text to plan, with its context.

    `earlier` are the earlier requests of the thread, and `notes` came with a subtask, or are the requester's answers. A
    crew sees no more of the thread than its subtask's handoff tells. The planner of a request may answer it
    (`may_answer`), and ask the requester once (`may_ask`).
    """

    text: str
    files: tuple[Artifact, ...] = ()
    file_faults: tuple[str, ...] = ()
    earlier: tuple[Ask, ...] = ()
    notes: tuple[Note, ...] = ()
    may_answer: bool = False
    may_ask: bool = False

    @property
    def texts(self) -> tuple[str, ...]:
        """All texts of the brief, and the names of its files and of those made earlier in the thread."""
        earlier = [text for one in self.earlier for text in (one.request.text, one.run.answer or "")]
        results = [work.result for one in self.earlier for work in one.work.values() if work.result is not None]
        made = [file.name for result in results for file in result.artifacts]
        notes = [note.text for note in self.notes]
        return (self.text, *(file.name for file in self.files), *self.file_faults, *notes, *earlier, *made)


def of_request(job: Job, ask: Ask) -> PlanBrief:
    """Return the brief on a request, with the files of the thread so far and the requests before it."""
    earlier = tuple(one for one in job.asks if one.id != ask.id and one.request.at < ask.request.at)
    files = tuple(file for one in job.asks if one.request.at <= ask.request.at for file in one.artifacts)
    return PlanBrief(
        ask.request.text,
        files,
        ask.file_faults,
        earlier,
        ask.answers,
        may_answer=True,
        may_ask=not ask.answered,
    )


def of_subtask(handoff: Handoff) -> PlanBrief:
    """Return the brief on a subtask, from its handoff."""
    return PlanBrief(handoff.intent, handoff.artifacts, notes=handoff.context)
