"""Parts of the bot that count what goes through them. Each stands where the part itself would, and changes nothing."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import time
from collections.abc import Mapping
from typing import Any

from bot.jobs.job_runner import Owner, Performer
from bot.models.choosing import ChosenModel
from bot.models.prices import Priced
from bot.operation.metrics import Metrics
from bot.store.interface import Claim
from handoff import events as ev
from handoff.contracts import Tier, Usage
from handoff.effects import Effect
from handoff.state import Ask, Job
from handoff.summary import QuarantineNotice
from specialists.registry import Crew
from specialists.toolkits.tool import Tool, ToolOutcome, WorkbenchLost
from specialists.turns.dialogue import ModelCall, ModelError, Turn


class MeteredModel:
    """A `ChosenModel` whose turns are counted and timed."""

    def __init__(self, model: ChosenModel, metrics: Metrics) -> None:
        self._model = model
        self._metrics = metrics
        self.provider = type(model).__module__.rpartition(".")[2]

    @property
    def label(self) -> str:
        """See `Model.label`."""
        return self._model.label

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

    def price(self, tier: Tier, tokens_in: int, tokens_out: int) -> float | None:
        """See `Priced.price`; None for a model that cannot tell."""
        return self._model.price(tier, tokens_in, tokens_out) if isinstance(self._model, Priced) else None

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
                model=self._model.tiers[call.tier],
                tier=call.tier,
                outcome=outcome,
                seconds=time.perf_counter() - began,
                usage=usage,
            )


class MeteredPerformer:
    """A `Performer` that counts how requests end."""

    def __init__(self, performer: Performer, metrics: Metrics) -> None:
        self._performer = performer
        self._metrics = metrics

    async def perform(self, effect: Effect, owner: Owner) -> ev.Event | None:
        """See `Performer.perform`."""
        return await self._performer.perform(effect, owner)

    def changed(self, owner: Owner, before: Job, after: Job) -> None:
        """See `Performer.changed`."""
        for ask in after.asks:
            if ask.over and not _was_over(before, ask):
                seconds = (ask.ended or ask.request.at) - ask.request.at
                self._metrics.request_ended(_end(ask), max(0.0, seconds))
        self._performer.changed(owner, before, after)

    async def left(self, owner: Owner) -> None:
        """See `Performer.left`."""
        await self._performer.left(owner)

    async def set_aside(self, claim: Claim, aside: QuarantineNotice) -> None:
        """See `Teller.set_aside`."""
        await self._performer.set_aside(claim, aside)


def metered_crew(crew: Crew, metrics: Metrics) -> Crew:
    """The same specialists, with tools whose calls are counted."""
    specialists = {
        name: dataclasses.replace(one, tools=tuple(_metered(tool, metrics) for tool in one.tools))
        for name, one in crew.specialists.items()
    }
    lent = {name: _metered(tool, metrics) for name, tool in crew.lent.items()}
    crews = {path: metered_crew(inner, metrics) for path, inner in crew.crews.items()}
    return dataclasses.replace(crew, specialists=specialists, lent=lent, crews=crews)


def _metered(tool: Tool, metrics: Metrics) -> Tool:
    """The tool, with each call counted. `wraps` keeps its docstring, which is what models read of it."""

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


def _was_over(before: Job, ask: Ask) -> bool:
    earlier = before.ask(ask.id)
    return earlier is not None and earlier.over


def _end(ask: Ask) -> str:
    """How people saw it end: an answer with gaps is a partial one."""
    return "partial" if ask.state == "completed" and (ask.missing or (ask.plan and ask.plan.missing)) else ask.state
