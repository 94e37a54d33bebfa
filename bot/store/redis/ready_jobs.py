"""Looks for jobs that are ready, over all partitions."""

from __future__ import annotations

import asyncio
import time

from bot.store.redis.keys import PLACES
from bot.store.redis.script_calls import Calls


class ReadyJobs:
    """The first job in each of `PLACES` of each partition."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._sets = [(kind, part) for part in calls.keys.parts() for kind in range(len(PLACES))]
        self._names = [f"{part}:{PLACES[kind]}" for kind, part in self._sets]

    async def partitions(self, schema: int) -> list[str]:
        """List the partitions that have a job ready for an instance that knows `schema`, in the order of service."""
        now, found = await self._first_of_each()
        limits = (now, float(schema), now)  # for leases, what was put by, what is due
        ready = [(kind, score, part) for kind, score, part in found if score <= limits[kind]]
        return list(dict.fromkeys(part for _, _, part in sorted(ready)))

    async def next_due(self) -> float | None:
        """See `Jobs.next_due`."""
        _, found = await self._first_of_each()
        return min((score for kind, score, _ in found if PLACES[kind] != "newer"), default=None)

    async def _first_of_each(self) -> tuple[float, list[tuple[int, float, str]]]:
        """Ask for the time, and the first of each place: which of `PLACES`, its score, the partition.

        The score is the time of the earliest lease or due job, or the oldest schema put by.
        """
        asked = time.monotonic()
        at_once = len(PLACES) if self._calls.server.is_cluster else len(self._names)
        calls = (self._calls.run("peek", self._names[at : at + at_once]) for at in range(0, len(self._names), at_once))
        replies = await asyncio.gather(*calls)
        found = []
        for number, (_, *firsts) in enumerate(replies):
            for place, score in zip(firsts[::2], firsts[1::2], strict=True):
                kind, part = self._sets[number * at_once + place - 1]
                found.append((kind, float(score), part))
        return self._calls.clock.heard(replies[0][0], asked), found
