"""The values of the counters that all instances share: see `bot.store.redis.redis_counters.Counters`.

Times are seconds since the epoch on the store's clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CounterKind = Literal["rate", "slots", "day", "life"]
AdmitRuling = Literal["ok", "late", "busy", "spent"]
BreakerState = Literal["closed", "open", "half-open"]
WINDOW = 60
"""Seconds of a rate's window. A booking counts until 60 whole seconds lie between its second and the present one."""
DAY = 86_400
"""Seconds of the days (UTC) that daily budgets are kept by."""
MOST_BREAKERS = 1_000
ASKS_AGAIN = 5.0
"""Seconds within which an instance asks a lane again while its call waits: one that does not is taken to have left."""
LATE = 1.0
"""Seconds by which it may ask later than that."""
ASKER_COUNTS = 90.0
"""Seconds for which an instance counts as an asker of a lane after it asked for turns."""
FORGOTTEN = 900.0
"""Seconds for which the operations that were let through are remembered."""
LIFE = 32 * 86_400.0
"""Seconds that a counter of the kind `life` is kept after it was last used: longer than any month."""


@dataclass(frozen=True, slots=True)
class Counter:
    """One limit that has to admit a call.

    `kind`: a `rate` is `limit` a minute, `slots` are so many at once, a budget is `limit` for a `day` (UTC) or for
    the `life` of what it is named after. `amount` is what the call takes, as far as that is known before.
    """

    name: str
    kind: CounterKind
    limit: int
    amount: int = 1


@dataclass(frozen=True, slots=True)
class AdmitReply:
    """The answer to `Counters.admit`.

    `ok`: wait for `wait` seconds, then go; `second` is where it was booked. `late`: the call would wait for `wait`
    seconds, longer than its patience. `busy`: all slots of a counter are taken. `spent`: a budget is used up. Unless it
    is `ok`, nothing was counted, and `counter` is the index of the counter that stands in the way.
    """

    ruling: AdmitRuling
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
class CallLane:
    """A kind of call. Within any `seconds`, all instances together may begin at most `limit` of them."""

    name: str
    limit: int
    seconds: float


@dataclass(frozen=True, slots=True)
class LaneRequest:
    """What an instance asks a lane for.

    `wanted` turns are for calls that wait, `more` for calls that may come: the latter are given only while the lane is
    half empty and nobody else waits. A lower `rank` goes first: while any instance waits with a lower one, this one
    waits too. From rank 2 on, one turn in `FEW_OF` is left free. A request that `yields` also leaves turns free for the
    calls that are `sure` to come from any instance (it may always have one turn in `FEW_OF`), and keeps an even pace.
    """

    wanted: int
    rank: int
    more: int = 0
    yields: bool = False
    sure: int = 0


@dataclass(frozen=True, slots=True)
class TurnGrant:
    """What a lane gave: `given` turns, the seconds (`wait`) until asking again is worth it, and how many ask it."""

    given: int
    wait: float
    askers: int


FEW_OF = 25
PACE = 4
"""A request that yields gets at most a fourth of a lane's turns in a fourth of its seconds."""


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
