"""Schedules on a server: see `bot.store.interface.Schedules`."""

from __future__ import annotations

from bot.store import quotas
from bot.store.redis.keys import names, pair
from bot.store.redis.script_calls import Calls, nonce, unless_full


class RedisSchedules:
    """`Schedules` on a server: a compare-and-set script lets each fire once."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def put(self, team: str, schedule: str, payload: str, due: float | None) -> None:
        """See `Schedules.put`."""
        args = (pair(team, schedule), payload, "" if due is None else repr(due), quotas.SCHEDULE_LIMIT)
        unless_full(await self._calls.run("schedule_put", self._calls.keys.schedules, *args))

    async def due(self, *, limit: int = 100) -> list[tuple[str, str, str, float]]:
        """See `Schedules.due`."""
        flat = await self._calls.run("schedule_due", self._calls.keys.schedules, limit)
        rows = zip(flat[::3], flat[1::3], flat[2::3], strict=True)
        return [(*names(name), payload.decode(), float(due)) for name, payload, due in rows]

    async def fire(self, team: str, schedule: str, due: float, following: float | None) -> bool:
        """See `Schedules.fire`."""
        args = (pair(team, schedule), repr(due), "" if following is None else repr(following), nonce())
        return bool(await self._calls.run("schedule_fire", self._calls.keys.schedules, *args))
