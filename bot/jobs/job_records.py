"""What the services of features stand on: jobs read from the store, who acts, what came in, and what was refused."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Literal

from bot.slack.show.people import GroupsOf, find_no_groups
from bot.store.redis.redis_jobs import Jobs
from bot.store.redis.redis_store import Store
from bot.store.values import Head, JobKey, LogBroken
from handoff import events as ev
from handoff.access import rights
from handoff.access.audit_entry import AuditEntry, AuditRecorder, Deed, discard_entry
from handoff.contracts import Place, Request
from handoff.engine.replay import open_log
from handoff.events import NewerEvent
from handoff.state.job_state import Job

DenialReason = Literal["unknown", "not_yours", "newer", "unreadable", "forgotten"]
"""Why nothing is told of a job. `newer`: a newer release works on it, and only that can tell. `unreadable`: its log is
damaged."""
LONGEST_ID = 80
"""Characters of an id that came from outside, in the audit."""


def key_of(place: Place) -> JobKey:
    """Return the key under which the store keeps the job of a thread."""
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
        note: AuditRecorder = discard_entry,
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

    async def has_job(self, place: Place) -> bool:
        """Return True if the thread has a job."""
        return await self.store.jobs.head(key_of(place)) is not None

    async def actor(self, user: str) -> rights.Actor:
        """Return a person with what rights depend on: their user groups, and whether they are an admin."""
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

    async def explain_missing(self, key: JobKey) -> Literal["unknown", "forgotten"]:
        """Say why there is no such job: `forgotten` if it was erased on somebody's wish."""
        return "unknown" if await self.store.jobs.read_forget_time(key) is None else "forgotten"

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


log = logging.getLogger(__name__)


async def read_lines(jobs: Jobs, key: JobKey) -> list[str]:
    """Return the JSON of a job's events: those of its log, then those that wait in its inbox.

    Raises:
        StoreError: The store is away; LogBroken, which is one, if an entry cannot be read.
    """
    waiting = await jobs.inbox(key)  # read first: what its runner takes in meanwhile is in the log, and not missed
    lines = [entry.payload for entry in await jobs.log(key)]
    taken = set(lines) if waiting else set()
    return [*lines, *(entry.payload for entry in waiting if entry.payload not in taken)]


async def read_job(jobs: Jobs, key: JobKey) -> Job | Literal["unknown", "newer", "unreadable"]:
    """Return a job as it will be once its inbox is taken in, or why it cannot be read. Raises StoreError."""
    try:
        found = open_log(await read_lines(jobs, key))
    except NewerEvent:
        return "newer"
    except (LogBroken, ValueError) as error:
        # Only its type: the text of a validation error quotes what people wrote.
        log.error("job %s: its log cannot be read (%s)", key.job, type(error).__name__)  # noqa: TRY400 - one line
        return "unreadable"
    return found if found is not None else "unknown"


def opening_place(team: str, channel: str, kind: str, mark: str) -> Place:
    """Return the place of a job that opens a thread. `kind` names who opens it, `mark` tells it from others."""
    return Place(team=team, channel=channel, thread_ts=f"{kind}:{mark}")


async def begin_opening(store: Store, place: Place, user: str, title: str) -> bool:
    """Begin the job of an `opening_place`. False if it began already. Raises StoreError."""
    opens, now = place.thread_ts, store.clock()
    request = Request(id=opens, user=user, text=title, at=now, opens=opens)
    event = ev.RequestAdded(at=now, place=place, request=request)
    fields = {"state": "submitted", "user": user, "channel": place.channel, "title": title}
    key = JobKey(place.team, place.job_id)
    return await store.jobs.ingest(key, ev.dump(event), dedupe=(f"run:{opens}",), fields=fields)
