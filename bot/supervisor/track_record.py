"""The load and the past usage of a crew's specialists: for estimates, and to choose among equals.

Past usage is that of this instance alone. The load of specialists with equals is that of all instances, as
`bot.supervisor.instance_board` collects it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence

from bot.supervisor.instance_board import InstanceBoard, SpecialistLoad
from handoff import events as ev
from handoff.contracts import Tier, Usage
from handoff.effects import RunSubtask
from handoff.planning.estimates import NO_PAST_USAGE, PastUsage
from handoff.planning.routing import KnownLoad

AVERAGED_ATTEMPTS = 20
"""About how many attempts of a specialist on a tier enter an average: older ones fade out."""


class TrackRecord:
    """The record of attempts by the specialists of one crew, on one instance.

    Args:
        is_breaker_open: Returns True if a specialist's breaker is known to be open.
        crew: The crew's name.
        equals: The names of its specialists that have equals: other instances are told their load.
        board: The board of all instances; None: there is no other instance.
    """

    def __init__(
        self,
        is_breaker_open: Callable[[str], bool] = lambda _: False,
        *,
        crew: str = "",
        equals: Sequence[str] = (),
        board: InstanceBoard | None = None,
    ) -> None:
        self._is_breaker_open = is_breaker_open
        self._crew = crew
        self._equals = frozenset(equals)
        self._board = board
        if board is not None and equals:
            board.add_load_source(self._list_own_loads)
        self._under_way: Counter[str] = Counter()
        self._past: dict[tuple[str, Tier], PastUsage] = {}
        self._past_by_specialist: dict[str, PastUsage] = {}

    async def record_attempt(self, effect: RunSubtask, attempt: Awaitable[ev.Event]) -> ev.Event:
        """Await the attempt and record its usage, if it returns a result. Returns its event."""
        began = time.monotonic()
        self._count_under_way(effect.specialist, 1)
        try:
            event = await attempt
        finally:
            self._count_under_way(effect.specialist, -1)
        if isinstance(event, ev.ResultReturned) and event.result.usage.calls:
            self._add_past_attempt(effect.specialist, effect.tier, event.result.usage, time.monotonic() - began)
        return event

    def _count_under_way(self, specialist: str, change: int) -> None:
        self._under_way[specialist] += change
        if self._board is not None and specialist in self._equals:
            self._board.start_writing_row()

    def _list_own_loads(self) -> Mapping[str, SpecialistLoad]:
        return {f"{self._crew}:{name}": self._get_own_load(name) for name in self._equals}

    def _get_own_load(self, specialist: str) -> SpecialistLoad:
        past_usage = self._past_by_specialist.get(specialist)
        return SpecialistLoad(self._under_way[specialist], past_usage.seconds if past_usage else None)

    async def read_other_loads(self) -> None:
        """Read the load of specialists with equals on other instances, which `find_load` then includes."""
        if self._board is not None and self._equals:
            await self._board.read_other_rows()

    def _add_past_attempt(self, specialist: str, tier: Tier, usage: Usage, seconds: float) -> None:
        past = self._past.get((specialist, tier), NO_PAST_USAGE)
        self._past[specialist, tier] = past.with_attempt(usage, seconds, window=AVERAGED_ATTEMPTS)
        self._past_by_specialist[specialist] = self._past_by_specialist.get(specialist, NO_PAST_USAGE).with_attempt(
            usage, seconds, window=AVERAGED_ATTEMPTS
        )

    def find_past_usage(self, specialist: str, tier: Tier) -> PastUsage:
        """Return the average usage of past attempts; `NO_PAST_USAGE` if there were none."""
        return self._past.get((specialist, tier), NO_PAST_USAGE)

    def find_load(self, specialist: str) -> KnownLoad:
        """Return the specialist's load: attempts under way, seconds per attempt, and whether its breaker is open.

        For a specialist with equals, the attempts are those of all instances as of the last `read_other_loads`. Seconds
        come from this instance if it knows them, otherwise from the others.
        """
        own, others = self._get_own_load(specialist), SpecialistLoad()
        if self._board is not None and specialist in self._equals:
            others = self._board.find_load(f"{self._crew}:{specialist}")
        seconds = others.attempt_seconds if own.attempt_seconds is None else own.attempt_seconds
        return KnownLoad(own.attempts + others.attempts, seconds, self._is_breaker_open(specialist))
