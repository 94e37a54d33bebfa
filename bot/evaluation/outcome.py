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

    `measures` are further yes/no questions about the same reply. The table shows the share of yes below the set's
    line, among the cases that have the question.
    """

    right: bool
    said: str = ""
    why: str = ""
    measures: Mapping[str, bool] = field(default_factory=dict)


PlayCase = Callable[[Any, CaseBench, CountedModel], Awaitable[Outcome]]
"""Plays one case. Raises ModelError if a call fails and the product does not handle it."""


@dataclass(frozen=True, slots=True)
class CaseTrial:
    """How the cases of a kind are played: by the product, and by the naive baseline, if there is one."""

    product: PlayCase
    naive: PlayCase | None = None
