"""Keeps with a value of the state what was worked out from it. Such values never change, so that it stays right.

A thread has hundreds of requests, and each new one asks what those before it hold: their files, their addresses, whose
words they are. What is kept goes with the value, and a changed copy begins without it. Without it, what the 200th
request asks takes some sixty times the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

V = TypeVar("V")
R = TypeVar("R")
P = ParamSpec("P")

KEPT = "_kept"
"""Where it lies in the `__dict__` of a value: no field, so that it counts neither in comparisons nor in copies."""


def once(work: Callable[Concatenate[V, P], R]) -> Callable[Concatenate[V, P], R]:
    """Have a function work once for each value, and for what else it is given. Who calls it must not change the result.

    What else it is given must be parts of the value: they are kept with it.
    """

    @wraps(work)
    def kept(value: V, /, *parts: P.args, **none: P.kwargs) -> R:
        there = value.__dict__.get(KEPT)
        if there is None:
            there = value.__dict__[KEPT] = {}
        key = (work, *map(id, parts)) if parts else work
        found = there.get(key)
        if found is None:
            found = there[key] = (work(value, *parts, **none), parts)  # with the parts, no other has their ids
        result: R = found[0]
        return result

    return kept


@dataclass(frozen=True, slots=True)
class FoldStep(Generic[R]):
    """What was found at a value in a row of them, after the step `before`."""

    before: FoldStep[R] | None
    found: R


def take_step(work: Callable[..., R], before: FoldStep[R] | None, value: Any, *more: Any) -> FoldStep[R]:
    """Take one step along a row of values. It is kept with the value, and right as long as the same came before it.

    `more` must follow from the value and from those before it.
    """
    there = value.__dict__.get(KEPT)
    if there is None:
        there = value.__dict__[KEPT] = {}
    kept: FoldStep[R] | None = there.get((take_step, work))
    if kept is None or kept.before is not before:
        kept = there[take_step, work] = FoldStep(before, work(value, *more))
    return kept
