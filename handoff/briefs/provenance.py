"""Determines the origin of the content in a subtask's view: the requester, the public web, or a private source.

Private is everything that neither the requester wrote nor the public web gave: files, words of others in the thread,
and everything that was made from these or that a model wrote after seeing them. Whatever is made from private content
is private, too. It is derived from the log alone. The names of requester and channel, the date and the time are not
private.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from handoff.contracts import Material, PrivateSource, Request
from handoff.engine.nested import find_enclosing_plan
from handoff.materials.material_lists import compute_answer_digest, find_needed_material, list_material
from handoff.state.derived_values import FoldStep, cache_on_value, take_fold_step
from handoff.state.job_state import Job, RequestState, SubtaskState, replace
from handoff.state.state_values import Provenance, QuestionAnswer, make_private_source
from handoff.text.text_words import normalize_word_order

_QUOTE_MARK = ">"
_ADDRESS = re.compile(r"\S*[.:/]\S*")
_MAX_NAME_LENGTH = 80
"""The most characters of the name of a private source."""


def trace_provenance(job: Job, ask: RequestState, work: SubtaskState) -> Provenance:
    """Return the provenance of the brief of a subtask.

    The requester's words are the texts of this request and of their earlier requests in the thread, without quotations
    and the names of attached files, and the answers that they typed. Answers that a model offered and they clicked do
    not count.

    The brief may contain derived content if the thread had an earlier request, if there is material that the requester
    did not write (the planner has seen it), if the plan was revised or the brief rewritten, or if the subtask is inside
    another one, builds on others, or was attempted before.
    """
    derived = work.subtask.after or work.brief or work.within or work.attempt > 1 or ask.revisions
    seen = any(one.text and one.origin != "requester" for one in list_material(job, ask))
    attempt = work.attempt + (work.state == "pending")
    working = sum(one.run is None for one in ask.work.values()) or 1
    view = _PrivateViews(job, _trace_earlier_outputs(job, ask)).find_view(ask, work)
    return Provenance(
        list_requester_words(job, ask),
        has_derived_content=(job.find_request_index(ask.id) or 0) > 0 or seen or bool(derived),
        private=tuple(view),
        sources=_merge_view_sources(view),
        share=1 / (working * 2**attempt),
    )


# ---------------------------------------------------------------- whose words


@cache_on_value
def list_requester_words(job: Job, ask: RequestState) -> tuple[str, ...]:
    """Return the texts that the requester of `ask` wrote in the job up to this request."""
    user = ask.request.user
    mine = [one for one in job.asks[: (job.find_request_index(ask.id) or 0) + 1] if one.request.user == user]
    said = [_extract_requester_words(one) for one in mine]
    return (*[own for own, _ in said], *[one.text for _, typed in said for one in typed if one.user == user])


@cache_on_value
def list_people_words(ask: RequestState) -> tuple[str, ...]:
    """Return the texts that people wrote for a request: its own text without file names, and typed answers."""
    return (_remove_file_names(ask, ask.text), *(said.text for said in _list_typed_answers(ask)))


@cache_on_value
def _extract_requester_words(ask: RequestState) -> tuple[str, tuple[QuestionAnswer, ...]]:
    """Return the requester's own words in a request, and the answers that people typed."""
    own = "\n\n".join((strip_quoted_text(ask.request), *(one.text for one in ask.correction_messages)))
    return _remove_file_names(ask, own), _list_typed_answers(ask)


def strip_quoted_text(request: Request) -> str:
    """Return the words of a request that its requester wrote, without quoted lines and without `request.quoted`.

    The web addresses and paths of the quoted message are removed as well, even from lines that were changed.
    """
    theirs = {" ".join(line.split()) for line in request.quoted.splitlines()}
    lines = [line for line in request.text.splitlines() if not line.lstrip().startswith(_QUOTE_MARK)]
    text = "\n".join(line for line in lines if not request.quoted or " ".join(line.split()) not in theirs)
    quoted = {found.casefold() for found in _ADDRESS.findall(request.quoted)}
    return _ADDRESS.sub(lambda found: " " if found.group().casefold() in quoted else found.group(), text)


