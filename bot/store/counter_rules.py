"""Breakers, rates and budgets as pure rules: what is let through, what waits, and what opens or closes.

The memory store works by these functions; the scripts of the Redis store say
the same in Lua, and one suite holds both to it. Times are seconds since the
epoch on the store's clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

WINDOW = 60
"""Seconds of a rate's window. What is booked in one second counts until that second is whole 60 seconds away."""
DAY = 86_400

BreakerState = Literal["closed", "open", "half-open"]


@dataclass(frozen=True, slots=True)
class BreakerRule:
    """When a breaker opens, and for how long.

    `threshold` failures in a row open it for `rest` seconds; each time that it opens again without a success in
    between it rests twice as long, up to `longest`. Failures further apart than `forget` seconds are not in a row.
    """

    threshold: int
    rest: float = 30.0
    longest: float = 600.0
    forget: float = 600.0


@dataclass(frozen=True, slots=True)
class Breaker:
    """One breaker. `until` is when its rest ends, 0 while it is closed; `openings` counts them since the last success.

    `probe` names who tries whether it works again, and may do so until `probe_until`. `at` is when it last failed.
    """

    failures: int = 0
    openings: int = 0
    until: float = 0.0
    at: float = 0.0
    probe: str = ""
    probe_until: float = 0.0

    def state(self, now: float) -> BreakerState:
        """Closed, open (nobody gets through), or half-open (one may try, or is at it)."""
        if not self.until:
            return "closed"
        return "open" if now < self.until else "half-open"


CLOSED = Breaker()


def failed(breaker: Breaker, now: float, rule: BreakerRule, *, probe: str = "", rest: float = 0.0) -> Breaker:
    """The breaker after a failure.

    Args:
        breaker: As it was.
        now: The time.
        rule: When it opens.
        probe: The name of the probe that failed, empty for any other call. A failure of another call while the
            breaker is not closed (one that was in flight) changes nothing but for `rest`.
        rest: Seconds for which the provider wants to be left alone: it opens for that long at least.
    """
    if breaker.until and (not probe or probe != breaker.probe):
        return replace(breaker, until=max(breaker.until, now + rest)) if rest else breaker
    failures = 1 + (breaker.failures if now - breaker.at <= rule.forget else 0)
    openings = breaker.openings if now - breaker.at <= rule.forget + rule.longest else 0
    if not breaker.until and failures < rule.threshold:
        return Breaker(failures=failures, openings=openings, at=now, until=now + rest if rest else 0.0)
    nap = max(rest, min(rule.longest, rule.rest * 2.0**openings))
    return Breaker(failures=failures, openings=min(openings + 1, 30), until=now + nap, at=now)


def succeeded(breaker: Breaker, *, probe: str = "") -> Breaker:
    """The breaker after a success: closed, unless it is open and this was a call begun before."""
    return breaker if breaker.until and (not probe or probe != breaker.probe) else CLOSED


def tried(breaker: Breaker, now: float, *, probe: str, hold: float) -> tuple[bool, Breaker]:
    """Whether `probe` may go through, and the breaker then. A probe has `hold` seconds; then another may try.

    One that asks again has as many from then on: with none it gives its place back.
    """
    if not breaker.until:
        return True, breaker
    if probe != breaker.probe and (now < breaker.until or (breaker.probe and now < breaker.probe_until)):
        return False, breaker
    return True, replace(breaker, probe=probe, probe_until=now + hold)


def free_at(booked: Mapping[int, int], limit: int, amount: int, *, start: int) -> int:
    """The first second, from `start` on, in which `amount` fits a rate of `limit` a minute.

    `booked` are amounts by second; what comes later never overtakes what was booked before. More than the whole
    limit fits only a minute in which nothing else is.
    """
    second = max(start, *booked) if booked else start
    window = sorted(at for at in booked if at >= second - WINDOW)
    total = sum(booked[at] for at in window)
    for at in window:
        if total <= 0 or total + amount <= limit:
            break
        total -= booked[at]
        second = max(second, at + WINDOW + 1)
    return second


def day_of(now: float) -> int:
    """The day (UTC, counted from the epoch) that daily budgets are kept by."""
    return int(now // DAY)
