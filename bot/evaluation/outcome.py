"""The outcome of a case on one side: the product's, or the naive baseline's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.evaluation.counted_model import CountedModel
from bot.evaluation.staged_job import CaseBench


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a case. `said` is what came back, `why` what is wrong with it.

    `measures` are other questions to the same reply, each with its yes or no: its share of yes is told below the
    set's line, of those cases that have it.
    """

    right: bool
    said: str = ""
    why: str = ""
    measures: Mapping[str, bool] = field(default_factory=dict)


PlayCase = Callable[[Any, CaseBench, CountedModel], Awaitable[Outcome]]
"""Plays one case. Raises ModelError if a call brings nothing and nobody made something of that."""


@dataclass(frozen=True, slots=True)
class CaseTrial:
    """How the cases of a kind are played: by the product, and by the naive baseline, if there is one."""

    product: PlayCase
    naive: PlayCase | None = None
