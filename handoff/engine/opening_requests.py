"""Handles requests that only open a thread, for the run of a schedule or for a typed command.

A job's id is computed from its thread, which has no id before its first message is posted. So such work begins as a
temporary job. That job posts the first message, and records the work as a request of the new thread's job.
"""

from __future__ import annotations

from types import MappingProxyType

from handoff import events as ev
from handoff.effects import OpenThread, make_answer_key, make_card_end_key
from handoff.state.job_state import RequestState, replace
from handoff.state.state_values import Failure

OPENING_STEP = "opening the thread"
OPENED_ANSWER = "The thread is open; the work goes on there."


def find_opening_effect(request: RequestState) -> OpenThread | None:
    """Return the effect of a request that opens a thread; None if it opens none, or has ended."""
    return OpenThread(request.id) if request.spec.opens and not request.run.is_concluded else None


def apply_thread_opened(request: RequestState, event: ev.ThreadOpened) -> RequestState:
    """End a request that opens a thread. The first message is its visible end; if it could not be posted, it failed."""
    if request.run.is_concluded or not request.spec.opens:
        return request
    if event.ts or event.quiet:
        run = replace(request.run, answer=event.why or OPENED_ANSWER, concluded_at=event.at)
    else:
        run = replace(request.run, failure=Failure(OPENING_STEP, event.why), concluded_at=event.at)
    ends = {make_answer_key(request.id): event.ts, make_card_end_key(request.id): event.ts}
    request = replace(request, run=run, posted_ids=MappingProxyType({**request.posted_ids, **ends}))
    return request.with_decision(event.at, "", "kept quiet", event.why) if event.quiet else request