def _remove_file_names(ask: RequestState, text: str) -> str:
    for name in (*(file.name for file in ask.request.attachments), *(file.name for file in ask.artifacts)):
        text = text.replace(name, " ")
    return text


def _list_typed_answers(ask: RequestState) -> tuple[QuestionAnswer, ...]:
    """Return the answers that people typed themselves: no assumptions, approvals or offered options."""
    return tuple(
        said
        for said in _list_worded_answers(ask)
        if said.user and said.question.approval is None and said.text not in said.question.options
    )


def _list_worded_answers(ask: RequestState) -> tuple[QuestionAnswer, ...]:
    """Return the answers that contain words of people: all but approvals without a reason or an edit."""
    answered = (*ask.answered, *(one for work in ask.work.values() for one in work.answered))
    return tuple(said for said in answered if said.question.approval is None or _extract_answer_words(said))


def _extract_answer_words(answer: QuestionAnswer) -> str:
    """Return the words of an answer that specialists are told; for an approval, its reason or the edited arguments."""
    if answer.question.approval is None:
        return answer.text
    ruling = answer.ruling
    if ruling is None:
        return ""
    return json.dumps(dict(ruling.arguments), ensure_ascii=False) if ruling.outcome == "edited" else ruling.reason


def _matches_wording(wording: str, texts: Iterable[str]) -> bool:
    """Return True if one of the texts has exactly this wording, as `normalize_word_order` returns it.

    To save time, only texts that contain its longest word are compared.
    """
    longest = max(wording.split(), key=len, default="")
    return any(normalize_word_order(text) == wording for text in [one for one in texts if longest in one.casefold()])


# ---------------------------------------------------------------- what is private


_Sources = tuple[PrivateSource, ...]
_PrivateNames = dict[str, _Sources]
"""The private content of a view: the sources by the name for people."""
_OutputSources = Mapping[tuple[bool, str], tuple[str, _Sources]]
"""The requester and the private sources of each earlier answer and file.

The key is (False, digest of the answer) or (True, id of the file).
"""


def _merge_view_sources(view: Mapping[str, _Sources]) -> _Sources:
    return tuple(dict.fromkeys(one for sources in view.values() for one in sources))


def _trace_earlier_outputs(job: Job, ask: RequestState) -> _OutputSources:
    """Return the requesters and private sources of the answers and files of the requests before `ask`.

    Each may be made from earlier ones, so the requests are taken from the oldest on. Each step is cached.
    """
    made: dict[tuple[bool, str], tuple[str, _Sources]] = {}
    last: FoldStep[_OutputSources] | None = None
    for place in range(job.find_request_index(ask.id) or 0):
        last = take_fold_step(_trace_request, last, job.asks[place], job, place, made)
        for key, of in last.result.items():
            made.setdefault(key, of)
    return made


def _trace_request(ask: RequestState, job: Job, index: int, earlier_outputs: _OutputSources) -> _OutputSources:
    """Return the requester and the private sources of the answer and the files of one request.

    The sources are all that the planner and the specialists of the request saw.
    """
    until_then = replace(job, asks=job.asks[: index + 1])
    seen = _merge_view_sources(_PrivateViews(until_then, earlier_outputs).find_planner_view(ask))
    sources = tuple(
        dict.fromkeys((*seen, *(one for work in ask.work.values() for one in _list_tool_sources(ask, work))))
    )
    results = [work.result for work in ask.work.values() if work.result is not None]
    files = [(True, file.id) for result in results for file in result.artifacts]
    answer = [(False, compute_answer_digest(ask))] if ask.run.answer else []
    return dict.fromkeys((*answer, *files), (ask.request.user, sources))


def _list_tool_sources(ask: RequestState, work: SubtaskState) -> _Sources:
    """Return the private sources that tools gave a subtask; if they are unknown, a single source in their place."""
    if work.has_read_private and not work.private_sources:
        return (make_private_source("attempts", f"{ask.id}/{work.subtask.id}", f"what {_quote_title(work)} read"),)
    return work.private_sources


