"""Folds the log of a job into its state. The engine is pure: the same log always gives the same job.

Read the folder in this order:

- `engine`: every event goes through `apply_event`. It handles events about the whole job. For an event about one
  request it calls the event's function in the table, then updates the states of the request and its runs.
- `transitions`: the table with one function for each event.
- `ladder`: what follows a failure or an escalation of a subtask.
- `subtask`: the end of a subtask, and its consequences for the rest of the run.

Then, by topic:

- `plan`, `replan`: a plan begins, is rejected, is revised.
- `returned_results`, `unknown_writes`: results that are sent back; calls in doubt.
- `answer`, `answer_sources`: from the results to one answer.
- `questions`, `approvals`: what people are asked.
- `thread_messages`, `corrections`: what people write meanwhile.
- `crew_runs`: crews inside crews.
- `opening_requests`: requests that only open a thread.
- `retry`, `reused_subtasks`: second tries.
- `outstanding_effects`: derives the outstanding effects from the state.
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
from handoff.engine.crew_runs import is_crew_working
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
from handoff.text.code_changes import names_code_change

CHECKPOINT_EVENTS = (ev.TurnTaken, ev.ToolStarted, ev.ToolReturned)
"""Events after which states of runs and subtasks stay the same, so that they are not updated. Most events are these."""


MESSAGE_EVENTS = ev.MessageHeard | ev.MessageSorted | ev.MessageAcknowledged | ev.RequestEdited | ev.RequestWithdrawn
DELETION_EVENTS = ev.FileDeleted | ev.CopiesDropped
"""Events of deleted files, and of the copies that are deleted from the store."""


def fold_log(log: Iterable[ev.Event]) -> Job | None:
    """Return the job of a whole log; None for an empty log. Raises ValueError if it begins without RequestAdded."""
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
        return replace(_resume_clocks(job, event.at), takeover_count=job.takeover_count + 1, seq=seq)
    if isinstance(event, ev.WorkResumed):
        return replace(_resume_clocks(job, event.at, event.away), seq=seq)
    if isinstance(event, ev.SetAside):
        return replace(job, quarantine=Failure(event.step, event.reason), seq=seq)
    if isinstance(event, ev.Released):
        return replace(job, quarantine=None, seq=seq)
    assert_never(event)


def _cancel_requests(job: Job, event: ev.CancelRequested) -> Job:
    """Stop the requests that the person may stop. If none stays open, the job leaves quarantine to report that."""
    ends = {
        request.id
        for request in rights.list_stoppable_requests(job, rights.Actor(event.user, event.groups, event.admin))
    }
    requests = tuple(cancel_request(request, event) if request.id in ends else request for request in job.requests)
    has_stoppable_request = any(rights.is_stoppable(request) for request in requests)
    return replace(job, requests=requests, quarantine=job.quarantine if has_stoppable_request else None)


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
            after, withdrawn_requests = thread_messages.withdraw_message(job, event)
            for request in withdrawn_requests:
                after = after.with_request(end_withdrawn_request(request, event))
            after = mark_deleted_sources(after, event.message)
        case ev.FileDeleted():
            return mark_deleted_sources(job, event.file)
        case ev.CopiesDropped():
            return replace(job, copies_to_delete=job.copies_to_delete[event.count :])
    for request, _ in after.list_changed_requests(job):
        after = after if request.is_over else after.with_request(_update_states(request, event.at))
    return after


def _apply_request_added(job: Job | None, event: ev.RequestAdded) -> Job:
    job = job or Job(place=event.place)
    if job.find_request(event.request.id) is not None:
        return replace(job, seq=job.seq + 1)
    failure = Failure("the request", event.refusal) if event.refusal else None
    before = job.requests[-1].spec.crew if job.requests else event.usual
    spec = event.request if event.request.crew else event.request.model_copy(update={"crew": before})
    request = RequestState(spec=spec, run=PlanRun(failure=failure), refusal=event.refusal)
    if not needs_material(event.request):
        request = replace(request, is_gathered=True)
    if event.again is not None:
        request = retry.apply_retry(job, request, event.again, event.at)
    people = job.people | {event.request.user}
    return thread_messages.add_queued_receipt(
        replace(job, requests=(*job.requests, request), people=people, seq=job.seq + 1), request.id, job.current_request
    )


def needs_material(request: Request) -> bool:
    """Return True if a request may have material to fetch before planning: files, messages, memories, code changes."""
    material_refs = request.attachments or request.look_back or request.recalls or request.reads
    return bool(material_refs) or names_code_change(request.text)


def _apply_request_event(job: Job, event: ev.RequestEvent) -> Job:
    seq = job.seq + 1
    if isinstance(event, ev.Posted) and event.ts:
        job = thread_messages.record_bot_message(job, event.at)
    if isinstance(event, ev.QuestionAnswered):
        job = replace(job, people=job.people | {event.user})
    place = job.find_request_index(event.request)
    if place is None or job.requests[place].is_over:
        return replace(job, seq=seq)
    request = job.requests[place]
    changed_request = TRANSITIONS[type(event).__name__](request, event)
    if changed_request is request:
        return replace(job, seq=seq)
    if not isinstance(event, CHECKPOINT_EVENTS):
        changed_request = _update_states(changed_request, event.at)
    job = replace(job, requests=(*job.requests[:place], changed_request, *job.requests[place + 1 :]), seq=seq)
    return mark_deleted_materials(job) if isinstance(event, ev.MaterialGathered) else job


def _resume_clocks(job: Job, at: float, away_seconds: float = 0.0) -> Job:
    """Let the clocks of the current request continue at `at`. `away_seconds` without an instance do not count."""
    request = job.current_request
    if request is None:
        return job
    if request.run.waits_since is None:
        request = request.with_run(replace(request.run, paused_seconds=request.run.paused_seconds + away_seconds))
    for name, subtask in request.subtasks.items():
        if subtask.state == "in_progress":
            request = request.with_subtask(replace(subtask, resumed_at=at))
        if subtask.run is not None and subtask.run.waits_since is None:
            request = request.with_subtask(
                replace(
                    request.subtasks[name],
                    run=replace(subtask.run, paused_seconds=subtask.run.paused_seconds + away_seconds),
                )
            )
    place = job.find_request_index(request.id)
    return replace(
        job, requests=tuple(request if index == place else other for index, other in enumerate(job.requests))
    )


# ---------------------------------------------------------------- the states of the request and of its runs


def _update_states(request: RequestState, at: float) -> RequestState:
    """Return the request with its state, and the states of its runs, updated from their subtasks."""
    run = request.run
    if run.is_concluded:
        if not _has_visible_end(request):
            return request.with_run(_set_run_state(run, "synthesizing" if run.answer is not None else "working", at))
        if run.answer is not None:
            return replace(request, run=replace(run, state="completed"), ended_at=at)
        return replace(request, run=replace(run, state="cancelled" if request.cancelled_by else "failed"), ended_at=at)
    if run.plan is None:
        return request.with_run(_set_run_state(run, "submitted" if request.question is None else "input_required", at))
    if request.has_cost_limits:
        request = approvals.open_cost_approvals(request, at)
    run, own = request.run, request.list_subtasks("")
    if any(subtask.run is not None for subtask in own):
        request = _update_nested_states(request, at)
        own = request.list_subtasks("")
    return request.with_run(_set_run_state(run, _derive_run_state(request, run, own), at))


def _update_nested_states(request: RequestState, at: float) -> RequestState:
    """Update the states of crew runs, innermost first. While a crew's run is `input_required`, so is its subtask."""
    for subtask in reversed([subtask for subtask in request.list_all_subtasks("") if is_crew_working(subtask)]):
        name = subtask.spec.id
        run = request.get_run(name)
        has_started = run.plan is not None and not run.is_concluded
        run = _set_run_state(
            run, _derive_run_state(request, run, request.list_subtasks(name)) if has_started else "working", at
        )
        state: SubtaskStatus = "input_required" if run.state == "input_required" else "in_progress"
        request = request.with_subtask(replace(request.subtasks[name], run=run, state=state))
    return request


def _derive_run_state(request: RequestState, run: PlanRun, subtasks: tuple[SubtaskState, ...]) -> RequestStatus:
    """Return the state of a run that follows from the states of its subtasks."""
    states = {subtask.state for subtask in subtasks}
    if states <= SETTLED_STATES:
        return "synthesizing"
    is_waiting = "input_required" in states and "in_progress" not in states
    if is_waiting and not list_ready_subtasks(request, run) and not replan.find_due_trigger(request):
        return "input_required"
    return "working"


def _set_run_state(run: PlanRun, state: RequestStatus, at: float) -> PlanRun:
    """Return the run with that state. Its clock stops while it waits for people."""
    if run.state == state:
        return run
    if state == "input_required":
        return replace(run, state=state, waits_since=at)
    if run.waits_since is not None:
        run = replace(run, paused_seconds=run.paused_seconds + max(0.0, at - run.waits_since), waits_since=None)
    return replace(run, state=state)


def _has_visible_end(request: RequestState) -> bool:
    needed_keys = [make_answer_key(request.id)]
    if not request.refusal:
        needed_keys.append(make_card_end_key(request.id))
    return all(key in request.posted_ids for key in needed_keys)
