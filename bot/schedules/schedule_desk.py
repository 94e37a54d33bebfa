"""The desk of schedules: makes, lists and changes them, decides who may, and keeps that in the audit."""

from __future__ import annotations

from bot.schedules.schedule import Schedule, Unscheduled
from bot.store.interface import Store
from handoff.audit_entry import Note, dropped


class ScheduleDesk:
    """The schedules of a running bot. What returns was recorded; a StoreError means that it was not."""

    def __init__(self, store: Store, *, admins: frozenset[str], note: Note = dropped) -> None:
        self._store = store
        self._admins = admins
        self._note = note

    async def of(self, team: str, user: str) -> tuple[Schedule, ...]:
        """List a person's schedules, the next one to run first and those that are paused last."""
        raise NotImplementedError

    async def make(self, wanted: Schedule) -> Schedule | Unscheduled:
        """Keep a new schedule, whose `id` is drawn if it has none: `on`, or a `draft` that is dropped after a day."""
        raise NotImplementedError
