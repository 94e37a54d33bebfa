"""Parts of the bot that count what goes through them: each wraps the part itself, and changes nothing."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import time
from collections.abc import Iterable, Mapping
from typing import Any

from bot.jobs.job_runner import Effects, JobRunner
from bot.models.chosen_model import ChosenModel
from bot.models.named_models import model_of
from bot.operation.metrics import Metrics
from bot.store.interface import Claim
from handoff import events as ev
from handoff.contracts import Tier, Turn, Usage
from handoff.effects import Effect
from handoff.engine.answer import missing
from handoff.state.job_state import Ask, Job
from handoff.summaries.summary import QuarantineNotice, TrialNotice
from specialists.crew import Crew
from specialists.model import ModelCall, ModelError
from specialists.tools.tool import Tool, ToolOutcome, WorkbenchLost


class MeteredModel:
    """A `ChosenModel` whose turns are counted and timed."""

    def __init__(self, model: ChosenModel, metrics: Metrics) -> None:
        self._model = model
        self._metrics = metrics

    @property
    def label(self) -> str:
        """See `Model.label`."""
        return self._model.label

    @property
    def provider(self) -> str:
        """See `ChosenModel.provider`."""
        return self._model.provider

    @property
    def tiers(self) -> Mapping[Tier, str]:
        """See `ChosenModel.tiers`."""
        return self._model.tiers

    async def warm(self) -> None:
        """See `ChosenModel.warm`."""
        await self._model.warm()

    async def close(self) -> None:
        """See `Model.close`."""
        await self._model.close()

    async def take_on(self, names: Iterable[str]) -> Mapping[str, str]:
        """See `ChosenModel.take_on`."""
        return await self._model.take_on(names)

    def price(self, tier: Tier, tokens_in: int, tokens_out: int, model: str = "") -> float | None:
        """See `ChosenModel.price`."""
        return self._model.price(tier, tokens_in, tokens_out, model)

    async def reply(self, call: ModelCall) -> Turn:
        """See `Model.reply`. A call that is cancelled counts as cancelled."""
        began = time.perf_counter()
        outcome, usage = "cancelled", Usage()
        try:
            turn = await self._model.reply(call)
            outcome, usage = "ok", turn.usage
        except ModelError as error:
            outcome, usage = error.kind, error.usage
            raise
        else:
            return turn
        finally:
            self._metrics.model_replied(
                provider=self.provider,
                model=model_of(self._model, call),
                tier=call.tier,
                outcome=outcome,
                seconds=time.perf_counter() - began,
                usage=usage,
            )


class MeteredEffects:
    """`Effects` that count how requests end."""

    def __init__(self, effects: Effects, metrics: Metrics) -> None:
        self._effects = effects
        self._metrics = metrics

    async def run(self, effect: Effect, runner: JobRunner) -> ev.Event | None:
        """See `Effects.run`."""
        return await self._effects.run(effect, runner)

    def job_changed(self, runner: JobRunner, before: Job, after: Job) -> None:
        """See `Effects.job_changed`."""
        for ask, was in after.changed_since(before):
            if ask.over and not (was is not None and was.over) and not ask.request.opens:
                seconds = (ask.ended or ask.request.at) - ask.request.at
                self._metrics.request_ended(_end(ask), max(0.0, seconds), after.place.team)
        self._effects.job_changed(runner, before, after)

    async def job_released(self, runner: JobRunner) -> bool:
        """See `Effects.job_released`."""
        return await self._effects.job_released(runner)

    async def job_suspected(self, claim: Claim, notice: TrialNotice) -> None:
        """See `Effects.job_suspected`."""
        await self._effects.job_suspected(claim, notice)

    async def job_quarantined(self, claim: Claim, notice: QuarantineNotice) -> None:
        """See `Effects.job_quarantined`."""
        await self._effects.job_quarantined(claim, notice)


def metered_crew(crew: Crew, metrics: Metrics) -> Crew:
    """Return the crew with tools whose calls are counted."""
    specialists = {
        name: dataclasses.replace(one, tools=tuple(_meter_tool(tool, metrics) for tool in one.tools))
        for name, one in crew.specialists.items()
    }
    lent = {name: _meter_tool(tool, metrics) for name, tool in crew.lent.items()}
    crews = {path: metered_crew(inner, metrics) for path, inner in crew.crews.items()}
    return dataclasses.replace(crew, specialists=specialists, lent=lent, crews=crews)


def _meter_tool(tool: Tool, metrics: Metrics) -> Tool:
    """Return the tool with its calls counted. `wraps` keeps its docstring, which models read."""

    @functools.wraps(tool.run)
    async def run(*given: Any) -> ToolOutcome:
        ended = "broke"
        try:
            outcome = await tool.run(*given)
            ended = "failed" if outcome.failed else "ok"
        except (asyncio.CancelledError, WorkbenchLost):
            ended = "cut"
            raise
        else:
            return outcome
        finally:
            metrics.tool_ended(tool.name, ended)

    return dataclasses.replace(tool, run=run)


def _end(ask: Ask) -> str:
    """How people saw it end: an answer with gaps is a partial one."""
    return (
        "partial"
        if ask.state == "completed" and (missing(ask, ask.run) or (ask.run.plan and ask.run.plan.missing))
        else ask.state
    )
