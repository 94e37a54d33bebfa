"""The brief of a planner: the request, or a crew's subtask, with its context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from handoff.contracts import Artifact, Handoff, Material, Note, Plan
from handoff.conversation.retry_words import repeats_last_request
from handoff.materials.material_lists import AUTHOR_PREFIX, find_needed_material, list_material
from handoff.state.job_state import Job, RequestState, SubtaskState

MAX_BEGINNING = 1_500
"""The first characters of a material's text that the planner's prompt contains if there is room."""
MAX_OPENING, MAX_THREAD_END = 2_000, 6_000
"""The characters of a long thread in the planner's prompt: of its first message, and of its end."""
MAX_BEGINNINGS = 12
"""The most materials whose beginnings the planner's prompt contains."""


@dataclass(frozen=True, slots=True)
class PlanBrief:
    """A text to plan, with its context. A crew sees no more of the thread than the handoff of its subtask contains."""

    text: str
    """The request, or the brief of the crew's subtask."""
    files: tuple[Artifact, ...] = ()
    """The files of the thread so far, or of the subtask's handoff."""
    file_faults: tuple[str, ...] = ()
    """One line for each file that could not be read in full."""
    earlier_requests: tuple[RequestState, ...] = ()
    """The earlier requests of the thread; empty for a crew."""
    notes: tuple[Note, ...] = ()
    """The requester's answers, or the notes of the subtask's handoff."""
    materials: tuple[Material, ...] = ()
    """All material that subtasks may need, without memories, which every subtask gets."""
    own_names: frozenset[str] = frozenset()
    """The names of the material that came with the request or with the crew's subtask."""
    beginnings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The beginnings of material texts, by name. Each has one or more forms, the longest first."""
    may_answer: bool = False
    """True if the planner may answer the request itself."""
    may_ask: bool = False
    """True if the planner may ask the requester a question."""
    last_plan: Plan | None = None
    """The plan of the last request, if this one repeats it with a change."""
    handover_reason: str = ""
    """The reason why a first responder handed the request over; empty: none did."""

    @property
    def all_texts(self) -> tuple[str, ...]:
        """All texts of the brief, with the names of its files and of files made earlier in the thread."""
        earlier = [text for one in self.earlier_requests for text in (one.text, one.run.answer or "")]
        results = [
            work.result for one in self.earlier_requests for work in one.work.values() if work.result is not None
        ]
        made = [file.name for result in results for file in result.artifacts]
        notes = [note.text for note in self.notes]
        names = dict.fromkeys((*(file.name for file in self.files), *(one.name for one in self.materials)))
        return (
            self.text,
            *names,
            *self.file_faults,
            *notes,
            *earlier,
            *made,
            *(text for texts in self.beginnings.values() for text in texts[:1]),
        )


def make_request_brief(job: Job, ask: RequestState, texts: Mapping[str, str] = MappingProxyType({})) -> PlanBrief:
    """Return the planner's brief for a request. `texts` are those of `list_excerpted_materials`, by digest."""
    materials = list_material(job, ask)
    mine = {one.file.id if one.file is not None else one.text for one in ask.materials}
    own = (one for one in materials if one.kind == "request" or (one.file.id if one.file else one.text) in mine)
    earlier = job.list_earlier_requests(ask)
    files = tuple(dict.fromkeys(file for one in (*earlier, ask) if one.materials for file in one.artifacts))
    return PlanBrief(
        ask.text,
        files,
        ask.file_faults,
        earlier,
        ask.answer_notes,
        _drop_memories(materials),
        frozenset(one.name for one in own),
        {
            one.name: _excerpt_material(one, texts[one.text])
            for one in list_excerpted_materials(job, ask)
            if one.text in texts
        },
        may_answer=True,
        may_ask=not ask.answer_notes,
        last_plan=_find_last_plan(ask, earlier),
        handover_reason=ask.run.handed_over,
    )


def _find_last_plan(ask: RequestState, earlier: Sequence[RequestState]) -> Plan | None:
    """Return the plan of the last request if this one repeats it with a change, otherwise None."""
    if not earlier or not repeats_last_request(ask.text):
        return None
    return earlier[-1].run.plan


def list_excerpted_materials(job: Job, ask: RequestState) -> tuple[Material, ...]:
    """Return the materials whose beginnings the planner sees: files, threads and memories with a text.

    Of tables, only small pasted ones are among them.
    """
    kinds = {"file", "thread", "memory"}
    found = [
        one
        for one in list_material(job, ask)
        if one.kind in kinds and one.text and (not one.is_table or one.is_small_paste)
    ]
    return tuple(found[:MAX_BEGINNINGS])


def _drop_memories(materials: Sequence[Material]) -> tuple[Material, ...]:
    return tuple(one for one in materials if one.kind != "memory")


def _excerpt_material(material: Material, text: str) -> tuple[str, ...]:
    """Return the forms of a text in the planner's prompt, the longest first: its beginning, or a whole thread.

    A long thread has a second form with its first message and its end, in case the whole does not fit.
    """
    if material.kind != "thread":
        return (text[: MAX_BEGINNING if material.kind == "file" and not material.is_table else MAX_THREAD_END],)
    if len(text) <= MAX_THREAD_END:
        return (text,)
    first = text[: material.outline[1].start if len(material.outline) > 1 else MAX_OPENING][:MAX_OPENING].rstrip()
    end = text[-MAX_THREAD_END:]
    end = end.partition("\n")[2] or end  # begin at a new line if possible
    return (text, f"{first}\n(…)\n{end}")


def make_subtask_brief(handoff: Handoff, job: Job, ask: RequestState, work: SubtaskState) -> PlanBrief:
    """Return the planner's brief for a crew's subtask, from the handoff of the subtask."""
    materials = find_needed_material(job, ask, work).all_material
    given = {note.source.partition(AUTHOR_PREFIX)[0]: (note.text[:MAX_BEGINNING],) for note in handoff.given}
    return PlanBrief(
        handoff.intent,
        handoff.artifacts,
        notes=handoff.context,
        materials=_drop_memories(materials),
        own_names=frozenset(one.name for one in materials if work.subtask.needs is not None),
        beginnings={one.name: given[one.name] for one in materials if one.name in given},
        handover_reason=work.run.handed_over if work.run is not None else "",
    )
