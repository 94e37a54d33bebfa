"""A crew at a subtask of the crew around it: its supervisor plans, and a bug in it is a failure of that subtask."""

from __future__ import annotations

from typing import Any

from bot.jobs.job_runner import Owner
from bot.supervisor.planning import Planning
from handoff import events as ev
from handoff.context import handoff_for
from handoff.effects import Effect, HandUp, MakePlan, RevisePlan
from handoff.planning import plan_brief
from handoff.state import Job
from specialists.turns.model import Model


async def plan_inside(effect: MakePlan, owner: Owner, *, planning: Planning, model: Model) -> ev.Event:
    """Take up a subtask for the crew that it is given to, and try to plan what is inside it.

    `planning` is that of the outermost crew.
    """
    job, ask = owner.at(effect.request)
    work = ask.work[effect.within]
    of: dict[str, Any] = {"request": ask.id, "subtask": effect.within, "attempt": effect.attempt}
    handoff, size = handoff_for(job, ask, work)
    if work.state == "pending":  # first of all, and kept: what is planned has begun
        tier = work.tier or "balanced"
        start = ev.AttemptStarted(at=owner.now(), **of, specialist=work.specialist, tier=tier, pack=size)
        await owner.report(start)
        _, ask = owner.at(effect.request)
    inner = planning.within(work.specialist)
    if inner is None:
        message = f"there is no crew called {work.specialist!r} any more"
        return ev.AttemptFailed(at=owner.now(), **of, kind="lost", message=message)
    return await inner.plan(effect, plan_brief.of_subtask(handoff), ask, now=owner.now(), model=model)


def crew_broken(effect: Effect, job: Job | None, reason: str, *, at: float) -> ev.Event | None:
    """What a bug leads to in work for a crew inside the crew; None where it is no such work.

    A second look at its plan that breaks is none: the plan stays as it was, and the work goes on.
    """
    name = effect.subtask if isinstance(effect, HandUp) else getattr(effect, "within", "")
    if isinstance(effect, RevisePlan):
        return None
    ask = job.ask(effect.request) if job else None
    if not name or ask is None:
        return None
    of: dict[str, Any] = {"at": at, "request": ask.id, "subtask": name, "attempt": ask.work[name].attempt}
    return ev.AttemptFailed(**of, kind="crew", message=reason)
