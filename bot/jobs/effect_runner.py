"""Performs the engine's effects: attachments, plans, attempts, answers and messages, each reported as an event."""

from __future__ import annotations

import logging
from typing import Any

from bot.jobs.attempt import run_subtask
from bot.jobs.crew_planning import crew_broken, plan_inside
from bot.jobs.job_runner import Owner
from bot.jobs.lease import Fenced
from bot.limits.call_limits import CallLimits
from bot.limits.rules import payer_of
from bot.models.choosing import ChosenModel
from bot.slack.send.web_calls import Gone
from bot.slack.show.thread import Thread
from bot.store.interface import Claim, Store, StoreError
from bot.supervisor.arbiter import judge_conflicts
from bot.supervisor.critic import review_answer
from bot.supervisor.judge import judge_result
from bot.supervisor.planning import Planning
from bot.supervisor.reducer import reduce_material
from bot.supervisor.refiner import refine_brief
from bot.supervisor.selector import select_answer
from bot.supervisor.synthesizer import write_answer
from bot.supervisor.track_record import TrackRecord
from handoff import events as ev
from handoff.contracts import Terms
from handoff.effects import (
    Effect,
    FetchAttachments,
    HandUp,
    JudgeConflicts,
    JudgeResult,
    MakePlan,
    Post,
    ReachDeadline,
    ReduceMaterial,
    RefineBrief,
    ReviewAnswer,
    RevisePlan,
    RunSubtask,
    WriteAnswer,
)
from handoff.engine.answer import is_late
from handoff.engine.hand_up import handed_up
from handoff.engine.nested import below, crew_at, plan_of
from handoff.planning.adhoc import made_as
from handoff.state import Ask, Job
from handoff.summary import QuarantineNotice
from specialists.registry import Crew
from specialists.turns.dialogue import Model

log = logging.getLogger(__name__)

NOBODY = Crew("", {})
"""The crew that is no longer there."""


class Shell:
    """What an instance does its work with. One serves all the jobs of an instance."""

    def __init__(
        self, store: Store, thread: Thread, model: ChosenModel, crew: Crew, limits: CallLimits, terms: Terms
    ) -> None:
        self._store = store
        self._thread = thread
        self._model = model
        self._crew = crew
        self._limits = limits
        self._record = TrackRecord(limits.breakers.is_open)
        self._planning = Planning(crew, model, self._record, terms)

    async def perform(self, effect: Effect, owner: Owner) -> ev.Event | None:
        """Do it and say what happened. A bug ends its step visibly, in the thread and in the log."""
        try:
            return await self._perform(effect, owner)
        except Gone as error:
            raise Fenced from error
        except (Fenced, StoreError):
            raise
        except Exception as error:
            log.exception("job %s: %s broke", owner.claim.key.job, type(effect).__name__)
            reason, at = _reason(error), owner.now()
            return crew_broken(effect, owner.job, reason, at=at) or _broken(effect, reason, at=at)

    async def _perform(self, effect: Effect, owner: Owner) -> ev.Event | None:
        job, ask = owner.at(effect.request)
        model = self._limits.bound(payer_of(job, ask))
        if isinstance(effect, FetchAttachments):
            return await self._thread.fetch(owner.claim, ask)
        if isinstance(effect, MakePlan):
            if effect.within:
                return await plan_inside(effect, owner, planning=self._planning, model=model)
            return await self._planning.plan(effect, job, model=model, now=owner.now())
        if isinstance(effect, RunSubtask):
            crew = self._crew.within(crew_at(ask, ask.work[effect.subtask].within)) or NOBODY
            attempt = run_subtask(
                effect, owner, crew=crew, model=model, store=self._store, breakers=self._limits.breakers
            )
            made = made_as(plan_of(ask, ask.work[effect.subtask].within), effect.specialist)
            return await (attempt if made else self._record.watch(effect, attempt))  # a made one never works again
        if isinstance(effect, JudgeResult | RefineBrief | RevisePlan):
            return await self._supervise(effect, owner, ask, model)
        if isinstance(effect, ReachDeadline | HandUp):
            return _worked_out(effect, ask, owner.now())
        if isinstance(effect, JudgeConflicts | ReduceMaterial | WriteAnswer | ReviewAnswer):
            event = await self._answer(effect, owner, job, below(ask, effect.within), model)
            return event.model_copy(update={"within": effect.within}) if effect.within else event
        return await self._post(effect, owner, job, ask)

    async def _supervise(
        self, effect: JudgeResult | RefineBrief | RevisePlan, owner: Owner, ask: Ask, model: Model
    ) -> ev.Event:
        """A look at a result, at a brief that failed, or at the plan."""
        if isinstance(effect, JudgeResult):
            view = below(ask, ask.work[effect.subtask].within)
            return await judge_result(effect, view, model=model, now=owner.now)
        if isinstance(effect, RefineBrief):
            view = below(ask, ask.work[effect.subtask].within)
            return await refine_brief(effect, view, model=model, now=owner.now)
        planning = self._planning.within(crew_at(ask, effect.within)) or self._planning
        return await planning.revise(effect, ask, model=model, now=owner.now())

    async def _answer(
        self,
        effect: JudgeConflicts | ReduceMaterial | WriteAnswer | ReviewAnswer,
        owner: Owner,
        job: Job,
        ask: Ask,
        model: Model,
    ) -> ev.Event:
        """One step from the results to the answer. Where the critic reads it first, only the rewrite is streamed."""
        if isinstance(effect, JudgeConflicts):
            return await judge_conflicts(ask, model=model, now=owner.now)
        if isinstance(effect, ReduceMaterial):
            return await reduce_material(effect, ask, model=model, now=owner.now)
        if isinstance(effect, ReviewAnswer):
            return await review_answer(effect, ask, model=model, now=owner.now)
        draft = ask.terms.critic and ask.draft is None and not is_late(ask, owner.now())
        if ask.plan is not None and ask.plan.strategy == "select":
            return await select_answer(ask, model=model, now=owner.now, faults=effect.faults, draft=draft)
        on_text = None
        if not draft and not ask.within:  # what a crew inside makes is for the one around it
            on_text = (await self._thread.begin_answer(owner.claim, job, ask, allowed=owner.shows)).write
        return await write_answer(ask, model=model, on_text=on_text, now=owner.now, faults=effect.faults, draft=draft)

    async def _post(self, effect: Post, owner: Owner, job: Job, ask: Ask) -> ev.Posted:
        sent = await self._thread.post(owner.claim, job, ask, effect.key, allowed=owner.shows)
        return ev.Posted(at=owner.now(), request=effect.request, key=effect.key, ts=sent.ts, fault=sent.fault)

    def changed(self, owner: Owner, before: Job, after: Job) -> None:
        """Keep the card and the session status up to date."""
        self._thread.changed(owner.claim.key, before, after, allowed=owner.shows)

    async def set_aside(self, claim: Claim, aside: QuarantineNotice) -> None:
        """Tell the thread that its job is set aside."""
        try:
            await self._thread.set_aside(claim, aside)
        except Gone as error:
            raise Fenced from error

    async def left(self, owner: Owner) -> None:
        """The owner let go of the job: stop drawing its card, drop its unfinished stream."""
        await self._thread.left(owner.claim.key, rests=owner.rests)


