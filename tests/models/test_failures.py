"""Every fault of a provider: what it becomes, how often it is tried again, and how long it may take."""

from __future__ import annotations

import asyncio
import time

import pytest

from bot.models.retrying import RetryPolicy
from specialists.model import ModelError
from tests.models.conftest import Heard, Pair, ask, paired
from tests.patience import patience
from tests.providers.faults import Fault, FaultKind
from tests.providers.rendering import Reply
from tests.providers.wire import Api, WireRequest

TABLE: list[tuple[FaultKind, str, bool, int]] = [
    ("rate_limited", "rate_limited", True, 3),
    ("no_quota", "quota", False, 1),
    ("overloaded", "unavailable", True, 3),
    ("server_error", "unavailable", True, 3),
    ("unavailable", "unavailable", True, 3),
    ("gateway_timeout", "timeout", True, 3),
    ("payment_required", "quota", False, 1),
    ("too_large", "too_long", False, 1),
    ("bad_key", "auth", False, 1),
    ("bad_request", "bad_request", False, 1),
    ("not_found", "bad_request", False, 1),
    ("html", "bad_reply", True, 2),
    ("null", "bad_reply", True, 2),
    ("reset", "unavailable", True, 3),
]


@pytest.mark.parametrize(("fault", "kind", "transient", "calls"), TABLE)
async def test_a_lasting_fault(pair: Pair, fault: FaultKind, kind: str, calls: int, *, transient: bool) -> None:
    if fault == "no_quota" and pair.api == "anthropic":
        pytest.skip("OpenAI's code")
    pair.server.fail_next(*[Fault(fault)] * 5)
    with pytest.raises(ModelError) as caught:
        await pair.model.reply(ask())
    assert (caught.value.kind, caught.value.transient) == (kind, transient)
    assert pair.server.stats.calls == calls
    assert caught.value.usage.calls == calls
    assert "sk-12345" not in str(caught.value)


@pytest.mark.parametrize("fault", [name for name, _, transient, _ in TABLE if transient])
async def test_a_passing_fault_costs_one_more_call(pair: Pair, fault: FaultKind) -> None:
    pair.server.fail_next(Fault(fault))
    turn = await pair.model.reply(ask())
    assert turn.text.startswith("Hello")
    assert pair.server.stats.calls == turn.usage.calls == 2


@pytest.mark.parametrize("fault", ["html", "null"])
async def test_a_stream_that_is_none(pair: Pair, heard: Heard, fault: FaultKind) -> None:
    pair.server.fail_next(*[Fault(fault)] * 5)
    with pytest.raises(ModelError) as caught:
        await pair.model.reply(ask(on_text=heard[1]))
    assert caught.value.kind == "bad_reply"
    assert caught.value.transient
    assert heard[0] == []


IN_STREAM: list[tuple[FaultKind, set[str]]] = [
    ("cut_stream", {"unavailable"}),
    ("overloaded_in_stream", {"unavailable"}),
    ("broken_event", {"bad_reply"}),
    ("not_utf8", {"bad_reply"}),
]


@pytest.mark.parametrize("after", [6, 7])
@pytest.mark.parametrize(("fault", "kinds"), IN_STREAM)
async def test_a_stream_that_breaks_after_text_is_not_started_again(
    api: Api, heard: Heard, fault: FaultKind, kinds: set[str], after: int
) -> None:
    async with paired(api, lambda _: Reply("word " * 40, piece=5)) as pair:
        pair.server.fail_next(Fault(fault, after=after))
        with pytest.raises(ModelError) as caught:
            await pair.model.reply(ask(on_text=heard[1]))
    assert caught.value.kind in kinds
    assert caught.value.transient
    assert pair.server.stats.calls == 1
    assert "".join(heard[0]) == "word " * len(heard[0])
    assert heard[0]


