"""Determines the origin of the content in a subtask's view: the requester, the public web, or a private source.

Content is private unless the requester wrote it or the public web gave it. So files and words of others in the thread
are private, and so is everything that is made from private content or that a model wrote after seeing it. The origin is
derived from the log alone. The names of requester and channel, the date and the time are not private.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from handoff.contracts import Material, PrivateSource, Request
from handoff.engine.crew_runs import find_enclosing_plan
from handoff.materials.material_lists import compute_answer_digest, find_needed_material, list_material
from handoff.state.job_state import Job, RequestState, SubtaskState, replace
from handoff.state.state_values import Provenance, QuestionAnswer, make_private_source
from handoff.state.value_cache import FoldStep, cache_on_value, compute_fold_step
from handoff.text.text_words import normalize_words

_QUOTE_MARK = ">"
_ADDRESS = re.compile(r"\S*[.:/]\S*")
_MAX_NAME_LENGTH = 80
"""The most characters of the name of a private source."""


def derive_provenance(job: Job, request: RequestState, subtask: SubtaskState) -> Provenance:
    """Return the provenance of the brief of a subtask.

    The requester's words are the texts of this request and of their earlier requests in the thread, without quotations
    and the names of attached files, and the answers that they typed. Answers that a model offered and they clicked do
    not count.

    The brief may contain derived content if the thread had an earlier request, if there is material that the requester
    did not write (the planner has seen it), if the plan was revised or the brief rewritten, or if the subtask is inside
    another one, builds on others, or was attempted before.
    """
    is_derived = (
        subtask.spec.after or subtask.rewritten_brief or subtask.within or subtask.attempt > 1 or request.revision_count
    )
    has_foreign_material = any(one.text and one.origin != "requester" for one in list_material(job, request))
    attempt = subtask.attempt + (subtask.state == "pending")
    subtask_count = sum(one.run is None for one in request.subtasks.values()) or 1
    view = _PrivateViews(job, _collect_output_sources(job, request)).get_view(request, subtask)
    return Provenance(
        list_requester_words(job, request),
        has_derived_content=(job.find_request_index(request.id) or 0) > 0 or has_foreign_material or bool(is_derived),
        private_names=tuple(view),
        sources=_merge_view_sources(view),
        leak_share=1 / (subtask_count * 2**attempt),
    )


# ---------------------------------------------------------------- whose words


@cache_on_value
def list_requester_words(job: Job, request: RequestState) -> tuple[str, ...]:
    """Return the texts that the requester of `request` wrote in the job up to this request."""
    user = request.spec.user
    mine = [one for one in job.requests[: (job.find_request_index(request.id) or 0) + 1] if one.spec.user == user]
    word_pairs = [_extract_requester_words(one) for one in mine]
    return (
        *[own for own, _ in word_pairs],
        *[one.text for _, typed_answers in word_pairs for one in typed_answers if one.user == user],
    )


@cache_on_value
def list_people_words(request: RequestState) -> tuple[str, ...]:
    """Return the texts that people wrote for a request: its own text without file names, and typed answers."""
    return (_remove_file_names(request, request.text), *(answer.text for answer in _list_typed_answers(request)))


@cache_on_value
def _extract_requester_words(request: RequestState) -> tuple[str, tuple[QuestionAnswer, ...]]:
    """Return the requester's own words in a request, and the answers that people typed."""
    own = "\n\n".join((strip_quoted_text(request.spec), *(one.text for one in request.correction_messages)))
    return _remove_file_names(request, own), _list_typed_answers(request)


def strip_quoted_text(request: Request) -> str:
    """Return the words of a request that its requester wrote, without quoted lines and without `request.quoted`.

    The web addresses and paths of the quoted message are removed as well, even from lines that were changed.
    """
    theirs = {" ".join(line.split()) for line in request.quoted.splitlines()}
    lines = [line for line in request.text.splitlines() if not line.lstrip().startswith(_QUOTE_MARK)]
    text = "\n".join(line for line in lines if not request.quoted or " ".join(line.split()) not in theirs)
    quoted_addresses = {address.casefold() for address in _ADDRESS.findall(request.quoted)}
    return _ADDRESS.sub(lambda match: " " if match.group().casefold() in quoted_addresses else match.group(), text)


