"""Caches what was worked out from a value of the state, on that value. It stays right, as such values never change.

A thread has hundreds of requests, and each new one asks what those before it hold: their files, their addresses, whose
words they are. The cache goes with the value, and a changed copy begins without it. Without the cache, what the 200th
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

CACHE_KEY = "_kept"
"""The key of the cache in the `__dict__` of a value. It is no field, so that comparisons and copies ignore it."""


def cache_on_value(work: Callable[Concatenate[V, P], R]) -> Callable[Concatenate[V, P], R]:
    """Cache a function's results on the value that is its first argument. Callers must not change a result.

    All further arguments must be parts of that value: the cache keeps them, and tells results apart by their ids.
    """

    @wraps(work)
    def kept(value: V, /, *parts: P.args, **none: P.kwargs) -> R:
        there = value.__dict__.get(CACHE_KEY)
        if there is None:
            there = value.__dict__[CACHE_KEY] = {}
        key = (work, *map(id, parts)) if parts else work
        found = there.get(key)
        if found is None:
            found = there[key] = (work(value, *parts, **none), parts)  # kept, the parts keep their ids
        result: R = found[0]
        return result

    return kept


@dataclass(frozen=True, slots=True)
class FoldStep(Generic[R]):
    """What was found at one value of a sequence, after the step `before`."""

    before: FoldStep[R] | None
    found: R


def take_step(work: Callable[..., R], before: FoldStep[R] | None, value: Any, *more: Any) -> FoldStep[R]:
    """Take one step along a sequence of values, cached on the value and right while the same came before it.

    `more` must follow from the value and from those before it.
    """
    there = value.__dict__.get(CACHE_KEY)
    if there is None:
        there = value.__dict__[CACHE_KEY] = {}
    kept: FoldStep[R] | None = there.get((take_step, work))
    if kept is None or kept.before is not before:
        kept = there[take_step, work] = FoldStep(before, work(value, *more))
    return kept
