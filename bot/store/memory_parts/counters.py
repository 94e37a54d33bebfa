"""The shared counters in this process: the twin of `redis_parts.counters`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from bot.store import counter_rules
from bot.store.counter_rules import CLOSED, Breaker, BreakerRule, day_of, free_at
from bot.store.counters import FORGOTTEN, LIFE, MOST_BREAKERS, Admission, Counter, Settlement


@dataclass(slots=True)
class _Budget:
    day: int = 0
    spent: int = 0
    dies: float = math.inf


@dataclass(slots=True)
class MemoryCounters:
    """`Counters` in this process. `clock` gives seconds since the epoch."""

    clock: Callable[[], float]
    _rates: dict[str, dict[int, int]] = field(default_factory=dict)
    _slots: dict[str, dict[str, float]] = field(default_factory=dict)
    _budgets: dict[str, _Budget] = field(default_factory=dict)
    _done: dict[str, tuple[float, int, float]] = field(default_factory=dict)
    """Operations: until when they are remembered, and the second and time they were told."""
    _breakers: dict[str, Breaker] = field(default_factory=dict)

    async def admit(
        self,
        operation: str,
        counters: Sequence[Counter],
        *,
        patience: float,
        hold: float,
        last: bool = False,
        settled: Sequence[Settlement] = (),
    ) -> Admission:
        """See `Counters.admit`."""
        await self.settle(settled)
        now = self.clock()
        self._forget(now)
        if known := self._done.get(operation):
            self._hold_on(operation, counters, now + hold)
            return Admission("ok", max(0.0, known[2] - now), known[1])
        for place, one in enumerate(counters):
            if one.kind in {"day", "life"} and not last and self._budget(one, now).spent >= one.limit:
                return Admission("spent", counter=place)
            if one.kind == "slots" and len(self._held(one, now)) >= one.limit:
                return Admission("busy", counter=place)
        second, slowest = self._booked_at(counters, int(now))
        at = max(now, float(second))
        if at - now > patience:
            return Admission("late", at - now, counter=slowest)
        for one in counters:
            self._count(one, operation, second, now + hold)
        self._done[operation] = (now + FORGOTTEN, second, at)
        return Admission("ok", at - now, second)

    def _hold_on(self, operation: str, counters: Sequence[Counter], until: float) -> None:
        for held in (self._held(one, self.clock()) for one in counters if one.kind == "slots"):
            if operation in held:
                held[operation] = max(until, held[operation])

    def _booked_at(self, counters: Sequence[Counter], second: int) -> tuple[int, int]:
        rates = [(place, one) for place, one in enumerate(counters) if one.kind == "rate"]
        moved, slowest = True, 0
        while moved:
            moved = False
            for place, one in rates:
                at = free_at(self._rate(one, int(self.clock())), one.limit, one.amount, start=second)
                if at > second:
                    second, slowest, moved = at, place, True
        return second, slowest

    def _count(self, one: Counter, operation: str, second: int, until: float) -> None:
        now = self.clock()
        if one.kind == "rate":
            booked = self._rate(one, int(now))
            booked[second] = booked.get(second, 0) + one.amount
        elif one.kind == "slots":
            self._held(one, now)[operation] = until
        else:
            self._budget(one, now).spent += one.amount

    def _rate(self, one: Counter, now: int) -> dict[int, int]:
        booked = self._rates.setdefault(one.name, {})
        for second in [second for second in booked if second < now - counter_rules.WINDOW]:
            del booked[second]
        return booked

    def _held(self, one: Counter, now: float) -> dict[str, float]:
        held = self._slots.setdefault(one.name, {})
        for operation in [operation for operation, until in held.items() if until <= now]:
            del held[operation]
        return held

    def _budget(self, one: Counter, now: float) -> _Budget:
        budget = self._budgets.setdefault(one.name, _Budget())
        day = day_of(now) if one.kind == "day" else 0
        if budget.day != day or budget.dies <= now:
            budget.day, budget.spent = day, 0
        budget.dies = now + LIFE
        return budget

    async def settle(self, settled: Sequence[Settlement]) -> None:
        """See `Counters.settle`."""
        now = self.clock()
        for one in settled:
            if f"{one.operation}:settled" in self._done:
                continue
            self._done[f"{one.operation}:settled"] = (now + FORGOTTEN, 0, now)
            for counter, amount in zip(one.counters, one.amounts, strict=True):
                self._set_right(counter, one, amount - counter.amount, now)

    def _set_right(self, counter: Counter, settled: Settlement, more: int, now: float) -> None:
        if counter.kind == "rate":
            booked = self._rate(counter, int(now))
            if settled.second in booked:
                booked[settled.second] = max(0, booked[settled.second] + more)
        elif counter.kind == "slots":
            self._held(counter, now).pop(settled.operation, None)
        elif counter.kind == "life" or day_of(settled.second) == day_of(now):
            budget = self._budget(counter, now)
            budget.spent = max(0, budget.spent + more)

    async def spent(self, counters: Sequence[Counter]) -> list[int]:
        """See `Counters.spent`."""
        now = self.clock()
        return [self._spent(one, now) for one in counters]

    def _spent(self, one: Counter, now: float) -> int:
        if one.kind == "rate":
            return sum(self._rate(one, int(now)).values())
        if one.kind == "slots":
            return len(self._held(one, now))
        return self._budget(one, now).spent

    async def first(self, mark: str, *, seconds: float) -> bool:
        """See `Counters.first`."""
        now = self.clock()
        self._forget(now)
        if f"mark:{mark}" in self._done:
            return False
        self._done[f"mark:{mark}"] = (now + seconds, 0, now)
        return True

    def _forget(self, now: float) -> None:
        for name in [name for name, (until, _, _) in self._done.items() if until <= now]:
            del self._done[name]

    async def breaker_failed(
        self, name: str, operation: str, rule: BreakerRule, *, probe: str = "", rest: float = 0.0
    ) -> Breaker:
        """See `Counters.breaker_failed`."""
        known = self.heard(name)
        if not await self.first(f"breaker {operation}", seconds=FORGOTTEN):
            return known
        return self._keep(name, counter_rules.failed(known, self.clock(), rule, probe=probe, rest=rest))

    async def breaker_succeeded(self, name: str, operation: str, *, probe: str = "") -> Breaker:
        """See `Counters.breaker_succeeded`."""
        known = self.heard(name)
        if not await self.first(f"breaker {operation}", seconds=FORGOTTEN):
            return known
        return self._keep(name, counter_rules.succeeded(known, probe=probe))

    async def breaker_tried(self, name: str, *, probe: str, hold: float) -> tuple[bool, Breaker]:
        """See `Counters.breaker_tried`."""
        through, breaker = counter_rules.tried(self.heard(name), self.clock(), probe=probe, hold=hold)
        return through, self._keep(name, breaker)

    def _keep(self, name: str, breaker: Breaker) -> Breaker:
        if breaker == CLOSED:
            self._breakers.pop(name, None)
        elif name in self._breakers or len(self._breakers) < MOST_BREAKERS:
            self._breakers[name] = breaker
        return breaker

    async def breakers(self) -> Mapping[str, Breaker]:
        """See `Counters.breakers`."""
        return dict(self._breakers)

    def heard(self, name: str) -> Breaker:
        """See `Counters.heard`: here always up to date."""
        return self._breakers.get(name, CLOSED)
