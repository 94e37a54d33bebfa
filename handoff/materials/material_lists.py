"""Lists the material of a request and of its subtasks: all material, the needs of a subtask, and texts in the log."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from handoff.answering.material import render_result
from handoff.contracts import Artifact, Material
from handoff.state.derived_values import cache_on_value
from handoff.state.job_state import Job, RequestState, SubtaskState

MIN_MATERIAL_LENGTH, MIN_MATERIAL_LINES = 600, 8
"""The least characters, or lines, of a request's text that becomes a material, as the planner's briefs shorten it."""
MAX_ANSWERS = 9
"""The most earlier answers that become material."""
LAST_ANSWER_NAME, REQUEST_NAME = "answer", "request"
"""The names of the last answer and of the request's own text as materials."""
MESSAGE_NAME = "message"
"""The name of the material for the message from which a request was made in a dialog."""
AUTHOR_PREFIX = " (by "
"""The text between a material's name and its author in a brief."""


@dataclass(frozen=True, slots=True)
class NeededMaterial:
    """The material that a subtask needs, the most needed first.

    `brief_material` goes into the brief if it fits. `deferred_material` does not, but can be read part by part.
    """

    brief_material: tuple[Material, ...] = ()
    deferred_material: tuple[Material, ...] = ()

    @property
    def all_material(self) -> tuple[Material, ...]:
        """The material of both kinds, the most needed first."""
        return (*self.brief_material, *self.deferred_material)


@cache_on_value
def list_material(job: Job, ask: RequestState) -> tuple[Material, ...]:
    """Return all material that a request can use, the likeliest first. All names are unique.

    In this order: the request's own text if it is long, the material gathered for it, earlier answers (`answer` is the
    last one, `answer 2` the one before), the material gathered for earlier requests, and the files made for them.
    Memories of earlier requests are left out, since each request gathers them anew.
    """
    before = job.list_earlier_requests(ask)[::-1]
    found = [
        *_list_request_materials(ask),
        *_list_materials_of_kind(ask, "thread"),
        *_list_materials_of_kind(ask, "memory"),
        *_list_materials_of_kind(ask, "file"),
    ]
    found += _list_answer_materials(before)
    found += [one for earlier in before if earlier.materials for one in _list_inheritable_materials(earlier)]
    found += [one for earlier in before for one in _list_made_files(earlier)]
    return tuple(_yield_uniquely_named(found))


def _list_request_materials(ask: RequestState) -> list[Material]:
    text = ask.text.strip()
    if len(text) < MIN_MATERIAL_LENGTH and text.count("\n") + 1 < MIN_MATERIAL_LINES:
        return []
    return [
        Material(name=REQUEST_NAME, kind="request", size=len(text), text=compute_text_digest(text), origin="requester")
    ]


def _list_materials_of_kind(ask: RequestState, kind: str) -> list[Material]:
    return [one for one in ask.materials if one.kind == kind]


def _list_inheritable_materials(ask: RequestState) -> list[Material]:
    return [*_list_materials_of_kind(ask, "thread"), *_list_materials_of_kind(ask, "file")]


def _list_answer_materials(earlier: Sequence[RequestState]) -> list[Material]:
    last = islice((one for one in earlier if one.run.answer), MAX_ANSWERS)
    return [
        Material(name=_name_answer(number), kind="answer", size=len(one.run.answer or ""), text=digest, origin="model")
        for number, one in enumerate(last, 1)
        if (digest := compute_answer_digest(one))
    ]


@cache_on_value
def compute_answer_digest(ask: RequestState) -> str:
    """Return the digest of a request's answer; empty if it has no answer."""
    return compute_text_digest(ask.run.answer) if ask.run.answer else ""


def _name_answer(number: int) -> str:
    return LAST_ANSWER_NAME if number == 1 else f"{LAST_ANSWER_NAME} {number}"


@cache_on_value
def _list_made_files(ask: RequestState) -> tuple[Material, ...]:
    results = [work.result for work in ask.work.values() if work.result is not None and not work.within]
    return tuple(
        _make_file_material(file) for result in results for file in result.artifacts if file.publish_as != "nothing"
    )


def _make_file_material(file: Artifact) -> Material:
    return Material(name=file.name, file=file, origin="model")


