"""Ends work whose time is up, with the results there are by then."""

from __future__ import annotations

from handoff import events as ev
from handoff.engine.ladder import seconds_for
from handoff.engine.subtask import charged_so_far, end_subtasks, settle
from handoff.state.job_state import SETTLED, RequestState, replace
from handoff.state.state_values import Failure

BEFORE = "an earlier release ended it"


def apply_deadline(ask: RequestState, event: ev.DeadlineReached) -> RequestState:
    """End the subtask, or all subtasks that have not ended, with the results there are."""
    if ask.run.concluded or ask.run.plan is None:
        return ask
    if event.subtask:
        work = ask.work.get(event.subtask)
        limit, words = seconds_for(ask, work) if work is not None else 0.0, "for this part"
        late = [work] if work is not None and work.state not in SETTLED else []
    else:
        limit, words = ask.run.terms.job_seconds, "for the whole request"
        work, late = None, [one for one in ask.inside("") if one.state not in SETTLED]
    text = f"the time {words} ({limit:g} s) ran out"
    if late:
        ask = ask.with_decision(event.at, event.subtask, "deadline", text)
    names = [one.subtask.id for one in late]
    ended = [one for name in names for one in (ask.work[name], *ask.all_inside(name))]
    ask = charged_so_far(ask, (one for one in ended if one.state not in SETTLED))
    ask = end_subtasks(ask, [ask.work[name] for name in names], text, event.at)
    return settle(ask, event.at, work.within if work is not None else "") if late else ask


def ended_before(ask: RequestState, at: float) -> RequestState:
    """End a request that an earlier release ended: people have seen its end, even if today's rules would go on."""
    late = [one for one in ask.inside("") if one.state not in SETTLED]
    ask = settle(end_subtasks(ask, late, BEFORE, at), at) if ask.inside("") else ask
    if ask.run.concluded:
        return ask
    return ask.with_run(replace(ask.run, failure=Failure("the job", BEFORE), written=at))
