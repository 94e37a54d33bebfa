"""The audit of the store: a record of who did what."""

from __future__ import annotations

import heapq
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from bot.store.redis import layout
from bot.store.redis.layout import AUDIT, TEAMS
from bot.store.redis.script_calls import Calls, nonce, to_milliseconds
from bot.store.values import JobKey, Retention

PAGE = 500
"""Entries of one stream that are read at a time."""

Id = tuple[int, int]


class Audit:
    """A record of who did what, apart from the jobs. Entries are only ever added, and expire after `Retention.audit`.

    Entries are JSON, one line each. Those that follow from a job's events are written by their commit. So there is a
    stream for each team in each partition, which a commit can reach.
    """

    def __init__(self, calls: Calls, retention: Retention) -> None:
        self._calls = calls
        self._kept_ms = to_milliseconds(retention.audit)

    async def note(self, team: str, job: str, entry: str) -> None:
        """Add an entry that does not follow from a job's event. `job` may be empty."""
        names = self._calls.keys
        key = JobKey(team, job or "-")
        keys = names.of_job(key)
        mark = f"{names.part_of(key)}:audited:{nonce()}"
        args = (team, entry, self._kept_ms, to_milliseconds(layout.OPERATIONS_FOR))
        await self._calls.run("audit_note", (keys[AUDIT], keys[TEAMS], mark), *args)

    async def read(self, *, since: float = 0.0) -> AsyncIterator[str]:
        """Yield the entries of all teams that were added since a time (seconds since the epoch), the oldest first.

        The streams are read page by page, and merged by their ids, which are times.
        """
        names, server = self._calls.keys, self._calls.server
        parts = names.parts()
        teams = await server.commands([("SMEMBERS", names.audits(part)) for part in parts])
        streams = [
            names.audit(part, team.decode()) for part, found in zip(parts, teams, strict=True) for team in sorted(found)
        ]
        waiting: list[tuple[Id, int]] = []
        pages = [_Stream(self._calls, name, f"{round(since * 1000)}-0") for name in streams]
        for number, page in enumerate(pages):
            if (first := await page.first()) is not None:
                heapq.heappush(waiting, (first, number))
        while waiting:
            _, number = heapq.heappop(waiting)
            yield pages[number].take()
            if (following := await pages[number].first()) is not None:
                heapq.heappush(waiting, (following, number))


@dataclass
class _Stream:
    """A stream that is read page by page, from the id `start` on."""

    calls: Calls
    name: str
    start: str
    rows: list[Any] = field(default_factory=list)

    async def first(self) -> Id | None:
        """Return the id of the next entry, reading a page if needed; None after the last."""
        if not self.rows and self.start:
            self.rows = await self.calls.server.command("XRANGE", self.name, self.start, "+", "COUNT", PAGE)
            self.start = f"({self.rows[-1][0].decode()}" if len(self.rows) == PAGE else ""
            self.rows.reverse()
        if not self.rows:
            return None
        time, _, number = self.rows[-1][0].partition(b"-")
        return int(time), int(number)

    def take(self) -> str:
        """Remove and return the next entry, which `first` must have found."""
        return str(self.rows.pop()[1][b"p"].decode())
