"""Commits of a job runner: `report_soon` keeps the order of events, shares their write and never fails in silence."""

import asyncio
import json
from typing import Any

import pytest

from bot.jobs.job_runner import JobRunner
from bot.store.redis.redis_jobs import Jobs
from bot.store.redis.redis_store import Store
from bot.store.values import Claim, Commit, JobKey, Retention
from handoff import events as ev
from handoff.contracts import Place
from handoff.effects import Effect, MakePlan
from handoff.state.job_state import Job
from tests.patience import eventually, patience
from tests.store.kit import MovedClock, add_request, read_head, take_job
from tests.system.test_poison import Breaking

PLACE = Place(team="T1", channel="C1", thread_ts="100.1")
KEY = JobKey(PLACE.team, PLACE.job_id)
FAULT = ev.PlanRejected(at=1.0, request="100.1", faults=("a",))
END = ev.RequestFailed(at=1.0, request="100.1", step="planning", reason="r", advice="a")


class NotedJobs(Jobs):
    """Keeps what each commit held."""

    def __init__(self, store: Store) -> None:
        super().__init__(store._calls, Retention(jobs=60.0))
        self.commits: list[list[str]] = []
        self.fields: list[dict[str, str]] = []

    async def commit(self, claim: Claim, operation: str, expected_seq: int, payloads: Any, **more: Any) -> Commit:
        self.commits.append([ev.load_event(payload).type for payload in payloads])
        self.fields.append(more.get("fields") or {})
        return await super().commit(claim, operation, expected_seq, payloads, **more)


class Planning(Breaking):
    """Notes a fault of the plan, then reports the request's end; posts are done at once."""

    def __init__(self) -> None:
        super().__init__(RuntimeError("unused"))
        self.shown_jobs: list[Job] = []

    async def run(self, effect: Effect, runner: JobRunner) -> ev.Event | None:
        if not isinstance(effect, MakePlan):
            return ev.Posted(at=2.0, request="100.1", key=getattr(effect, "key", ""), ts="5.5")
        return await self.plan(runner)

    async def plan(self, runner: JobRunner) -> ev.Event | None:
        runner.report_soon(FAULT)
        return END

    def show_job_change(self, runner: JobRunner, before: Job, after: Job) -> None:
        del runner, before
        self.shown_jobs.append(after)


class Noting(Planning):
    """Once the card is there, notes one thing after the other, and ends when both are kept."""

    def __init__(self, store: Store, jobs: NotedJobs) -> None:
        super().__init__()
        self._store, self._jobs = store, jobs

    async def plan(self, runner: JobRunner) -> ev.Event | None:
        def is_kept(name: str, times: int) -> bool:
            return sum(commit.count(name) for commit in self._jobs.commits) == times

        await eventually(lambda: is_kept("Posted", 1))
        runner.report_soon(FAULT)
        for _ in range(20):
            await asyncio.sleep(0)  # time enough for a commit to this store
        runner.report_soon(FAULT)
        await eventually(lambda: is_kept("PlanRejected", 2))
        return END


class SurprisedPlanning(Planning):
    """Something of a newer release comes in just as its own work is reported."""

    def __init__(self, store: Store, jobs: NotedJobs) -> None:
        super().__init__()
        self._store, self._jobs = store, jobs

    async def plan(self, runner: JobRunner) -> ev.Event | None:
        newer = json.dumps({"type": "TeaPoured", "at": 1.0, "v": ev.SCHEMA + 1})
        await self._jobs.signal(KEY, newer, dedupe=())
        runner.report_soon(FAULT)
        runner.nudge()
        await asyncio.Event().wait()
        return None


class RobbedPlanning(Planning):
    """Another instance takes the job just before something is noted."""

    def __init__(self, store: Store, jobs: NotedJobs) -> None:
        super().__init__()
        self._store, self._jobs = store, jobs
        self.is_stopped = False

    async def plan(self, runner: JobRunner) -> ev.Event | None:
        MovedClock(self._store).advance(60)
        await take_job(self._store, "other", lease=30)
        runner.report_soon(FAULT)
        try:
            await asyncio.Event().wait()
        finally:
            self.is_stopped = True
        return None


@pytest.fixture
def jobs(store: Store) -> NotedJobs:
    """The jobs of the store, whose commits are kept."""
    made = store.jobs = NotedJobs(store)
    return made


async def run_job(store: Store, effects: Planning) -> JobRunner:
    """Have a request run until its runner returns."""
    await add_request(store, PLACE, has_fields=False)
    runner = JobRunner(await take_job(store, lease=30), store, effects, lease=30)
    await asyncio.wait_for(runner.run(), patience())
    return runner


async def test_a_noted_event_goes_with_the_next_report_and_before_it(store: Store, jobs: NotedJobs) -> None:
    await run_job(store, Planning())
    together = next(commit for commit in jobs.commits if "PlanRejected" in commit)
    assert [name for name in together if name != "Posted"] == ["PlanRejected", "RequestFailed"]


async def test_what_is_noted_within_a_moment_shares_a_write_and_is_kept_though_nothing_is_reported(
    store: Store, jobs: NotedJobs
) -> None:
    await run_job(store, Noting(store, jobs))
    assert ["PlanRejected", "PlanRejected"] in jobs.commits


async def test_of_the_head_only_what_changed_is_written(store: Store, jobs: NotedJobs) -> None:
    await run_job(store, Planning())
    first, *later = jobs.fields
    assert {"state", "channel", "thread_ts", "title", "user"} <= first.keys()
    assert later
    assert all(fields.keys() <= {"state", "step"} for fields in later)
    head = await read_head(store, KEY)
    assert (head.fields["state"], head.fields["channel"]) == ("failed", "C1")


async def test_people_are_shown_the_last_state(store: Store) -> None:
    effects = Planning()
    runner = await run_job(store, effects)
    assert effects.shown_jobs[-1] == runner.job
    assert effects.shown_jobs[-1].latest_request.state == "failed"


async def test_all_work_stops_where_a_noted_event_cannot_be_kept(store: Store, jobs: NotedJobs) -> None:
    effects = RobbedPlanning(store, jobs)
    runner = await run_job(store, effects)
    assert effects.is_stopped
    assert not runner.is_idle
    assert "PlanRejected" not in [ev.load_event(entry.payload).type for entry in await store.jobs.read_log(KEY)]


async def test_what_was_reported_is_kept_where_a_job_is_left_to_a_newer_release(store: Store, jobs: NotedJobs) -> None:
    await run_job(store, SurprisedPlanning(store, jobs))
    assert "PlanRejected" in [ev.load_event(entry.payload).type for entry in await store.jobs.read_log(KEY)]
    head = await read_head(store, KEY)
    assert (head.schema, head.owner, head.lost_owners) == (ev.SCHEMA + 1, "", 0)
    assert len(await store.jobs.read_inbox(KEY)) == 1, "what it cannot read it leaves there"