@dataclass(slots=True)
class _PrivateViews:
    """Computes the private content in the views of one request's planner and specialists, and caches it.

    Private content comes from the planner's prompt or from tool replies. `earlier_outputs` describes the answers and
    files of earlier requests. `planner_view` and `subtask_views` (by subtask id) are the caches.
    """

    job: Job
    earlier_outputs: _OutputSources
    planner_view: _PrivateNames | None = None
    subtask_views: dict[str, _PrivateNames] = field(default_factory=dict)

    def find_view(self, ask: RequestState, work: SubtaskState) -> _PrivateNames:
        """Return the private content in the view of the specialist or crew that works on a subtask."""
        key = work.subtask.id
        if key not in self.subtask_views:
            view = _merge_sources(
                (
                    *self._trace_materials(ask, find_needed_material(self.job, ask, work).all_material),
                    *_yield_words_of_others(ask),
                    *(
                        (_name_result_source(other), self._find_private_sources(ask, other))
                        for other in _list_visible_subtasks(ask, work)
                    ),
                    *(
                        ((f"an earlier attempt at {_quote_title(work)}", _list_tool_sources(ask, work)),)
                        if work.private
                        else ()
                    ),
                )
            )
            brief = [
                (f"{_BRIEF_WRITTEN_BY} {name}", sources)
                for name, sources in self._yield_brief_sources(ask, work)
                if name not in view
            ]
            self.subtask_views[key] = view | _merge_sources(brief)
        return self.subtask_views[key]

    def _find_private_sources(self, ask: RequestState, work: SubtaskState) -> _Sources:
        """Return all private sources that the specialists of a subtask saw, which its result is made from."""
        inside = ask.list_all_subtasks(work.subtask.id) if work.run is not None else ()
        seen = (
            source
            for one in (work, *inside)
            for source in (*_list_tool_sources(ask, one), *_merge_view_sources(self.find_view(ask, one)))
        )
        return tuple(dict.fromkeys(seen))

    def _trace_materials(self, ask: RequestState, materials: Iterable[Material]) -> Iterator[tuple[str, _Sources]]:
        return ((_name_material_source(one), self._trace_material(ask, one)) for one in materials)

    def _yield_brief_sources(self, ask: RequestState, work: SubtaskState) -> Iterator[tuple[str, _Sources]]:
        """Yield the private content that the authors of a brief had seen, since the brief may repeat it.

        A brief that the requester wrote in full, word for word, repeats nothing. It is not enough that all its words
        are the requester's: their order, or the choice of a passage, could tell something. A step of a crew's pipeline
        has the words of the crew's file and of the request, so only the view of the enclosing subtask counts.
        """
        brief, later = tuple(_yield_brief_texts(work)), tuple(_yield_later_texts(ask, work))
        fixed = _is_pipeline_step(ask, work)
        if self._are_requesters_words(ask, (*(() if fixed else brief), *later)):
            shown: _PrivateNames = {}
            if not fixed:
                return
        else:
            shown = self.find_planner_view(ask)
        outer = ask.work.get(work.within)
        around = self.find_view(ask, outer) if outer is not None else {}
        for name, sources in (shown | around).items():
            yield name.removeprefix(f"{_BRIEF_WRITTEN_BY} "), sources

    def _are_requesters_words(self, ask: RequestState, texts: Iterable[str]) -> bool:
        """Return True if the requester wrote each of the texts in full in the job."""
        said = {normalize_word_order(text) for text in texts if text.strip()} - {normalize_word_order(ask.text)}
        return all(_matches_wording(one, list_requester_words(self.job, ask)) for one in said)

    def find_planner_view(self, ask: RequestState) -> _PrivateNames:
        """Return the private content that the planner saw for the plan of a request and its revisions."""
        if self.planner_view is None:
            read = (
                (_name_result_source(one), _list_tool_sources(ask, one))
                for one in ask.work.values()
                if one.has_read_private
            )
            found = (
                *self._trace_materials(ask, list_material(self.job, ask)),
                *(
                    (_shorten_name(one.name), (make_private_source("attached", one.file_id, one.name),))
                    for one in ask.request.attachments
                ),
                *_yield_words_of_others(ask),
                *self._yield_earlier_requests(ask),
                *(read if ask.revisions else ()),
            )
            self.planner_view = _merge_sources(found)
        return self.planner_view

    def _yield_earlier_requests(self, ask: RequestState) -> Iterator[tuple[str, _Sources]]:
        name = "what somebody else asked before"
        others = [
            one
            for one in self.job.asks[: self.job.find_request_index(ask.id) or 0]
            if one.request.user != ask.request.user
        ]
        yield name, tuple(make_private_source("request", one.id, name) for one in others)

    def _trace_material(self, ask: RequestState, material: Material) -> _Sources:
        """Return the private sources of a material.

        There are none if the requester wrote it, or if it was made for the requester from no private source. A material
        that was made for somebody else is a private source itself.
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
        return sources if user == ask.request.user else tuple(dict.fromkeys((*own, *sources)))


def _merge_sources(named_sources: Iterable[tuple[str, _Sources]]) -> _PrivateNames:
    """Merge the sources of equal names. Names without sources are left out, since they are not private."""
    view: _PrivateNames = {}
    for name, sources in named_sources:
        if sources:
            view[name] = tuple(dict.fromkeys((*view.get(name, ()), *sources)))
    return view


_BRIEF_WRITTEN_BY = "a brief written by who had seen"


def _is_pipeline_step(ask: RequestState, work: SubtaskState) -> bool:
    """Return True if a subtask is an unchanged step of the crew's pipeline: neither revised nor rewritten."""
    return ask.find_enclosing_run(work).fixed and not (work.changed or work.brief or work.instead_of)


