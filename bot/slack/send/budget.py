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

from bot.slack.send.published_limits import (
    JITTER_SECONDS,
    LIMIT_BY_METHOD,
    PROGRESS_RANK,
    RANK_BY_PRIORITY,
    MethodLimit,
    Priority,
)
from bot.store.counters import PACE_DIVISOR, REPEAT_SECONDS, RESERVE_DIVISOR, CallLane, LaneRequest, TurnGrant
from bot.store.redis.redis_counters import Counters
from bot.store.values import StoreError

log = logging.getLogger(__name__)

MAX_TURNS_AT_ONCE = 5
"""Maximum number of turns in one request to the store, so that other instances get turns too."""
SPARE_TURNS = 2
SPARE_SECONDS = JITTER_SECONDS
"""Seconds for which an unused turn stays valid."""
TURN_REQUEST_SECONDS = 0.5
"""Seconds in which the store must answer a request for turns."""
STORE_AWAY_SECONDS = 2.0
"""Seconds for which a store that did not answer counts as unavailable."""
_MIN_PAUSE = 0.002
"""Minimum seconds between two requests for turns."""


@dataclass(slots=True)
class _LaneQueue:
    """The calls of one lane that wait in this instance, and its spare turns."""

    lane: CallLane
    method: str
    waiting_calls: list[tuple[int, int, asyncio.Future[None]]] = field(default_factory=list)
    """A heap of the waiting calls: (rank, order of arrival, future that is set when the turn has come)."""
    spare_turns: deque[tuple[float, int]] = field(default_factory=deque)
    """The unused turns: (time until which each is valid, rank). Calls of this rank, or a lower number, may use it."""
    change_event: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a call comes or is cancelled."""
    pump_task: asyncio.Task[None] | None = None
    """The task that requests turns while calls wait."""

    def find_next_rank(self) -> int | None:
        """Return the rank of the next waiting call; None if no call waits."""
        while self.waiting_calls and self.waiting_calls[0][2].done():  # the call was cancelled
            heapq.heappop(self.waiting_calls)
        return self.waiting_calls[0][0] if self.waiting_calls else None

    def grant_next_turn(self) -> bool:
        """Give a turn to the next waiting call. Returns False if no call waits."""
        if self.find_next_rank() is None:
            return False
        heapq.heappop(self.waiting_calls)[2].set_result(None)
        return True

    def take_spare_turn(self, rank: int, now: float) -> bool:
        """Use up a spare turn for a call of this rank. Returns False if none is valid for it at the time `now`."""
        while self.spare_turns and self.spare_turns[0][0] < now:
            self.spare_turns.popleft()
        if not self.spare_turns or self.spare_turns[0][1] < rank:
            return False
        self.spare_turns.popleft()
        return True


class CallBudget:
    """Gives calls their turns, by priority, within Slack's limits.

    Args:
        counters: The store's counters; None if this process is the only instance.
        instance: The id of this instance.
        team: The id of the workspace.
        is_unlimited: If True, every call gets its turn at once, as in benchmarks.
        clock: Returns seconds, for turns and waits in this instance.
    """

    def __init__(
        self,
        counters: Counters | None = None,
        *,
        instance: str = "",
        team: str = "",
        is_unlimited: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._counters = counters
        self._instance = instance
        self._team = team
        self._is_unlimited = is_unlimited
        self._clock = clock
        self._queues: dict[tuple[str, str], _LaneQueue] = {}
        self._count = itertools.count()
        self._own_share = LocalTurnGranter(clock)
        self._sharers = 1
        self._away_until = float("-inf")
        self._reserved_counts: dict[str, list[Callable[[], int]]] = {}

    def reserve_turns(self, method: str, count_calls: Callable[[], int]) -> None:
        """Keep turns free for calls that will follow, such as each card's last edit.

        `count_calls` returns their number.
        """
        self._reserved_counts.setdefault(method, []).append(count_calls)

    async def wait_for_turn(self, method: str, channel: str = "", priority: Priority = "answer") -> None:
        """Wait for a turn and use it up: higher priorities first, then in order of arrival.

        Args:
            method: Slack's name of the method, such as `chat.postMessage`. A method without a known limit never waits.
            channel: The channel's id; only methods limited by channel look at it.
            priority: What the call is for.
        """
        queue = self._find_queue(method, channel)
        if queue is None or (
            queue.find_next_rank() is None and queue.take_spare_turn(RANK_BY_PRIORITY[priority], self._clock())
        ):
            return
        turn = asyncio.get_running_loop().create_future()
        heapq.heappush(queue.waiting_calls, (RANK_BY_PRIORITY[priority], next(self._count), turn))
        queue.change_event.set()
        if queue.pump_task is None or queue.pump_task.done():
            queue.pump_task = asyncio.create_task(self._pump_turns(queue))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # its turn had come: another call may use it
                queue.spare_turns.append((self._clock() + SPARE_SECONDS, RANK_BY_PRIORITY[priority]))
            turn.cancel()
            queue.change_event.set()
            raise

    async def try_take_turn(self, method: str, channel: str = "", priority: Priority = "stream") -> bool:
        """Use up a turn without waiting. Returns False if there is none now."""
        queue = self._find_queue(method, channel)
        if queue is None:
            return True
        rank, head = RANK_BY_PRIORITY[priority], queue.find_next_rank()
        if head is not None and head <= rank:
            return False
        return queue.take_spare_turn(rank, self._clock()) or (await self._request_turns(queue, rank, 1)).turns > 0

    async def try_reserve_turn(self, method: str, channel: str = "", priority: Priority = "answer") -> bool:
        """Reserve a turn for a call that follows within `SPARE_SECONDS`. Returns False if there is none now."""
        if not await self.try_take_turn(method, channel, priority):
            return False
        if (queue := self._find_queue(method, channel)) is not None:
            queue.spare_turns.append((self._clock() + SPARE_SECONDS, RANK_BY_PRIORITY[priority]))
        return True

    def has_waiting_calls(self, method: str, channel: str = "", priority: Priority = "answer") -> bool:
        """Return True if a call of that priority, or a higher one, waits in this instance."""
        queue = self._find_queue(method, channel)
        head = queue.find_next_rank() if queue is not None else None
        return head is not None and head <= RANK_BY_PRIORITY[priority]

    async def hold_calls(self, method: str, channel: str, seconds: float) -> None:
        """Hold the calls of all instances for `seconds`, after Slack answered 429. Then one call goes first."""
        queue = self._find_queue(method, channel)
        if queue is None:
            return
        queue.spare_turns.clear()
        self._own_share.hold_lane(queue.lane, seconds)
        if self._counters is not None:
            try:
                async with asyncio.timeout(TURN_REQUEST_SECONDS):
                    await self._counters.pause_lane(queue.lane, seconds=seconds)
            except (StoreError, TimeoutError) as error:
                log.info("only this instance knows that Slack wants fewer calls of %s: %s", method, error)

    def _find_queue(self, method: str, channel: str) -> _LaneQueue | None:
        limit = LIMIT_BY_METHOD.get(method)
        if limit is None or self._is_unlimited:
            return None
        key = (method, channel if limit.is_per_channel else "")
        if key not in self._queues:
            self._drop_idle_queues()
            self._queues[key] = _LaneQueue(self._make_lane(limit, *key), method)
        return self._queues[key]

    def _make_lane(self, limit: MethodLimit, method: str, channel: str) -> CallLane:
        return CallLane(":".join(part for part in (self._team, method, channel) if part), limit.calls, limit.seconds)

    def _drop_idle_queues(self) -> None:
        """Drop the queues without waiting calls and spare turns, once there are many."""
        if len(self._queues) > 1000:
            idle = [key for key, one in self._queues.items() if one.find_next_rank() is None and not one.spare_turns]
            for key in idle:
                del self._queues[key]

    async def _pump_turns(self, queue: _LaneQueue) -> None:
        """Request turns until no call waits in the queue. A new call of a higher priority causes a new request."""
        while (rank := queue.find_next_rank()) is not None:
            queue.change_event.clear()
            same_rank_count = sum(one[0] == rank and not one[2].done() for one in queue.waiting_calls)
            wanted_count = min(same_rank_count, MAX_TURNS_AT_ONCE)
            turns = await self._request_turns(
                queue, rank, wanted_count, SPARE_TURNS if len(queue.waiting_calls) == 1 else 0
            )
            used_count = sum(queue.grant_next_turn() for _ in range(turns.turns))
            until = self._clock() + SPARE_SECONDS
            queue.spare_turns.extend((until, rank) for _ in range(turns.turns - used_count))
            if turns.turns < wanted_count:
                await self._wait_for_lane(queue, rank, min(max(turns.wait, _MIN_PAUSE), REPEAT_SECONDS))

    async def _wait_for_lane(self, queue: _LaneQueue, rank: int, seconds: float) -> None:
        """Wait before the next request; return early if the next waiting call has another rank."""
        until = asyncio.get_running_loop().time() + seconds
        while queue.find_next_rank() == rank:
            queue.change_event.clear()
            try:
                async with asyncio.timeout_at(until):
                    await queue.change_event.wait()
            except TimeoutError:
                return

    async def _request_turns(self, queue: _LaneQueue, rank: int, wanted_count: int, spare: int = 0) -> TurnGrant:
        sure = sum(count() for count in self._reserved_counts.get(queue.method, ()))
        for_all = not LIMIT_BY_METHOD[queue.method].is_per_channel
        wish = LaneRequest(wanted_count, rank, spare if for_all else 0, rank >= PROGRESS_RANK and for_all, sure)
        if self._counters is not None and self._clock() >= self._away_until:
            try:
                async with asyncio.timeout(TURN_REQUEST_SECONDS):
                    turns = await self._counters.request_turns(queue.lane, self._instance, wish)
            except (StoreError, TimeoutError) as error:
                log.info("the store does not say whose turn it is: %s", str(error) or "it takes too long")
                self._away_until = self._clock() + STORE_AWAY_SECONDS
            except Exception:  # any failure here must not leave a call waiting for ever
                log.exception("whose turn it is could not be found out")
                self._away_until = self._clock() + STORE_AWAY_SECONDS
            else:
                self._sharers = turns.asker_count
                return turns
        return self._own_share.grant_turns(queue.lane, wish, self._sharers)


class LocalTurnGranter:
    """Grants turns while the store is unavailable, from this instance's share of each lane, by the store's rules."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._granted_at: dict[str, deque[float]] = {}
        self._held_until: dict[str, float] = {}

    def grant_turns(self, lane: CallLane, request: LaneRequest, sharers: int = 1) -> TurnGrant:
        """Grant turns within this instance's share of a lane, one of `sharers` equal parts."""
        part = _divide_lane(lane, sharers)
        grant_times = self._granted_at.setdefault(lane.name, deque(maxlen=lane.limit))
        count, wait = 0, max(0.0, self._held_until.get(lane.name, 0.0) - self._clock())
        while wait <= 0 and count < request.waiting_calls:
            wait = self._compute_wait(grant_times, part, request)
            if wait <= 0:
                grant_times.appendleft(self._clock())
                count += 1
        return TurnGrant(count, max(0.0, wait), sharers)

    def hold_lane(self, lane: CallLane, seconds: float) -> None:
        """Grant no turn for `seconds`, then one, and further ones at an even pace."""
        until = self._clock() + seconds
        self._held_until[lane.name] = max(until, self._held_until.get(lane.name, 0.0))
        step = lane.seconds / lane.limit
        self._granted_at[lane.name] = deque((until - at * step for at in range(1, lane.limit + 1)), maxlen=lane.limit)

    def _compute_wait(self, granted_at: deque[float], lane: CallLane, request: LaneRequest) -> float:
        few = lane.limit // RESERVE_DIVISOR
        most = lane.limit - few if request.rank > 1 else lane.limit
        if not request.yields:
            return self._compute_window_wait(granted_at, most, lane.seconds)
        most = max(1, few, most - request.expected_calls)
        pace = self._compute_window_wait(granted_at, math.ceil(lane.limit / PACE_DIVISOR), lane.seconds / PACE_DIVISOR)
        return max(self._compute_window_wait(granted_at, most, lane.seconds), pace)

    def _compute_window_wait(self, granted_at: deque[float], most: int, seconds: float) -> float:
        return granted_at[most - 1] + seconds - self._clock() if len(granted_at) >= most else 0.0


def _divide_lane(lane: CallLane, sharers: int) -> CallLane:
    """Return one instance's share of a lane. With more sharers than turns, it is one turn in a longer time."""
    if lane.limit >= sharers:
        return replace(lane, limit=lane.limit // max(1, sharers))
    return replace(lane, limit=1, seconds=lane.seconds * sharers / lane.limit)
