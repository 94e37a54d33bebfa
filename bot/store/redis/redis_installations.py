"""Installations of the app: one hash, and a key for each state that is under way."""

from __future__ import annotations

from bot.store.interface import PayloadTooLarge
from bot.store.redis.layout import INSTALLATIONS_LIMIT, digest_if_large
from bot.store.redis.redis_sign_ins import SignIns
from bot.store.redis.script_calls import Calls

_UNDER_WAY = "installing"
"""In place of a team, in the names of states: which team it will be, nobody knows yet."""


class Installations:
    """The workspaces and organisations that installed the app: a text by their id, kept for good.

    It holds tokens, encrypted by whoever keeps it.
    """

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._states = SignIns(calls)

    async def put(self, name: str, payload: str, *, was: str) -> bool:
        """Set one that was `was` so far (empty: there was none), or with an empty payload drop it.

        False, with nothing changed, if it is another by now. Raises PayloadTooLarge over `INLINE_LIMIT`, or if there
        are 10,000 already.
        """
        reply = b"full"
        if not digest_if_large(payload):
            args = (name, was, payload, INSTALLATIONS_LIMIT)
            reply = await self._calls.run("installation_put", [self._calls.keys.installations], *args)
        if reply == b"full":
            raise PayloadTooLarge("there are more installations, or larger ones, than the store keeps")
        return bool(reply)

    async def read(self, name: str) -> str:
        """Read one; empty if there is none."""
        found = await self._calls.server.command("HGET", self._calls.keys.installations, name)
        return found.decode() if found is not None else ""

    async def all(self) -> dict[str, str]:
        """Read all, by name."""
        rows = await self._calls.server.command("HGETALL", self._calls.keys.installations)
        return {name.decode(): row.decode() for name, row in rows.items()}

    async def keep_state(self, state: str, lasts: float) -> None:
        """Keep the state of an installation under way for so many seconds."""
        await self._states.keep(_UNDER_WAY, state, "1", lasts)

    async def take_state(self, state: str) -> bool:
        """Drop a state. True for exactly one caller, and only if it was kept and is not over."""
        return bool(state) and await self._states.take(_UNDER_WAY, state) != ""
