"""Finds the request that names the subject of a thread. A later request about something else replaces it. Pure.

It works roughly in any language: a follow-up shares words with earlier requests, or is too short to name a subject.
"""

from __future__ import annotations

from handoff.conversation.message_kinds import QUESTION_WORDS
from handoff.state.derived_values import FoldStep, take_fold_step
from handoff.state.job_state import Job, RequestState
from handoff.text.text_words import extract_words

MIN_SUBJECT_WORDS = 4
"""The least words of a request that can name a thread; "and in euros?" has too few."""
MAX_SHARED_WORDS = 0.25
"""The most of its words, as a share, that a request about another subject may share with earlier ones."""


def find_subject_request(job: Job) -> RequestState | None:
    """Return the request that names the job's thread; None if all were withdrawn."""
    last: FoldStep[int | None] | None = None
    for place, ask in enumerate(job.asks):
        last = take_fold_step(_find_naming_request, last, ask, job, place, last and last.result)
    return None if last is None or last.result is None else job.asks[last.result]


def _find_naming_request(ask: RequestState, job: Job, index: int, named_index: int | None) -> int | None:
    """Return the index of the request that names the thread up to `ask`, which has the index `index`.

    `named_index` is the index of the request that names the thread before `ask`; None: there is none. A request about
    the same subject shares words with that request, or with later ones.
    """
    if ask.withdrawn or named_index is None:
        return named_index if ask.withdrawn else index
    said = new = extract_words(ask.request.text) - QUESTION_WORDS
    if len(said) < MIN_SUBJECT_WORDS:
        return named_index
    for one in (job.asks[named_index], *reversed(job.asks[named_index + 1 : index])):
        new -= frozenset() if one.withdrawn else _collect_request_words(one)
        if len(said) - len(new) > MAX_SHARED_WORDS * len(said):
            return named_index
    return index


def _collect_request_words(ask: RequestState) -> frozenset[str]:
    """Return the words of a request, its plan's goal and its answer, all of which a follow-up may take up."""
    plan = ask.run.plan.goal if ask.run.plan else ""
    return extract_words(ask.request.text) | extract_words(plan) | extract_words(ask.run.answer or "")
