"""Begins a job that opens the thread of another: its first message has no id before it is posted."""

from __future__ import annotations

from bot.store.interface import JobKey
from bot.store.redis.redis_store import Store
from handoff import events as ev
from handoff.contracts import Place, Request


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