def _yield_brief_texts(work: SubtaskState) -> Iterator[str]:
    """Yield the brief of a subtask and its acceptance criterion."""
    yield work.brief_text
    yield work.subtask.done_when


def _yield_later_texts(ask: RequestState, work: SubtaskState) -> Iterator[str]:
    """Yield the texts in a subtask's prompt beside its brief that models or people wrote later.

    These are faults of its result, questions and answers, and the name and brief of an ad-hoc specialist.
    """
    yield from work.wanting.faults if work.wanting is not None else ()
    for said in (*ask.answered, *work.answered):
        if said.question.approval is None:
            yield said.question.message
        yield _extract_answer_words(said)
    plan = find_enclosing_plan(ask, work)
    for one in plan.made if plan is not None else ():
        if one.name == work.specialist:
            yield from (one.name, one.brief)


def _list_visible_subtasks(ask: RequestState, work: SubtaskState) -> list[SubtaskState]:
    """Return the subtasks whose results a subtask sees.

    These are its dependencies, the subtask that it replaces, and the same of its enclosing subtasks.
    """
    names = (*work.subtask.after, work.instead_of)
    outer = ask.work.get(work.within)
    return [ask.work[name] for name in names if name in ask.work] + (
        [] if outer is None else _list_visible_subtasks(ask, outer)
    )


def _yield_words_of_others(ask: RequestState) -> Iterator[tuple[str, _Sources]]:
    name = "the message that it was started from"
    if ask.request.quoted:
        yield name, (make_private_source("quoted", ask.request.quoted, name),)
    name = "what somebody else answered"
    yield (
        name,
        tuple(
            make_private_source("answer", _extract_answer_words(said), name)
            for said in _list_worded_answers(ask)
            if said.user != ask.request.user
        ),
    )


def _name_material_source(material: Material) -> str:
    if material.is_channel_history:
        return material.name
    known = {"thread": "the thread", "memory": "what I was asked to remember", "answer": "an earlier answer"}
    return known.get(material.kind, _shorten_name(material.name))


def _name_result_source(work: SubtaskState) -> str:
    return f"the result of {_quote_title(work)}"


def _quote_title(work: SubtaskState) -> str:
    return f'"{_shorten_name(work.subtask.title)}"'


def _shorten_name(name: str) -> str:
    return " ".join(name.split())[:_MAX_NAME_LENGTH]