def _remove_file_names(request: RequestState, text: str) -> str:
    for name in (*(file.name for file in request.spec.attachments), *(file.name for file in request.artifacts)):
        text = text.replace(name, " ")
    return text


def _list_typed_answers(request: RequestState) -> tuple[QuestionAnswer, ...]:
    """Return the answers that people typed themselves: no assumptions, approvals or offered options."""
    return tuple(
        answer
        for answer in _list_worded_answers(request)
        if answer.user and answer.question.approval is None and answer.text not in answer.question.options
    )


def _list_worded_answers(request: RequestState) -> tuple[QuestionAnswer, ...]:
    """Return the answers that contain words: answers to questions, and approvals with a reason or with an edit."""
    answers = (
        *request.question_answers,
        *(one for subtask in request.subtasks.values() for one in subtask.question_answers),
    )
    return tuple(answer for answer in answers if answer.question.approval is None or _extract_answer_words(answer))


def _extract_answer_words(answer: QuestionAnswer) -> str:
    """Return the words of an answer that specialists are told; for an approval, its reason or the edited arguments."""
    if answer.question.approval is None:
        return answer.text
    ruling = answer.ruling
    if ruling is None:
        return ""
    return json.dumps(dict(ruling.arguments), ensure_ascii=False) if ruling.outcome == "edited" else ruling.reason


def _matches_wording(wording: str, texts: Iterable[str]) -> bool:
    """Return True if one of the texts has exactly this wording, as `normalize_words` returns it.

    To save time, only texts that contain its longest word are compared.
    """
    longest = max(wording.split(), key=len, default="")
    return any(normalize_words(text) == wording for text in [one for one in texts if longest in one.casefold()])


# ---------------------------------------------------------------- what is private


_Sources = tuple[PrivateSource, ...]
_SourcesByName = dict[str, _Sources]
"""The private content of a view: the sources by the name for people."""
_OutputSources = Mapping[tuple[bool, str], tuple[str, _Sources]]
"""The requester and the private sources of each earlier answer and file.

The key is (False, digest of the answer) or (True, id of the file).
"""


def _merge_view_sources(view: Mapping[str, _Sources]) -> _Sources:
    return tuple(dict.fromkeys(one for sources in view.values() for one in sources))


def _collect_output_sources(job: Job, request: RequestState) -> _OutputSources:
    """Return the requesters and private sources of the answers and files of the requests before `request`.

    An answer may be made from earlier answers, so the requests are processed from the oldest on. Each step is cached.
    """
    output_sources: dict[tuple[bool, str], tuple[str, _Sources]] = {}
    last: FoldStep[_OutputSources] | None = None
    for place in range(job.find_request_index(request.id) or 0):
        last = compute_fold_step(_find_output_sources, last, job.requests[place], job, place, output_sources)
        for key, of in last.result.items():
            output_sources.setdefault(key, of)
    return output_sources


def _find_output_sources(
    request: RequestState, job: Job, index: int, earlier_outputs: _OutputSources
) -> _OutputSources:
    """Return the requester and the private sources of the answer and the files of one request.

    The sources are all that the planner and the specialists of the request saw.
    """
    until_then = replace(job, requests=job.requests[: index + 1])
    planner_sources = _merge_view_sources(_PrivateViews(until_then, earlier_outputs).find_planner_view(request))
    sources = tuple(
        dict.fromkeys(
            (
                *planner_sources,
                *(one for subtask in request.subtasks.values() for one in _list_tool_sources(request, subtask)),
            )
        )
    )
    results = [subtask.result for subtask in request.subtasks.values() if subtask.result is not None]
    files = [(True, file.id) for result in results for file in result.artifacts]
    answer = [(False, compute_answer_digest(request))] if request.run.answer else []
    return dict.fromkeys((*answer, *files), (request.spec.user, sources))


def _list_tool_sources(request: RequestState, subtask: SubtaskState) -> _Sources:
    """Return the private sources that tools gave a subtask; if they are not recorded, one that stands for them."""
    if subtask.has_read_private and not subtask.private_sources:
        return (
            make_private_source("attempts", f"{request.id}/{subtask.spec.id}", f"what {_quote_title(subtask)} read"),
        )
    return subtask.private_sources


