"""Work before it has a thread: a job of its own, with one request that only opens it.

The thread's first message has no id before it is posted, and a job's id follows from that. So the run of a schedule,
or a request that was typed as a command, begins as a job whose id follows from what asked for it; it posts the line,
and hands the work in as a request of that thread.
"""

from __future__ import annotations

from types import MappingProxyType

from handoff import events as ev
from handoff.effects import OpenThread, answer_key, card_end_key
from handoff.state.job_state import RequestState, replace
from handoff.state.state_values import Failure

STEP = "opening the thread"
OPENED = "The thread is open; the work goes on there."


def find_opening_effect(ask: RequestState) -> OpenThread | None:
    """Return the effect of a request that opens a thread; None if it opens none, or was stopped."""
    return OpenThread(ask.id) if ask.request.opens and not ask.run.is_concluded else None


def apply_thread_opened(ask: RequestState, event: ev.ThreadOpened) -> RequestState:
    """End the request: its visible end is the thread's first message, or that there is none."""
    if ask.run.is_concluded or not ask.request.opens:
        return ask
    if event.ts or event.quiet:
        run = replace(ask.run, answer=event.why or OPENED, written=event.at)
    else:
        run = replace(ask.run, failure=Failure(STEP, event.why), written=event.at)
    ends = {answer_key(ask.id): event.ts, card_end_key(ask.id): event.ts}
    ask = replace(ask, run=run, posted=MappingProxyType({**ask.posted, **ends}))
    return ask.with_decision(event.at, "", "kept quiet", event.why) if event.quiet else ask
