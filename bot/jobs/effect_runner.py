"""Runs the engine's effects. `HANDLERS` is the table: for each effect, what runs it and what a bug in it leads to.

An effect that names a role of the supervisor and has no entry is a step on the way to an answer: that role performs it,
and a bug in it ends the run.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from bot.jobs import effect_bugs as bugs
from bot.jobs import effect_handlers as handlers
from bot.jobs.effect_bugs import Bug
from bot.jobs.effect_handlers import Inputs, Services
from bot.jobs.job_runner import JobRunner
from bot.jobs.lease import Fenced
from bot.limits.call_limits import CallLimits
from bot.limits.rules import payer_of
from bot.models.choosing import ChosenModel
from bot.slack.send.web_calls import Gone
from bot.slack.show.thread import Thread
from bot.store.interface import Claim, Store, StoreError
from bot.supervisor.planning import Planning
from bot.supervisor.track_record import TrackRecord
from handoff import effects as ef
from handoff import events as ev
from handoff.contracts import Terms
from handoff.state import Job
from handoff.summary import QuarantineNotice
from specialists.registry import Crew

log = logging.getLogger(__name__)

E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class Handler(Generic[E]):
    """The handling of one type of effect."""

    run: Callable[[E, Inputs], Awaitable[ev.Event]]
    on_bug: Callable[[E, Bug], ev.Event]


HANDLERS: Mapping[type, Handler[Any]] = {
    ef.FetchAttachments: Handler(handlers.fetch_attachments, bugs.attachments_unread),
    ef.MakePlan: Handler(handlers.make_plan, bugs.run_failed("planning")),
    ef.RevisePlan: Handler(handlers.revise_plan, bugs.plan_kept),
    ef.RunSubtask: Handler(handlers.run_subtask, bugs.attempt_failed),
    ef.JudgeResult: Handler(handlers.ask_role, bugs.result_unchecked),
    ef.RefineBrief: Handler(handlers.ask_role, bugs.brief_kept),
    ef.ReachDeadline: Handler(handlers.reach_deadline, bugs.request_failed),
    ef.HandUp: Handler(handlers.hand_up, bugs.crew_failed),
    ef.Post: Handler(handlers.post, bugs.post_failed),
}


def handler_of(effect: ef.Effect) -> Handler[Any]:
    """The handling of an effect. Raises KeyError if it has no entry in the table and names no role."""
    if type(effect) not in HANDLERS and hasattr(effect, "role"):
        return Handler(handlers.ask_role, bugs.run_failed("writing the answer"))
    return HANDLERS[type(effect)]


class EffectRunner:
    """The `Effects` of a running bot: one for all the jobs of an instance."""

    def __init__(
        self, store: Store, thread: Thread, model: ChosenModel, crew: Crew, limits: CallLimits, terms: Terms
    ) -> None:
        record = TrackRecord(limits.breakers.is_open)
        planning = Planning(crew, model, record, terms)
        self._services = Services(store, thread, crew, limits.breakers, record, planning)
        self._thread = thread
        self._limits = limits

    async def run(self, effect: ef.Effect, runner: JobRunner) -> ev.Event | None:
        """Run an effect and return what happened. A bug ends its step visibly, in the thread and in the log."""
        handler = handler_of(effect)
        job, ask = runner.find(effect.request)
        try:
            model = self._limits.bound(payer_of(job, ask))
            return await handler.run(effect, Inputs(self._services, runner, job, ask, model))
        except Gone as error:
            raise Fenced from error
        except (Fenced, StoreError):
            raise
        except Exception as error:
            log.exception("job %s: %s broke", runner.claim.key.job, type(effect).__name__)
            _, ask = runner.find(effect.request)  # as it stands now
            return handler.on_bug(effect, bugs.bug_of(error, at=runner.now(), ask=ask))

    def job_changed(self, runner: JobRunner, before: Job, after: Job) -> None:
        """Keep the card and the session's status up to date."""
        self._thread.job_changed(runner.claim.key, before, after, allowed=runner.may_show)

    async def job_released(self, runner: JobRunner) -> None:
        """Stop drawing the card of a job, and drop its unfinished stream."""
        await self._thread.job_released(runner.claim.key, idle=runner.idle)

    async def job_quarantined(self, claim: Claim, notice: QuarantineNotice) -> None:
        """Tell the thread that its job is quarantined."""
        try:
            await self._thread.job_quarantined(claim, notice)
        except Gone as error:
            raise Fenced from error
