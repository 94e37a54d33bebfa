"""Lists the material of a request and of its subtasks: all material, the needs of a subtask, and texts in the log."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from handoff.answering.result_text import render_result
from handoff.contracts import Artifact, Material
from handoff.state.job_state import Job, RequestState, SubtaskState
from handoff.state.value_cache import cache_on_value

MIN_MATERIAL_LENGTH, MIN_MATERIAL_LINES = 600, 8
"""The least characters, or lines, of a request's text that becomes a material, as the briefs of a plan shorten it."""
MAX_ANSWERS = 9
"""The most earlier answers that become material."""
LAST_ANSWER_NAME, REQUEST_NAME = "answer", "request"
"""The names of the last answer and of the request's own text as materials."""
MESSAGE_NAME = "message"
"""The name of the material for the message from which a request was made in a dialog."""
AUTHOR_PREFIX = " (by "
"""The text between a material's name and its author in a brief, as in `plan.md (by Ana)`."""


@dataclass(frozen=True, slots=True)
class NeededMaterial:
    """The material that a subtask needs, the most needed first.

    `brief_material` goes into the brief if it fits. `deferred_material` stays out of it, and is read part by part.
    """

    brief_material: tuple[Material, ...] = ()
    deferred_material: tuple[Material, ...] = ()

    @property
    def all_material(self) -> tuple[Material, ...]:
        """The material of both kinds, the most needed first."""
        return (*self.brief_material, *self.deferred_material)


@cache_on_value
def list_material(job: Job, request: RequestState) -> tuple[Material, ...]:
    """Return all material that a request can use, the likeliest first. All names are unique.

    In this order: the request's own text if it is long, the material gathered for it, earlier answers (`answer` is the
    last one, `answer 2` the one before), the material gathered for earlier requests, and the files made for them.
    Memories of earlier requests are left out, since each request gathers them anew.
    """
    before = job.list_earlier_requests(request)[::-1]
    materials = [
        *_list_request_materials(request),
        *_list_materials_of_kind(request, "thread"),
        *_list_materials_of_kind(request, "memory"),
        *_list_materials_of_kind(request, "file"),
    ]
    materials += _list_answer_materials(before)
    materials += [one for earlier in before if earlier.materials for one in _list_inheritable_materials(earlier)]
    materials += [one for earlier in before for one in _list_made_files(earlier)]
    return tuple(_yield_uniquely_named(materials))


def _list_request_materials(request: RequestState) -> list[Material]:
    text = request.text.strip()
    if len(text) < MIN_MATERIAL_LENGTH and text.count("\n") + 1 < MIN_MATERIAL_LINES:
        return []
    return [
        Material(name=REQUEST_NAME, kind="request", size=len(text), text=compute_text_digest(text), origin="requester")
    ]


def _list_materials_of_kind(request: RequestState, kind: str) -> list[Material]:
    return [one for one in request.materials if one.kind == kind]


def _list_inheritable_materials(request: RequestState) -> list[Material]:
    return [*_list_materials_of_kind(request, "thread"), *_list_materials_of_kind(request, "file")]


def _list_answer_materials(earlier: Sequence[RequestState]) -> list[Material]:
    answered_requests = islice((one for one in earlier if one.run.answer), MAX_ANSWERS)
    return [
        Material(name=_name_answer(number), kind="answer", size=len(one.run.answer or ""), text=digest, origin="model")
        for number, one in enumerate(answered_requests, 1)
        if (digest := compute_answer_digest(one))
    ]


@cache_on_value
def compute_answer_digest(request: RequestState) -> str:
    """Return the digest of a request's answer; empty if it has no answer."""
    return compute_text_digest(request.run.answer) if request.run.answer else ""


def _name_answer(number: int) -> str:
    return LAST_ANSWER_NAME if number == 1 else f"{LAST_ANSWER_NAME} {number}"


@cache_on_value
def _list_made_files(request: RequestState) -> tuple[Material, ...]:
    results = [
        subtask.result for subtask in request.subtasks.values() if subtask.result is not None and not subtask.within
    ]
    return tuple(
        _make_file_material(file) for result in results for file in result.artifacts if file.publish_as != "nothing"
    )


def _make_file_material(file: Artifact) -> Material:
    return Material(name=file.name, file=file, origin="model")


