"""Finds the supervisor's roles by name, and fits their calls into the context of the model.

A role is a module and a prompt of that name in this folder. The module has `perform(effect, case)`, which makes the
role's model call for the effect that names the role (see `handoff.effects`) and returns the outcome as an event. The
planner and the replanner are called by `bot.supervisor.planning`, which knows the crew.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from handoff.contracts import ContextLimits, Terms, Turn
from handoff.events import Event
from handoff.evidence.binding import ReadDocument
from handoff.state.job_state import PlanRun, RequestState
from handoff.state.job_state import replace as copy_state
from handoff.text.context_budget import tokens
from specialists.model import Model, ModelCall, ModelError

OnText = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class RoleCase:
    """The inputs of a role, besides its effect."""

    ask: RequestState
    run: PlanRun
    """The plan run of the request that the role works on."""
    model: Model
    """The model, charged to the job's account."""
    now: Callable[[], float]
    """Returns seconds since the epoch on the job's clock."""
    on_text: OnText | None = None
    """Called with each piece of an answer while it is written; None if people must not see the text yet."""
    earlier: tuple[str, ...] = ()
    """The earlier requests and answers of the thread."""
    documents: tuple[ReadDocument, ...] = ()
    """The texts of the material; only for the verifier."""


Perform = Callable[[Any, RoleCase], Awaitable[Event]]
OF_FIXED_SIZE = frozenset({"dispatcher", "reducer"})
"""Roles whose calls are not repeated with less material: their briefs have a fixed size."""
LEAST_ROOM = 1_000
"""Tokens of material that a role gets at least."""
_T = TypeVar("_T")


def role(name: str) -> Perform:
    """Return the function that performs the effects of a role. Raises ModuleNotFoundError if there is no such role."""
    perform: Perform = importlib.import_module(f"bot.supervisor.{name}").perform

    if name in OF_FIXED_SIZE:
        return perform

    async def perform_fitting(effect: Any, case: RoleCase) -> Event:
        return await call_within_context(
            case.model,
            case.run.terms,
            lambda model, terms: perform(effect, replace(case, model=model, run=copy_state(case.run, terms=terms))),
        )

    return perform_fitting


async def call_within_context(model: Model, terms: Terms, make: Callable[[Model, Terms], Awaitable[_T]]) -> _T:
    """Call `make` with the model and the terms. If its call is too long for the model, call `make` again.

    The second time the terms have a smaller context, so that the brief has less material.
    """
    watched = _WatchedModel(model)
    made = await make(watched, terms)
    if watched.too_long is None:
        return made
    call, share = watched.too_long
    material = sum(tokens(message.text) for message in call.messages)
    beside = tokens(call.system) + tokens(json.dumps(call.answer_schema or ""))
    room = max(LEAST_ROOM, int((material + beside) * share) - beside)
    return await make(model, terms.model_copy(update={"context": ContextLimits(fast=room, balanced=room, deep=room)}))


class _WatchedModel:
    """A model that records the last call that was too long for it, with the share of the call (0 to 1) that fits."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.too_long: tuple[ModelCall, float] | None = None

    @property
    def label(self) -> str:
        """The name of the model for people."""
        return self._model.label

    async def reply(self, call: ModelCall) -> Turn:
        """Call the model, and record the call if it is too long. Raises ModelError."""
        try:
            return await self._model.reply(call)
        except ModelError as error:
            if error.kind == "too_long":
                self.too_long = call, error.share
            raise

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()
