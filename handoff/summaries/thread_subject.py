"""Finds the request that names the subject of a thread: the first one, or a later one on another subject. Pure.

It works roughly in any language: a follow-up shares words with earlier requests, or is too short to name a subject.
"""

from __future__ import annotations

from handoff.conversation.message_kinds import QUESTION_WORDS
from handoff.state.job_state import Job, RequestState
from handoff.state.value_cache import FoldStep, compute_fold_step
from handoff.text.text_words import extract_words

MIN_SUBJECT_WORDS = 4
"""The least words of a request that can name a thread; "and in euros?" has too few."""
MAX_WORD_OVERLAP = 0.25
"""The largest share of its words that a request about another subject may have in common with earlier requests."""


def find_subject_request(job: Job) -> RequestState | None:
    """Return the request that names the job's thread; None if all were withdrawn."""
    last: FoldStep[int | None] | None = None
    for place, request in enumerate(job.requests):
        last = compute_fold_step(_find_subject_index, last, request, job, place, last and last.result)
    return None if last is None or last.result is None else job.requests[last.result]


def _find_subject_index(request: RequestState, job: Job, index: int, named_index: int | None) -> int | None:
    """Return the index of the request that names the thread up to `request`, which has the index `index`.

    `named_index` is the index of the request that named the thread before `request`; None: there was none. A request
    about the same subject shares words with that request or with one after it.
    """
    if request.is_withdrawn or named_index is None:
        return named_index if request.is_withdrawn else index
    request_words = new = extract_words(request.spec.text) - QUESTION_WORDS
    if len(request_words) < MIN_SUBJECT_WORDS:
        return named_index
    for one in (job.requests[named_index], *reversed(job.requests[named_index + 1 : index])):
        new -= frozenset() if one.is_withdrawn else _collect_request_words(one)
        if len(request_words) - len(new) > MAX_WORD_OVERLAP * len(request_words):
            return named_index
    return index


def _collect_request_words(request: RequestState) -> frozenset[str]:
    """Return the words of a request, its plan's goal and its answer, all of which a follow-up may take up."""
    plan = request.run.plan.goal if request.run.plan else ""
    return extract_words(request.spec.text) | extract_words(plan) | extract_words(request.run.answer or "")
