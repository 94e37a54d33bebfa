"""Caches on the values of a job's state, for what is computed from them. State values never change.

A thread may have hundreds of requests, and each new one looks up the files, addresses and words of those before it. The
cache lives as long as its value, and a changed copy starts without one. Without the cache, the look-ups of the 200th
request take about sixty times the CPU.
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
"""The key of the cache in the `__dict__` of a value. It is not a field, so comparisons and copies ignore it."""


def cache_on_value(function: Callable[Concatenate[V, P], R]) -> Callable[Concatenate[V, P], R]:
    """Decorate a function to cache its results on its first argument. Callers must not change a result.

    All further arguments must be parts of the first one. The cache distinguishes them by `id()`, and keeps references
    to them so that their ids stay valid.
    """

    @wraps(function)
    def call_cached(value: V, /, *parts: P.args, **none: P.kwargs) -> R:
        there = value.__dict__.get(CACHE_KEY)
        if there is None:
            there = value.__dict__[CACHE_KEY] = {}
        key = (function, *map(id, parts)) if parts else function
        found = there.get(key)
        if found is None:
            found = there[key] = (function(value, *parts, **none), parts)  # stored parts keep their ids
        result: R = found[0]
        return result

    return call_cached


@dataclass(frozen=True, slots=True)
class FoldStep(Generic[R]):
    """The result for one value of a sequence, linked to the step of the value `previous`; None: it is the first."""

    previous: FoldStep[R] | None
    result: R


def take_fold_step(
    function: Callable[..., R], previous: FoldStep[R] | None, value: Any, *arguments: Any
) -> FoldStep[R]:
    """Return the step of `value` in a sequence: the result of `function(value, *more)`, cached on the value.

    The cached step is used as long as the step before it is the same object. `arguments` must depend on nothing but the
    value and the values before it.
    """
    there = value.__dict__.get(CACHE_KEY)
    if there is None:
        there = value.__dict__[CACHE_KEY] = {}
    kept: FoldStep[R] | None = there.get((take_fold_step, function))
    if kept is None or kept.previous is not previous:
        kept = there[take_fold_step, function] = FoldStep(previous, function(value, *arguments))
    return kept
