"""What people had remembered: a hash for each place, and a set of the places of a team."""

from __future__ import annotations

from bot.store.interface import MEMORIES_LIMIT, PayloadTooLarge
from bot.store.redis.layout import digest_if_large
from bot.store.redis.script_calls import Calls


class Memories:
    """What people had remembered: a text by a name within a place of the team (a channel or a person), kept for good.

    What is written says what was there before, so that two who change the same do not undo each other.
    """

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def put(self, team: str, place: str, name: str, payload: str, *, was: str = "") -> bool:
        """Set one that was `was` so far (empty: there was none), or with an empty payload drop it.

        False, with nothing changed, if it is another by now. Raises PayloadTooLarge over `INLINE_LIMIT`, or if the
        place has `MEMORIES_LIMIT` already.
        """
        if digest_if_large(payload):
            raise PayloadTooLarge("this is too long to be remembered; make it shorter")
        keys = self._calls.keys.memories(team, place)
        reply = await self._calls.run("memory_put", keys, place, name, was, payload, MEMORIES_LIMIT)
        if reply == b"full":
            raise PayloadTooLarge(f"{MEMORIES_LIMIT} things are remembered there already; forget one first")
        return bool(reply)

    async def of(self, team: str, place: str) -> dict[str, str]:
        """Read all of a place, by name."""
        rows = await self._calls.server.command("HGETALL", self._calls.keys.memories(team, place)[0])
        return {name.decode(): row.decode() for name, row in rows.items()}

    async def places(self, team: str) -> frozenset[str]:
        """Name the places for which something is remembered."""
        found = await self._calls.server.command("SMEMBERS", self._calls.keys.remembering(team))
        return frozenset(name.decode() for name in found)
