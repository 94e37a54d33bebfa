"""Schedules: what is to be begun at which time, by whichever instance is first."""

from __future__ import annotations

from bot.store import bounds
from bot.store.redis import records
from bot.store.redis.script_calls import Calls, nonce, unless_full


class Schedules:
    """Keeps schedules, and lets each fire once."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def put(self, team: str, schedule: str, payload: str, due: float | None) -> None:
        """See `Store.put_schedule`."""
        args = (bounds.pair(team, schedule), payload, "" if due is None else repr(due), bounds.SCHEDULE_LIMIT)
        unless_full(await self._calls.run("schedule_put", self._calls.keys.schedules, *args))

    async def due(self, *, limit: int) -> list[tuple[str, str, str, float]]:
        """See `Store.due_schedules`."""
        flat = await self._calls.run("schedule_due", self._calls.keys.schedules, limit)
        rows = zip(flat[::3], flat[1::3], flat[2::3], strict=True)
        return [(*records.names(name), payload.decode(), float(due)) for name, payload, due in rows]

    async def fire(self, team: str, schedule: str, due: float, following: float | None) -> bool:
        """See `Store.fire_schedule`."""
        args = (bounds.pair(team, schedule), repr(due), "" if following is None else repr(following), nonce())
        return bool(await self._calls.run("schedule_fire", self._calls.keys.schedules, *args))