@dataclass(slots=True)
class _PrivateViews:
    """Computes the private content in the views of one request's planner and specialists, and caches it.

    Private content comes from the planner's prompt or from tool replies. `earlier_outputs` describes the answers and
    files of earlier requests. `planner_view` and `subtask_views` (by subtask id) are the caches.
    """

    job: Job
    earlier_outputs: _OutputSources
    planner_view: _SourcesByName | None = None
    subtask_views: dict[str, _SourcesByName] = field(default_factory=dict)

    def get_view(self, request: RequestState, subtask: SubtaskState) -> _SourcesByName:
        """Return the private content in the view of the specialist or crew that works on a subtask."""
        key = subtask.spec.id
        if key not in self.subtask_views:
            view = _merge_sources(
                (
                    *self._yield_material_sources(
                        request, find_needed_material(self.job, request, subtask).all_material
                    ),
                    *_yield_words_of_others(request),
                    *(
                        (_name_result_source(other), self._find_private_sources(request, other))
                        for other in _list_visible_subtasks(request, subtask)
                    ),
                    *(
                        ((f"an earlier attempt at {_quote_title(subtask)}", _list_tool_sources(request, subtask)),)
                        if subtask.had_private_content
                        else ()
                    ),
                )
            )
            brief = [
                (f"{_BRIEF_AUTHOR_PREFIX} {name}", sources)
                for name, sources in self._yield_brief_sources(request, subtask)
                if name not in view
            ]
            self.subtask_views[key] = view | _merge_sources(brief)
        return self.subtask_views[key]

    def _find_private_sources(self, request: RequestState, subtask: SubtaskState) -> _Sources:
        """Return all private sources that the specialists of a subtask saw, and that its result may contain."""
        inside = request.list_all_subtasks(subtask.spec.id) if subtask.run is not None else ()
        sources = (
            source
            for one in (subtask, *inside)
            for source in (*_list_tool_sources(request, one), *_merge_view_sources(self.get_view(request, one)))
        )
        return tuple(dict.fromkeys(sources))

    def _yield_material_sources(
        self, request: RequestState, materials: Iterable[Material]
    ) -> Iterator[tuple[str, _Sources]]:
        return ((_name_material_source(one), self._find_material_sources(request, one)) for one in materials)

    def _yield_brief_sources(self, request: RequestState, subtask: SubtaskState) -> Iterator[tuple[str, _Sources]]:
        """Yield the private content that the authors of a brief had seen, since the brief may repeat it.

        Nothing is yielded if the brief and each later text are whole texts of the requester. A part of such a text, or
        its words in another order, could encode private content. A step of a crew's pipeline is worded by the crew's
        file and the request, so only the view of the enclosing subtask counts.
        """
        brief, later = tuple(_yield_brief_texts(subtask)), tuple(_yield_later_texts(request, subtask))
        is_pipeline_step = _is_pipeline_step(request, subtask)
        if self._are_requesters_words(request, (*(() if is_pipeline_step else brief), *later)):
            author_view: _SourcesByName = {}
            if not is_pipeline_step:
                return
        else:
            author_view = self.find_planner_view(request)
        outer = request.subtasks.get(subtask.within)
        around = self.get_view(request, outer) if outer is not None else {}
        for name, sources in (author_view | around).items():
            yield name.removeprefix(f"{_BRIEF_AUTHOR_PREFIX} "), sources

    def _are_requesters_words(self, request: RequestState, texts: Iterable[str]) -> bool:
        """Return True if the requester wrote each of the texts in full in the job."""
        wordings = {normalize_words(text) for text in texts if text.strip()} - {normalize_words(request.text)}
        return all(_matches_wording(one, list_requester_words(self.job, request)) for one in wordings)

    def find_planner_view(self, request: RequestState) -> _SourcesByName:
        """Return the private content that the planner saw for the plan of a request and its revisions."""
        if self.planner_view is None:
            result_sources = (
                (_name_result_source(one), _list_tool_sources(request, one))
                for one in request.subtasks.values()
                if one.has_read_private
            )
            source_pairs = (
                *self._yield_material_sources(request, list_material(self.job, request)),
                *(
                    (_shorten_name(one.name), (make_private_source("attached", one.file_id, one.name),))
                    for one in request.spec.attachments
                ),
                *_yield_words_of_others(request),
                *self._yield_earlier_requests(request),
                *(result_sources if request.revision_count else ()),
            )
            self.planner_view = _merge_sources(source_pairs)
        return self.planner_view

    def _yield_earlier_requests(self, request: RequestState) -> Iterator[tuple[str, _Sources]]:
        name = "what somebody else asked before"
        others = [
            one
            for one in self.job.requests[: self.job.find_request_index(request.id) or 0]
            if one.spec.user != request.spec.user
        ]
        yield name, tuple(make_private_source("request", one.id, name) for one in others)

    def _find_material_sources(self, request: RequestState, material: Material) -> _Sources:
        """Return the private sources of a material.

        A material that the requester wrote has none. One that a model made for the requester has the sources of its
        making. Any other material is a private source itself, in addition to those of its making.
        """
        if material.origin == "requester":
            return ()
        own = (
            make_private_source(
                "material", material.file.id if material.file else material.text, _name_material_source(material)
            ),
        )
        if material.origin != "model":
            return own
        key = (False, material.text) if material.file is None else (True, material.file.id)
        user, sources = self.earlier_outputs.get(key, ("", own))
        return sources if user == request.spec.user else tuple(dict.fromkeys((*own, *sources)))


