"""What is known of a job: its log, its inbox and its head."""

from __future__ import annotations

import asyncio
from typing import Any

from bot.store import bounds
from bot.store.interface import Entry, Head, JobKey, LogBroken
from bot.store.redis import records
from bot.store.redis.keys import BLOBS, HEAD, INBOX, LOG
from bot.store.redis.script_calls import Calls

LOG_PAGE = 250
LOG_STRING = 125
"""Entries of a log to a string: see `scripts/log.lua`."""


class Reading:
    """Reads jobs. Changes nothing, and asks for no token."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def log(self, key: JobKey, *, after: int) -> list[Entry]:
        """See `Store.log`."""
        entries, last = await self._page(key, after + 1)
        # Side by side: the server reads a page while the one before it is taken in here.
        starts = range(after + 1 + LOG_PAGE, last + 1, LOG_PAGE)
        for page, _ in await asyncio.gather(*(self._page(key, start) for start in starts)):
            entries += page
        try:
            # The head was read with the first page: what others append meanwhile is more than it says, never less.
            records.check_order(key, entries, after, last)
        except LogBroken:
            if await self.head(key) is None:
                return []  # it expired while it was read
            raise
        return entries

    async def _page(self, key: JobKey, start: int) -> tuple[list[Entry], int]:
        """The entries of one page, from that sequence on, and the sequence that the head tells."""
        keys = self._calls.keys.of_job(key)
        seq, number, *strings = await self._calls.run("log", (keys[LOG], keys[HEAD]), start, LOG_PAGE, LOG_STRING)
        if strings or not number:
            return records.joined(strings, start), int(seq)
        rows = await self._calls.server.command("XRANGE", keys[LOG], f"{start}-0", "+", "COUNT", LOG_PAGE)
        return await self._entries(key, rows), int(seq)

    async def inbox(self, key: JobKey) -> list[Entry]:
        """See `Store.inbox`."""
        name = self._calls.keys.of_job(key)[INBOX]
        return await self._entries(key, await self._calls.server.command("XRANGE", name, "-", "+"))

    async def _entries(self, key: JobKey, rows: list[Any]) -> list[Entry]:
        wanted = list(dict.fromkeys(row[1][b"b"] for row in rows if b"b" in row[1]))
        name = self._calls.keys.of_job(key)[BLOBS]
        found = await self._calls.server.command("HMGET", name, *wanted) if wanted else []
        kept = dict(zip(wanted, found, strict=True))
        return [records.entry(key, row, kept) for row in rows]

    async def head(self, key: JobKey) -> Head | None:
        """See `Store.head`."""
        return records.head(key, await self._calls.server.command("HGETALL", self._calls.keys.of_job(key)[HEAD]))

    async def jobs_of(self, team: str, user: str, *, limit: int) -> list[Head]:
        """See `Store.jobs_of`."""
        server, names = self._calls.server, self._calls.keys
        indexes = [names.asked_by(part, team, user) for part in names.parts()]
        found = await server.commands([("ZRANGE", index, 0, limit - 1, "REV", "WITHSCORES") for index in indexes])
        scored = [(float(row[at + 1]), row[at]) for row in found for at in range(0, len(row), 2)]
        newest = sorted(scored, reverse=True)
        keys = [bounds.job_key(name.decode()) for _, name in newest[:limit]]
        states = await server.commands([("HGETALL", names.of_job(key)[HEAD]) for key in keys]) if keys else []
        heads = (records.head(key, state) for key, state in zip(keys, states, strict=True))
        return [head for head in heads if head is not None]
