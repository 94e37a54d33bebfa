"""The only place where a job's state changes, and the only one that says what is left to do.

`apply(job, event)` folds a fact into the state. `outstanding(job, now)` reads
off the state what should be going on. Neither does I/O, looks at a clock or
draws a number: the same log always gives the same job and the same effects.

An event that no longer fits (an answer to a closed question, a result of an
attempt that was given up) changes nothing: it stays in the log as a fact.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, partial

from handoff import events as ev
from handoff import post_keys
from handoff.context import handoff_for
from handoff.effects import (
    Brief,
    Effect,
    FetchAttachments,
    HandUp,
    JudgeResult,
    MakePlan,
    Post,
    ReachDeadline,
    RefineBrief,
    RevisePlan,
    RunSubtask,
)
from handoff.engine import answer, replan
from handoff.engine.nested import all_inside, below, inside, is_open, member_of, put_back
from handoff.engine.subtask import seconds_left, with_work
from handoff.engine.transitions import CHANGES, cancelled
from handoff.state import SETTLED, Ask, Failure, Job, RequestState, SubtaskState, Work, replace

BEYOND = 20.0
"""Seconds beyond its deadline after which an attempt that did not end by itself is cut."""

CHECKPOINTS = (ev.TurnTaken, ev.ToolStarted, ev.ToolReturned)
"""Most events of a log: they change the state of nothing, which with many levels is looked through for long."""

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
    if isinstance(event, ev.OfRequest):
        return _of_request(job, event)
    seq = job.seq + 1
    if isinstance(event, ev.CancelRequested):
        asks = (a if a.over or a.answer or a.failure else cancelled(a, event) for a in job.asks)
        return replace(job, asks=tuple(asks), aside=None, seq=seq)
    if isinstance(event, ev.TakenOver):
        return replace(_resumed(job, event.at), takeovers=job.takeovers + 1, seq=seq)
    if isinstance(event, ev.WorkResumed):
        return replace(_resumed(job, event.at, event.away), seq=seq)
    if isinstance(event, ev.SetAside):
        return replace(job, aside=Failure(event.step, event.reason), seq=seq)
    return replace(job, aside=None, seq=seq)  # released


def _of_request(job: Job, event: ev.OfRequest) -> Job:
    seq = job.seq + 1
    place = job.place_of(event.request)
    if place is None or job.asks[place].over:
        return replace(job, seq=seq)
    ask = job.asks[place]
    changed = CHANGES[type(event).__name__](ask, event)
    if changed is ask:
        return replace(job, seq=seq)
    if not isinstance(event, CHECKPOINTS):
        changed = _with_state(changed, event.at)
    return replace(job, asks=(*job.asks[:place], changed, *job.asks[place + 1 :]), seq=seq)


def _resumed(job: Job, at: float, away: float = 0.0) -> Job:
    """Somebody is at work again, after `away` seconds that do not count."""
    ask = job.current
    if ask is None:
        return job
    if ask.waits_since is None:
        ask = replace(ask, paused=ask.paused + away)
    for work in ask.work.values():
        if work.state == "in_progress" and work.look is None:
            ask = with_work(ask, replace(work, resumed=at))
        if work.level is not None and work.level.waits_since is None:
            level = replace(work.level, paused=work.level.paused + away)
            ask = with_work(ask, replace(ask.work[work.subtask.id], level=level))
    place = job.place_of(ask.id)
    return replace(job, asks=tuple(ask if index == place else other for index, other in enumerate(job.asks)))


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
            return _in_state(ask, "synthesizing" if ask.answer is not None else "working", at)
        if ask.answer is not None:
            return replace(ask, state="completed", ended=at)
        return replace(ask, state="cancelled" if ask.cancelled_by else "failed", ended=at)
    if ask.plan is None:
        return _in_state(ask, "submitted", at)
    own = ask.own
    if any(work.level is not None for work in own):
        ask = _with_states_inside(ask, at)
        own = ask.own
    return _with_state_of(own, ask, at)


def _with_state_of(own: tuple[Work, ...], ask: Ask, at: float) -> Ask:
    """The state that follows from that of its own work."""
    states = {work.state for work in own}
    if states <= SETTLED:
        return _in_state(ask, "synthesizing", at)
    if "input_required" in states and not states & {"in_progress"} and not _ready(ask) and not replan.current(ask):
        return _in_state(ask, "input_required", at)
    return _in_state(ask, "working", at)


def _with_states_inside(ask: Ask, at: float) -> Ask:
    """A crew that waits for people has its subtask wait, and its clock stands still; the innermost come first."""
    for name in reversed([work.subtask.id for work in all_inside(ask, "") if is_open(work)]):
        view = below(ask, name)
        if view.plan is None or view.answer is not None or view.failure is not None:
            view = _in_state(view, "working", at)
        else:
            view = _with_state_of(view.own, view, at)
        ask = put_back(ask, view)
        waits: SubtaskState = "input_required" if view.state == "input_required" else "in_progress"
        ask = with_work(ask, replace(ask.work[name], state=waits))
    return ask


def _in_state(ask: Ask, state: RequestState, at: float) -> Ask:
    """In that state, its clock stopped while it waits for people."""
    if ask.state == state:
        return ask
    if state == "input_required":
        return replace(ask, state=state, waits_since=at)
    if ask.waits_since is not None:
        ask = replace(ask, paused=ask.paused + max(0.0, at - ask.waits_since), waits_since=None)
    return replace(ask, state=state)


def _end_is_visible(ask: Ask) -> bool:
    needed = [post_keys.answer(ask.id)]
    if not ask.refusal:
        needed.append(post_keys.card_end(ask.id))
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
    if post_keys.card(ask.id) not in ask.posted:
        effects.append(Post(ask.id, post_keys.card(ask.id)))
    if not ask.fetched:
        effects.append(FetchAttachments(ask.id))
    elif ask.plan is None:
        effects.append(MakePlan(ask.id, ask.rejections[-1] if ask.rejections else ()))
    else:
        unsettled = any(work.state not in SETTLED for work in ask.own)
        if unsettled and ask.deadline is not None and ask.deadline <= now:
            return [*effects, ReachDeadline(ask.id)], None
        running, due = _subtasks(job, ask, now)
        if unsettled and ask.deadline is not None:
            due = min(due or ask.deadline, ask.deadline)
        effects += running
        if upset := replan.current(ask):
            effects.append(RevisePlan(ask.id, upset.within, upset.subtask, upset.words))
        effects += _files(ask)
        if not unsettled:
            steps, due = answer.steps(ask, now)
            effects += steps
    return effects, due


def _subtasks(job: Job, ask: Ask, now: float, within: str = "") -> tuple[list[Effect], float | None]:
    effects: list[Effect] = []
    due: float | None = None
    ready = {work.subtask.id for work in _ready(below(ask, within))}
    for work in inside(ask, within):
        name = work.subtask.id
        if work.state == "input_required" and work.question is not None:
            key = post_keys.question(ask.id, name, work.question.number)
            if key not in ask.posted:
                effects.append(Post(ask.id, key))
        later: float | None = None
        if is_open(work):
            found, later = _inside(job, ask, work, now)
            effects += found
        elif (work.state == "in_progress" or name in ready) and not replan.holds(ask, work):
            effect, later = _attempt(job, ask, work, now)
            effects += [effect] if effect is not None else []
        due = min((each for each in (due, later) if each is not None), default=None)
    return effects, due


def _inside(job: Job, ask: Ask, work: Work, now: float) -> tuple[list[Effect], float | None]:
    """What a crew is at that has a subtask, as `outstanding` says it of a request."""
    name = work.subtask.id
    view = below(ask, name)
    if view.answer is not None or view.failure is not None:
        return [HandUp(ask.id, name, work.attempt)], None
    if view.deadline is not None and view.deadline <= now:
        return [ReachDeadline(ask.id, name)], None
    if view.plan is None:
        faults = view.rejections[-1] if view.rejections else ()
        return [MakePlan(ask.id, faults, name, work.attempt, _brief(job, ask, work))], view.deadline
    effects, due = _subtasks(job, ask, now, name)
    if all(one.state in SETTLED for one in view.own):
        steps, due = answer.steps(view, now)
        effects += steps
    if view.deadline is not None:
        due = min(due or view.deadline, view.deadline)
    return effects, due


def _attempt(job: Job, ask: Ask, work: Work, now: float) -> tuple[Effect | None, float | None]:
    """What a subtask is at that has begun or can begin, and when to look at it again."""
    name = work.subtask.id
    if work.look is not None:
        return JudgeResult(ask.id, name, work.attempt, work.look.faults, work.look.doubts), None
    if work.refining:
        return RefineBrief(ask.id, name, work.attempt, work.refining), None
    if work.state == "pending" and work.not_before > now:
        return None, work.not_before
    number = work.attempt if work.state == "in_progress" else work.attempt + 1
    member = member_of(ask, work)
    if member is not None and member.crew is not None:
        return MakePlan(ask.id, (), name, number, _brief(job, ask, work)), None
    ends: float | None = None
    if work.state == "in_progress" and not work.intents:  # what is in doubt is for people to end
        ends = max(work.attempt_started, work.resumed) + seconds_left(ask, work) + BEYOND
        if ends <= now:
            return ReachDeadline(ask.id, name), None
    tier = work.tier or "balanced"
    return RunSubtask(ask.id, name, number, work.specialist, tier, _brief(job, ask, work), work.subtask.done_when), ends


def _brief(job: Job, ask: Ask, work: Work) -> Brief:
    return cache(partial(handoff_for, job, ask, work))


def _ready(ask: Ask) -> list[Work]:
    """Pending work whose dependencies have all ended, at least one of them with a result."""
    return [
        work
        for work in ask.own
        if work.state == "pending" and all(ask.work[name].state in SETTLED for name in work.subtask.after)
    ]


def _files(ask: Ask) -> list[Effect]:
    return [
        Post(ask.id, key)
        for work in ask.own  # what is made inside a subtask travels up with its result
        if work.result is not None
        for artifact in work.result.artifacts
        if artifact.publish_as != "nothing" and (key := post_keys.file(ask.id, artifact.id)) not in ask.posted
    ]


def _closing(ask: Ask) -> list[Effect]:
    """Files first, then the end itself, and beside it the card's last edit."""
    effects: list[Effect] = [] if ask.cancelled_by else _files(ask)
    if not effects and post_keys.answer(ask.id) not in ask.posted:
        effects.append(Post(ask.id, post_keys.answer(ask.id)))
    if not ask.refusal:
        if post_keys.card(ask.id) not in ask.posted:
            effects.append(Post(ask.id, post_keys.card(ask.id)))
        elif post_keys.card_end(ask.id) not in ask.posted:
            effects.append(Post(ask.id, post_keys.card_end(ask.id)))
    return effects
