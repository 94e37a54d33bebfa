"""Schedules: what is to be begun at which time, by whichever instance is first."""

from __future__ import annotations

from collections.abc import Callable

from bot.store import bounds
from bot.store.interface import PayloadTooLarge


class Schedules:
    """Keeps schedules, and lets each fire once."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._all: dict[tuple[str, str], tuple[str, float | None]] = {}

    def put(self, team: str, schedule: str, payload: str, due: float | None) -> None:
        """See `Store.put_schedule`."""
        bounds.pair(team, schedule)
        if not payload and due is None:
            self._all.pop((team, schedule), None)
            return
        if len(self._all) >= bounds.SCHEDULE_LIMIT and (team, schedule) not in self._all:
            raise PayloadTooLarge(bounds.JOB_FULL)
        self._all[team, schedule] = (payload, due)

    def due(self, *, limit: int) -> list[tuple[str, str, str, float]]:
        """See `Store.due_schedules`."""
        now = self._clock()
        found = [(*name, payload, due) for name, (payload, due) in self._all.items() if due is not None and due <= now]
        return sorted(found, key=lambda row: row[3])[:limit]

    def fire(self, team: str, schedule: str, due: float, following: float | None) -> bool:
        """See `Store.fire_schedule`."""
        payload, planned = self._all.get((team, schedule), ("", None))
        if planned is None or planned != due:
            return False
        self._all[team, schedule] = (payload, following)
        return True
