"""The counters that all instances share: rates, calls at once, budgets, breakers.

`Store.counters` is one of these. All of it lies in one slot, so that whatever
a call has to be let through by is asked in one round trip, on a cluster too.
Everything expires by itself. Times are seconds since the epoch on the store's clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

CounterKind = Literal["rate", "slots", "day", "life"]
Ruling = Literal["ok", "late", "busy", "spent"]
BreakerState = Literal["closed", "open", "half-open"]
WINDOW = 60
"""Seconds of a rate's window. What is booked in one second counts until that second is whole 60 seconds away."""
DAY = 86_400
"""Seconds of the days (UTC) that daily budgets are kept by."""
MOST_BREAKERS = 1_000
ASKS_AGAIN = 5.0
"""Seconds within which an instance asks a lane again while a call waits there: else it waits no more."""
ASKER_COUNTS = 90.0
"""Seconds for which an instance that asked a lane for turns counts as one that does."""
FORGOTTEN = 900.0
"""Seconds for which the operations that were let through are remembered."""
LIFE = 32 * 86_400.0
"""Seconds that a budget without days is kept after it was last used: longer than any month."""


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
    """The end of an admitted call: `amounts` are what it really took, in the order of `counters`."""

    operation: str
    second: int
    counters: tuple[Counter, ...]
    amounts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Lane:
    """Calls of one kind of which `limit` may begin within any `seconds`, whichever instances make them."""

    name: str
    limit: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Wish:
    """What an instance asks a lane for.

    `wanted` turns are for calls that wait, `more` for calls that may come: they are given only while the lane is half
    empty and nobody else waits. The lower the `rank`, the earlier: who waits with a lower one anywhere goes first; from
    rank 2 on one turn in `FEW_OF` is left alone. What `yields` leaves room, too, for the calls that are `sure` to come
    of any instance, but for as few, and keeps to an even pace.
    """

    wanted: int
    rank: int
    more: int = 0
    yields: bool = False
    sure: int = 0


@dataclass(frozen=True, slots=True)
class Turns:
    """What a lane gave: `given` turns, the seconds (`wait`) until it is worth asking again, and how many ask at all."""

    given: int
    wait: float
    askers: int


FEW_OF = 25
PACE = 4
"""What yields gets no more than a fourth of a lane in a fourth of its seconds."""


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


class Counters(Protocol):
    """Counts for all instances. A method that is repeated by the same operation counts it once."""

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
        """Let a call through all `counters`, or none; with it, note how earlier ones ended.

        `patience` is how long (s) it may wait for a rate; a place in a later second is booked for good. A slot is
        held until settled, `hold` seconds at most; an operation that asks again has as many from then on. With `last`
        no budget stands in the way.
        """

    async def settle(self, settled: Sequence[Settlement]) -> None:
        """Note how calls ended: set amounts right, free slots."""

    async def spent(self, counters: Sequence[Counter]) -> list[int]:
        """Tell what is used of each at the moment: of a rate, in the last minute."""

    async def raised(self, counters: Sequence[Counter], operation: str = "") -> list[int]:
        """Tell by how much each budget is raised; with an operation, raise each by its `amount` first, once.

        The budget of a day is raised for that day alone.
        """

    async def forget(self, counters: Sequence[Counter]) -> None:
        """Erase counters of the kind `life`, and have those of the kind `day` erased when their day is over.

        Until then they stay: else whoever is forgotten could spend the same again.
        """

    async def first(self, mark: str, *, seconds: float) -> bool:
        """Answer True to the first who asks within that time."""

    async def turns(self, lane: Lane, who: str, wish: Wish) -> Turns:
        """Give turns of a lane to an instance (`who`). A turn that was given counts, used or not."""

    async def hold_turns(self, lane: Lane, *, seconds: float) -> None:
        """Give nobody a turn for so long, then one, and the others evenly."""

    async def breaker_failed(
        self, name: str, operation: str, rule: BreakerRule, *, probe: str = "", rest: float = 0.0
    ) -> Breaker:
        """Count a failure, open the breaker if `rule` says so, give it as it is then, and tell all instances.

        `probe` names the probe that failed; empty for any other call. While the breaker is not closed, the failure of
        another call (one that was in flight) changes nothing but for `rest`: seconds for which the provider wants to
        be left alone, so that the breaker is open for that long at least.
        """

    async def breaker_succeeded(self, name: str, operation: str, *, probe: str = "") -> Breaker:
        """Close the breaker and tell all instances, unless it is open and this was a call begun before, no probe."""

    async def breaker_tried(self, name: str, *, probe: str, hold: float) -> tuple[bool, Breaker]:
        """Say if `probe` may go through, and give the breaker as it is then.

        A closed breaker lets everybody through. One whose rest is over lets one probe through, which then has `hold`
        seconds; after that another may try. A probe that asks again has as many from then on, and with a `hold` of 0
        gives its place back.
        """

    async def breakers(self) -> Mapping[str, Breaker]:
        """Ask for all breakers that are not closed or have failures, by name."""

    def heard(self, name: str) -> Breaker:
        """Give a breaker as last heard of, at no cost. May be out of date if a notice was lost."""
