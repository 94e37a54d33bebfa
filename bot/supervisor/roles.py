"""Finds the supervisor's roles by name, and fits their calls into the context of the model.

A role is a module and a prompt of that name in this folder. The module has `perform(effect, case)`, which makes the
role's model call for the effect that names the role (in `handoff.effects`) and returns the outcome as an event. The
planner and the replanner are called by `bot.supervisor.crew_planner`, which knows the crew.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from handoff.contracts import ContextLimits, Terms, Turn
from handoff.events import Event
from handoff.evidence.evidence_check import SourceDocument
from handoff.state.job_state import PlanRun, RequestState
from handoff.state.job_state import replace as copy_state
from handoff.text.context_budget import estimate_token_count
from specialists.model import Model, ModelCall, ModelError

OnText = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class RoleInputs:
    """The inputs of a role, besides its effect."""

    request: RequestState
    run: PlanRun
    """The plan run of the request that the role works on."""
    model: Model
    """The model, charged to the job's account."""
    now: Callable[[], float]
    """Returns seconds since the epoch on the job's clock."""
    on_text: OnText | None = None
    """Called with each piece of an answer while it is written; None if people must not see the text yet."""
    earlier_texts: tuple[str, ...] = ()
    """The earlier requests and answers of the thread."""
    documents: tuple[SourceDocument, ...] = ()
    """The texts of the material; only for the verifier."""


PerformEffect = Callable[[Any, RoleInputs], Awaitable[Event]]
FIXED_SIZE_ROLES = frozenset({"dispatcher", "reducer"})
"""Roles whose calls are not repeated with less material: their briefs have a fixed size."""
MIN_MATERIAL_TOKENS = 1_000
"""Fewest tokens of context that a role gets for its material."""
_T = TypeVar("_T")


def find_role_performer(name: str) -> PerformEffect:
    """Return the function that performs the effects of a role. Raises ModuleNotFoundError if there is no such role."""
    perform: PerformEffect = importlib.import_module(f"bot.supervisor.{name}").perform

    if name in FIXED_SIZE_ROLES:
        return perform

    async def perform_fitting(effect: Any, case: RoleInputs) -> Event:
        return await call_within_context(
            case.model,
            case.run.terms,
            lambda model, terms: perform(effect, replace(case, model=model, run=copy_state(case.run, terms=terms))),
        )

    return perform_fitting


async def call_within_context(model: Model, terms: Terms, make_call: Callable[[Model, Terms], Awaitable[_T]]) -> _T:
    """Call `make_call` with the model and the terms. If its call is too long for the model, call `make_call` again.

    The second time the terms have a smaller context, so that the brief has less material.
    """
    watched_model = _WatchedModel(model)
    outcome = await make_call(watched_model, terms)
    if watched_model.too_long_call is None:
        return outcome
    call, share = watched_model.too_long_call
    material = sum(estimate_token_count(message.text) for message in call.messages)
    fixed_tokens = estimate_token_count(call.system) + estimate_token_count(json.dumps(call.answer_schema or ""))
    room = max(MIN_MATERIAL_TOKENS, int((material + fixed_tokens) * share) - fixed_tokens)
    return await make_call(
        model, terms.model_copy(update={"context": ContextLimits(fast=room, balanced=room, deep=room)})
    )


class _WatchedModel:
    """A model that records the last call that was too long for it, with the share of the call (0 to 1) that fits."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.too_long_call: tuple[ModelCall, float] | None = None

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
                self.too_long_call = call, error.share
            raise

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()
