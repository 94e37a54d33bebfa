"""What the services of features stand on: who acts, what came in for a job, and what was refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Literal

from bot.jobs.job_reading import read_lines
from bot.slack.show.people import GroupsOf, find_no_groups
from bot.store.interface import Head, JobKey
from bot.store.redis.redis_store import Store
from handoff import events as ev
from handoff.access import rights
from handoff.access.audit_entry import AuditEntry, Deed, Note, discard_entry
from handoff.contracts import Place

Denied = Literal["unknown", "not_yours", "newer", "unreadable", "forgotten"]
"""Why nothing is told of a job. `newer`: a newer release works on it, and only that can tell. `unreadable`: its log is
damaged."""
LONGEST_ID = 80
"""Characters of an id that came from outside, in the audit."""


def key_of(place: Place) -> JobKey:
    """Return where the job of a thread is."""
    return JobKey(place.team, place.job_id)


class JobRecords:
    """The jobs of a running bot, as its features see them. All that asks the store raises StoreError.

    Args:
        store: Where jobs live.
        nudge: Wakes the instance that runs a job, or has ours try to claim it.
        admins: Slack ids of people who may do anything with any job.
        note: Keeps in the audit what leaves no event in a job: refusals, and who looked at a trace.
        groups_of: The user groups that a person is in, of those that settings and crews name.
    """

    def __init__(
        self,
        store: Store,
        nudge: Callable[[JobKey], None],
        *,
        admins: frozenset[str],
        note: Note = discard_entry,
        groups_of: GroupsOf = find_no_groups,
    ) -> None:
        self.store = store
        self.nudge = nudge
        self.admins = admins
        self.note = note
        self.groups_of = groups_of

    def clock(self) -> float:
        """Return the time on the store's clock, on which all times of jobs are."""
        return self.store.clock()

    async def knows(self, place: Place) -> bool:
        """Return True if the thread has a job."""
        return await self.store.jobs.head(key_of(place)) is not None

    async def actor(self, user: str) -> rights.Actor:
        """Return a person as rights are asked for: with their user groups, and whether they are an admin."""
        return rights.Actor(user, await self.groups_of(user), user in self.admins)

    async def record(self, key: JobKey, event: ev.Event, dedupe: tuple[str, ...] = ()) -> bool:
        """Record what came in for a job that exists, and wake it. False if it came before, by its dedupe ids."""
        new = await self.store.jobs.signal(key, ev.dump(event), dedupe=dedupe)
        self.nudge(key)
        return new

    async def record_refusal(
        self, deed: Deed, key: JobKey, head: Head | None, user: str, why: str, *, request: str = "", target: str = ""
    ) -> None:
        """Keep in the audit that a deed was refused."""
        channel = head.fields.get("channel", "") if head is not None else ""
        of = {"at": self.clock(), "team": key.team, "channel": channel, "job": key.job, "user": user}
        named = {"request": request[:LONGEST_ID], "target": target[:LONGEST_ID], "outcome": "refused", "why": why}
        await self.note(AuditEntry.model_validate({"deed": deed, **of, **named}))

    async def missing(self, key: JobKey) -> Literal["unknown", "forgotten"]:
        """Say why there is no such job: `forgotten` if it was erased on somebody's wish."""
        return "unknown" if await self.store.jobs.forgotten(key) is None else "forgotten"

    async def has_asked_there(self, key: JobKey, head: Head, actor: rights.Actor) -> bool:
        """Return True if the person asked for something in a job whose log cannot say so, or is an admin."""
        if actor.admin or head.fields.get("user") == actor.user:
            return True
        return any(other.key == key for other in await self.store.jobs.list_asked_by(key.team, actor.user, limit=100))

    async def is_recorded(self, key: JobKey, request: str) -> bool:
        """Return True if the request, or a message that may become one, is recorded: Slack repeats what it sends."""
        lines = await read_lines(self.store.jobs, key)
        kinds, named = ('"type":"RequestAdded"', '"type":"MessageHeard"'), f'"id":{json.dumps(request)}'
        return any(named in line and any(kind in line for kind in kinds) for line in lines)
