"""The turns of one instance's own: while the store is away, or where there is none, each keeps to its share."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from bot.store.counters import FEW_OF, PACE, CallLane, TurnGrant, TurnRequest


class OwnShare:
    """Gives turns as `Counters.turns` does, of a part of each lane: so many instances are taken to share it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._given: dict[str, deque[float]] = {}
        self._held: dict[str, float] = {}

    def turns(self, lane: CallLane, wish: TurnRequest, sharers: int = 1) -> TurnGrant:
        """Give turns of a lane."""
        part = _divide_lane(lane, sharers)
        given = self._given.setdefault(lane.name, deque(maxlen=lane.limit))
        count, wait = 0, max(0.0, self._held.get(lane.name, 0.0) - self._clock())
        while wait <= 0 and count < wish.wanted:
            wait = self._compute_wait(given, part, wish)
            if wait <= 0:
                given.appendleft(self._clock())
                count += 1
        return TurnGrant(count, max(0.0, wait), sharers)

    def hold(self, lane: CallLane, seconds: float) -> None:
        """Give nobody a turn for so long, then one, and the others evenly."""
        until = self._clock() + seconds
        self._held[lane.name] = max(until, self._held.get(lane.name, 0.0))
        step = lane.seconds / lane.limit
        self._given[lane.name] = deque((until - at * step for at in range(1, lane.limit + 1)), maxlen=lane.limit)

    def _compute_wait(self, given: deque[float], lane: CallLane, wish: TurnRequest) -> float:
        few = lane.limit // FEW_OF
        most = lane.limit - few if wish.rank > 1 else lane.limit
        if not wish.yields:
            return self._wait_until(given, most, lane.seconds)
        most = max(1, few, most - wish.sure)
        pace = self._wait_until(given, math.ceil(lane.limit / PACE), lane.seconds / PACE)
        return max(self._wait_until(given, most, lane.seconds), pace)

    def _wait_until(self, given: deque[float], most: int, seconds: float) -> float:
        return given[most - 1] + seconds - self._clock() if len(given) >= most else 0.0


def _divide_lane(lane: CallLane, sharers: int) -> CallLane:
    """Return the part of a lane that one of some has; where they are more than its turns, it lasts longer."""
    if lane.limit >= sharers:
        return replace(lane, limit=lane.limit // max(1, sharers))
    return replace(lane, limit=1, seconds=lane.seconds * sharers / lane.limit)
