"""The outbox of a job: which messages it meant to send, and what became of each."""

from __future__ import annotations

from typing import Literal

from bot.store import bounds
from bot.store.interface import Claim, Intent, JobKey
from bot.store.redis import records
from bot.store.redis.keys import OUTBOX
from bot.store.redis.script_calls import Calls, unless_full


class Messages:
    """Records what is about to be sent, and what was."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def begin(self, claim: Claim, message: str, operation: str) -> Intent | None:
        """See `Store.outbox_begin`."""
        args = (claim.owner, claim.epoch, message, operation, bounds.OUTBOX_LIMIT, bounds.SETTLES_IN)
        reply = unless_full(await self._calls.run("outbox_begin", self._calls.keys.of_job(claim.key), *args))
        return None if reply is None else records.intent(reply[1], first=bool(reply[0]))

    async def note(self, claim: Claim, message: str, kind: Literal["draft", "ts"], ts: str) -> bool:
        """See `Store.outbox_draft`, and `Store.outbox_done` for the kind "ts"."""
        args = (claim.owner, claim.epoch, message, kind, ts)
        return bool(await self._calls.run("outbox_note", self._calls.keys.of_job(claim.key), *args))

    async def all_of(self, key: JobKey) -> dict[str, Intent]:
        """See `Store.outbox`."""
        rows = await self._calls.server.command("HGETALL", self._calls.keys.of_job(key)[OUTBOX])
        return {name.decode(): records.intent(row, first=False) for name, row in rows.items()}
