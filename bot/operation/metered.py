"""Parts of the bot that count what goes through them: each wraps the part itself, and changes nothing."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import time
from collections.abc import Iterable, Mapping
from typing import Any

from bot.jobs.job_runner import Effects, JobRunner, PassedEffects
from bot.models.chosen_model import ChosenModel
from bot.models.named_models import model_of
from bot.operation.metrics import Metrics
from handoff.contracts import Tier, Turn, Usage
from handoff.engine.answer import missing
from handoff.state.job_state import Job, RequestState
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
        """The name of the model for people."""
        return self._model.label

    @property
    def provider(self) -> str:
        """The provider of the model."""
        return self._model.provider

    @property
    def tiers(self) -> Mapping[Tier, str]:
        """The names of the models, by tier."""
        return self._model.tiers

    async def warm(self) -> None:
        """Make the model ready for its first call."""
        await self._model.warm()

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()

    async def take_on(self, names: Iterable[str]) -> Mapping[str, str]:
        """Have it serve models by their names, too; return why not, by name."""
        return await self._model.take_on(names)

    def price(self, tier: Tier, tokens_in: int, tokens_out: int, model: str = "") -> float | None:
        """Return the dollars of so many tokens, None if no price is known."""
        return self._model.price(tier, tokens_in, tokens_out, model)

    async def reply(self, call: ModelCall) -> Turn:
        """Make a turn, and count how it ended: "cancelled" is an end, too."""
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


class MeteredEffects(PassedEffects):
    """`Effects` that count how requests end."""

    def __init__(self, effects: Effects, metrics: Metrics) -> None:
        super().__init__(effects)
        self._metrics = metrics

    def job_changed(self, runner: JobRunner, before: Job, after: Job) -> None:
        """Count the requests that ended with this, and pass it on."""
        for ask, was in after.changes_since(before):
            if ask.over and not (was is not None and was.over) and not ask.request.opens:
                seconds = (ask.ended or ask.request.at) - ask.request.at
                self._metrics.request_ended(_outcome_of(ask), max(0.0, seconds), after.place.team)
        super().job_changed(runner, before, after)


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


def _outcome_of(ask: RequestState) -> str:
    """How people saw it end: an answer with gaps is a partial one."""
    return (
        "partial"
        if ask.state == "completed" and (missing(ask, ask.run) or (ask.run.plan and ask.run.plan.missing))
        else ask.state
    )
