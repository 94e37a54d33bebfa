"""What all instances count together: rates, calls at once, budgets, breakers.

`Store.counters` is one of these. All of it lies in one slot, so that whatever
a call has to be let through by is asked in one round trip, on a cluster too.
Everything expires by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from bot.store.counter_rules import Breaker, BreakerRule

CounterKind = Literal["rate", "slots", "day", "life"]
Ruling = Literal["ok", "late", "busy", "spent"]
MOST_BREAKERS = 1_000
FORGOTTEN = 900.0
"""Seconds for which the operations that were let through are remembered."""
LIFE = 30 * 86_400.0
"""Seconds that a budget without days is kept after it was last used."""


@dataclass(frozen=True, slots=True)
class Counter:
    """One limit that a call has to be let through by.

    `kind`: a `rate` is `limit` a minute, `slots` are so many at once, a budget is `limit` for a `day` (UTC) or for
    the `life` of what it is named after. `amount` is what the call takes, as far as that is known before.
    """

    name: str
    kind: CounterKind
    limit: int
    amount: int = 1


@dataclass(frozen=True, slots=True)
class Admission:
    """The answer to `Counters.admit`.

    `ok`: wait for `wait` seconds, then go; `second` is where it was booked. `late`: it would be `wait` seconds, which
    is more than was offered. `busy`: all slots of a counter are taken. `spent`: a budget is used up. But for `ok`
    nothing was counted, and `counter` is the place of the one that stands in the way.
    """

    ruling: Ruling
    wait: float = 0.0
    second: int = 0
    counter: int = 0


@dataclass(frozen=True, slots=True)
class Settlement:
    """What became of an admission: `amounts` are what was really taken, in the order of `counters`."""

    operation: str
    second: int
    counters: tuple[Counter, ...]
    amounts: tuple[int, ...]


class Counters(Protocol):
    """All methods may be repeated by the same operation: it is counted once."""

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
        """Let a call through all `counters`, or none; with it, note what became of earlier ones.

        `patience` is how long (s) it may wait for a rate; a place in a later second is booked for good. A slot is
        held until settled, `hold` seconds at most; an operation that asks again has as many from then on. With `last`
        no budget stands in the way.
        """

    async def settle(self, settled: Sequence[Settlement]) -> None:
        """Note what became of calls: amounts are set right, slots are free."""

    async def spent(self, counters: Sequence[Counter]) -> list[int]:
        """What is used of each at the moment: of a rate, in the last minute."""

    async def first(self, mark: str, *, seconds: float) -> bool:
        """True for the first who asks within that time."""

    async def breaker_failed(
        self, name: str, operation: str, rule: BreakerRule, *, probe: str = "", rest: float = 0.0
    ) -> Breaker:
        """See `bot.store.counter_rules.failed`. All instances are told."""

    async def breaker_succeeded(self, name: str, operation: str, *, probe: str = "") -> Breaker:
        """See `bot.store.counter_rules.succeeded`. All instances are told."""

    async def breaker_tried(self, name: str, *, probe: str, hold: float) -> tuple[bool, Breaker]:
        """Let one `probe` of all instances through, which gives it back with no `hold`: see `counter_rules.tried`."""

    async def breakers(self) -> Mapping[str, Breaker]:
        """All that are not closed or have failures, asked for."""

    def heard(self, name: str) -> Breaker:
        """A breaker as last heard of, at no cost. May be out of date where a notice was lost."""
