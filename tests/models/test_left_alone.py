"""Breakers before calls: what keeps failing is left alone by all, what rests is waited for, and one tries it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bot.limits.breakers import BREAKER_RULES, Breakers
from bot.limits.call_limits import CallLimits
from bot.limits.limit_rules import SpendingBudget
from bot.store.counters import CLOSED_BREAKER, Counter
from bot.store.redis.redis_store import Store
from bot.store.redis_server import Server
from handoff.contracts import Turn
from specialists.model import CallWithheld, ModelCall, ModelError
from tests.models import conftest
from tests.models.conftest import ANA, FINE, Desk, wait_for_calls
from tests.patience import eventually, patience
from tests.providers.faults import Fault, FaultKind
from tests.providers.rendering import Reply
from tests.store.kit import tcp_server

MODEL = "model:gpt-6.1-terra"
WRITER = "specialist:writer"
OF_THE_ACCOUNT: list[FaultKind] = ["rate_limited", "no_quota", "bad_key", "rate_limited"]
BROKEN_CONNECTIONS: list[FaultKind] = ["reset", "server_error", "cut_stream", "reset"]


def ask(**more: Any) -> ModelCall:
    """A call whose deadline is too short to wait for a model that rests."""
    return conftest.ask(**{"timeout_seconds": 20.0, **more})


class HeldReply:
    """What the provider says once it is let."""

    def __init__(self, reply: Reply | Fault) -> None:
        self._reply = reply
        self._release_event = asyncio.Event()

    async def __call__(self) -> Reply | Fault:
        await self._release_event.wait()
        return self._reply

    def release_reply(self) -> None:
        self._release_event.set()


async def run_call(limits: CallLimits, call: ModelCall) -> str:
    """How a call ended: fine, failed, or withheld."""
    try:
        await limits.reply(ANA, call)
    except CallWithheld:
        return "withheld"
    except ModelError:
        return "failed"
    return "fine"


async def rest_model(desk: Desk) -> None:
    """The model was left alone, and may be tried now."""
    await desk.store.counters.record_breaker_failure(MODEL, "f", BREAKER_RULES["model"], rest_seconds=10.0)
    desk.clock.advance(11)


async def start_probe(desk: Desk, limits: CallLimits) -> tuple[asyncio.Task[Turn], HeldReply]:
    """The call that tries the model, which waits for its reply."""
    await rest_model(desk)
    desk.script.words = held = HeldReply(FINE)
    probe = asyncio.create_task(limits.reply(ANA, ask()))
    await wait_for_calls(desk, 1)
    return probe, held


async def test_a_model_that_keeps_failing_is_left_alone_by_all_and_tried_by_one(desk: Desk) -> None:
    one, two = desk.limits(), desk.limits()
    desk.script.words = lambda: Fault("server_error")
    for limits in (one, two, one, two, one, two, one):
        with pytest.raises(ModelError):
            await limits.reply(ANA, ask(max_tries=1))
    assert len(desk.server.requests) == 5
    with pytest.raises(CallWithheld) as caught:
        await two.reply(ANA, ask())
    assert (caught.value.reason, caught.value.transient) == ("breaker", True)
    desk.clock.advance(31)
    held = HeldReply(FINE)
    desk.script.words = held
    calls = [asyncio.create_task(run_call(limits, ask())) for limits in (one, two, one)]
    await wait_for_calls(desk, 6)
    done, _ = await asyncio.wait(calls, timeout=0.3)
    assert (len(done), len(desk.server.requests)) == (0, 6), "one probe among all: the others wait for it"
    held.release_reply()
    assert await asyncio.gather(*calls) == ["fine"] * 3
    assert await desk.store.counters.read_breakers() == {}


async def test_what_was_wrong_with_one_request_says_nothing_of_the_model(desk: Desk) -> None:
    limits = desk.limits()
    desk.script.words = lambda: Fault("bad_request")
    for _ in range(7):
        with pytest.raises(ModelError, match="refused"):
            await limits.reply(ANA, ask())
    assert len(desk.server.requests) == 7


async def test_a_provider_that_asks_to_be_left_alone_is_by_all_instances(desk: Desk) -> None:
    one, two = desk.limits(), desk.limits()
    desk.script.words = lambda: Fault("rate_limited", retry_after="45")
    with pytest.raises(ModelError) as caught:
        await one.reply(ANA, ask(timeout_seconds=5.0))
    assert (caught.value.kind, caught.value.pause) == ("rate_limited", 45.0)
    with pytest.raises(CallWithheld) as withheld:
        await two.reply(ANA, ask())
    assert 40 < withheld.value.pause <= 46
    assert len(desk.server.requests) == 1
    desk.clock.advance(46)
    desk.script.words = lambda: FINE
    await two.reply(ANA, ask())


async def test_a_rest_that_ends_within_the_deadline_is_waited_for_and_costs_nothing(desk: Desk) -> None:
    one, two = desk.limits(), desk.limits()
    desk.script.words = lambda: Fault("rate_limited", retry_after="1")
    assert await run_call(one, ask(max_tries=1)) == "failed"
    desk.script.words = lambda: FINE
    asked = asyncio.get_running_loop().time()
    assert await asyncio.gather(*(run_call(limits, ask()) for limits in (one, two, two))) == ["fine"] * 3
    assert asyncio.get_running_loop().time() - asked > 0.8
    assert desk.script.withheld_for == []
    assert len(desk.script.waits) == 3


async def test_a_call_that_waits_keeps_time_to_be_answered(desk: Desk) -> None:
    limits = desk.limits()
    await desk.store.counters.record_breaker_failure(MODEL, "f", BREAKER_RULES["model"], rest_seconds=3.5)
    assert await run_call(limits, ask(timeout_seconds=4.0)) == "withheld"


async def test_a_probe_that_is_stopped_leaves_its_place_to_the_next(desk: Desk) -> None:
    limits = desk.limits()
    probe, _ = await start_probe(desk, limits)
    probe.cancel()
    await asyncio.wait({probe})
    desk.script.words = lambda: FINE
    assert await run_call(limits, ask(timeout_seconds=2.0)) == "fine"


async def test_a_probe_keeps_its_place_however_long_it_takes(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.limits.call_limits.SLOT_HOLD_SECONDS", 0.3)
    limits = desk.limits()
    probe, held = await start_probe(desk, limits)
    first = desk.store.counters.recall_breaker(MODEL).probe_until

    async def is_place_kept() -> bool:
        # Well beyond what it was given at first.
        return desk.store.counters.recall_breaker(MODEL).probe_until > first + 0.5

    await eventually(is_place_kept)
    assert not (await desk.store.counters.request_passage(MODEL, probe="other", hold=1))[0]
    held.release_reply()
    await probe
    assert desk.store.counters.recall_breaker(MODEL) == CLOSED_BREAKER


async def test_a_probe_that_a_limit_keeps_out_leaves_its_place_to_the_next(desk: Desk) -> None:
    poor, rich = desk.limits(budgets={"person": SpendingBudget(tokens=1)}), desk.limits()
    await desk.store.counters.admit("spent", [Counter("person:T1/U1:tokens", "day", 1)], patience=0, hold=1)
    await rest_model(desk)
    assert await run_call(poor, ask()) == "withheld"
    assert await run_call(rich, ask(timeout_seconds=2.0)) == "fine"


@pytest.mark.parametrize("faults", [OF_THE_ACCOUNT, BROKEN_CONNECTIONS])
async def test_what_is_the_providers_is_no_fault_of_the_specialist(desk: Desk, faults: list[FaultKind]) -> None:
    limits = desk.limits()
    said = iter(map(Fault, faults))
    desk.script.words = lambda: next(said)
    for _ in faults:
        assert await run_call(limits, ask(purpose=WRITER, max_tries=1)) == "failed"
    assert WRITER not in await desk.store.counters.read_breakers()


async def test_a_specialist_that_has_failed_is_asked_in_turn(desk: Desk) -> None:
    limits = desk.limits()
    held = HeldReply(Fault("bad_request"))
    desk.script.words = held
    first = [asyncio.create_task(run_call(limits, ask(purpose=WRITER, max_tries=1))) for _ in range(2)]
    await wait_for_calls(desk, 2)
    held.release_reply()
    assert await asyncio.gather(*first) == ["failed"] * 2
    again = [run_call(limits, ask(purpose=WRITER, max_tries=1)) for _ in range(3)]
    assert sorted(await asyncio.gather(*again)) == ["failed", "withheld", "withheld"]
    assert len(desk.server.requests) == 3, "three failed calls, however many wanted to try"


async def test_a_specialist_that_works_again_is_asked_side_by_side(desk: Desk) -> None:
    limits = desk.limits()
    desk.script.words = lambda: Fault("bad_request")
    for _ in range(2):
        await run_call(limits, ask(purpose=WRITER, max_tries=1))
    held = HeldReply(FINE)
    desk.script.words = held
    calls = [asyncio.create_task(run_call(limits, ask(purpose=WRITER))) for _ in range(4)]
    await wait_for_calls(desk, 3)
    held.release_reply()
    async with asyncio.timeout(patience()):
        assert await asyncio.gather(*calls) == ["fine"] * 4


async def test_the_last_call_passes_the_breaker_of_a_specialist_but_not_of_a_model(desk: Desk) -> None:
    limits = desk.limits()
    for number in range(3):
        await desk.store.counters.record_breaker_failure(WRITER, f"{number}", BREAKER_RULES["specialist"])
    assert await run_call(limits, ask(purpose=WRITER)) == "withheld"
    assert await run_call(limits, ask(purpose=WRITER, is_last=True)) == "fine"
    assert desk.store.counters.recall_breaker(WRITER).open_until, "it proves nothing"
    await desk.store.counters.record_breaker_failure(MODEL, "f", BREAKER_RULES["model"], rest_seconds=60.0)
    assert await run_call(limits, ask(purpose=WRITER, is_last=True)) == "withheld"


async def test_a_store_that_is_away_is_logged_with_what_it_did_not_count(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with tcp_server(tmp_path) as port:
        store = Store(Server(f"redis://127.0.0.1:{port}", patience(1.0)))
        await store.read_time()
        await store.counters.record_breaker_failure(WRITER, "f", BREAKER_RULES["specialist"])
    breakers = Breakers(store.counters, store.clock, is_enabled=True)
    async with breakers.admit_call([WRITER], max_wait_seconds=0.0, hold_seconds=9.0):
        pass
    await breakers.count_specialist_failure(WRITER)
    await store.close()
    started = [record.getMessage().partition(": ")[0] for record in caplog.records]
    assert started == [f"the {outcome} of {WRITER} could not be counted" for outcome in ("success", "failure")]
