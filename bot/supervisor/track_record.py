"""The load and the past usage of a crew's specialists: for estimates, and to choose among equals.

Past usage is what this instance saw. The load is that of all instances, see `bot.supervisor.instance_board`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence

from bot.supervisor.instance_board import InstanceBoard, SpecialistLoad
from handoff import events as ev
from handoff.contracts import Tier, Usage
from handoff.effects import RunSubtask
from handoff.planning.estimates import NO_PAST, PastUsage
from handoff.planning.routing import KnownLoad

REMEMBERED = 20
"""Attempts of a specialist on a tier that count: older ones fade."""


class TrackRecord:
    """A record of the attempts of one instance at the work of one crew.

    Args:
        is_out: Returns True if a specialist's breaker is known to be open.
        crew: The crew's name.
        equals: Its specialists that have equals: others are told of their load.
        board: Where instances tell each other; None: there is no other.
    """

    def __init__(
        self,
        is_out: Callable[[str], bool] = lambda _: False,
        *,
        crew: str = "",
        equals: Sequence[str] = (),
        board: InstanceBoard | None = None,
    ) -> None:
        self._is_out = is_out
        self._crew = crew
        self._equals = frozenset(equals)
        self._board = board
        if board is not None and equals:
            board.add_loads(self._report_busy)
        self._under_way: Counter[str] = Counter()
        self._past: dict[tuple[str, Tier], PastUsage] = {}
        self._seconds: dict[str, PastUsage] = {}

    async def record_attempt(self, effect: RunSubtask, attempt: Awaitable[ev.Event]) -> ev.Event:
        """Run the attempt and remember its usage. Only an attempt with a result shows what the work takes."""
        began = time.monotonic()
        self._count(effect.specialist, 1)
        try:
            event = await attempt
        finally:
            self._count(effect.specialist, -1)
        if isinstance(event, ev.ResultReturned) and event.result.usage.calls:
            self._remember(effect.specialist, effect.tier, event.result.usage, time.monotonic() - began)
        return event

    def _count(self, specialist: str, change: int) -> None:
        self._under_way[specialist] += change
        if self._board is not None and specialist in self._equals:
            self._board.put_row_soon()

    def _report_busy(self) -> Mapping[str, SpecialistLoad]:
        return {f"{self._crew}:{name}": self._own_busy(name) for name in self._equals}

    def _own_busy(self, specialist: str) -> SpecialistLoad:
        seen = self._seconds.get(specialist)
        return SpecialistLoad(self._under_way[specialist], seen.seconds if seen else None)

    async def read_other_loads(self) -> None:
        """Find out how busy the specialists with equals are in other instances: `find_load` counts that."""
        if self._board is not None and self._equals:
            await self._board.read_other_rows()

    def _remember(self, specialist: str, tier: Tier, usage: Usage, seconds: float) -> None:
        past = self._past.get((specialist, tier), NO_PAST)
        self._past[specialist, tier] = past.add_attempt(usage, seconds, most=REMEMBERED)
        self._seconds[specialist] = self._seconds.get(specialist, NO_PAST).add_attempt(usage, seconds, most=REMEMBERED)

    def find_past_usage(self, specialist: str, tier: Tier) -> PastUsage:
        """Return the averages of past attempts; `NO_PAST` if there were none."""
        return self._past.get((specialist, tier), NO_PAST)

    def find_load(self, specialist: str) -> KnownLoad:
        """Return the specialist's load: attempts under way, seconds per attempt, and whether its breaker is open.

        Attempts are those of all instances, as `read_other_loads` last saw the others; seconds are ours, else theirs.
        """
        own, others = self._own_busy(specialist), SpecialistLoad()
        if self._board is not None and specialist in self._equals:
            others = self._board.find_load(f"{self._crew}:{specialist}")
        seconds = others.seconds if own.seconds is None else own.seconds
        return KnownLoad(own.waiting + others.waiting, seconds, self._is_out(specialist))
