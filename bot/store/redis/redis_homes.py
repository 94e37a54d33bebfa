"""Open homes and the jobs that wait for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot.store.interface import MOST_OPEN, MOST_WAITING, JobKey
from bot.store.redis.layout import job_key, member
from bot.store.redis.script_calls import Calls, ms
from bot.store.retention import Retention
from bot.store.script import Arg

_OPEN_MS = 2 * 3_600_000


class Homes:
    """Open homes, and the jobs that wait for people.

    All of it follows from what is kept elsewhere, or is soon over: to lose it loses nothing that people asked for.
    It is a hash a team, and a sorted set for each who is waited for.
    """

    def __init__(self, calls: Calls, retention: Retention) -> None:
        self._calls = calls
        self._waiting_ms = ms(retention.waiting)

    async def put(self, team: str, user: str, row: str) -> None:
        """Note how somebody's home is, as a text.

        A row is dropped some time after the last of the team was put. Of more than `MOST_OPEN` the others are left to
        go stale.
        """
        key, server = self._calls.keys.homes(team), self._calls.server
        if int(await server.command("HLEN", key)) >= MOST_OPEN and not await server.command("HEXISTS", key, user):
            return
        await server.commands([("HSET", key, user, row), ("PEXPIRE", key, _OPEN_MS)])

    async def drop(self, team: str, users: Sequence[str]) -> None:
        """Drop the rows of those whose home is open no more."""
        if users:
            await self._calls.server.command("HDEL", self._calls.keys.homes(team), *users)

    async def rows(self, team: str) -> Mapping[str, str]:
        """Read the rows of all whose home is open, by person."""
        found = await self._calls.server.command("HGETALL", self._calls.keys.homes(team))
        return {user.decode(): row.decode() for user, row in found.items()}

    async def waits(self, key: JobKey, *, now: Sequence[str], before: Sequence[str] = ()) -> None:
        """Note for whom a job waits now, and for whom it did: ids of people and user groups, or `EVERYBODY`.

        Who is waited for already keeps the time since when.
        """
        name, at = member(key), f"{self._calls.clock():.3f}"
        calls: list[tuple[Arg, ...]] = []
        for who in now:
            index = self._calls.keys.waits(key.team, who)
            calls += [("ZADD", index, "NX", at, name), ("ZREMRANGEBYRANK", index, 0, -1 - MOST_WAITING)]
            calls.append(("PEXPIRE", index, self._waiting_ms))
        calls += [("ZREM", self._calls.keys.waits(key.team, who), name) for who in before if who not in now]
        if calls:
            await self._calls.server.commands(calls)

    async def waiting(self, team: str, who: Sequence[str], *, limit: int = 100) -> list[JobKey]:
        """List the jobs that wait for any of these, who waits longest first.

        Some may wait no more, or be gone: their heads say so.
        """
        names, server = self._calls.keys, self._calls.server
        indexes = [names.waits(team, one) for one in dict.fromkeys(who)]
        found = await server.commands([("ZRANGE", index, 0, limit - 1, "WITHSCORES") for index in indexes])
        scored = sorted((float(row[at + 1]), row[at]) for row in found for at in range(0, len(row), 2))
        return [job_key(name) for name in dict.fromkeys(name for _, name in scored)][:limit]
