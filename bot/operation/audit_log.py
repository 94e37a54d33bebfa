"""The audit: notes deeds that follow from no event of a job, and reads all deeds.

Deeds that follow from events (`handoff.summaries.audit_events`) are written by the commit of the event.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass

from pydantic import ValidationError

from bot.logs import log_audit_entry
from bot.store.redis.redis_store import Store
from bot.store.values import StoreError
from handoff.access.audit_entry import AuditEntry, Deed

log = logging.getLogger(__name__)


class AuditLog:
    """Notes what people did or were refused."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def note(self, entry: AuditEntry) -> None:
        """Keep an entry, and write it to the log. Raises nothing: what was refused stays refused without a store."""
        log_audit_entry(entry)
        try:
            await self._store.audit.note(entry.team, entry.job, line_of(entry))
        except StoreError as error:
            log.error("a deed is in this log alone: %s", error)  # noqa: TRY400 - one clear line, no trace


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """The entries that somebody asks for; an empty field takes any. Times are seconds since the epoch."""

    since: float = 0.0
    until: float = float("inf")
    user: str = ""
    job: str = ""
    deed: Deed | str = ""
    team: str = ""

    def __contains__(self, entry: AuditEntry) -> bool:
        """Return whether an entry is one of those asked for."""
        named = ((self.user, entry.user), (self.job, entry.job), (self.deed, entry.deed), (self.team, entry.team))
        return self.since <= entry.at < self.until and all(not wanted or wanted == given for wanted, given in named)


async def entries(store: Store, wanted: AuditQuery) -> AsyncIterator[AuditEntry]:
    """Read the entries that are wanted, in the order in which they were kept. Raises StoreError.

    An entry that a newer release wrote in a way of its own is left out, with a line in the log.
    """
    async for line in store.audit.read(since=wanted.since):
        try:
            entry = AuditEntry.model_validate_json(line)
        except ValidationError:
            log.warning("an entry of the audit cannot be read by this release")
            continue
        if entry in wanted:
            yield entry


def line_of(entry: AuditEntry) -> str:
    """Write an entry as one line of JSON, without what is empty."""
    return entry.model_dump_json(exclude_defaults=True)
