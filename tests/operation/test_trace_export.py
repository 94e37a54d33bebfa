"""Traces for a collector: what a span becomes, what is sent only if it is asked for, and a collector that is away."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping
from types import MappingProxyType

import pytest

from bot.operation import trace_export
from bot.operation.trace_export import (
    CONTENTS_VARIABLE,
    ENDPOINT_VARIABLE,
    ExportOutcome,
    NoCollector,
    SpanSender,
    TraceQueue,
    make_sender,
)
from bot.store.redis.redis_store import Store
from bot.store.values import JobKey
from bot.tracing.span import Span
from handoff import events as ev
from handoff.contracts import Place, Request, Usage
from handoff.state.state_values import EngineDecision
from tests.operation.collector import Collector, attributes, collecting, get_message_text
from tests.patience import patience
from tests.store.kit import take_job

KEY = JobKey("T1", "J0123456789")
SECRET = "the merger with Zanzibar"
REQUEST = Span(
    "request-1", "request", SECRET, "supervisor", 100.0, 109.5, "done", request="1.1", words=SECRET, text=SECRET
)
ATTEMPT = Span("attempt-4", "attempt", "analyst", "analyst", 101.0, 108.0, "failed", parent="request-1", request="1.1")
CHAT = Span(
    "chat-5", "chat", "analyst", "analyst", 101.0, 103.0, "done", parent="attempt-4", request="1.1", subtask="s1",
    attempt=1, model="gpt-6.1", tier="fast", usage=Usage(model="gpt-6.1", calls=1, tokens_in=900,
    tokens_out=70, cost=0.02), brief=SECRET, text=SECRET,
)  # fmt: skip
TOOL = Span(
    "tool-6", "tool", "query_table", "analyst", 103.0, 104.0, "failed", parent="attempt-4", request="1.1", call="c1",
    arguments=MappingProxyType({"sql": SECRET}), text=SECRET, reason=SECRET, outcome="tool",
    decisions=(EngineDecision(104.0, "s1", "retry", SECRET),),
)  # fmt: skip
OPEN = dataclasses.replace(TOOL, id="tool-9", end=None, state="open")
ALL = (REQUEST, ATTEMPT, CHAT, TOOL, OPEN)


def sender(collector: Collector, **more: str) -> SpanSender:
    found = make_sender({ENDPOINT_VARIABLE: collector.url, **more}, provider="openai", names={"analyst", "query_table"})
    assert found is not None
    return found


async def test_spans_carry_the_names_of_the_conventions_and_no_contents() -> None:
    async with collecting() as collector:
        assert (
            await sender(collector, OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20k1, x-team=a").send(KEY, ALL)
            == ExportOutcome()
        )
    assert (collector.headers["authorization"], collector.headers["x-team"]) == ("Bearer k1", "a")
    request, attempt, chat, tool = collector.spans
    assert [one.name for one in collector.spans] == [
        "invoke_workflow leadhand",
        "invoke_agent analyst",
        "chat gpt-6.1",
        "execute_tool query_table",
    ]
    assert request.parent_span_id == b""
    assert (attempt.parent_span_id, chat.parent_span_id) == (request.span_id, attempt.span_id)
    assert len({one.trace_id for one in collector.spans}) == 1
    assert (chat.start_time_unix_nano, chat.end_time_unix_nano) == (101_000_000_000, 103_000_000_000)
    found = attributes(chat)
    assert found["gen_ai.operation.name"] == "chat"
    assert found["gen_ai.provider.name"] == "openai"
    assert found["gen_ai.conversation.id"] == KEY.job
    assert (found["gen_ai.usage.input_tokens"], found["gen_ai.usage.output_tokens"]) == (900, 70)
    assert found["leadhand.cost_usd"] == 0.02
    assert (tool.status.code, attributes(tool)["error.type"]) == (2, "tool")
    assert [one.name for one in tool.events] == ["leadhand.decision"]
    assert SECRET.encode() not in b"".join(collector.bodies)


async def test_contents_are_sent_only_where_they_are_asked_for_and_long_ones_in_part() -> None:
    long = dataclasses.replace(CHAT, text="x" * 20_000)
    async with collecting() as collector:
        await sender(collector, **{CONTENTS_VARIABLE: "true"}).send(KEY, (REQUEST, long, TOOL))
    request, chat, tool = collector.spans
    assert get_message_text(chat, "gen_ai.input.messages") == SECRET
    assert get_message_text(chat, "gen_ai.output.messages").endswith("x [4000 characters more]")
    assert SECRET in attributes(tool)["gen_ai.tool.call.arguments"]
    assert attributes(tool)["gen_ai.tool.call.result"] == SECRET
    assert attributes(tool)["gen_ai.tool.call.id"] == "c1"
    assert (tool.status.message, request.name) == (SECRET, "invoke_workflow leadhand")


async def test_whoever_sends_a_request_sends_the_same_ids() -> None:
    async with collecting() as collector:
        for _ in range(2):
            await sender(collector).send(KEY, ALL)
        await sender(collector).send(JobKey("T2", KEY.job), ALL)
    ids = [(one.trace_id, one.span_id) for one in collector.spans]
    assert ids[:4] == ids[4:8]
    assert not set(ids[8:]) & set(ids[:8])


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({ENDPOINT_VARIABLE: "collector:4318"}, "it takes http://HOST:4318"),
        ({ENDPOINT_VARIABLE: "grpc://c:4317"}, "http://HOST:4318"),
    ],
)
def test_an_address_that_is_none_is_refused(env: Mapping[str, str], words: str) -> None:
    with pytest.raises(NoCollector, match=words):
        make_sender(env)
    assert make_sender({}) is None


async def test_a_collector_that_is_away_or_refuses_is_told_from_one_that_takes_all() -> None:
    async with collecting() as collector:
        collector.answers = [503, 401, 400]
        there = sender(collector)
        assert (await there.send(KEY, ALL)).may_retry
        assert await there.probe_collector() == "answers 401 Unauthorized"
        assert await there.send(KEY, ALL) == ExportOutcome("answers 400 Bad Request")
        assert await there.probe_collector() == ""
    assert (await there.send(KEY, ALL)).fault.startswith("cannot be reached")


async def _make_asked_job(store: Store, number: int) -> JobKey:
    """A job whose log has its request alone."""
    place = Place(team="T1", channel="C1", thread_ts=f"{number}.1")
    key, request = JobKey("T1", place.job_id), Request(id=f"{number}.1", user="U1", text="Hello", at=1.0)
    await store.jobs.ingest(key, "{}", dedupe=())
    claim = await take_job(store, schema=ev.SCHEMA)
    event = ev.dump_event(ev.RequestAdded(at=1.0, place=place, request=request))
    await store.jobs.commit(claim, f"op{number}", 0, [event], schema=ev.SCHEMA)
    return key


async def test_nothing_is_lost_while_a_collector_is_away(
    store: Store, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what it will never take holds nothing up."""
    monkeypatch.setattr(trace_export, "MAX_QUEUED_TRACES", 2)
    jobs = [await _make_asked_job(store, number) for number in (1, 2, 3)]
    async with collecting() as collector:
        export = TraceQueue(sender(collector), retry_seconds=0.01)
        for number, job in enumerate(jobs, start=1):
            export.enqueue(job, f"{number}.1")
        collector.answers = [503, 503, 400]
        async with export.send_in_background(store), asyncio.timeout(patience()):
            await collector.took.wait()
    assert collector.bodies, (
        "and once more if the instance stops before it hears that it was taken: the ids are the same"
    )
    told = [record.getMessage() for record in caplog.records]
    assert sum("traces wait" in one for one in told) == 1
    assert sum("too many wait" in one and jobs[0].job in one for one in told) == 1
    assert sum("answers 400" in one and jobs[1].job in one for one in told) == 1
