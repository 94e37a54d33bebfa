"""What an instance remembers of its specialists' attempts."""

from __future__ import annotations

import asyncio

import pytest

from bot.supervisor.track_record import TrackRecord
from handoff import events as ev
from handoff.contracts import Result, Usage
from handoff.effects import RunSubtask
from handoff.planning.estimates import NO_PAST_USAGE

EFFECT = RunSubtask("1.0", "a", 1, "writer", "fast", 60.0)


def make_result_event(usage: Usage) -> ev.Event:
    return ev.ResultReturned(
        at=1.0, request="1.0", subtask="a", attempt=1, result=Result(summary="s", content="c", usage=usage)
    )


def make_failure_event() -> ev.Event:
    return ev.AttemptFailed(at=1.0, request="1.0", subtask="a", attempt=1, kind="model", message="m")


async def test_what_is_under_way_counts_until_it_ends_however_it_does() -> None:
    record = TrackRecord()
    gate = asyncio.Event()

    async def attempt() -> ev.Event:
        await gate.wait()
        return make_failure_event()

    tasks = [asyncio.create_task(record.record_attempt(EFFECT, attempt())) for _ in range(3)]
    await asyncio.sleep(0)
    assert record.find_load("writer").running_attempts == 3
    tasks[0].cancel()
    with pytest.raises(asyncio.CancelledError):
        await tasks[0]
    assert record.find_load("writer").running_attempts == 2
    gate.set()
    await asyncio.gather(*tasks[1:])
    assert record.find_load("writer").running_attempts == 0
    assert record.find_past_usage("writer", "fast") == NO_PAST_USAGE, "a failure does not tell what the work takes"


async def test_results_are_remembered_by_specialist_and_tier() -> None:
    record = TrackRecord(lambda name: name == "writer")

    async def attempt() -> ev.Event:
        return make_result_event(Usage(calls=2, tokens_in=900, tokens_out=100))

    await record.record_attempt(EFFECT, attempt())
    past = record.find_past_usage("writer", "fast")
    assert (past.attempts, past.calls, past.tokens_in, past.tokens_out) == (1, 2.0, 900.0, 100.0)
    assert record.find_past_usage("writer", "deep") == NO_PAST_USAGE
    assert record.find_load("writer").attempt_seconds is not None
    assert record.find_load("writer").has_open_breaker
    assert record.find_load("analyst").attempt_seconds is None
