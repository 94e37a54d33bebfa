"""The sign-ins of a team, as tools know them: a store that is away is not their fault."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from bot.store.redis.redis_store import Store
from bot.store.values import PayloadTooLarge, StoreError
from specialists.tools.tool import WorkbenchLost
from specialists.tools.tool_sign_in import SignInFailed

_T = TypeVar("_T")


class TeamSignIns:
    """`KeptSignIns` of a team, in the store."""

    def __init__(self, store: Store, team: str) -> None:
        self._store, self._team = store, team

    async def keep(self, name: str, text: str, lasts: float | None = None) -> None:
        """Keep a text by a name. Raises SignInFailed if it is too long, and WorkbenchLost if the store is away."""
        await _call_store(self._store.sign_ins.keep(self._team, name, text, lasts))

    async def read(self, name: str) -> str:
        """Return a text; empty if there is none. Raises WorkbenchLost."""
        return await _call_store(self._store.sign_ins.read(self._team, name))

    async def take(self, name: str) -> str:
        """Return a text and remove it; empty if there is none. Raises WorkbenchLost."""
        return await _call_store(self._store.sign_ins.take(self._team, name))


async def _call_store(call: Awaitable[_T]) -> _T:
    try:
        return await call
    except PayloadTooLarge as error:
        raise SignInFailed(f"The server gave too much: {error}.") from None
    except StoreError as error:
        raise WorkbenchLost(error) from error
