"""The brief of a planner: the request, or a crew's subtask, with its context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from handoff.contracts import Artifact, Handoff, Material, Note, Plan
from handoff.conversation.retry_words import repeats_last_request
from handoff.materials.material_lists import AUTHOR_PREFIX, find_needed_material, list_material
from handoff.state.job_state import Job, RequestState, SubtaskState

MAX_BEGINNING_LENGTH = 1_500
"""The number of characters of a material's beginning that the planner's prompt contains if there is room."""
MAX_OPENING_LENGTH, MAX_THREAD_END_LENGTH = 2_000, 6_000
"""The most characters of a long thread's first message and of its end that the planner's prompt contains."""
MAX_BEGINNINGS = 12
"""The most materials whose beginnings the planner's prompt contains."""


@dataclass(frozen=True, slots=True)
class PlanBrief:
    """A text to plan, with its context. For a crew, that is only the content of its subtask's handoff."""

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
    own_material_names: frozenset[str] = frozenset()
    """The names of the material that came with the request, or that the crew's subtask names as its needs."""
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
        """All texts of the brief, earlier requests and answers, and the names of files and materials."""
        earlier = [text for one in self.earlier_requests for text in (one.text, one.run.answer or "")]
        results = [
            subtask.result
            for one in self.earlier_requests
            for subtask in one.subtasks.values()
            if subtask.result is not None
        ]
        made_file_names = [file.name for result in results for file in result.artifacts]
        notes = [note.text for note in self.notes]
        names = dict.fromkeys((*(file.name for file in self.files), *(one.name for one in self.materials)))
        return (
            self.text,
            *names,
            *self.file_faults,
            *notes,
            *earlier,
            *made_file_names,
            *(text for texts in self.beginnings.values() for text in texts[:1]),
        )


def make_request_brief(job: Job, request: RequestState, texts: Mapping[str, str] = MappingProxyType({})) -> PlanBrief:
    """Return the planner's brief for a request. `texts` are those of `list_excerpted_materials`, by digest."""
    materials = list_material(job, request)
    own_digests = {one.file.id if one.file is not None else one.text for one in request.materials}
    own = (one for one in materials if one.kind == "request" or (one.file.id if one.file else one.text) in own_digests)
    earlier = job.list_earlier_requests(request)
    files = tuple(dict.fromkeys(file for one in (*earlier, request) if one.materials for file in one.artifacts))
    return PlanBrief(
        request.text,
        files,
        request.file_faults,
        earlier,
        request.answer_notes,
        _drop_memories(materials),
        frozenset(one.name for one in own),
        {
            one.name: _excerpt_material(one, texts[one.text])
            for one in list_excerpted_materials(job, request)
            if one.text in texts
        },
        may_answer=True,
        may_ask=not request.answer_notes,
        last_plan=_find_last_plan(request, earlier),
        handover_reason=request.run.handover_reason,
    )


def _find_last_plan(request: RequestState, earlier: Sequence[RequestState]) -> Plan | None:
    """Return the plan of the last request if this one repeats it with a change, otherwise None."""
    if not earlier or not repeats_last_request(request.text):
        return None
    return earlier[-1].run.plan


def list_excerpted_materials(job: Job, request: RequestState) -> tuple[Material, ...]:
    """Return the materials whose beginnings the planner sees: files, threads and memories with a text.

    Of tables, only small pasted ones are among them.
    """
    kinds = {"file", "thread", "memory"}
    materials = [
        one
        for one in list_material(job, request)
        if one.kind in kinds and one.text and (not one.is_table or one.is_small_paste)
    ]
    return tuple(materials[:MAX_BEGINNINGS])


def _drop_memories(materials: Sequence[Material]) -> tuple[Material, ...]:
    return tuple(one for one in materials if one.kind != "memory")


def _excerpt_material(material: Material, text: str) -> tuple[str, ...]:
    """Return the forms of a text in the planner's prompt, the longest first: its beginning, or a whole thread.

    A long thread has a second form with its first message and its end, in case the whole does not fit.
    """
    if material.kind != "thread":
        return (
            text[
                : MAX_BEGINNING_LENGTH if material.kind == "file" and not material.is_table else MAX_THREAD_END_LENGTH
            ],
        )
    if len(text) <= MAX_THREAD_END_LENGTH:
        return (text,)
    first = text[: material.outline[1].start if len(material.outline) > 1 else MAX_OPENING_LENGTH][
        :MAX_OPENING_LENGTH
    ].rstrip()
    end = text[-MAX_THREAD_END_LENGTH:]
    end = end.partition("\n")[2] or end  # begin at a new line if possible
    return (text, f"{first}\n(…)\n{end}")


def make_subtask_brief(handoff: Handoff, job: Job, request: RequestState, subtask: SubtaskState) -> PlanBrief:
    """Return the planner's brief for a crew's subtask, from the handoff of the subtask."""
    materials = find_needed_material(job, request, subtask).all_material
    given_texts = {
        note.source.partition(AUTHOR_PREFIX)[0]: (note.text[:MAX_BEGINNING_LENGTH],) for note in handoff.given
    }
    return PlanBrief(
        handoff.intent,
        handoff.artifacts,
        notes=handoff.context,
        materials=_drop_memories(materials),
        own_material_names=frozenset(one.name for one in materials if subtask.spec.needs is not None),
        beginnings={one.name: given_texts[one.name] for one in materials if one.name in given_texts},
        handover_reason=subtask.run.handover_reason if subtask.run is not None else "",
    )
