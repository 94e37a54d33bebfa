"""Sign-ins to servers: a key each, so that those under way end by themselves."""

from __future__ import annotations

from bot.store.interface import PayloadTooLarge
from bot.store.redis.layout import digest_if_large
from bot.store.redis.script_calls import Calls, ms, nonce

_MARKED = 60.0
"""Seconds for which it is known who took one: longer than any call to the store."""


class SignIns:
    """What people got by signing in to servers, and sign-ins under way: a text by a name within the team.

    They hold tokens: whoever can read the store can use them.
    """

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def keep(self, team: str, name: str, payload: str, lasts: float | None = None) -> None:
        """Set one, for so many seconds; None: until it is taken. Raises PayloadTooLarge over `INLINE_LIMIT`."""
        if digest_if_large(payload):
            raise PayloadTooLarge("the server's sign-in data is larger than the store allows")
        ends = () if lasts is None else ("PX", ms(lasts))
        key = self._calls.keys.sign_in(team, name)
        await self._calls.server.commands([("SET", key, payload, *ends), ("DEL", _name_taken_key(key))])

    async def read(self, team: str, name: str) -> str:
        """Read one; empty if there is none."""
        found = await self._calls.server.command("GET", self._calls.keys.sign_in(team, name))
        return found.decode() if found is not None else ""

    async def take(self, team: str, name: str) -> str:
        """Read one and drop it: of several calls at once one gets it, the others nothing.

        Whoever is first to put a mark beside it has it: a repeat finds its own mark.
        """
        key, mine = self._calls.keys.sign_in(team, name), nonce()
        mark = ("SET", _name_taken_key(key), mine, "NX", "PX", ms(_MARKED))
        _, whose, found = await self._calls.server.commands([mark, ("GET", _name_taken_key(key)), ("GET", key)])
        if found is None or whose is None or whose.decode() != mine:
            return ""
        await self._calls.server.command("DEL", key)
        return bytes(found).decode()


def _name_taken_key(key: str) -> str:
    return f"{key}:taken"
