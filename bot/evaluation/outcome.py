"""The outcome of a case on one side (product or naive baseline), and the functions that play a case."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.evaluation.counting_model import CountingModel
from bot.evaluation.staged_job import CaseEnvironment


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """The score of a case on one side."""

    is_right: bool
    reply: str = ""
    """The scored text, such as an answer or a plan in one line."""
    fault: str = ""
    """The faults of the reply, or the reason why there is none; empty if it is right."""
    measures: Mapping[str, bool] = field(default_factory=dict)
    """Answers to further yes/no questions about the reply, by question.

    The table shows the share of yes below the line of the set, among the cases that have the question.
    """


PlayCase = Callable[[Any, CaseEnvironment, CountingModel], Awaitable[CaseOutcome]]
"""Plays and scores one case. Raises ModelError if a call fails and the product does not recover."""


@dataclass(frozen=True, slots=True)
class CaseTrial:
    """The functions that play the cases of a kind: by the product, and by the naive baseline, if there is one."""

    product: PlayCase
    naive: PlayCase | None = None
