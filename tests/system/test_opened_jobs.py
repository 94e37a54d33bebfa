"""A long job taken up again by who had it in hand: only what came since is read, if the log goes on from there."""

from __future__ import annotations

import pytest

from bot.jobs.event_writer import EventWriter
from bot.jobs.lease import Fenced
from bot.jobs.released_jobs import MAX_AGE_SECONDS, MAX_KEPT_EVENTS, MIN_KEPT_EVENTS, ReleasedJobs
from bot.store.redis.redis_jobs import Jobs
from bot.store.redis.redis_store import Store
from bot.store.values import Claim, JobKey, LogEntry, Retention
from handoff import events as ev
from handoff.engine.engine import fold_log
from tests.bench.growth import keep
from tests.bench.long_log import PLACE, long_log

KEY = JobKey(PLACE.team, PLACE.job_id)
HEARD_COUNT = 40
"""Events that came while somebody else had the job."""


class WatchedJobs(Jobs):
    """Notes from which event on logs were read."""

    def __init__(self, store: Store) -> None:
        super().__init__(store._calls, Retention())
        self.after_seqs: list[int] = []

    async def read_log(self, key: JobKey, *, after_seq: int = 0) -> list[LogEntry]:
        self.after_seqs.append(after_seq)
        return await super().read_log(key, after_seq=after_seq)


@pytest.fixture
def jobs(store: Store) -> WatchedJobs:
    """The store's jobs, watched."""
    store.jobs = watched = WatchedJobs(store)
    return watched


async def claim_job(store: Store) -> Claim:
    await store.jobs.signal(KEY, ev.dump_event(ev.TakenOver(at=1.0, owner="x", lost=1)), dedupe=())
    claim = await store.jobs.claim("me", lease=60, schema=ev.SCHEMA, preferred_job=KEY)
    assert claim is not None
    return claim


async def taken_up(store: Store, released_jobs: ReleasedJobs) -> EventWriter:
    """The writer of somebody who claims the job, opens it and lets go of it again."""
    claim = await claim_job(store)
    writer = EventWriter(claim, store, lambda: None, released_jobs)
    await writer.load_job()
    writer.close()
    await store.jobs.release(claim, due=None)
    return writer


async def test_only_what_came_since_is_read(store: Store, jobs: WatchedJobs) -> None:
    log, opened = long_log(MIN_KEPT_EVENTS + HEARD_COUNT), ReleasedJobs()
    await keep(store, log[:MIN_KEPT_EVENTS])
    first = await taken_up(store, opened)
    assert first.job == fold_log(log[:MIN_KEPT_EVENTS])
    assert jobs.after_seqs == [0]
    claim = await claim_job(store)
    await store.jobs.commit(
        claim, "more", MIN_KEPT_EVENTS, [ev.dump_event(event) for event in log[MIN_KEPT_EVENTS:]], schema=ev.SCHEMA
    )
    await store.jobs.release(claim, due=None)
    second = await taken_up(store, opened)
    assert second.job == fold_log(log)
    assert jobs.after_seqs == [0, MIN_KEPT_EVENTS - 1]
    with pytest.raises(Fenced):
        await second.report(log[-1])  # it was let go of


async def test_a_log_that_was_begun_anew_is_read_from_its_start(store: Store, jobs: WatchedJobs) -> None:
    """A job that people had forgotten has another log under the same name: nothing of the old one may come back."""
    log, opened = long_log(MIN_KEPT_EVENTS + HEARD_COUNT), ReleasedJobs()
    await keep(store, log[:MIN_KEPT_EVENTS])
    await taken_up(store, opened)
    assert await store.jobs.forget(KEY, users=[])
    later = [event.model_copy(update={"at": event.at + 9.0}) for event in log]
    await keep(store, later)
    again = await taken_up(store, opened)
    assert again.job == fold_log(later)
    assert jobs.after_seqs[-2:] == [MIN_KEPT_EVENTS - 1, 0]


async def test_short_jobs_old_ones_and_too_many_events_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    opened, job = ReleasedJobs(), fold_log(long_log(MIN_KEPT_EVENTS))
    short = fold_log(long_log(MIN_KEPT_EVENTS - 1))
    assert job is not None
    assert short is not None
    opened.keep(KEY, short, "")
    assert opened.find(KEY) is None
    for number in range(MAX_KEPT_EVENTS // MIN_KEPT_EVENTS + 1):
        opened.keep(JobKey("T1", f"J{number}"), job, "")
    assert opened.find(JobKey("T1", "J0")) is None
    assert opened.find(JobKey("T1", "J1")) is not None
    opened.drop_old()
    assert opened.find(JobKey("T1", "J1")) is not None
    monkeypatch.setattr("bot.jobs.released_jobs.MAX_AGE_SECONDS", -MAX_AGE_SECONDS)
    opened.drop_old()
    assert opened.find(JobKey("T1", "J1")) is None