def _yield_uniquely_named(materials: Sequence[Material]) -> Iterator[Material]:
    """Yield each material once. If several have the same name, the first keeps it and the others get a number."""
    taken: set[str] = set()
    seen: set[tuple[str, str, str]] = set()
    for one in materials:
        same = (one.kind, one.file.id if one.file is not None else one.text, one.name)
        if one.kind in {"file", "thread"} and same in seen:
            continue
        seen.add(same)
        name, number = one.name, 1
        while name.casefold() in taken:
            number += 1
            name = _number_name(one, number)
        taken.add(name.casefold())
        yield one if name == one.name else one.model_copy(update={"name": name})


def _number_name(material: Material, number: int) -> str:
    """Return the name of a material with a number, before the ending of a file, since tools go by the ending."""
    head, dot, ending = material.name.rpartition(".")
    if material.kind != "file" or not head or not ending.isalnum():
        return f"{material.name} ({number})"
    return f"{head} ({number}){dot}{ending}"


def find_needed_material(job: Job, ask: RequestState, work: SubtaskState) -> NeededMaterial:
    """Return the material that a subtask needs.

    A subtask that names no needs needs everything; older answers and files made earlier then lie aside. Every subtask
    needs the memories. An inner subtask can only need material of its enclosing subtask.
    """
    outer = ask.work.get(work.within)
    there = find_needed_material(job, ask, outer) if outer is not None else _choose_default_needs(job, ask)
    if work.subtask.needs is None:
        return there
    by_name = {one.name: one for one in there.all_material}
    named = (*work.subtask.needs, *(one.name for one in there.brief_material if one.kind == "memory"))
    return NeededMaterial(tuple(by_name[name] for name in dict.fromkeys(named) if name in by_name))


def _choose_default_needs(job: Job, ask: RequestState) -> NeededMaterial:
    """Return the material for a subtask that names no needs."""
    given: list[Material] = []
    aside: list[Material] = []
    for one in list_material(job, ask):
        older = one.kind == "answer" and one.name != LAST_ANSWER_NAME
        (aside if older or (one.file is not None and one.origin == "model") else given).append(one)
    return NeededMaterial(tuple(given), tuple(aside))


def list_unneeded_files(ask: RequestState) -> tuple[Material, ...]:
    """Return the readable files attached to a request that no subtask needs."""
    works = [work for work in ask.list_subtasks("") if not work.dropped]
    if not works or any(work.subtask.needs is None for work in works):
        return ()
    needs = {name for work in works for name in work.subtask.needs or ()}
    own = _yield_uniquely_named(
        [*_list_request_materials(ask), *_list_materials_of_kind(ask, "thread"), *_list_materials_of_kind(ask, "file")]
    )
    attached = (one for one in own if one.file is not None and not one.fault and not one.author)
    return tuple(one for one in attached if one.name not in needs)


def list_unneeded_thread_files(ask: RequestState) -> tuple[Material, ...]:
    """Return the files of other people in the thread that neither a subtask's needs nor the request's text name.

    Their faults and gaps are no gaps of the answer.
    """
    needs = {name for work in ask.work.values() for name in work.subtask.needs or ()}
    said = ask.text.casefold()
    own = _yield_uniquely_named(
        [*_list_request_materials(ask), *_list_materials_of_kind(ask, "thread"), *_list_materials_of_kind(ask, "file")]
    )
    theirs = (one for one in own if one.kind == "file" and one.author)
    return tuple(one for one in theirs if one.name not in needs and one.name.casefold() not in said)


def collect_log_texts(job: Job, ask: RequestState) -> dict[str, str]:
    """Return the texts that are in the log itself, by digest: of the request, of answers, and of its results."""
    before = {compute_answer_digest(one): one.run.answer for one in job.asks if one.run.answer}
    results = (render_result(work.result) for work in ask.work.values() if work.result is not None)
    return {**before, **{compute_text_digest(text): text for text in (ask.text.strip(), *results)}}


def make_result_material(work: SubtaskState) -> Material | None:
    """Return the result of a subtask as a material with the subtask's id as its name; None if it has no result."""
    if work.result is None:
        return None
    text = render_result(work.result)
    return Material(name=work.subtask.id, kind="result", size=len(text), text=compute_text_digest(text), origin="model")


def compute_text_digest(text: str) -> str:
    """Return the sha256 (hex) of a text in UTF-8, which is its key in the store."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
