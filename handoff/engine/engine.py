"""Folds the log of a job into its state. The engine is pure: the same log always gives the same job.

Read the folder in this order:

- `engine`: every event goes through `apply_event`. It handles events about the whole job. For an event about one
  request it calls the event's function in the table, then updates the states of the request and its runs.
- `transitions`: the table with one function for each event.
- `ladder`: what follows a failure or an escalation of a subtask.
- `subtask`: the end of a subtask, and its consequences for the rest of the run.

Then, by topic:

- `plan`, `replan`: a plan begins, is rejected, is revised.
- `returned_results`, `writes`: results that are sent back; calls in doubt.
- `answer`, `answer_sources`: from the results to one answer.
- `questions`, `approvals`: what people are asked.
- `thread_messages`, `corrections`: what people write meanwhile.
- `nested`: crews inside crews.
- `opening`: requests that only open a thread.
- `retry`, `reused_subtasks`: second tries.
- `outstanding`: derives the outstanding effects from the state.
- `replay`: opens a stored log without parsing every line.

An event that no longer fits (an answer to a closed question, a result of an attempt that was given up) changes
nothing. It stays in the log as a fact.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from handoff import events as ev
from handoff.access import rights
from handoff.contracts import Request
from handoff.effects import make_answer_key, make_card_end_key
from handoff.engine import approvals, replan, retry, thread_messages
from handoff.engine.nested import is_crew_working
from handoff.engine.subtask import list_ready_subtasks
from handoff.engine.transitions import TRANSITIONS, cancel_request, end_withdrawn_request
from handoff.materials.deletions import mark_deleted_materials, mark_deleted_sources
from handoff.state.job_state import (
    SETTLED_STATES,
    Job,
    PlanRun,
    RequestState,
    RequestStatus,
    SubtaskState,
    SubtaskStatus,
    replace,
)
from handoff.state.state_values import Failure
from handoff.text.change_names import names_code_change

CHECKPOINTS = (ev.TurnTaken, ev.ToolStarted, ev.ToolReturned)
"""Events that change no state of a run or subtask. They are most of a log, so states are not updated after them."""


MESSAGE_EVENTS = ev.MessageHeard | ev.MessageSorted | ev.MessageAcknowledged | ev.RequestEdited | ev.RequestWithdrawn
DELETION_EVENTS = ev.FileDeleted | ev.CopiesDropped
"""Events of deleted files, and of the copies that are deleted from the store."""


def fold(log: Iterable[ev.Event]) -> Job | None:
    """Return the job of a whole log; None for an empty log. Raises ValueError if it begins with another event."""
    job: Job | None = None
    for event in log:
        job = apply_event(job, event)
    return job


def apply_event(job: Job | None, event: ev.Event) -> Job:
    """Return the job after one more event. Raises ValueError if the first event of a log is not RequestAdded."""
    if isinstance(event, ev.RequestAdded):
        return _apply_request_added(job, event)
    if job is None:
        raise ValueError(f"a job's log begins with RequestAdded, not {event.type}")
    if isinstance(event, ev.RequestEvent):
        return _apply_request_event(job, event)
    if isinstance(event, MESSAGE_EVENTS | DELETION_EVENTS):
        return replace(_apply_thread_event(job, event), seq=job.seq + 1)
    seq = job.seq + 1
    if isinstance(event, ev.CancelRequested):
        return replace(_cancel_requests(job, event), seq=seq)
    if isinstance(event, ev.TakenOver):
        return replace(_resume_clocks(job, event.at), takeovers=job.takeovers + 1, seq=seq)
    if isinstance(event, ev.WorkResumed):
        return replace(_resume_clocks(job, event.at, event.away), seq=seq)
    if isinstance(event, ev.SetAside):
        return replace(job, quarantine=Failure(event.step, event.reason), seq=seq)
    if isinstance(event, ev.Released):
        return replace(job, quarantine=None, seq=seq)
    assert_never(event)


def _cancel_requests(job: Job, event: ev.CancelRequested) -> Job:
    """Stop the requests that the person may stop. If none is left open, the job leaves quarantine to report that."""
    ends = {ask.id for ask in rights.list_stoppable_requests(job, rights.Actor(event.user, event.groups, event.admin))}
    asks = tuple(cancel_request(ask, event) if ask.id in ends else ask for ask in job.asks)
    left = any(rights.is_stoppable(ask) for ask in asks)
    return replace(job, asks=asks, quarantine=job.quarantine if left else None)


def _apply_thread_event(job: Job, event: MESSAGE_EVENTS | DELETION_EVENTS) -> Job:
    """Apply an event of a message or file in the thread: written, sorted, edited or deleted."""
    match event:
        case ev.MessageHeard():
            return thread_messages.record_message(job, event)
        case ev.MessageAcknowledged():
            return thread_messages.drop_acknowledged_message(job, event)
        case ev.MessageSorted():
            after = thread_messages.apply_message_aim(job, event)
        case ev.RequestEdited():
            after = thread_messages.apply_request_edit(job, event)
        case ev.RequestWithdrawn():
            after, gone = thread_messages.withdraw_message(job, event)
            for ask in gone:
                after = after.with_request(end_withdrawn_request(ask, event))
            after = mark_deleted_sources(after, event.message)
        case ev.FileDeleted():
            return mark_deleted_sources(job, event.file)
        case ev.CopiesDropped():
            return replace(job, copies=job.copies[event.count :])
    for ask, _ in after.list_changed_requests(job):
        after = after if ask.is_over else after.with_request(_update_states(ask, event.at))
    return after


def _apply_request_added(job: Job | None, event: ev.RequestAdded) -> Job:
    job = job or Job(place=event.place)
    if job.find_request(event.request.id) is not None:
        return replace(job, seq=job.seq + 1)
    failure = Failure("the request", event.refusal) if event.refusal else None
    before = job.asks[-1].request.crew if job.asks else event.usual
    request = event.request if event.request.crew else event.request.model_copy(update={"crew": before})
    ask = RequestState(request=request, run=PlanRun(failure=failure), refusal=event.refusal)
    if not needs_gathering(event.request):
        ask = replace(ask, gathered=True)
    if event.again is not None:
        ask = retry.apply_retry(job, ask, event.again, event.at)
    people = job.people | {event.request.user}
    return thread_messages.add_queued_receipt(
        replace(job, asks=(*job.asks, ask), people=people, seq=job.seq + 1), ask.id, job.current_request
    )


def needs_gathering(request: Request) -> bool:
    """Return True if a request may have material that has to be fetched before it is planned."""
    wanted = request.attachments or request.look_back or request.recalls or request.reads
    return bool(wanted) or names_code_change(request.text)


def _apply_request_event(job: Job, event: ev.RequestEvent) -> Job:
    seq = job.seq + 1
    if isinstance(event, ev.Posted) and event.ts:
        job = thread_messages.record_bot_message(job, event.at)
    if isinstance(event, ev.QuestionAnswered):
        job = replace(job, people=job.people | {event.user})
    place = job.find_request_index(event.request)
    if place is None or job.asks[place].is_over:
        return replace(job, seq=seq)
    ask = job.asks[place]
    changed = TRANSITIONS[type(event).__name__](ask, event)
    if changed is ask:
        return replace(job, seq=seq)
    if not isinstance(event, CHECKPOINTS):
        changed = _update_states(changed, event.at)
    job = replace(job, asks=(*job.asks[:place], changed, *job.asks[place + 1 :]), seq=seq)
    return mark_deleted_materials(job) if isinstance(event, ev.MaterialGathered) else job


def _resume_clocks(job: Job, at: float, away_seconds: float = 0.0) -> Job:
    """Let the clocks of the job continue at `at`, after `away_seconds` seconds in which no instance worked on it."""
    ask = job.current_request
    if ask is None:
        return job
    if ask.run.waits_since is None:
        ask = ask.with_run(replace(ask.run, paused=ask.run.paused + away_seconds))
    for name, work in ask.work.items():
        if work.state == "in_progress":
            ask = ask.with_subtask(replace(work, resumed=at))
        if work.run is not None and work.run.waits_since is None:
            ask = ask.with_subtask(
                replace(ask.work[name], run=replace(work.run, paused=work.run.paused + away_seconds))
            )
    place = job.find_request_index(ask.id)
    return replace(job, asks=tuple(ask if index == place else other for index, other in enumerate(job.asks)))


# ---------------------------------------------------------------- the states of the request and of its runs


def _update_states(ask: RequestState, at: float) -> RequestState:
    """Return the request with its state, and the states of its runs, updated from their subtasks."""
    run = ask.run
    if run.is_concluded:
        if not _has_visible_end(ask):
            return ask.with_run(_set_run_state(run, "synthesizing" if run.answer is not None else "working", at))
        if run.answer is not None:
            return replace(ask, run=replace(run, state="completed"), ended=at)
        return replace(ask, run=replace(run, state="cancelled" if ask.cancelled_by else "failed"), ended=at)
    if run.plan is None:
        return ask.with_run(_set_run_state(run, "submitted" if ask.question is None else "input_required", at))
    if ask.has_cost_limits:
        ask = approvals.open_cost_approvals(ask, at)
    run, own = ask.run, ask.list_subtasks("")
    if any(work.run is not None for work in own):
        ask = _update_nested_states(ask, at)
        own = ask.list_subtasks("")
    return ask.with_run(_set_run_state(run, _derive_run_state(ask, run, own), at))


def _update_nested_states(ask: RequestState, at: float) -> RequestState:
    """Update the states of crew runs, the innermost first. A subtask has `input_required` while its crew's run has."""
    for work in reversed([work for work in ask.list_all_subtasks("") if is_crew_working(work)]):
        name = work.subtask.id
        run = ask.get_run(name)
        started = run.plan is not None and not run.is_concluded
        run = _set_run_state(run, _derive_run_state(ask, run, ask.list_subtasks(name)) if started else "working", at)
        waits: SubtaskStatus = "input_required" if run.state == "input_required" else "in_progress"
        ask = ask.with_subtask(replace(ask.work[name], run=run, state=waits))
    return ask


def _derive_run_state(ask: RequestState, run: PlanRun, subtasks: tuple[SubtaskState, ...]) -> RequestStatus:
    """Return the state of a run that follows from the states of its subtasks."""
    states = {work.state for work in subtasks}
    if states <= SETTLED_STATES:
        return "synthesizing"
    waits = "input_required" in states and "in_progress" not in states
    if waits and not list_ready_subtasks(ask, run) and not replan.find_due_trigger(ask):
        return "input_required"
    return "working"


def _set_run_state(run: PlanRun, state: RequestStatus, at: float) -> PlanRun:
    """Return the run with that state. Its clock stops while it waits for people."""
    if run.state == state:
        return run
    if state == "input_required":
        return replace(run, state=state, waits_since=at)
    if run.waits_since is not None:
        run = replace(run, paused=run.paused + max(0.0, at - run.waits_since), waits_since=None)
    return replace(run, state=state)


def _has_visible_end(ask: RequestState) -> bool:
    needed = [make_answer_key(ask.id)]
    if not ask.refusal:
        needed.append(make_card_end_key(ask.id))
    return all(key in ask.posted for key in needed)
