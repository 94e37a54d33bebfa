"""Handles requests that only open a thread, for the run of a schedule or for a typed command.

A job's id is computed from its thread, which has no id before its first message is posted. So such work begins as a job
with an id of its own: it posts the first message, and records the work as a request of the new thread's job.
"""

from __future__ import annotations

from types import MappingProxyType

from handoff import events as ev
from handoff.effects import OpenThread, make_answer_key, make_card_end_key
from handoff.state.job_state import RequestState, replace
from handoff.state.state_values import Failure

OPENING_STEP = "opening the thread"
OPENED_ANSWER = "The thread is open; the work goes on there."


def find_opening_effect(ask: RequestState) -> OpenThread | None:
    """Return the effect of a request that opens a thread; None if it opens none, or has ended."""
    return OpenThread(ask.id) if ask.request.opens and not ask.run.is_concluded else None


def apply_thread_opened(ask: RequestState, event: ev.ThreadOpened) -> RequestState:
    """End a request that opens a thread. The thread's first message counts as its visible end."""
    if ask.run.is_concluded or not ask.request.opens:
        return ask
    if event.ts or event.quiet:
        run = replace(ask.run, answer=event.why or OPENED_ANSWER, written=event.at)
    else:
        run = replace(ask.run, failure=Failure(OPENING_STEP, event.why), written=event.at)
    ends = {make_answer_key(ask.id): event.ts, make_card_end_key(ask.id): event.ts}
    ask = replace(ask, run=run, posted=MappingProxyType({**ask.posted, **ends}))
    return ask.with_decision(event.at, "", "kept quiet", event.why) if event.quiet else ask