@pytest.mark.parametrize("after", [0, 1])
@pytest.mark.parametrize("fault", [name for name, _ in IN_STREAM])
async def test_a_stream_that_breaks_before_text_is_started_again(
    pair: Pair, heard: Heard, fault: FaultKind, after: int
) -> None:
    pair.server.fail_next(Fault(fault, after=after))
    turn = await pair.model.reply(ask(on_text=heard[1]))
    assert "".join(heard[0]) == turn.text == "Hello there, this is the answer."
    assert pair.server.stats.calls == 2


async def test_a_streams_ending_without_stop_reason_is_noticed(api: Api, heard: Heard) -> None:
    async with paired(api, lambda _: Reply("Half an ans", stop=None)) as pair:
        with pytest.raises(ModelError) as caught:
            await pair.model.reply(ask(on_text=heard[1]))
    assert caught.value.kind == "unavailable"
    assert pair.server.stats.calls == 1


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
        await pair.model.reply(ask(deadline=3600.0))
    assert caught.value.kind == "rate_limited"


async def test_the_deadline_ends_a_call_that_hangs(pair: Pair, heard: Heard) -> None:
    await pair.model.reply(ask())
    pair.server.fail_next(Fault("hang"), Fault("hang"))
    for listen in (None, heard[1]):
        began = time.monotonic()
        with pytest.raises(ModelError) as caught:
            await pair.model.reply(ask(deadline=0.3, on_text=listen))
        assert caught.value.kind == "timeout"
        assert caught.value.transient
        assert time.monotonic() - began >= 0.3


async def test_the_deadline_holds_over_all_attempts(api: Api) -> None:
    limits = RetryPolicy(attempts=50, first_pause=0.1, longest_pause=0.1, chance=lambda: 1.0)
    async with paired(api, lambda _: Fault("overloaded"), limits) as pair:
        await pair.model.warm()
        with pytest.raises(ModelError) as caught:
            await pair.model.reply(ask(deadline=0.5))
    assert caught.value.kind in {"unavailable", "timeout"}
    assert pair.server.stats.calls <= 6


async def test_pauses_have_full_jitter(api: Api) -> None:
    chances = iter([0.0, 1.0])
    limits = RetryPolicy(first_pause=0.2, longest_pause=10.0, chance=lambda: next(chances))
    async with paired(api, lambda _: Fault("overloaded"), limits) as pair:
        await pair.model.warm()
        began = time.monotonic()
        with pytest.raises(ModelError):
            await pair.model.reply(ask())
        took = time.monotonic() - began
    assert pair.server.stats.calls == 3
    assert took >= 0.4  # 0.2 * 0 and 0.4 * 1


async def test_an_address_where_nobody_listens(api: Api) -> None:
    async with paired(api, lambda _: Reply("x")) as pair:
        await pair.model.warm()
        await pair.server.stop()
        with pytest.raises(ModelError) as caught:
            await pair.model.reply(ask())
    assert caught.value.kind == "unavailable"
    assert caught.value.transient


async def test_cancelling_ends_the_call_at_once(pair: Pair) -> None:
    await pair.model.reply(ask())
    pair.server.fail_next(Fault("hang"))
    task = asyncio.create_task(pair.model.reply(ask(deadline=3600.0)))
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


async def test_a_model_that_wants_the_new_name_of_the_limit_gets_it() -> None:
    def brain(request: WireRequest) -> Reply | Fault:
        return Fault("wants_new_limit") if "max_tokens" in request.body else Reply("Fine.")

    async with paired("chat", brain) as pair:
        turns = [await pair.model.reply(ask(max_tokens=55)) for _ in range(2)]
    assert [turn.text for turn in turns] == ["Fine.", "Fine."]
    assert pair.server.stats.calls == 3  # learnt once
    assert pair.server.requests[-1].body["max_completion_tokens"] == 55


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_prompt_that_is_too_long_is_named_so(api: Api, heard: Heard, *, streamed: bool) -> None:
    fault = Fault("context_too_long")
    async with paired(api, lambda _: fault) as pair:
        with pytest.raises(ModelError) as caught:
            await pair.model.reply(ask(on_text=heard[1] if streamed else None))
    assert caught.value.kind == "too_long"
    assert not caught.value.transient
