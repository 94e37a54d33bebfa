"""What is counted where: the parts that stand in for others, and the log."""

import asyncio
import logging

import pytest
from pydantic import BaseModel

from bot.models.rehearsal.rehearsal import RehearsalModel
from bot.operation.health import HealthState
from bot.operation.metering import Heartbeat, MeteredModel, meter_crew, meter_store
from bot.operation.metrics import EVENT_COUNTERS, Metrics
from bot.store.redis.redis_store import Store
from bot.store.redis_server import Server
from bot.store.values import BLOB_LIMIT, Commit, PayloadTooLarge, StoreError
from handoff.contracts import Turn, Usage
from specialists.model import ModelCall, ModelError
from specialists.registry import CREWS_FOLDER, load_crew
from specialists.tools.tool import Tool, ToolOutcome, Workbench, WorkbenchLost
from tests.operation.probe import Samples
from tests.own_tools import all_tools
from tests.store.kit import JOB

EVENT = '{"n":1}'


def samples(metrics: Metrics) -> Samples:
    return Samples(metrics.render()[0].decode())


async def test_the_store(store: Store) -> None:
    metrics, heartbeat = Metrics(), Heartbeat()
    jobs = meter_store(store, metrics, heartbeat).jobs
    heartbeat.last -= 100
    assert await jobs.claim("me", lease=10, schema=1) is None
    assert heartbeat.compute_age() < 10
    assert await jobs.ingest(JOB, EVENT, dedupe=["a"])
    claim = await jobs.claim("me", lease=10, schema=1)
    assert claim is not None
    assert await jobs.commit(claim, "1", 0, [EVENT]) is Commit.OK
    assert await jobs.commit(claim, "1", 0, [EVENT]) is Commit.DUP
    assert await jobs.commit(claim, "2", 7, [EVENT]) is Commit.CONFLICT
    assert await jobs.quarantine(claim, EVENT, schema=1)
    assert await jobs.commit(claim, "3", 1, [EVENT]) is Commit.FENCED
    assert await jobs.release_quarantined(JOB, EVENT)
    assert not await jobs.release_quarantined(JOB, EVENT)
    again = await jobs.claim("me", lease=10, schema=1)
    assert again is not None
    assert await jobs.release(again, due=None)
    counts = samples(metrics)
    assert {each: counts.of("commits_total", outcome=each.value) for each in Commit} == dict.fromkeys(Commit, 1)
    assert counts.of("jobs_claimed_total", team=JOB.team) == counts.of("jobs_claimed_total") == 2
    assert counts.of("claim_to_first_commit_seconds_count") == 1
    assert counts.of("jobs_released_total") == 1
    assert counts.of("jobs_let_go_total") == 1
    assert counts.of("store_errors_total") == 0


async def test_a_store_that_is_away() -> None:
    metrics = Metrics()
    store = meter_store(Store(Server("redis://127.0.0.1:9", 1.0)), metrics, Heartbeat())
    for _ in range(2):
        with pytest.raises(StoreError):
            await store.explain_fullness()
    with pytest.raises(StoreError):
        await store.jobs.read_head(JOB)
    with pytest.raises(PayloadTooLarge):
        await store.blobs.put(JOB, bytes(BLOB_LIMIT + 1))
    counts = samples(metrics)
    assert counts.of("store_errors_total", part="store") == 2
    assert counts.of("store_errors_total", part="jobs") == 1
    assert counts.of("store_errors_total") == 3
    starting, away, deaf = await HealthState(store=store).list_readiness_faults()
    assert (starting, deaf) == ("starting", "Slack is not connected")
    assert "cannot be reached" in away


def test_the_log() -> None:
    metrics = Metrics()
    log, handler = logging.getLogger("bot.somewhere"), metrics.make_log_handler()
    log.addHandler(handler)
    try:
        for event in (*EVENT_COUNTERS, "fenced", "unheard of"):
            log.error("it happened", extra={"event": event})
        log.error("nothing to count")
    finally:
        log.removeHandler(handler)
    counts = samples(metrics)
    assert counts.of("jobs_fenced_total") == 2
    assert counts.of("job_takeovers_total") == 1
    assert sum(counts.of(f"{name}_total") for name, _ in EVENT_COUNTERS.values()) == len(EVENT_COUNTERS) + 1


