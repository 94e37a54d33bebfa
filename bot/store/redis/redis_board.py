"""What instances tell each other, on a server: one hash, a row for each instance."""

from __future__ import annotations

from bot.store.redis.script_calls import Calls

GONE = 600.0
"""Seconds after which the row of an instance that says nothing more is dropped."""
_HOUR_MS = 3_600_000


class InstanceRegistry:
    """What instances tell each other of themselves: a text each, which the next one replaces.

    A row begins with when it was put, in seconds since the epoch on the store's clock.
    """

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def put(self, instance: str, row: str) -> None:
        """Set the text of an instance."""
        key, now = self._calls.keys.board, self._calls.clock()
        await self._calls.server.commands([("HSET", key, instance, f"{now:.3f} {row}"), ("PEXPIRE", key, _HOUR_MS)])

    async def rows(self) -> dict[str, tuple[float, str]]:
        """Read all, by instance: how old each is, in seconds, and the text. After some minutes a text is dropped."""
        key, now = self._calls.keys.board, self._calls.clock()
        found: dict[str, tuple[float, str]] = {}
        old: list[str] = []
        for name, text in (await self._calls.server.command("HGETALL", key)).items():
            at, _, row = text.decode().partition(" ")
            age = now - float(at)
            if age > GONE:
                old.append(name.decode())
            else:
                found[name.decode()] = (max(0.0, age), row)
        if old:
            await self._calls.server.command("HDEL", key, *old)
        return found
