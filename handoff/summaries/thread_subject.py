"""What a thread is about: the request whose words name it, which a later one takes over if it is about something else.

Pure, and roughly right in any language: a follow-up shares words with what came before, or is too short to name
anything.
"""

from __future__ import annotations

from handoff.conversation.message_kinds import ASKING
from handoff.state.derived_values import FoldStep, take_step
from handoff.state.job_state import Job, RequestState
from handoff.text.text_words import words

ENOUGH = 4
"""Words of a request that can name a thread; "and in euros?" cannot."""
SHARED = 0.25
"""The part of its words that a request about something else may share with what the thread was about."""


def subject_of(job: Job) -> RequestState | None:
    """Return the request that names the job's thread; None if all were withdrawn."""
    last: FoldStep[int | None] | None = None
    for place, ask in enumerate(job.asks):
        last = take_step(_find_naming_request, last, ask, job, place, last and last.found)
    return None if last is None or last.found is None else job.asks[last.found]


def _find_naming_request(ask: RequestState, job: Job, place: int, named: int | None) -> int | None:
    """Return the index of the request that names the thread up to `ask`; `named` is the index up to the one before.

    A request that goes on with the subject mostly shares words with the one that named it, or with the last ones.
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
    """Return the words of a request and of what was answered: a follow-up may take up either."""
    plan = ask.run.plan.goal if ask.run.plan else ""
    return words(ask.request.text) | words(plan) | words(ask.run.answer or "")
