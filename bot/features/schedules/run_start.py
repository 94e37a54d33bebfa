"""How a run of a schedule begins: as a job that opens its thread; its id follows from the schedule and the time."""

from __future__ import annotations

from bot.features.schedules.schedule import Schedule
from bot.store.interface import JobKey, Store
from handoff import events as ev
from handoff.contracts import Place, Request


def run_place(one: Schedule, due: float, mark: str = "") -> Place:
    """Return the place of a run that has no thread yet: a job's id follows from it."""
    return Place(team=one.team, channel=one.channel, thread_ts=f"{one.owner}:{one.id}:{due!r}:{mark}")


async def begin_run(store: Store, one: Schedule, due: float, mark: str = "") -> JobKey:
    """Begin the run of a schedule for a time; one that began already is left alone.

    `mark` tells a run that somebody asked for, beside the rule, from those that are due.
    """
    place, now = run_place(one, due, mark), store.clock()
    request = Request(
        id=place.thread_ts, user=one.owner, text=f"Run of schedule {one.id}", at=now, opens=place.thread_ts
    )
    key = JobKey(place.team, place.job_id)
    event = ev.RequestAdded(at=now, place=place, request=request)
    fields = {"state": "submitted", "user": one.owner, "channel": one.channel, "title": request.text}
    await store.jobs.ingest(key, ev.dump(event), dedupe=(f"run:{place.thread_ts}",), fields=fields)
    return key