def _worked_out(effect: ReachDeadline | HandUp, ask: Ask, at: float) -> ev.Event:
    """What follows from the job alone."""
    if isinstance(effect, HandUp):
        return handed_up(ask, ask.work[effect.subtask], at)
    return ev.DeadlineReached(at=at, request=effect.request, subtask=effect.subtask)


def _reason(error: Exception) -> str:
    return f"an internal error ({type(error).__name__}); whoever runs me finds it in the log"


def _broken(effect: Effect, reason: str, *, at: float) -> ev.Event:
    """What a bug leads to: the step fails, or (a message that cannot be drawn) the job goes on without it."""
    if isinstance(effect, Post):
        return ev.Posted(at=at, request=effect.request, key=effect.key, ts="", fault=reason)
    if isinstance(effect, RunSubtask | JudgeResult | RefineBrief):
        return _attempt_broken(effect, reason, at=at)
    if isinstance(effect, RevisePlan):
        faults = (f"The planner broke ({reason}).",)
        return ev.PlanRevised(
            at=at, request=effect.request, within=effect.within, subtask=effect.subtask, faults=faults
        )
    if isinstance(effect, FetchAttachments):
        return ev.AttachmentsFetched(at=at, request=effect.request, faults=(f"The attached files: {reason}",))
    step = "planning" if isinstance(effect, MakePlan) else "writing the answer"
    return ev.RequestFailed(
        at=at, request=effect.request, step=step, reason=reason, advice="Mention me again to try once more."
    )


def _attempt_broken(effect: RunSubtask | JudgeResult | RefineBrief, reason: str, *, at: float) -> ev.Event:
    of: dict[str, Any] = {"at": at, "request": effect.request, "subtask": effect.subtask, "attempt": effect.attempt}
    if isinstance(effect, RunSubtask):
        return ev.AttemptFailed(**of, kind="tool", message=reason)
    if isinstance(effect, RefineBrief):
        return ev.BriefRefined(**of, fault=reason)
    faults = (*effect.faults, *effect.doubts, f"it could not be checked ({reason})")
    return ev.ResultJudged(**of, verdict="best_effort", faults=faults)
