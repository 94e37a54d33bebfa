"""Stores the sign-ins of a team for tools, and raises the store's errors as errors that tools know."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from bot.store.redis.redis_store import Store
from bot.store.values import PayloadTooLarge, StoreError
from specialists.tools.tool import WorkbenchLost
from specialists.tools.tool_sign_in import SignInFailed

_T = TypeVar("_T")


class TeamSignIns:
    """Implements `SignInStore` for a team, in the store."""

    def __init__(self, store: Store, team: str) -> None:
        self._store, self._team = store, team

    async def keep(self, name: str, text: str, seconds: float | None = None) -> None:
        """Store a text under a name, for `seconds` seconds; None: until it is taken.

        Raises SignInFailed if the text is too long, and WorkbenchLost if the store is away.
        """
        await _raise_tool_errors(self._store.sign_ins.put(self._team, name, text, seconds))

    async def read(self, name: str) -> str:
        """Return the text of a name; empty if there is none. Raises WorkbenchLost if the store is away."""
        return await _raise_tool_errors(self._store.sign_ins.read(self._team, name))

    async def pop(self, name: str) -> str:
        """Return the text of a name and remove it; empty if there is none. Raises WorkbenchLost like `read`."""
        return await _raise_tool_errors(self._store.sign_ins.pop(self._team, name))


async def _raise_tool_errors(call: Awaitable[_T]) -> _T:
    try:
        return await call
    except PayloadTooLarge as error:
        raise SignInFailed(f"The server gave too much: {error}.") from None
    except StoreError as error:
        raise WorkbenchLost(error) from error
