"""The handlers of effects: each runs one type of effect and returns the event that says what happened."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from bot.jobs.attempt import run_attempt
from bot.jobs.job_runner import JobRunner
from bot.limits.breakers import Breakers
from bot.slack.show.thread import Thread
from bot.store.interface import Store
from bot.supervisor import selector, synthesizer
from bot.supervisor.planning import Planning
from bot.supervisor.track_record import TrackRecord
from handoff import effects as ef
from handoff import events as ev
from handoff.engine.answer import is_late
from handoff.engine.hand_up import handed_up, job_of
from handoff.engine.nested import below, crew_at, plan_of
from handoff.planning.adhoc import made_as
from handoff.state import Ask, Job
from specialists.registry import Crew
from specialists.turns.dialogue import Model

NO_CREW = Crew("", {})
"""In place of a crew that was removed after its subtask was planned."""


@dataclass(frozen=True, slots=True)
class Services:
    """The parts of an instance that effects need."""

    store: Store
    thread: Thread
    crew: Crew
    breakers: Breakers
    record: TrackRecord
    planning: Planning


@dataclass(frozen=True, slots=True)
class Inputs:
    """All that a handler works with beside its effect. Calls of `model` are charged to the job."""

    services: Services
    runner: JobRunner
    job: Job
    ask: Ask
    model: Model

    def view(self, within: str) -> Ask:
        """Return the request, or what a crew inside it is doing for the subtask `within`, as a request of its own."""
        return below(self.ask, within)

    def reread(self) -> Inputs:
        """Return the same with the job as it is committed by now."""
        job, ask = self.runner.find(self.ask.id)
        return replace(self, job=job, ask=ask)

    def within(self, subtask: str) -> str:
        """Return the id of the subtask whose plan `subtask` is part of; empty for the plan of the request."""
        return self.ask.work[subtask].within


E_contra = TypeVar("E_contra", contravariant=True)
OfSubtask = TypeVar("OfSubtask", bound=ef.JudgeResult | ef.RefineBrief)
OfAnswer = TypeVar("OfAnswer", bound=ef.JudgeConflicts | ef.ReduceMaterial | ef.ReviewAnswer)


class Role(Protocol[E_contra]):
    """A role of the supervisor: one model call about a request, or about what a crew inside it is doing."""

    async def __call__(self, effect: E_contra, ask: Ask, /, *, model: Model, now: Callable[[], float]) -> Any:
        """Return the event."""


def subtask_role(role: Role[OfSubtask]) -> Callable[[OfSubtask, Inputs], Awaitable[ev.Event]]:
    """Make the handler of a role that looks at one subtask."""

    async def run(effect: OfSubtask, inputs: Inputs) -> ev.Event:
        view = inputs.view(inputs.within(effect.subtask))
        event: ev.Event = await role(effect, view, model=inputs.model, now=inputs.runner.now)
        return event

    return run


def answer_role(role: Role[OfAnswer]) -> Callable[[OfAnswer, Inputs], Awaitable[ev.Event]]:
    """Make the handler of a role that takes one step from the results to an answer."""

    async def run(effect: OfAnswer, inputs: Inputs) -> ev.Event:
        event = await role(effect, inputs.view(effect.within), model=inputs.model, now=inputs.runner.now)
        return _inside(effect.within, event)

    return run


def _inside(within: str, event: Any) -> ev.Event:
    """Say in the event whose answer it is about."""
    found: ev.Event = event.model_copy(update={"within": within}) if within else event
    return found


async def fetch_attachments(_: ef.FetchAttachments, inputs: Inputs) -> ev.Event:
    """Bring what people attached into the store."""
    return await inputs.services.thread.fetch(inputs.runner.claim, inputs.ask)


async def make_plan(effect: ef.MakePlan, inputs: Inputs) -> ev.Event:
    """Plan a request, or a subtask that is given to a crew."""
    runner, planning = inputs.runner, inputs.services.planning
    if not effect.within:
        return await planning.plan(effect, inputs.job, model=inputs.model, now=runner.now())
    work = inputs.ask.work[effect.within]
    of: dict[str, Any] = {"request": effect.request, "subtask": effect.within, "attempt": effect.attempt}
    if work.state == "pending":  # committed before planning: only an attempt that has started can fail
        of_start = {"specialist": work.specialist, "tier": work.tier or "balanced", "pack": effect.pack}
        await runner.report(ev.AttemptStarted(at=runner.now(), **of, **of_start))
    crew = planning.within(work.specialist)
    if crew is None or effect.handoff is None:
        message = f"there is no crew called {work.specialist!r} any more"
        return ev.AttemptFailed(at=runner.now(), **of, kind="lost", message=message)
    inputs = inputs.reread()
    inner = job_of(inputs.job, inputs.view(effect.within), effect.handoff)
    return await crew.plan(effect, inner, now=runner.now(), model=inputs.model)


async def revise_plan(effect: ef.RevisePlan, inputs: Inputs) -> ev.Event:
    """Look again at a plan that may be wrong."""
    planning = inputs.services.planning.within(crew_at(inputs.ask, effect.within)) or inputs.services.planning
    return await planning.revise(effect, inputs.ask, model=inputs.model, now=inputs.runner.now())


async def run_subtask(effect: ef.RunSubtask, inputs: Inputs) -> ev.Event:
    """Have a specialist work on a subtask. One made for this plan leaves no track record: it never works again."""
    services, within = inputs.services, inputs.within(effect.subtask)
    attempt = run_attempt(
        effect,
        inputs.runner,
        crew=services.crew.within(crew_at(inputs.ask, within)) or NO_CREW,
        model=inputs.model,
        store=services.store,
        breakers=services.breakers,
    )
    if made_as(plan_of(inputs.ask, within), effect.specialist):
        return await attempt
    return await services.record.watch(effect, attempt)


async def reach_deadline(effect: ef.ReachDeadline, inputs: Inputs) -> ev.Event:
    """Say that the time is up."""
    return ev.DeadlineReached(at=inputs.runner.now(), request=effect.request, subtask=effect.subtask)


async def hand_up(effect: ef.HandUp, inputs: Inputs) -> ev.Event:
    """Return what a crew made of its subtask to the crew around it."""
    return handed_up(inputs.ask, inputs.ask.work[effect.subtask], inputs.runner.now())


async def write_answer(effect: ef.WriteAnswer, inputs: Inputs) -> ev.Event:
    """Select or write the answer. Stream it, unless a critic reads it first or a crew inside the crew writes it."""
    ask, runner = inputs.view(effect.within), inputs.runner
    draft = ask.terms.critic and ask.draft is None and not is_late(ask, runner.now())
    how: dict[str, Any] = {"model": inputs.model, "now": runner.now, "faults": effect.faults, "draft": draft}
    if ask.plan is not None and ask.plan.strategy == "select":
        return _inside(effect.within, await selector.select_answer(ask, **how))
    on_text = None
    if not draft and not effect.within:
        stream = await inputs.services.thread.begin_answer(runner.claim, inputs.job, ask, allowed=runner.may_show)
        on_text = stream.write
    return _inside(effect.within, await synthesizer.write_answer(ask, on_text=on_text, **how))


async def post(effect: ef.Post, inputs: Inputs) -> ev.Event:
    """Put a message into the thread, once."""
    runner = inputs.runner
    sent = await inputs.services.thread.post(runner.claim, inputs.job, inputs.ask, effect.key, allowed=runner.may_show)
    return ev.Posted(at=runner.now(), request=effect.request, key=effect.key, ts=sent.ts, fault=sent.fault)
