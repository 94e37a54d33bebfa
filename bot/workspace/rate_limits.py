"""Slack's rate limits: a bucket of calls per method, refilled steadily."""

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class MethodRate:
    """Calls a minute, and how many of them may come at once.

    `bucket_argument` names an argument: each value has its own bucket.
    """

    per_minute: int
    burst: int
    bucket_argument: str = ""


POST = MethodRate(60, 4, "channel")
TIER_2 = MethodRate(20, 20)
TIER_3 = MethodRate(50, 50)
TIER_4 = MethodRate(100, 100)
SPECIAL = MethodRate(600, 600)
STATUS = MethodRate(60, 60, "channel_id")


class RateLimits:
    """Counts calls against their limits; nothing is limited unless `enforced`."""

    def __init__(self, now: Callable[[], float], *, enforced: bool) -> None:
        self.enforced = enforced
        self._now = now
        self._buckets: dict[tuple[str, str], tuple[float, float]] = {}

    def admit_call(self, method: str, limit: MethodRate, bucket: str) -> int:
        """Count one call.

        Returns:
            0 if the call may go ahead, otherwise the whole seconds until a call may.
        """
        if not self.enforced:
            return 0
        now = self._now()
        left, at = self._buckets.get((method, bucket), (float(limit.burst), now))
        a_second = limit.per_minute / 60
        left = min(float(limit.burst), left + (now - at) * a_second)
        if left >= 1:
            self._buckets[method, bucket] = (left - 1, now)
            return 0
        self._buckets[method, bucket] = (left, now)
        return max(1, math.ceil((1 - left) / a_second))
