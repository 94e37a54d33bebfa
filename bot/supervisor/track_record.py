"""The load and the past usage of specialists, as this instance saw them: for estimates, and to choose among equals."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable

from handoff import events as ev
from handoff.contracts import Tier, Usage
from handoff.effects import RunSubtask
from handoff.planning.estimates import NO_PAST, Past
from handoff.planning.routing import Load

REMEMBERED = 20
"""Attempts of a specialist on a tier that count: older ones fade."""


class TrackRecord:
    """A record of the attempts of one instance. `is_out` returns True if a specialist's breaker is known to be open."""

    def __init__(self, is_out: Callable[[str], bool] = lambda _: False) -> None:
        self._is_out = is_out
        self._under_way: Counter[str] = Counter()
        self._past: dict[tuple[str, Tier], Past] = {}
        self._seconds: dict[str, Past] = {}

    async def watch(self, effect: RunSubtask, attempt: Awaitable[ev.Event]) -> ev.Event:
        """Run the attempt and remember its usage. Only an attempt with a result shows what the work takes."""
        began = time.monotonic()
        self._under_way[effect.specialist] += 1
        try:
            event = await attempt
        finally:
            self._under_way[effect.specialist] -= 1
        if isinstance(event, ev.ResultReturned) and event.result.usage.calls:
            self._remember(effect.specialist, effect.tier, event.result.usage, time.monotonic() - began)
        return event

    def _remember(self, specialist: str, tier: Tier, usage: Usage, seconds: float) -> None:
        past = self._past.get((specialist, tier), NO_PAST)
        self._past[specialist, tier] = past.and_then(usage, seconds, most=REMEMBERED)
        self._seconds[specialist] = self._seconds.get(specialist, NO_PAST).and_then(usage, seconds, most=REMEMBERED)

    def past(self, specialist: str, tier: Tier) -> Past:
        """Return the averages of past attempts; `NO_PAST` if there were none."""
        return self._past.get((specialist, tier), NO_PAST)

    def load(self, specialist: str) -> Load:
        """Return the specialist's load: attempts under way, seconds per attempt, and whether its breaker is open."""
        seen = self._seconds.get(specialist)
        return Load(self._under_way[specialist], seen.seconds if seen else None, self._is_out(specialist))
