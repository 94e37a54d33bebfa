"""The outbox of each job, on a server: see `bot.store.interface.OutboxRecords`."""

from __future__ import annotations

from bot.store import quotas
from bot.store.interface import Claim, Intent, JobKey
from bot.store.redis import records
from bot.store.redis.keys import OUTBOX
from bot.store.redis.script_calls import Calls, unless_full


class RedisOutbox:
    """`OutboxRecords` on a server."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def begin(self, claim: Claim, message: str, operation: str) -> Intent | None:
        """See `OutboxRecords.begin`."""
        args = (claim.owner, claim.epoch, message, operation, quotas.OUTBOX_LIMIT, quotas.SETTLES_IN)
        reply = unless_full(await self._calls.run("outbox_begin", self._calls.keys.of_job(claim.key), *args))
        return None if reply is None else records.intent(reply[1], first=bool(reply[0]))

    async def draft(self, claim: Claim, message: str, ts: str) -> bool:
        """See `OutboxRecords.draft`."""
        return await self._note(claim, message, "draft", ts)

    async def done(self, claim: Claim, message: str, ts: str) -> bool:
        """See `OutboxRecords.done`."""
        return await self._note(claim, message, "ts", ts)

    async def _note(self, claim: Claim, message: str, kind: str, ts: str) -> bool:
        args = (claim.owner, claim.epoch, message, kind, ts)
        return bool(await self._calls.run("outbox_note", self._calls.keys.of_job(claim.key), *args))

    async def messages(self, key: JobKey) -> dict[str, Intent]:
        """See `OutboxRecords.messages`."""
        rows = await self._calls.server.command("HGETALL", self._calls.keys.of_job(key)[OUTBOX])
        return {name.decode(): records.intent(row, first=False) for name, row in rows.items()}
