"""The supervisor's roles, found by name.

A role is a module and a prompt of that name in this folder. The module has `perform(effect, case)`, which makes the
role's model call for the effect that names it (see `handoff.effects`) and returns the outcome as an event. The planner
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
    """The case that a role works on: one run of a request, and the model on the job's account.

    `now` returns seconds since the epoch on the job's clock. `on_text` is called with an answer while it is written;
    None if nobody is to see the text yet: a draft, or an answer that an inner crew makes. `earlier` are the requests
    and answers before this one in the thread.
    """

    ask: Ask
    run: Run
    model: Model
    now: Callable[[], float]
    on_text: OnText | None = None
    earlier: tuple[str, ...] = ()


Perform = Callable[[Any, Case], Awaitable[Event]]


def role(name: str) -> Perform:
    """Return the function that performs the effects of a role. Raises ModuleNotFoundError if there is no such role."""
    perform: Perform = importlib.import_module(f"bot.supervisor.{name}").perform
    return perform