def _merge_sources(named_sources: Iterable[tuple[str, _Sources]]) -> _SourcesByName:
    """Merge the sources of equal names. Names without sources are left out, since they are not private."""
    view: _SourcesByName = {}
    for name, sources in named_sources:
        if sources:
            view[name] = tuple(dict.fromkeys((*view.get(name, ()), *sources)))
    return view


_BRIEF_AUTHOR_PREFIX = "a brief written by who had seen"


def _is_pipeline_step(request: RequestState, subtask: SubtaskState) -> bool:
    """Return True if a subtask is an unchanged step of the crew's pipeline: neither revised nor rewritten."""
    return request.find_enclosing_run(subtask).is_pipeline and not (
        subtask.change_note or subtask.rewritten_brief or subtask.replaced_id
    )


def _yield_brief_texts(subtask: SubtaskState) -> Iterator[str]:
    """Yield the brief of a subtask and its acceptance criterion."""
    yield subtask.brief_text
    yield subtask.spec.done_when


def _yield_later_texts(request: RequestState, subtask: SubtaskState) -> Iterator[str]:
    """Yield the texts, besides the brief, that a subtask's prompt contains and that models or people wrote.

    These are the faults of its rejected result, questions and answers, and the name and brief of an ad-hoc specialist.
    """
    yield from subtask.rejected_candidate.faults if subtask.rejected_candidate is not None else ()
    for answer in (*request.question_answers, *subtask.question_answers):
        if answer.question.approval is None:
            yield answer.question.message
        yield _extract_answer_words(answer)
    plan = find_enclosing_plan(request, subtask)
    for one in plan.made if plan is not None else ():
        if one.name == subtask.specialist:
            yield from (one.name, one.brief)


def _list_visible_subtasks(request: RequestState, subtask: SubtaskState) -> list[SubtaskState]:
    """Return the subtasks whose results a subtask sees.

    These are its dependencies, the subtask that it replaces, and the same of its enclosing subtasks.
    """
    names = (*subtask.spec.after, subtask.replaced_id)
    outer = request.subtasks.get(subtask.within)
    return [request.subtasks[name] for name in names if name in request.subtasks] + (
        [] if outer is None else _list_visible_subtasks(request, outer)
    )


def _yield_words_of_others(request: RequestState) -> Iterator[tuple[str, _Sources]]:
    name = "the message that it was started from"
    if request.spec.quoted:
        yield name, (make_private_source("quoted", request.spec.quoted, name),)
    name = "what somebody else answered"
    yield (
        name,
        tuple(
            make_private_source("answer", _extract_answer_words(answer), name)
            for answer in _list_worded_answers(request)
            if answer.user != request.spec.user
        ),
    )


def _name_material_source(material: Material) -> str:
    if material.is_channel_history:
        return material.name
    names_by_kind = {"thread": "the thread", "memory": "what I was asked to remember", "answer": "an earlier answer"}
    return names_by_kind.get(material.kind, _shorten_name(material.name))


def _name_result_source(subtask: SubtaskState) -> str:
    return f"the result of {_quote_title(subtask)}"


def _quote_title(subtask: SubtaskState) -> str:
    return f'"{_shorten_name(subtask.spec.title)}"'


def _shorten_name(name: str) -> str:
    return " ".join(name.split())[:_MAX_NAME_LENGTH]
