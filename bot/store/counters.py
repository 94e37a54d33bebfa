"""The arguments and replies of `Counters`, which count rates, slots, budgets and lanes for all instances together.

Times are seconds since the epoch on the store's clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CounterKind = Literal["rate", "slots", "day", "life"]
AdmitRuling = Literal["ok", "late", "busy", "spent"]
BreakerState = Literal["closed", "open", "half-open"]
RATE_SECONDS = 60
"""Seconds of a rate's window. A booking counts until 60 whole seconds lie between its second and the present one."""
DAY_SECONDS = 86_400
"""Seconds of a day. A daily budget holds for a day in UTC."""
MAX_BREAKERS = 1_000
REPEAT_SECONDS = 5.0
"""Seconds after which an instance with a waiting call asks its lane again at the latest."""
LATENESS_SECONDS = 1.0
"""Seconds by which that request may be overdue before the instance no longer counts as waiting."""
ASKER_SECONDS = 90.0
"""Seconds for which an instance counts as an asker of a lane after it requested turns."""
OPERATION_SECONDS = 900.0
"""Seconds for which the ids of operations are remembered, so that a repeat counts once."""
LIFE_SECONDS = 32 * 86_400.0
"""Seconds that a counter of the kind `life` is kept after it was last used: longer than any month."""


@dataclass(frozen=True, slots=True)
class Counter:
    """One limit that has to admit a call.

    Attributes:
        name: What is limited, such as a model or a person.
        kind: `rate` allows `limit` a minute, `slots` allow `limit` calls at once, and two budgets allow `limit` in
            all: `day` on one day in UTC, `life` until nobody has used the counter for `LIFE_SECONDS`.
        limit: How much is allowed.
        amount: How much the call takes, as estimated before the call.
    """

    name: str
    kind: CounterKind
    limit: int
    amount: int = 1


@dataclass(frozen=True, slots=True)
class AdmitReply:
    """The answer to `Counters.admit`. Unless the ruling is `ok`, nothing was counted.

    Attributes:
        ruling: `ok`: the call may begin after `wait` seconds. `late`: it would have to wait for `wait` seconds, longer
            than its patience. `busy`: all slots of a counter are taken. `spent`: a budget is used up.
        wait: Seconds.
        second: For `ok`, the second in which rates are booked.
        counter_index: For any other ruling, the index of the counter that refused the call.
    """

    ruling: AdmitRuling
    wait: float = 0.0
    second: int = 0
    counter_index: int = 0


@dataclass(frozen=True, slots=True)
class Settlement:
    """The end of an admitted call, for `Counters.settle`.

    Attributes:
        operation: The operation id with which the call was admitted.
        second: The second of its `AdmitReply`.
        counters: The counters that admitted it.
        amounts: How much it really took of each counter, in the same order.
    """

    operation: str
    second: int
    counters: tuple[Counter, ...]
    amounts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CallLane:
    """A kind of call, of which all instances together may begin at most `limit` within any `seconds`."""

    name: str
    limit: int
    seconds: float


@dataclass(frozen=True, slots=True)
class LaneRequest:
    """An instance's request for turns of a lane.

    Attributes:
        waiting_calls: Turns for calls that wait.
        rank: The lower rank goes first: a request waits while another instance waits with a lower rank. From rank 2 on,
            one turn in `RESERVE_DIVISOR` is left free.
        spare_turns: Turns for calls that may come later. They are given only while the lane is half empty and no other
            instance waits.
        yields: True to keep an even pace, and to leave turns free for the `expected_calls` calls of all instances. One
            turn in `RESERVE_DIVISOR` may always be used.
        expected_calls: Calls that are sure to come later from this instance.
    """

    waiting_calls: int
    rank: int
    spare_turns: int = 0
    yields: bool = False
    expected_calls: int = 0


@dataclass(frozen=True, slots=True)
class TurnGrant:
    """The answer to a request for turns of a lane.

    Attributes:
        turns: Turns that are granted.
        wait: Seconds until another request can succeed.
        asker_count: Instances that ask this lane for turns.
    """

    turns: int
    wait: float
    asker_count: int


RESERVE_DIVISOR = 25
PACE_DIVISOR = 4
"""A request that yields gets at most a fourth of a lane's turns within a fourth of the lane's seconds."""


@dataclass(frozen=True, slots=True)
class BreakerRule:
    """When a breaker opens, and for how long. All times are in seconds.

    Attributes:
        threshold: Failures in a row that open it.
        rest_seconds: How long it is open the first time. Without a success in between, each further time is twice as
            long.
        longest_rest_seconds: The longest time that it is open.
        forget_seconds: Failures that are further apart than this are not in a row.
    """

    threshold: int
    rest_seconds: float = 30.0
    longest_rest_seconds: float = 600.0
    forget_seconds: float = 600.0


@dataclass(frozen=True, slots=True)
class Breaker:
    """The state of a breaker.

    Attributes:
        failures: Failures in a row.
        openings: How often it has opened since the last success.
        open_until: When it becomes half-open; 0 while it is closed.
        failed_at: When the last failure was.
        probe: The name of the call that tests whether the provider works again; "" for none.
        probe_until: When another probe may take over.
    """

    failures: int = 0
    openings: int = 0
    open_until: float = 0.0
    failed_at: float = 0.0
    probe: str = ""
    probe_until: float = 0.0

    def get_state(self, now: float) -> BreakerState:
        """Return its state at a time: closed, open (all calls are refused) or half-open (one probe may pass)."""
        if not self.open_until:
            return "closed"
        return "open" if now < self.open_until else "half-open"


CLOSED_BREAKER = Breaker()
