"""Every fault of a provider: what it becomes, how often it is tried again, and how long it may take."""

from __future__ import annotations

import asyncio
import time

import pytest

from bot.models.call_retrier import RetryPolicy
from specialists.model import ModelError
from tests.models.conftest import Pair, TextListener, ask, catch_failure, catch_failures, open_pair
from tests.patience import patience
from tests.providers.faults import Fault, FaultKind
from tests.providers.rendering import Reply
from tests.providers.wire import Api

TABLE: list[tuple[FaultKind, str, bool, int]] = [
    ("rate_limited", "rate_limited", True, 3),
    ("no_quota", "quota", False, 1),
    ("overloaded", "unavailable", True, 3),
    ("server_error", "unavailable", True, 3),
    ("unavailable", "unavailable", True, 3),
    ("gateway_timeout", "timeout", True, 3),
    ("payment_required", "quota", False, 1),
    ("too_large", "too_long", False, 1),
    ("context_too_long", "too_long", False, 1),
    ("bad_key", "auth", False, 1),
    ("bad_request", "bad_request", False, 1),
    ("not_found", "bad_request", False, 1),
    ("html", "bad_reply", True, 2),
    ("null", "bad_reply", True, 2),
    ("reset", "unavailable", True, 3),
]


async def test_a_lasting_fault(api: Api, text_listener: TextListener) -> None:
    rows = [row for row in TABLE if row[0] != "no_quota" or api != "anthropic"]  # that is OpenAI's code
    failures = await catch_failures(api, [Fault(row[0]) for row in rows], ask(on_text=text_listener[1]))
    found = [(one.kind, one.transient, one.usage.calls) for one in failures]
    assert found == [row[1:] for row in rows]
    assert not any("sk-12345" in str(one) for one in failures)
    assert text_listener[0] == []


async def test_a_passing_fault_costs_one_more_call(pair: Pair) -> None:
    for fault in (name for name, _, transient, _ in TABLE if transient):
        pair.server.fail_next(Fault(fault))
        turn = await pair.model.reply(ask())
        assert (turn.text, turn.usage.calls) == ("Hello there, this is the answer.", 2), fault


IN_STREAM: dict[FaultKind, str] = {
    "cut_stream": "unavailable",
    "overloaded_in_stream": "unavailable",
    "broken_event": "bad_reply",
    "not_utf8": "bad_reply",
}


async def test_a_stream_that_breaks_after_text_is_not_started_again(api: Api, text_listener: TextListener) -> None:
    async with open_pair(api, lambda _: Reply("word " * 40, piece=5)) as pair:
        for fault, kind in IN_STREAM.items():
            for after in (6, 7):
                text_listener[0].clear()
                pair.server.fail_next(Fault(fault, after=after))
                with pytest.raises(ModelError) as caught:
                    await pair.model.reply(ask(on_text=text_listener[1]))
                assert (caught.value.kind, caught.value.transient, caught.value.usage.calls) == (kind, True, 1), fault
                assert "".join(text_listener[0]) == "word " * len(text_listener[0]) != ""


async def test_a_stream_that_breaks_before_text_is_started_again(pair: Pair, text_listener: TextListener) -> None:
    for fault in IN_STREAM:
        for after in (0, 1):
            text_listener[0].clear()
            pair.server.fail_next(Fault(fault, after=after))
            turn = await pair.model.reply(ask(on_text=text_listener[1]))
            assert "".join(text_listener[0]) == turn.text == "Hello there, this is the answer."
            assert turn.usage.calls == 2, fault


async def test_a_streams_ending_without_stop_reason_is_noticed(api: Api, text_listener: TextListener) -> None:
    failure = await catch_failure(api, Reply("Half an ans", stop=None), ask(on_text=text_listener[1]))
    assert (failure.kind, failure.usage.calls) == ("unavailable", 1)


async def test_retry_after_is_obeyed(pair: Pair) -> None:
    await pair.model.reply(ask())
    pair.server.fail_next(Fault("rate_limited", retry_after="0.4"))
    began = time.monotonic()
    await pair.model.reply(ask())
    assert time.monotonic() - began >= 0.4


async def test_a_retry_after_beyond_the_deadline_is_not_waited_for(pair: Pair) -> None:
    await pair.model.reply(ask())
    pair.server.fail_next(Fault("rate_limited", retry_after="36000"))
    with pytest.raises(ModelError) as caught:
        await pair.model.reply(ask(timeout_seconds=3600.0))
    assert caught.value.kind == "rate_limited"


async def test_the_deadline_ends_a_call_that_hangs(pair: Pair, text_listener: TextListener) -> None:
    await pair.model.reply(ask())
    pair.server.fail_next(Fault("hang"), Fault("hang"))
    for listen in (None, text_listener[1]):
        began = time.monotonic()
        with pytest.raises(ModelError) as caught:
            await pair.model.reply(ask(timeout_seconds=0.3, on_text=listen))
        assert (caught.value.kind, caught.value.transient) == ("timeout", True)
        assert caught.value.usage.calls == caught.value.tries == 1, "it was made all the same"
        assert time.monotonic() - began >= 0.3


async def test_the_deadline_holds_over_all_attempts(api: Api) -> None:
    limits = RetryPolicy(max_attempts=50, first_pause_seconds=0.1, max_pause_seconds=0.1, draw_random=lambda: 1.0)
    async with open_pair(api, lambda _: Fault("overloaded"), limits) as pair:
        await pair.model.warm()
        with pytest.raises(ModelError) as caught:
            await pair.model.reply(ask(timeout_seconds=0.5))
    assert caught.value.kind in {"unavailable", "timeout"}
    assert pair.server.stats.calls <= 6


async def test_pauses_have_full_jitter(api: Api) -> None:
    chances = iter([0.0, 1.0])
    limits = RetryPolicy(first_pause_seconds=0.2, max_pause_seconds=10.0, draw_random=lambda: next(chances))
    async with open_pair(api, lambda _: Fault("overloaded"), limits) as pair:
        await pair.model.warm()
        began = time.monotonic()
        with pytest.raises(ModelError):
            await pair.model.reply(ask())
        took = time.monotonic() - began
    assert pair.server.stats.calls == 3
    assert took >= 0.4  # 0.2 * 0 and 0.4 * 1


async def test_an_address_where_nobody_listens(api: Api) -> None:
    async with open_pair(api, lambda _: Reply("x")) as pair:
        await pair.model.warm()
        await pair.server.stop()
        with pytest.raises(ModelError) as caught:
            await pair.model.reply(ask())
    assert caught.value.kind == "unavailable"
    assert caught.value.transient


async def test_cancelling_ends_the_call_at_once(pair: Pair) -> None:
    await pair.model.reply(ask())
    pair.server.fail_next(Fault("hang"))
    task = asyncio.create_task(pair.model.reply(ask(timeout_seconds=3600.0)))
    async with asyncio.timeout(patience()):
        while pair.server.stats.calls < 2:  # noqa: ASYNC110 - a server's counter sets no event
            await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await pair.model.reply(ask())).stop == "end"


async def test_what_the_listener_raises_is_passed_on(pair: Pair) -> None:
    async def listen(_: str) -> None:
        raise LookupError("the thread is gone")

    with pytest.raises(LookupError, match="the thread is gone"):
        await pair.model.reply(ask(on_text=listen))
    assert pair.server.stats.calls == 1
