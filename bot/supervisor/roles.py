"""How a role of the supervisor is called: by its name.

A role is a module and a prompt of that name in this folder. The module has `perform(effect, case)`, which makes the
role's model call for the effect that names it (see `handoff.effects`) and says what came of it as an event. The planner
and the replanner are called by `bot.supervisor.planning`, which knows the crew.
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from handoff.events import Event
from handoff.state import Ask, Run
from specialists.turns.model import Model

OnText = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Case:
    """What a role is called about: one run of a request, and the model on the job's account.

    `now` gives seconds since the epoch on the clock of the job. `on_text` is told an answer while it is written; None
    if nobody is to see it yet: a draft, or what a crew makes for the one around it.
    """

    ask: Ask
    run: Run
    model: Model
    now: Callable[[], float]
    on_text: OnText | None = None


Perform = Callable[[Any, Case], Awaitable[Event]]


def role(name: str) -> Perform:
    """What performs the effects of that role. Raises ModuleNotFoundError if there is no such role."""
    perform: Perform = importlib.import_module(f"bot.supervisor.{name}").perform
    return perform
