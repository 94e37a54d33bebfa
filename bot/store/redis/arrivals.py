"""What comes in for a job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from bot.store import bounds
from bot.store.interface import JobKey
from bot.store.redis.script_calls import Calls, flat, nonce, unless_full

Where = Literal["any", "exists", "aside"]
"""Which jobs it may come in for: any, one that exists, or one that is set aside, which is given out again."""


class Arrivals:
    """Puts events in inboxes. `retention` is that of finished jobs, in seconds."""

    def __init__(self, calls: Calls, retention: float) -> None:
        self._calls = calls
        self._retention_ms = round(retention * 1000)

    async def receive(
        self,
        key: JobKey,
        payload: str,
        dedupe: Sequence[str],
        where: Where,
        *,
        user: str = "",
        fields: dict[str, str] | None = None,
    ) -> bool:
        """False, with nothing changed, where it was seen before or there is no such job. Raises PayloadTooLarge."""
        fields = fields or {}
        bounds.check_fields(fields)
        operation = nonce()
        keys = self._calls.keys
        # Without an id of its own the event is told from its repeat by the operation alone.
        seen = [keys.seen(key, name) for name in dedupe or (operation,)]
        reply = await self._calls.run(
            "ingest",
            [*keys.of_job(key), keys.asked_by(keys.part_of(key), key.team, user), *seen],
            bounds.member(key),
            operation,
            where,
            bounds.digest_if_large(payload),
            payload,
            bounds.INBOX_LIMIT,
            bounds.JOB_BYTES_LIMIT,
            round(bounds.SEEN_FOR * 1000),
            user,
            bounds.JOBS_OF_LIMIT,
            self._retention_ms,
            keys.channel,
            int(self._calls.server.replicas > 0),
            *flat(fields),
        )
        return bool(unless_full(reply))
