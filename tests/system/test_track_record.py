"""What an instance remembers of its specialists' attempts."""

from __future__ import annotations

import asyncio

import pytest

from bot.supervisor.track_record import TrackRecord
from handoff import events as ev
from handoff.contracts import Result, Usage
from handoff.effects import RunSubtask
from handoff.planning.estimates import NO_PAST

EFFECT = RunSubtask("1.0", "a", 1, "writer", "fast", 60.0)


def ended(usage: Usage) -> ev.Event:
    return ev.ResultReturned(
        at=1.0, request="1.0", subtask="a", attempt=1, result=Result(summary="s", content="c", usage=usage)
    )


def failed() -> ev.Event:
    return ev.AttemptFailed(at=1.0, request="1.0", subtask="a", attempt=1, kind="model", message="m")


async def test_what_is_under_way_counts_until_it_ends_however_it_does() -> None:
    record = TrackRecord()
    gate = asyncio.Event()

    async def attempt() -> ev.Event:
        await gate.wait()
        return failed()

    tasks = [asyncio.create_task(record.watch(EFFECT, attempt())) for _ in range(3)]
    await asyncio.sleep(0)
    assert record.load("writer").waiting == 3
    tasks[0].cancel()
    with pytest.raises(asyncio.CancelledError):
        await tasks[0]
    assert record.load("writer").waiting == 2
    gate.set()
    await asyncio.gather(*tasks[1:])
    assert record.load("writer").waiting == 0
    assert record.past("writer", "fast") == NO_PAST, "a failure does not tell what the work takes"


async def test_results_are_remembered_by_specialist_and_tier() -> None:
    record = TrackRecord(lambda name: name == "writer")

    async def attempt() -> ev.Event:
        return ended(Usage(calls=2, tokens_in=900, tokens_out=100))

    await record.watch(EFFECT, attempt())
    past = record.past("writer", "fast")
    assert (past.attempts, past.calls, past.tokens_in, past.tokens_out) == (1, 2.0, 900.0, 100.0)
    assert record.past("writer", "deep") == NO_PAST
    assert record.load("writer").seconds is not None
    assert record.load("writer").out
    assert record.load("analyst").seconds is None
