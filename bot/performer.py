"""Performs the engine's effects: attachments, plans, attempts, answers and messages, each reported as an event."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from bot.aside import Aside
from bot.attempt import run_subtask
from bot.lease import Fenced
from bot.owner import Owner
from bot.slack.thread import Thread
from bot.slack.web_calls import Gone
from bot.supervisor.planner import make_plan
from bot.supervisor.synthesizer import write_answer
from handoff import events as ev
from handoff.contracts import Member
from handoff.effects import Effect, FetchAttachments, MakePlan, Post, RunSubtask, WriteAnswer
from handoff.job import Ask, Job
from handoff.store.interface import Claim, Store, StoreError
from specialists.dialogue import Model
from specialists.registry import Specialist

log = logging.getLogger(__name__)


class Shell:
    """What an instance does its work with. One serves all the jobs of an instance."""

    def __init__(self, store: Store, thread: Thread, model: Model, crew: Mapping[str, Specialist]) -> None:
        self._store = store
        self._thread = thread
        self._model = model
        self._crew = crew
        self._members = tuple(
            Member(name=s.name, description=s.description, tier=s.tier, fallback=s.fallback or "")
            for s in crew.values()
        )

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
            return _broken(effect, error, at=owner.now())

    async def _perform(self, effect: Effect, owner: Owner) -> ev.Event | None:
        job, ask = _at(effect, owner)
        if isinstance(effect, FetchAttachments):
            return await self._thread.fetch(owner.claim, ask)
        if isinstance(effect, MakePlan):
            return await make_plan(effect, job, members=self._members, model=self._model, now=owner.now())
        if isinstance(effect, RunSubtask):
            return await run_subtask(effect, owner, crew=self._crew, model=self._model, store=self._store)
        if isinstance(effect, WriteAnswer):
            stream = await self._thread.begin_answer(owner.claim, job, ask, allowed=owner.shows)
            return await write_answer(ask, model=self._model, on_text=stream.write, now=owner.now)
        return await self._post(effect, owner, job, ask)

    async def _post(self, effect: Post, owner: Owner, job: Job, ask: Ask) -> ev.Posted:
        sent = await self._thread.post(owner.claim, job, ask, effect.key, allowed=owner.shows)
        return ev.Posted(at=owner.now(), request=effect.request, key=effect.key, ts=sent.ts, fault=sent.fault)

    def changed(self, owner: Owner, before: Job, after: Job) -> None:
        """Keep the card and the session status up to date."""
        self._thread.changed(owner.claim.key, before, after, allowed=owner.shows)

    async def set_aside(self, claim: Claim, aside: Aside) -> None:
        """Tell the thread that its job is set aside."""
        try:
            await self._thread.set_aside(claim, aside)
        except Gone as error:
            raise Fenced from error

    async def left(self, owner: Owner) -> None:
        """The owner let go of the job: stop drawing its card, drop its unfinished stream."""
        await self._thread.left(owner.claim.key, rests=owner.rests)


def _at(effect: Effect, owner: Owner) -> tuple[Job, Ask]:
    job = owner.job
    ask = job.ask(effect.request) if job else None
    if job is None or ask is None:
        raise KeyError(effect.request)
    return job, ask


def _broken(effect: Effect, error: Exception, *, at: float) -> ev.Event:
    """What a bug leads to: the step fails, or (a message that cannot be drawn) the job goes on without it."""
    reason = f"an internal error ({type(error).__name__}); whoever runs me finds it in the log"
    if isinstance(effect, Post):
        return ev.Posted(at=at, request=effect.request, key=effect.key, ts="", fault=reason)
    if isinstance(effect, RunSubtask):
        of = {"request": effect.request, "subtask": effect.subtask, "attempt": effect.attempt}
        return ev.AttemptFailed.model_validate({"at": at, **of, "kind": "tool", "message": reason})
    if isinstance(effect, FetchAttachments):
        return ev.AttachmentsFetched(at=at, request=effect.request, faults=(f"The attached files: {reason}",))
    step = "planning" if isinstance(effect, MakePlan) else "writing the answer"
    return ev.RequestFailed(
        at=at, request=effect.request, step=step, reason=reason, advice="Mention me again to try once more."
    )
