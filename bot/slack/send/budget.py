"""Keeps calls within Slack's rate limits, with one budget for each workspace and method that all instances share.

A call waits here for its turn, which the store grants (`Counters.request_turns`). So messages that people wait for go
before progress, whichever instance sends them. An instance requests several turns at once if several calls wait, and
gets one or two spare turns while there are plenty, so that most calls need no request. While the store is unavailable,
each instance keeps to its own share of the limits.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import logging
import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from bot.slack.send.published_limits import JITTER, LIMITS, PROGRESS, RANK, MethodLimit, Priority
from bot.store.counters import ASKS_AGAIN, FEW_OF, PACE, CallLane, LaneRequest, TurnGrant
from bot.store.redis.redis_counters import Counters
from bot.store.values import StoreError

log = logging.getLogger(__name__)

MOST_AT_ONCE = 5
"""Most turns that are requested at a time, so that other instances get turns too."""
SPARE = 2
SPARE_SECONDS = JITTER
"""Seconds for which a spare turn is good."""
ASKING = 0.5
"""Seconds in which the store must answer a request for turns."""
AWAY = 2.0
"""Seconds for which a store that did not answer counts as unavailable."""
_SOONEST = 0.002
"""Least seconds between two requests for turns."""


@dataclass(slots=True)
class _Queue:
    """The calls of one lane that wait in this instance, and its spare turns."""

    lane: CallLane
    method: str
    waiting: list[tuple[int, int, asyncio.Future[None]]] = field(default_factory=list)
    """A heap of the waiting calls: (rank, order of arrival, future that is set when the turn has come)."""
    spare: deque[tuple[float, int]] = field(default_factory=deque)
    """The unused turns: (time until which it is good, rank that it was granted for). Lower ranks may use it too."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a call comes or is cancelled."""
    pump: asyncio.Task[None] | None = None
    """The task that requests turns while calls wait."""

    def head(self) -> int | None:
        """Return the rank of the call that is next; None if no call waits."""
        while self.waiting and self.waiting[0][2].done():  # the call was cancelled
            heapq.heappop(self.waiting)
        return self.waiting[0][0] if self.waiting else None

    def release_next(self) -> bool:
        """Give a turn to the call that is next. Returns False if no call waits."""
        if self.head() is None:
            return False
        heapq.heappop(self.waiting)[2].set_result(None)
        return True

    def take_spare(self, rank: int, now: float) -> bool:
        """Use up a spare turn for a call of this rank. Returns False if there is none."""
        while self.spare and self.spare[0][0] < now:
            self.spare.popleft()
        if not self.spare or self.spare[0][1] < rank:
            return False
        self.spare.popleft()
        return True


