"""Slack's rate limits: a bucket of calls per method, refilled steadily."""

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class MethodRate:
    """The rate of a method: calls per minute, and the `burst` of calls that may come at once.

    `bucket_argument` names an argument of the call; each of its values has a bucket of its own. Empty: one bucket.
    """

    per_minute: int
    burst: int
    bucket_argument: str = ""


POST_MESSAGE_RATE = MethodRate(60, 4, "channel")
TIER_2 = MethodRate(20, 20)
TIER_3 = MethodRate(50, 50)
TIER_4 = MethodRate(100, 100)
SPECIAL_TIER = MethodRate(600, 600)
STATUS_RATE = MethodRate(60, 60, "channel_id")


class RateLimits:
    """Counts calls against their limits. If `is_enforced` is False, it admits every call."""

    def __init__(self, now: Callable[[], float], *, is_enforced: bool) -> None:
        self.is_enforced = is_enforced
        self._now = now
        self._buckets: dict[tuple[str, str], tuple[float, float]] = {}

    def reserve_call(self, method: str, limit: MethodRate, bucket: str) -> int:
        """Count a call if it may go ahead. Nothing is counted while limits are not enforced.

        Returns:
            0 if it may, otherwise the whole seconds until it may.
        """
        if not self.is_enforced:
            return 0
        now = self._now()
        tokens, refilled_at = self._buckets.get((method, bucket), (float(limit.burst), now))
        calls_per_second = limit.per_minute / 60
        tokens = min(float(limit.burst), tokens + (now - refilled_at) * calls_per_second)
        if tokens >= 1:
            self._buckets[method, bucket] = (tokens - 1, now)
            return 0
        self._buckets[method, bucket] = (tokens, now)
        return max(1, math.ceil((1 - tokens) / calls_per_second))