def _yield_uniquely_named(materials: Sequence[Material]) -> Iterator[Material]:
    """Yield each material once. If several have the same name, the first keeps it and the others get a number."""
    taken_names: set[str] = set()
    seen_identities: set[tuple[str, str, str]] = set()
    for one in materials:
        identity = (one.kind, one.file.id if one.file is not None else one.text, one.name)
        if one.kind in {"file", "thread"} and identity in seen_identities:
            continue
        seen_identities.add(identity)
        name, number = one.name, 1
        while name.casefold() in taken_names:
            number += 1
            name = _make_numbered_name(one, number)
        taken_names.add(name.casefold())
        yield one if name == one.name else one.model_copy(update={"name": name})


def _make_numbered_name(material: Material, number: int) -> str:
    """Return the name of a material with a number, put before a file's ending, since tools go by the ending."""
    head, dot, ending = material.name.rpartition(".")
    if material.kind != "file" or not head or not ending.isalnum():
        return f"{material.name} ({number})"
    return f"{head} ({number}){dot}{ending}"


def find_needed_material(job: Job, request: RequestState, subtask: SubtaskState) -> NeededMaterial:
    """Return the material that a subtask needs.

    A subtask that names no needs gets all material; older answers and files made earlier are then deferred. Every
    subtask gets the memories. An inner subtask gets only material of its enclosing subtask.
    """
    outer = request.subtasks.get(subtask.within)
    there = find_needed_material(job, request, outer) if outer is not None else _choose_default_needs(job, request)
    if subtask.spec.needs is None:
        return there
    by_name = {one.name: one for one in there.all_material}
    needed_names = (*subtask.spec.needs, *(one.name for one in there.brief_material if one.kind == "memory"))
    return NeededMaterial(tuple(by_name[name] for name in dict.fromkeys(needed_names) if name in by_name))


def _choose_default_needs(job: Job, request: RequestState) -> NeededMaterial:
    """Return the material for a subtask that names no needs."""
    brief_material: list[Material] = []
    deferred_material: list[Material] = []
    for one in list_material(job, request):
        older = one.kind == "answer" and one.name != LAST_ANSWER_NAME
        (deferred_material if older or (one.file is not None and one.origin == "model") else brief_material).append(one)
    return NeededMaterial(tuple(brief_material), tuple(deferred_material))


def list_unneeded_files(request: RequestState) -> tuple[Material, ...]:
    """Return the readable files that the requester attached and no subtask needs; none if a subtask gets everything."""
    subtasks = [subtask for subtask in request.list_subtasks("") if not subtask.is_dropped]
    if not subtasks or any(subtask.spec.needs is None for subtask in subtasks):
        return ()
    needs = {name for subtask in subtasks for name in subtask.spec.needs or ()}
    own = _yield_uniquely_named(
        [
            *_list_request_materials(request),
            *_list_materials_of_kind(request, "thread"),
            *_list_materials_of_kind(request, "file"),
        ]
    )
    attached_files = (one for one in own if one.file is not None and not one.fault and not one.author)
    return tuple(one for one in attached_files if one.name not in needs)


def list_unneeded_thread_files(request: RequestState) -> tuple[Material, ...]:
    """Return the files of other people in the thread that neither a subtask's needs nor the request's text name.

    Their faults and gaps are no gaps of the answer.
    """
    needs = {name for subtask in request.subtasks.values() for name in subtask.spec.needs or ()}
    request_text = request.text.casefold()
    own = _yield_uniquely_named(
        [
            *_list_request_materials(request),
            *_list_materials_of_kind(request, "thread"),
            *_list_materials_of_kind(request, "file"),
        ]
    )
    theirs = (one for one in own if one.kind == "file" and one.author)
    return tuple(one for one in theirs if one.name not in needs and one.name.casefold() not in request_text)


def collect_log_texts(job: Job, request: RequestState) -> dict[str, str]:
    """Return the texts that are in the log itself, by digest: the request's text, all answers, and its results."""
    before = {compute_answer_digest(one): one.run.answer for one in job.requests if one.run.answer}
    results = (render_result(subtask.result) for subtask in request.subtasks.values() if subtask.result is not None)
    return {**before, **{compute_text_digest(text): text for text in (request.text.strip(), *results)}}


def make_result_material(subtask: SubtaskState) -> Material | None:
    """Return the result of a subtask as a material with the subtask's id as its name; None if it has no result."""
    if subtask.result is None:
        return None
    text = render_result(subtask.result)
    return Material(name=subtask.spec.id, kind="result", size=len(text), text=compute_text_digest(text), origin="model")


def compute_text_digest(text: str) -> str:
    """Return the sha256 (hex) of a text in UTF-8, which is its key in the store."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
