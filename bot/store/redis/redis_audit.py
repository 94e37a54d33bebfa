"""The audit of the store: a record of who did what."""

from __future__ import annotations

import heapq
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from bot.store.redis import layout
from bot.store.redis.layout import AUDIT, AUDIT_TEAMS
from bot.store.redis.script_runner import ScriptRunner, make_nonce, to_milliseconds
from bot.store.values import JobKey, Retention

PAGE_ENTRIES = 500
"""Entries of one stream that are read at a time."""

EntryId = tuple[int, int]


class Audit:
    """A record of who did what, apart from the jobs. Entries are only ever added, and expire after `Retention.audit`.

    Entries are JSON, one line each. Entries that follow from a job's events are written by the commit of the events.
    As a commit reaches one partition only, each team has a stream in each partition.
    """

    def __init__(self, calls: ScriptRunner, retention: Retention) -> None:
        self._calls = calls
        self._retention_ms = to_milliseconds(retention.audit)

    async def add_entry(self, team: str, job: str, entry: str) -> None:
        """Add an entry that does not follow from a job's event. `job` may be empty."""
        names = self._calls.keys
        key = JobKey(team, job or "-")
        keys = names.list_job_keys(key)
        mark = f"{names.compute_partition_prefix(key)}:audited:{make_nonce()}"
        args = (team, entry, self._retention_ms, to_milliseconds(layout.JOB_OPERATION_SECONDS))
        await self._calls.run("audit_note", (keys[AUDIT], keys[AUDIT_TEAMS], mark), *args)

    async def read(self, *, since: float = 0.0) -> AsyncIterator[str]:
        """Yield the entries of all teams that were added since a time (seconds since the epoch), the oldest first.

        The streams are read page by page, and merged by their ids, which are times.
        """
        names, server = self._calls.keys, self._calls.server
        parts = names.list_partition_prefixes()
        teams = await server.run_commands([("SMEMBERS", names.make_audit_teams_key(part)) for part in parts])
        streams = [
            names.make_audit_key(part, team.decode())
            for part, team_names in zip(parts, teams, strict=True)
            for team in sorted(team_names)
        ]
        entry_heap: list[tuple[EntryId, int]] = []
        pages = [_StreamReader(self._calls, name, f"{round(since * 1000)}-0") for name in streams]
        for number, page in enumerate(pages):
            if (first := await page.read_next_id()) is not None:
                heapq.heappush(entry_heap, (first, number))
        while entry_heap:
            _, number = heapq.heappop(entry_heap)
            yield pages[number].pop_entry()
            if (following := await pages[number].read_next_id()) is not None:
                heapq.heappush(entry_heap, (following, number))


@dataclass
class _StreamReader:
    """A stream that is read page by page, from the id `start` on."""

    calls: ScriptRunner
    name: str
    start: str
    rows: list[Any] = field(default_factory=list)

    async def read_next_id(self) -> EntryId | None:
        """Return the id of the next entry, reading a page if needed; None after the last."""
        if not self.rows and self.start:
            self.rows = await self.calls.server.run_command("XRANGE", self.name, self.start, "+", "COUNT", PAGE_ENTRIES)
            self.start = f"({self.rows[-1][0].decode()}" if len(self.rows) == PAGE_ENTRIES else ""
            self.rows.reverse()
        if not self.rows:
            return None
        time, _, number = self.rows[-1][0].partition(b"-")
        return int(time), int(number)

    def pop_entry(self) -> str:
        """Remove and return the next entry, which `read_next_id` must have found."""
        return str(self.rows.pop()[1][b"p"].decode())
