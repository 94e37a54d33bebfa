"""The brief of a planner: the request, or the subtask of a crew, that it has to plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from handoff.contracts import Artifact, Handoff, Material, Note, Plan
from handoff.conversation.retry_words import repeats_last_request
from handoff.materials.material_lists import BY, find_needed_material, material_of
from handoff.state.job_state import Job, RequestState, SubtaskState

BEGINNING = 1_500
"""Characters of a material's text that the planner is shown, where there is room."""
OPENING, THREAD_END = 2_000, 6_000
"""Characters of a long thread that the planner is shown: of its first message, and of its end."""
MOST_BEGINNINGS = 12


@dataclass(frozen=True, slots=True)
class PlanBrief:
    """The text to plan, with its context.

    `earlier` are the earlier requests of the thread, and `notes` came with a subtask, or are the requester's answers. A
    crew sees no more of the thread than its subtask's handoff tells. `materials` is all that subtasks may need (what is
    remembered is for each of them, and no need), and `own` are the names of those that came with what is to be planned.
    `beginnings` are the first characters of their texts, by name (of a thread all of it), the longest form first. The
    planner of a request may answer it (`may_answer`), and ask the requester once (`may_ask`). If the request is the
    last one in other words, it is shown the plan of that (`plan_before`). `handed_over` is why a first responder passed
    it on.
    """

    text: str
    files: tuple[Artifact, ...] = ()
    file_faults: tuple[str, ...] = ()
    earlier: tuple[RequestState, ...] = ()
    notes: tuple[Note, ...] = ()
    materials: tuple[Material, ...] = ()
    own: frozenset[str] = frozenset()
    beginnings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    may_answer: bool = False
    may_ask: bool = False
    plan_before: Plan | None = None
    handed_over: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """All texts of the brief, and the names of its files and of those made earlier in the thread."""
        earlier = [text for one in self.earlier for text in (one.text, one.run.answer or "")]
        results = [work.result for one in self.earlier for work in one.work.values() if work.result is not None]
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
    """Return the brief on a request, with the files of the thread so far and the requests before it.

    `texts` are those of `list_excerpted_materials`, by digest.
    """
    materials = material_of(job, ask)
    mine = {one.file.id if one.file is not None else one.text for one in ask.materials}
    own = (one for one in materials if one.kind == "request" or (one.file.id if one.file else one.text) in mine)
    earlier = job.list_earlier_requests(ask)
    files = tuple(dict.fromkeys(file for one in (*earlier, ask) if one.materials for file in one.artifacts))
    return PlanBrief(
        ask.text,
        files,
        ask.file_faults,
        earlier,
        ask.answers,
        _list_choosable(materials),
        frozenset(one.name for one in own),
        {
            one.name: _excerpt_material(one, texts[one.text])
            for one in list_excerpted_materials(job, ask)
            if one.text in texts
        },
        may_answer=True,
        may_ask=not ask.answers,
        plan_before=_plan_before(ask, earlier),
        handed_over=ask.run.handed_over,
    )


def _plan_before(ask: RequestState, earlier: Sequence[RequestState]) -> Plan | None:
    """Return the plan of the last request, if this one is that in other words; else None."""
    if not earlier or not repeats_last_request(ask.text):
        return None
    return earlier[-1].run.plan


def list_excerpted_materials(job: Job, ask: RequestState) -> tuple[Material, ...]:
    """Return the materials whose beginnings the planner is shown: people's texts, of tables only small pasted ones."""
    kinds = {"file", "thread", "memory"}
    found = [
        one
        for one in material_of(job, ask)
        if one.kind in kinds and one.text and (not one.is_table or one.is_small_paste)
    ]
    return tuple(found[:MOST_BEGINNINGS])


def _list_choosable(materials: Sequence[Material]) -> tuple[Material, ...]:
    return tuple(one for one in materials if one.kind != "memory")


def _excerpt_material(material: Material, text: str) -> tuple[str, ...]:
    """Return what the planner is shown of a text: its beginning, or all of what was said in a thread.

    Of a thread there is a shorter form, for where the whole does not fit: its first message and its end.
    """
    if material.kind != "thread":
        return (text[: BEGINNING if material.kind == "file" and not material.is_table else THREAD_END],)
    if len(text) <= THREAD_END:
        return (text,)
    first = text[: material.outline[1].start if len(material.outline) > 1 else OPENING][:OPENING].rstrip()
    end = text[-THREAD_END:]
    end = end.partition("\n")[2] or end  # from the beginning of a line on, if there is one
    return (text, f"{first}\n(…)\n{end}")


def make_subtask_brief(handoff: Handoff, job: Job, ask: RequestState, work: SubtaskState) -> PlanBrief:
    """Return the brief on a subtask that is given to a crew, from its handoff: what it needs, its parts may need."""
    materials = find_needed_material(job, ask, work).all
    given = {note.source.partition(BY)[0]: (note.text[:BEGINNING],) for note in handoff.given}
    return PlanBrief(
        handoff.intent,
        handoff.artifacts,
        notes=handoff.context,
        materials=_list_choosable(materials),
        own=frozenset(one.name for one in materials if work.subtask.needs is not None),
        beginnings={one.name: given[one.name] for one in materials if one.name in given},
        handed_over=work.run.handed_over if work.run is not None else "",
    )
