"""A thread that is asked again and again: what ended before is counted and sent once, not anew with each request."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from bot.features.home.service import HomeService
from bot.jobs.job_runner import JobRunner
from bot.operation.metering import MeteredEffects
from bot.operation.metrics import Metrics
from bot.operation.trace_export import TracedEffects
from bot.slack.send.budget import CallBudget
from bot.slack.send.web_calls import WebCalls
from bot.store.counters import Settlement
from bot.store.redis.redis_counters import Counters
from bot.store.redis.redis_store import Store
from bot.store.values import JobKey
from handoff import events as ev
from handoff.contracts import Place, Request
from handoff.effects import Effect, MakePlan, PostMessage, make_answer_key, make_card_end_key
from handoff.state.job_state import Job
from tests.operation.probe import Samples
from tests.patience import patience
from tests.store.kit import MovedClock
from tests.system.test_poison import Breaking

PLACE = Place(team="T1", channel="C1", thread_ts="100.1")
KEY = JobKey(PLACE.team, PLACE.job_id)
REQUESTS = ("100.1", "200.1", "300.1")


class NotedCounters(Counters):
    """Notes what is settled."""

    def __init__(self, store: Store) -> None:
        super().__init__(store._calls)
        self.settled_operations: list[str] = []

    async def settle(self, settlements: Sequence[Settlement]) -> None:
        self.settled_operations += [one.operation for one in settlements]
        await super().settle(settlements)


class Failing(Breaking):
    """Every request fails when it is planned. Notes the requests that were shown as they were before."""

    def __init__(self) -> None:
        super().__init__(RuntimeError("unused"))
        self.known_requests: list[tuple[str, ...]] = []

    async def run(self, effect: Effect, runner: JobRunner) -> ev.Event | None:
        if isinstance(effect, MakePlan):
            return ev.RequestFailed(at=runner.now(), request=effect.request, step="planning", reason="r", advice="a")
        assert isinstance(effect, PostMessage)
        return ev.Posted(at=runner.now(), request=effect.request, key=effect.key, ts="5.5")

    def show_job_change(self, runner: JobRunner, before: Job, after: Job) -> None:
        del runner
        self.known_requests.append(tuple(request.id for request in before.requests))
        assert {request.id for request in before.requests} <= {request.id for request in after.requests}


async def ask_in(store: Store, request: str) -> None:
    new = Request(id=request, user="U1", text=f"do {request}", at=store.clock())
    event = ev.RequestAdded(at=new.at, place=PLACE, request=new)
    await store.jobs.ingest(KEY, ev.dump_event(event), dedupe=(request,))


class ReportingInstance:
    """What an instance counts and sends beside showing."""

    def __init__(self, store: Store) -> None:
        store.counters = self.counters = NotedCounters(store)
        self.metrics, self.sent_requests, self.failing_effects = Metrics(), list[str](), Failing()
        desk = HomeService(store, team="T1", calls=WebCalls(CallBudget()))
        counted = MeteredEffects(desk.wrap_effects(self.failing_effects), self.metrics)
        self.effects = TracedEffects(counted, lambda _, request: self.sent_requests.append(request))

    async def run(self, store: Store) -> None:
        claim = await store.jobs.claim("me", lease=30, schema=ev.SCHEMA)
        assert claim is not None
        await asyncio.wait_for(JobRunner(claim, store, self.effects, lease=30).run(), patience())


async def test_a_request_that_ended_is_told_of_once(store: Store) -> None:
    told = ReportingInstance(store)
    for request in REQUESTS:
        await ask_in(store, request)
        await told.run(store)
    assert told.sent_requests == list(REQUESTS)
    assert Samples(told.metrics.render()[0].decode()).of("requests_ended_total", team=PLACE.team) == len(REQUESTS)
    assert len(told.counters.settled_operations) == len(set(told.counters.settled_operations)) == len(REQUESTS)
    assert (told.failing_effects.trial_notices, told.failing_effects.quarantine_notices) == ([], [])
    assert REQUESTS[:2] in told.failing_effects.known_requests, "whoever takes a thread up knows what was there"


async def test_what_ended_under_an_owner_that_was_lost_is_told_of_by_the_next(store: Store) -> None:
    told = ReportingInstance(store)
    await ask_in(store, REQUESTS[0])
    claim = await store.jobs.claim("lost", lease=30, schema=ev.SCHEMA)
    assert claim is not None
    (added,) = [entry.payload for entry in await store.jobs.read_inbox(KEY)]
    of = {"at": store.clock(), "request": REQUESTS[0]}
    failed = ev.RequestFailed.model_validate({**of, "step": "planning", "reason": "r", "advice": "a"})
    ends = [
        ev.Posted.model_validate({**of, "key": key(REQUESTS[0]), "ts": "5.5"})
        for key in (make_answer_key, make_card_end_key)
    ]
    lines = [added, *map(ev.dump_event, (failed, *ends))]
    await store.jobs.commit(claim, "all", 0, lines, taken_entries=[1], schema=ev.SCHEMA)
    MovedClock(store).advance(60)
    await told.run(store)
    assert told.sent_requests == [REQUESTS[0]]
    assert len(told.counters.settled_operations) == 1
    assert (told.failing_effects.trial_notices, told.failing_effects.quarantine_notices) == ([], [])
