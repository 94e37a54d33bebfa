"""Access to jobs for the services of features: read jobs, look up who acts, record events and refusals."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Literal

from bot.slack.show.people import FindGroups, find_no_groups
from bot.store.redis.redis_jobs import Jobs
from bot.store.redis.redis_store import Store
from bot.store.values import Head, JobKey, LogBroken
from handoff import events as ev
from handoff.access import rights
from handoff.access.audit_entry import AuditAction, AuditEntry, AuditRecorder, discard_entry
from handoff.contracts import Place, Request
from handoff.engine.replay import parse_log
from handoff.events import NewerEventError
from handoff.state.job_state import Job

DenialReason = Literal["unknown", "not_yours", "newer", "unreadable", "forgotten"]
"""Why a service may not or cannot show a job.

- `unknown`: there is no such job.
- `not_yours`: the person has no right to see it.
- `newer`: a newer release wrote some of its events, which this release cannot read.
- `unreadable`: its log is damaged.
- `forgotten`: it was erased on somebody's request.
"""
MAX_ID_CHARS = 80
"""Maximum characters of an id from outside in the audit."""


def make_job_key(place: Place) -> JobKey:
    """Return the key under which the store keeps the job of a thread."""
    return JobKey(place.team, place.job_id)


class JobRecords:
    """The jobs of a running bot, as its features see them. Methods that call the store raise StoreError.

    Args:
        store: The store that keeps the jobs.
        nudge: Wakes the runner of a job; if this instance does not run the job, it tries to claim it.
        admins: Slack ids of people who may do anything with any job.
        record_audit: Writes an audit entry for an act that leaves no event in a job: a refusal, or reading a trace.
        find_groups: Returns the user groups of a person, limited to those that settings and crews name.
    """

    def __init__(
        self,
        store: Store,
        nudge: Callable[[JobKey], None],
        *,
        admins: frozenset[str],
        record_audit: AuditRecorder = discard_entry,
        find_groups: FindGroups = find_no_groups,
    ) -> None:
        self.store = store
        self.nudge = nudge
        self.admins = admins
        self.record_audit = record_audit
        self.find_groups = find_groups

    def clock(self) -> float:
        """Return the time of the store's clock in seconds since the epoch. All times of jobs are on this clock."""
        return self.store.clock()

    async def has_job(self, place: Place) -> bool:
        """Return True if the thread has a job."""
        return await self.store.jobs.read_head(make_job_key(place)) is not None

    async def find_actor(self, user: str) -> rights.Actor:
        """Return a person as an actor, with their user groups and whether they are an admin."""
        return rights.Actor(user, await self.find_groups(user), user in self.admins)

    async def record_event(self, key: JobKey, event: ev.Event, dedupe: tuple[str, ...] = ()) -> bool:
        """Put an event into the inbox of an existing job and wake its runner. False if a dedupe id is known already."""
        is_new = await self.store.jobs.signal(key, ev.dump_event(event), dedupe=dedupe)
        self.nudge(key)
        return is_new

    async def record_refusal(
        self,
        deed: AuditAction,
        key: JobKey,
        head: Head | None,
        user: str,
        reason: str,
        *,
        request: str = "",
        target: str = "",
    ) -> None:
        """Write to the audit that a person was refused `deed`. `request` and `target` are cut to `MAX_ID_CHARS`."""
        channel = head.fields.get("channel", "") if head is not None else ""
        context = {"at": self.clock(), "team": key.team, "channel": channel, "job": key.job, "user": user}
        refusal_fields = {
            "request": request[:MAX_ID_CHARS],
            "target": target[:MAX_ID_CHARS],
            "outcome": "refused",
            "why": reason,
        }
        await self.record_audit(AuditEntry.model_validate({"deed": deed, **context, **refusal_fields}))

    async def explain_missing(self, key: JobKey) -> Literal["unknown", "forgotten"]:
        """Return why there is no such job: `forgotten` if it was erased on somebody's request, otherwise `unknown`."""
        return "unknown" if await self.store.jobs.read_forget_time(key) is None else "forgotten"

    async def is_requester_or_admin(self, key: JobKey, head: Head, actor: rights.Actor) -> bool:
        """Return True if the person made a request in the job, or is an admin. For jobs whose log cannot be read."""
        if actor.is_admin or head.fields.get("user") == actor.user:
            return True
        return any(
            other.key == key for other in await self.store.jobs.read_heads_asked_by(key.team, actor.user, limit=100)
        )

    async def is_message_recorded(self, key: JobKey, message_id: str) -> bool:
        """Return True if the job has a request or message of this id, since Slack may deliver an event twice."""
        lines = await read_event_lines(self.store.jobs, key)
        kinds, id_json = ('"type":"RequestAdded"', '"type":"MessageHeard"'), f'"id":{json.dumps(message_id)}'
        return any(id_json in line and any(kind in line for kind in kinds) for line in lines)


log = logging.getLogger(__name__)


async def read_event_lines(jobs: Jobs, key: JobKey) -> list[str]:
    """Return the JSON of a job's events: those of its log, then those that wait in its inbox.

    Raises:
        StoreError: The store is away. An entry that cannot be read raises its subclass LogBroken.
    """
    inbox_entries = await jobs.read_inbox(key)  # before the log: what the runner commits in between is found there
    lines = [entry.payload for entry in await jobs.read_log(key)]
    log_lines = set(lines) if inbox_entries else set()
    return [*lines, *(entry.payload for entry in inbox_entries if entry.payload not in log_lines)]


async def read_job(jobs: Jobs, key: JobKey) -> Job | Literal["unknown", "newer", "unreadable"]:
    """Return a job with the events of its inbox applied, or why it cannot be read. Raises StoreError."""
    try:
        job = parse_log(await read_event_lines(jobs, key))
    except NewerEventError:
        return "newer"
    except (LogBroken, ValueError) as error:
        # Log only the type of the error: its text quotes what people wrote.
        log.error("job %s: its log cannot be read (%s)", key.job, type(error).__name__)  # noqa: TRY400 - one line
        return "unreadable"
    return job if job is not None else "unknown"


def make_opening_place(team: str, channel: str, kind: str, unique_part: str) -> Place:
    """Return the place of a job whose thread is still to be opened.

    Its `thread_ts` is `kind:unique_part`. `kind` names the `ThreadOpener`; `unique_part` is unique among its jobs.
    """
    return Place(team=team, channel=channel, thread_ts=f"{kind}:{unique_part}")


async def create_opening_job(store: Store, place: Place, user: str, title: str) -> bool:
    """Create the job of a place from `make_opening_place`. Returns False if it exists already. Raises StoreError."""
    opening_ref, now = place.thread_ts, store.clock()
    request = Request(id=opening_ref, user=user, text=title, at=now, opens=opening_ref)
    event = ev.RequestAdded(at=now, place=place, request=request)
    fields = {"state": "submitted", "user": user, "channel": place.channel, "title": title}
    key = JobKey(place.team, place.job_id)
    return await store.jobs.ingest(key, ev.dump_event(event), dedupe=(f"run:{opening_ref}",), fields=fields)