class Stubborn(RehearsalModel):
    """Never answers: it raises the error, or without one takes a minute."""

    def __init__(self, error: Exception | None) -> None:
        super().__init__()
        self._error = error

    async def reply(self, call: ModelCall) -> Turn:
        if self._error is not None:
            raise self._error
        await asyncio.sleep(60)
        return await super().reply(call)


async def test_models() -> None:
    metrics = Metrics()
    slow_down = ModelError("rate_limited", "Slow down.", transient=True, usage=Usage(tokens_in=5))
    for error in (slow_down, ZeroDivisionError(), None):
        model = MeteredModel(Stubborn(error), metrics)
        with pytest.raises(TimeoutError if error is None else type(error)):
            async with asyncio.timeout(0.01):
                await model.reply(ModelCall(purpose="check", system="", messages=(), tier="fast"))
    counts = samples(metrics)
    for outcome in ("rate_limited", "broke", "cancelled"):
        assert counts.of("model_calls_total", outcome=outcome, model="rehearsal", tier="fast") == 1, outcome
    assert counts.of("model_tokens_total", direction="in") == 5


class Nothing(BaseModel):
    """No arguments."""


async def test_tools_keep_what_models_read_of_them() -> None:
    crew = load_crew(CREWS_FOLDER / "general", all_tools())
    metered = meter_crew(crew, Metrics())
    assert {name: one.specs for name, one in metered.specialists.items()} == {
        name: one.specs for name, one in crew.specialists.items()
    }
    assert [tool.faults for one in metered.specialists.values() for tool in one.tools if tool.faults] == []


async def test_how_tools_end() -> None:
    metrics = Metrics()
    ends = iter(
        (
            ToolOutcome("done"),
            ToolOutcome("no such file", failed=True),
            ZeroDivisionError(),
            WorkbenchLost(OSError()),
            None,
        )
    )

    async def run(arguments: Nothing, workbench: Workbench) -> ToolOutcome:
        """Do something."""
        del arguments, workbench
        end = next(ends)
        if isinstance(end, Exception):
            raise end
        if end is None:
            await asyncio.sleep(60)
        return end or ToolOutcome("")

    crew = load_crew(CREWS_FOLDER / "general", all_tools())
    one = crew.specialists["writer"]
    object.__setattr__(one, "tools", (Tool("dig", "read", Nothing, run),))
    (tool,) = meter_crew(crew, metrics).specialists["writer"].tools
    for _ in range(2):
        await tool.run(Nothing(), None)
    with pytest.raises(ZeroDivisionError):
        await tool.run(Nothing(), None)
    with pytest.raises(WorkbenchLost):
        await tool.run(Nothing(), None)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await tool.run(Nothing(), None)
    counts = samples(metrics)
    ended = {end: counts.of("tool_calls_total", tool="dig", outcome=end) for end in ("ok", "failed", "broke", "cut")}
    assert ended == {"ok": 1, "failed": 1, "broke": 1, "cut": 2}


async def test_health_state(store: Store) -> None:
    state = HealthState(store=store, is_claiming=lambda: True, is_slack_connected=lambda: asyncio.sleep(0, result=True))
    assert (state.list_liveness_faults(), await state.list_readiness_faults()) == ([], [])
    state.heartbeat.last -= 50
    assert (state.list_liveness_faults(), await state.list_readiness_faults()) == (
        [],
        ["the instance has not looked for jobs for 50 s"],
    )
    state.heartbeat.last -= 50
    assert (
        state.list_liveness_faults()
        == ["the instance has not looked for jobs for 100 s"]
        == await state.list_readiness_faults()
    )
    state.is_claiming = lambda: False
    assert state.list_liveness_faults() == ["the instance no longer looks for jobs"]
    state.is_stopping = True
    assert (state.list_liveness_faults(), await state.list_readiness_faults()) == ([], ["stopping"])