class CallBudget:
    """Gives calls their turns, by priority, within Slack's limits.

    Args:
        counters: The store's counters; without them, this process is taken to be the only instance.
        who: The id of this instance.
        place: The id of the workspace.
        unlimited: Every call gets its turn at once, as benchmarks need it.
        clock: Returns seconds, for turns and waits in this instance.
    """

    def __init__(
        self,
        counters: Counters | None = None,
        *,
        who: str = "",
        place: str = "",
        unlimited: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._counters = counters
        self._who = who
        self._place = place
        self._unlimited = unlimited
        self._clock = clock
        self._queues: dict[tuple[str, str], _Queue] = {}
        self._count = itertools.count()
        self._own = OwnShare(clock)
        self._askers = 1
        self._away_until = float("-inf")
        self._owed: dict[str, list[Callable[[], int]]] = {}

    def reserve_for(self, method: str, count: Callable[[], int]) -> None:
        """Keep turns free for calls that are sure to follow, such as each card's last edit; `count` counts them."""
        self._owed.setdefault(method, []).append(count)

    async def take(self, method: str, channel: str = "", priority: Priority = "answer") -> None:
        """Wait for a turn and use it up: higher priorities first, then in order of arrival.

        Args:
            method: Slack's name of the method, such as `chat.postMessage`. Without a known limit, it need not wait.
            channel: The channel's id; only methods limited by channel look at it.
            priority: What the call is for.
        """
        queue = self._find_queue(method, channel)
        if queue is None or (queue.head() is None and queue.take_spare(RANK[priority], self._clock())):
            return
        turn = asyncio.get_running_loop().create_future()
        heapq.heappush(queue.waiting, (RANK[priority], next(self._count), turn))
        queue.changed.set()
        if queue.pump is None or queue.pump.done():
            queue.pump = asyncio.create_task(self._pump(queue))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # its turn had come: another call may use it
                queue.spare.append((self._clock() + SPARE_SECONDS, RANK[priority]))
            turn.cancel()
            queue.changed.set()
            raise

    async def take_now(self, method: str, channel: str = "", priority: Priority = "stream") -> bool:
        """Use up a turn without waiting. Returns False if there is none now."""
        queue = self._find_queue(method, channel)
        if queue is None:
            return True
        rank, head = RANK[priority], queue.head()
        if head is not None and head <= rank:
            return False
        return queue.take_spare(rank, self._clock()) or (await self._ask_for_turns(queue, rank, 1)).given > 0

    async def reserve_now(self, method: str, channel: str = "", priority: Priority = "answer") -> bool:
        """Reserve a turn for a call that follows within `SPARE_SECONDS`. Returns False if there is none now."""
        if not await self.take_now(method, channel, priority):
            return False
        if (queue := self._find_queue(method, channel)) is not None:
            queue.spare.append((self._clock() + SPARE_SECONDS, RANK[priority]))
        return True

    def is_crowded(self, method: str, channel: str = "", priority: Priority = "answer") -> bool:
        """Return True if a call of that priority, or a higher one, waits in this instance."""
        queue = self._find_queue(method, channel)
        head = queue.head() if queue is not None else None
        return head is not None and head <= RANK[priority]

    async def hold(self, method: str, channel: str, seconds: float) -> None:
        """Hold the calls of all instances after a 429 of Slack's. After `seconds`, one call goes first, then others."""
        queue = self._find_queue(method, channel)
        if queue is None:
            return
        queue.spare.clear()
        self._own.hold(queue.lane, seconds)
        if self._counters is not None:
            try:
                async with asyncio.timeout(ASKING):
                    await self._counters.hold_turns(queue.lane, seconds=seconds)
            except (StoreError, TimeoutError) as error:
                log.info("only this instance knows that Slack wants fewer calls of %s: %s", method, error)

    def _find_queue(self, method: str, channel: str) -> _Queue | None:
        limit = LIMITS.get(method)
        if limit is None or self._unlimited:
            return None
        key = (method, channel if limit.by_channel else "")
        if key not in self._queues:
            self._forget_idle()
            self._queues[key] = _Queue(self._make_lane(limit, *key), method)
        return self._queues[key]

    def _make_lane(self, limit: MethodLimit, method: str, channel: str) -> CallLane:
        return CallLane(":".join(part for part in (self._place, method, channel) if part), limit.calls, limit.seconds)

    def _forget_idle(self) -> None:
        """Drop the queues without waiting calls and spare turns, once there are many."""
        if len(self._queues) > 1000:
            idle = [key for key, one in self._queues.items() if one.head() is None and not one.spare]
            for key in idle:
                del self._queues[key]

    async def _pump(self, queue: _Queue) -> None:
        """Request turns until no call waits here any more. A new call of a higher priority causes a new request."""
        while (rank := queue.head()) is not None:
            queue.changed.clear()
            same = sum(one[0] == rank and not one[2].done() for one in queue.waiting)
            wanted = min(same, MOST_AT_ONCE)
            turns = await self._ask_for_turns(queue, rank, wanted, SPARE if len(queue.waiting) == 1 else 0)
            used = sum(queue.release_next() for _ in range(turns.given))
            until = self._clock() + SPARE_SECONDS
            queue.spare.extend((until, rank) for _ in range(turns.given - used))
            if turns.given < wanted:
                await self._wait_for_lane(queue, rank, min(max(turns.wait, _SOONEST), ASKS_AGAIN))

    async def _wait_for_lane(self, queue: _Queue, rank: int, seconds: float) -> None:
        """Wait before the next request; return early if the rank of the call that is next changes."""
        until = asyncio.get_running_loop().time() + seconds
        while queue.head() == rank:
            queue.changed.clear()
            try:
                async with asyncio.timeout_at(until):
                    await queue.changed.wait()
            except TimeoutError:
                return

    async def _ask_for_turns(self, queue: _Queue, rank: int, wanted: int, more: int = 0) -> TurnGrant:
        sure = sum(count() for count in self._owed.get(queue.method, ()))
        for_all = not LIMITS[queue.method].by_channel
        wish = LaneRequest(wanted, rank, more if for_all else 0, rank >= PROGRESS and for_all, sure)
        if self._counters is not None and self._clock() >= self._away_until:
            try:
                async with asyncio.timeout(ASKING):
                    turns = await self._counters.request_turns(queue.lane, self._who, wish)
            except (StoreError, TimeoutError) as error:
                log.info("the store does not say whose turn it is: %s", str(error) or "it takes too long")
                self._away_until = self._clock() + AWAY
            except Exception:  # any failure here must not leave a call waiting for ever
                log.exception("whose turn it is could not be found out")
                self._away_until = self._clock() + AWAY
            else:
                self._askers = turns.askers
                return turns
        return self._own.turns(queue.lane, wish, self._askers)


class OwnShare:
    """Grants turns without the store, from this instance's share of each lane, as `Counters.request_turns` does."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._given: dict[str, deque[float]] = {}
        self._held: dict[str, float] = {}

    def turns(self, lane: CallLane, wish: LaneRequest, sharers: int = 1) -> TurnGrant:
        """Grant turns of a lane, as if `sharers` instances had equal shares of it."""
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
        """Grant no turn for `seconds`, then one, and further ones at an even pace."""
        until = self._clock() + seconds
        self._held[lane.name] = max(until, self._held.get(lane.name, 0.0))
        step = lane.seconds / lane.limit
        self._given[lane.name] = deque((until - at * step for at in range(1, lane.limit + 1)), maxlen=lane.limit)

    def _compute_wait(self, given: deque[float], lane: CallLane, wish: LaneRequest) -> float:
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
    """Return one instance's share of a lane. With more instances than turns, it is one turn in a longer time."""
    if lane.limit >= sharers:
        return replace(lane, limit=lane.limit // max(1, sharers))
    return replace(lane, limit=1, seconds=lane.seconds * sharers / lane.limit)
