"""Finds the request that names the subject of a thread. A later request about something else replaces it. Pure.

It works roughly in any language: a follow-up shares words with earlier requests, or is too short to name a subject.
"""

from __future__ import annotations

from handoff.conversation.message_kinds import ASKING
from handoff.state.derived_values import FoldStep, take_step
from handoff.state.job_state import Job, RequestState
from handoff.text.text_words import words

ENOUGH = 4
"""The least words of a request that can name a thread; "and in euros?" has too few."""
SHARED = 0.25
"""The most of its words, as a share, that a request about another subject may share with earlier ones."""


def subject_of(job: Job) -> RequestState | None:
    """Return the request that names the job's thread; None if all were withdrawn."""
    last: FoldStep[int | None] | None = None
    for place, ask in enumerate(job.asks):
        last = take_step(_find_naming_request, last, ask, job, place, last and last.found)
    return None if last is None or last.found is None else job.asks[last.found]


def _find_naming_request(ask: RequestState, job: Job, place: int, named: int | None) -> int | None:
    """Return the index of the request that names the thread up to `ask`, which has the index `place`.

    `named` is the index of the request that names the thread before `ask`; None: there is none. A request about the
    same subject shares words with that request, or with later ones.
    """
    if ask.withdrawn or named is None:
        return named if ask.withdrawn else place
    said = new = words(ask.request.text) - ASKING
    if len(said) < ENOUGH:
        return named
    for one in (job.asks[named], *reversed(job.asks[named + 1 : place])):
        new -= frozenset() if one.withdrawn else _collect_request_words(one)
        if len(said) - len(new) > SHARED * len(said):
            return named
    return place


def _collect_request_words(ask: RequestState) -> frozenset[str]:
    """Return the words of a request, its plan's goal and its answer, all of which a follow-up may take up."""
    plan = ask.run.plan.goal if ask.run.plan else ""
    return words(ask.request.text) | words(plan) | words(ask.run.answer or "")
