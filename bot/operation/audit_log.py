"""The audit log: stores entries for actions that have no event in a job's log, and reads all entries.

Entries for actions that have one are written with the commit of the event (`handoff.summaries.audit_events`).
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass

from pydantic import ValidationError

from bot.logs import log_audit_entry
from bot.store.redis.redis_store import Store
from bot.store.values import StoreError
from handoff.access.audit_entry import AuditAction, AuditEntry

log = logging.getLogger(__name__)


class AuditLog:
    """Stores audit entries, each for an action that a person took or was refused."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def record(self, entry: AuditEntry) -> None:
        """Log an entry and store it. Raises nothing: if the store fails, the entry is in this instance's log alone."""
        log_audit_entry(entry)
        try:
            await self._store.audit.add_entry(entry.team, entry.job, entry_to_json(entry))
        except StoreError as error:
            log.error("a deed is in this log alone: %s", error)  # noqa: TRY400 - one clear line, no trace


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """A filter for audit entries; an empty field matches any value.

    Times are seconds since the epoch: `since` is included, `until` is not.
    """

    since: float = 0.0
    until: float = float("inf")
    user: str = ""
    job: str = ""
    deed: AuditAction | str = ""
    team: str = ""

    def __contains__(self, entry: AuditEntry) -> bool:
        """Return whether an entry matches the filter."""
        value_pairs = ((self.user, entry.user), (self.job, entry.job), (self.deed, entry.deed), (self.team, entry.team))
        return self.since <= entry.at < self.until and all(
            not wanted_value or wanted_value == entry_value for wanted_value, entry_value in value_pairs
        )


async def read_entries(store: Store, query: AuditQuery) -> AsyncIterator[AuditEntry]:
    """Read the entries that match the filter, in the order in which they were stored. Raises StoreError.

    An entry that this release cannot parse, such as one of a newer release, is skipped with a warning in the log.
    """
    async for line in store.audit.read(since=query.since):
        try:
            entry = AuditEntry.model_validate_json(line)
        except ValidationError:
            log.warning("an entry of the audit cannot be read by this release")
            continue
        if entry in query:
            yield entry


def entry_to_json(entry: AuditEntry) -> str:
    """Render an entry as one line of JSON, without empty fields."""
    return entry.model_dump_json(exclude_defaults=True)
