"""The only place where a job's state changes, and the only one that says what is left to do.

`apply(job, event)` folds a fact into the state. `outstanding(job, now)` reads
off the state what should be going on. Neither does I/O, looks at a clock or
draws a number: the same log always gives the same job and the same effects.

An event that no longer fits (an answer to a closed question, a result of an
attempt that was given up) changes nothing: it stays in the log as a fact.
"""

from __future__ import annotations

from collections.abc import Iterable

from handoff import events as ev
from handoff import messages
from handoff.briefs import handoff_for
from handoff.changes import CHANGES, cancelled
from handoff.effects import Effect, FetchAttachments, MakePlan, Post, RunSubtask, WriteAnswer
from handoff.job import SETTLED, Ask, Failure, Job, RequestState, Work, replace

# ---------------------------------------------------------------- state changes


def fold(log: Iterable[ev.Event]) -> Job | None:
    """The job that a whole log describes; None for an empty one. Raises ValueError if it begins wrongly."""
    job: Job | None = None
    for event in log:
        job = apply(job, event)
    return job


def apply(job: Job | None, event: ev.Event) -> Job:
    """The job after one more event. Raises ValueError if the first event of a log is not RequestAdded."""
    if isinstance(event, ev.RequestAdded):
        return _request_added(job, event)
    if job is None:
        raise ValueError(f"a job's log begins with RequestAdded, not {event.type}")
    seq = job.seq + 1
    if isinstance(event, ev.CancelRequested):
        asks = (a if a.over or a.answer or a.failure else cancelled(a, event) for a in job.asks)
        return replace(job, asks=tuple(asks), aside=None, seq=seq)
    if isinstance(event, ev.TakenOver):
        return replace(job, takeovers=job.takeovers + 1, seq=seq)
    if isinstance(event, ev.SetAside):
        return replace(job, aside=Failure(event.step, event.reason), seq=seq)
    if isinstance(event, ev.Released):
        return replace(job, aside=None, seq=seq)
    place = job.place_of(event.request)
    if place is None or job.asks[place].over:
        return replace(job, seq=seq)
    ask = job.asks[place]
    changed = CHANGES[event.type](ask, event)
    if changed is ask:
        return replace(job, seq=seq)
    changed = _with_state(changed, event.at)
    return replace(job, asks=(*job.asks[:place], changed, *job.asks[place + 1 :]), seq=seq)


def _request_added(job: Job | None, event: ev.RequestAdded) -> Job:
    job = job or Job(place=event.place)
    if job.ask(event.request.id) is not None:
        return replace(job, seq=job.seq + 1)
    failure = Failure("the request", event.refusal) if event.refusal else None
    ask = Ask(request=event.request, refusal=event.refusal, failure=failure)
    if not event.request.attachments:
        ask = replace(ask, fetched=True)
    return replace(job, asks=(*job.asks, ask), seq=job.seq + 1)


def _with_state(ask: Ask, at: float) -> Ask:
    """The request's own state follows from its parts."""
    if ask.answer is not None or ask.failure is not None:
        if not _end_is_visible(ask):
            return _in_state(ask, "synthesizing" if ask.answer is not None else "working")
        if ask.answer is not None:
            return replace(ask, state="completed", ended=at)
        return replace(ask, state="cancelled" if ask.cancelled_by else "failed", ended=at)
    if ask.plan is None:
        return _in_state(ask, "submitted")
    states = {work.state for work in ask.work.values()}
    if states <= SETTLED:
        return _in_state(ask, "synthesizing")
    if "input_required" in states and not states & {"in_progress"} and not _ready(ask):
        return _in_state(ask, "input_required")
    return _in_state(ask, "working")


def _in_state(ask: Ask, state: RequestState) -> Ask:
    return ask if ask.state == state else replace(ask, state=state)


def _end_is_visible(ask: Ask) -> bool:
    needed = [messages.answer(ask.id)]
    if not ask.refusal:
        needed.append(messages.card_end(ask.id))
    return all(key in ask.posted for key in needed)


# ---------------------------------------------------------------- what is left to do


def outstanding(job: Job, now: float) -> tuple[list[Effect], float | None]:
    """What should be going on at `now`, and when to look again (None: when something comes in)."""
    ask = job.current
    if ask is None:
        return [], None
    if ask.answer is not None or ask.failure is not None:
        return _closing(ask), None
    effects: list[Effect] = []
    due: float | None = None
    if messages.card(ask.id) not in ask.posted:
        effects.append(Post(ask.id, messages.card(ask.id)))
    if not ask.fetched:
        effects.append(FetchAttachments(ask.id))
    elif ask.plan is None:
        effects.append(MakePlan(ask.id, ask.rejections[-1] if ask.rejections else ()))
    else:
        running, due = _subtasks(job, ask, now)
        effects += running
        effects += _files(ask)
        if all(work.state in SETTLED for work in ask.work.values()):
            effects.append(WriteAnswer(ask.id))
    return effects, due


def _subtasks(job: Job, ask: Ask, now: float) -> tuple[list[Effect], float | None]:
    effects: list[Effect] = []
    due: float | None = None
    ready = _ready(ask)
    for work in ask.work.values():
        name = work.subtask.id
        if work.state == "input_required" and work.question is not None:
            key = messages.question(ask.id, name, work.question.number)
            if key not in ask.posted:
                effects.append(Post(ask.id, key))
        if work.state == "in_progress" or work in ready:
            if work.state == "pending" and work.not_before > now:
                due = min(due or work.not_before, work.not_before)
                continue
            effects.append(
                RunSubtask(
                    ask.id,
                    name,
                    work.attempt if work.state == "in_progress" else work.attempt + 1,
                    work.specialist,
                    work.tier or "balanced",
                    handoff_for(job, ask, work),
                    work.subtask.done_when,
                )
            )
    return effects, due


def _ready(ask: Ask) -> list[Work]:
    """Pending work whose dependencies have all ended, at least one of them with a result."""
    return [
        work
        for work in ask.work.values()
        if work.state == "pending" and all(ask.work[name].state in SETTLED for name in work.subtask.after)
    ]


def _files(ask: Ask) -> list[Effect]:
    return [
        Post(ask.id, key)
        for work in ask.work.values()
        if work.result is not None
        for artifact in work.result.artifacts
        if artifact.publish_as != "nothing" and (key := messages.file(ask.id, artifact.id)) not in ask.posted
    ]


def _closing(ask: Ask) -> list[Effect]:
    """Files first, then the end itself, and beside it the card's last edit."""
    effects: list[Effect] = [] if ask.cancelled_by else _files(ask)
    if not effects and messages.answer(ask.id) not in ask.posted:
        effects.append(Post(ask.id, messages.answer(ask.id)))
    if not ask.refusal:
        if messages.card(ask.id) not in ask.posted:
            effects.append(Post(ask.id, messages.card(ask.id)))
        elif messages.card_end(ask.id) not in ask.posted:
            effects.append(Post(ask.id, messages.card_end(ask.id)))
    return effects
