"""What stands before a call: how long it waits, what it asks of the store, and what is counted of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bot.limits import held_slots
from bot.limits.call_limits import CallLimits
from bot.limits.limit_rules import InvalidLimitError, Payer, RateLimit, SpendingBudget, parse_budget, parse_rates
from bot.models.server_facts import estimate_prompt_tokens
from bot.store.counters import Counter
from bot.store.redis.redis_counters import Counters
from specialists.model import CallWithheld, ModelError
from tests.models.conftest import ANA, FINE, HOME, Desk, ask, wait_for_calls
from tests.patience import eventually, patience
from tests.providers.faults import Fault
from tests.providers.rendering import Reply

TOKENS = Counter("person:T1/U1:tokens", "day", 1)
COUNTERS = [Counter("gpt-6.1-terra:requests", "rate", 1), Counter("calls:T1", "slots", 2), TOKENS]


async def test_a_rate_is_shared_and_what_cannot_wait_is_not_called(desk: Desk) -> None:
    rates = {"gpt-6.1-terra": RateLimit(requests=3)}
    one, two = desk.limits(rates=rates), desk.limits(rates=rates)
    for limits in (one, two, one):
        await limits.reply(ANA, ask())
    with pytest.raises(CallWithheld) as caught:
        await two.reply(ANA, ask(timeout_seconds=10.0))
    assert (caught.value.reason, caught.value.transient) == ("rate", True)
    assert 50 < caught.value.pause <= 61
    assert "3 requests a minute for gpt-6.1-terra" in str(caught.value)
    await two.reply(ANA, ask(tier="deep"))
    assert len(desk.server.requests) == 4
    assert desk.script.withheld_for == ["rate"]


async def test_calls_at_once_are_limited_for_a_workspace_and_the_next_goes_when_one_ends(desk: Desk) -> None:
    one, two = desk.limits(max_concurrent=1), desk.limits(max_concurrent=1)
    order: list[int] = []

    async def call(number: int, limits: CallLimits, payer: Payer = ANA) -> None:
        await limits.reply(payer, ask())
        order.append(number)

    await asyncio.gather(*(call(number, limits) for number, limits in enumerate((one, two, one))))
    assert sorted(order) == [0, 1, 2]
    assert len(desk.script.waits) == 2
    await one.close()
    held = await desk.store.counters.admit("held", [Counter("calls:T1", "slots", 1)], patience=0, hold=60)
    assert held.ruling == "ok"
    with pytest.raises(CallWithheld, match="This workspace already makes 1 model calls at once"):
        await two.reply(ANA, ask(timeout_seconds=0.3))
    await call(4, two, Payer("T2", "C1", "U1", "J1"))


async def test_a_slot_is_held_as_long_as_its_instance_is_heard_of(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_slots, "RENEW_INTERVAL_SECONDS", 0.01)
    calls = Counter("calls:T1", "slots", 1)
    one, two = desk.limits(max_concurrent=1), desk.limits(max_concurrent=1)
    desk.script.words = lambda: Fault("hang")
    under_way = asyncio.create_task(one.reply(ANA, ask()))
    await wait_for_calls(desk, 1)
    held = f"{desk.store._keys.limits_prefix}slots:{calls.name}"

    async def is_slot_renewed() -> bool:
        _, until = await desk.store._server.run_command("ZRANGE", held, 0, 0, "WITHSCORES")
        return float(until) > desk.store.clock() + held_slots.SLOT_HOLD_SECONDS - 1

    for _ in range(3):
        desk.clock.advance(held_slots.SLOT_HOLD_SECONDS - 5)
        await eventually(is_slot_renewed)
        assert await desk.store.counters.read_spending([calls]) == [1], "it is long, and goes on"
    desk.script.words = lambda: FINE
    await one._held_slots.close()  # its instance is killed, and nobody says that the call is over
    desk.clock.advance(held_slots.SLOT_HOLD_SECONDS - 2)
    with pytest.raises(CallWithheld, match="already makes 1 model calls"):
        await two.reply(ANA, ask(timeout_seconds=0.3))
    desk.clock.advance(3)
    await two.reply(ANA, ask(timeout_seconds=0.3))
    under_way.cancel()
    await asyncio.wait({under_way})


async def test_a_budget_counts_what_was_really_taken(desk: Desk) -> None:
    limits = desk.limits(budgets={"person": SpendingBudget(tokens=100)})
    turn = await limits.reply(ANA, ask())
    await limits.close(patience())
    taken = turn.usage.tokens_in + turn.usage.tokens_out
    assert await desk.store.counters.read_spending([TOKENS]) == [taken]
    assert await limits.find_used_up_budget(ANA) is None
    while taken < 100:
        taken += (await limits.reply(ANA, ask())).usage.tokens_out + turn.usage.tokens_in
    with pytest.raises(CallWithheld) as caught:
        await limits.reply(ANA, ask())
    assert (caught.value.reason, caught.value.transient) == ("budget", False)
    assert "LEADHAND_BUDGET_PERSON" in caught.value.advice
    full = await limits.find_used_up_budget(ANA)
    assert full is not None
    assert "is used up" in full.refusal
    await limits.reply(ANA, ask(is_last=True))
    await limits.reply(Payer("T1", "C1", "U2", "J1"), ask())
    assert "of 100 tokens used" in (await limits.describe_usage(ANA))[0]


async def test_a_budget_that_an_admin_raised_lets_calls_through_again(desk: Desk) -> None:
    limits = desk.limits(budgets={"person": SpendingBudget(tokens=40)})
    await limits.reply(ANA, ask())
    await limits.close(patience())
    with pytest.raises(CallWithheld):
        await limits.reply(ANA, ask())
    for _ in range(2):  # by a second admin, or a second click, as by the first
        now = await limits.raise_budget(ANA, "person", "more:1")
        assert now == "The requester's budget for today is now 80 tokens."
    assert await limits.raise_budget(ANA, "channel", "more:2") == "", "there is no such budget"
    assert await limits.find_used_up_budget(ANA) is None
    await limits.reply(ANA, ask())
    assert "of 80 tokens (40 tokens of it allowed by an admin) used" in (await limits.describe_usage(ANA))[0]
    desk.clock.advance(86_400)
    assert "of 40 tokens used" in (await limits.describe_usage(ANA))[0], "it was raised for that day alone"


async def test_a_failed_call_pays_for_what_it_took_and_a_cut_off_one_by_its_estimate(desk: Desk) -> None:
    limits = desk.limits(budgets={"person": SpendingBudget(tokens=100_000)})
    desk.script.words = lambda: Fault("bad_request")
    with pytest.raises(ModelError):
        await limits.reply(ANA, ask())
    await limits.close(patience())
    assert await desk.store.counters.read_spending([TOKENS]) == [0]
    desk.script.words = lambda: Fault("hang")
    call = asyncio.create_task(limits.reply(ANA, ask()))
    await wait_for_calls(desk, 2)
    call.cancel()
    await asyncio.wait({call})
    await limits.close(patience())
    assert await desk.store.counters.read_spending([TOKENS]) == [estimate_prompt_tokens(ask()) + 500]


async def with_its_rate_used_up(desk: Desk) -> CallLimits:
    """Limits of all three kinds, of which one call has used up the rate: the next one waits."""
    rates = {"gpt-6.1-terra": RateLimit(requests=1)}
    limits = desk.limits(rates=rates, max_concurrent=2, budgets={"person": SpendingBudget(tokens=100_000)})
    await limits.reply(ANA, ask())
    await limits.close(patience())
    return limits


async def test_wherever_a_call_is_stopped_on_its_way_to_the_store_it_leaves_nothing_there(desk: Desk) -> None:
    limits = await with_its_rate_used_up(desk)
    before = await desk.store.counters.read_spending(COUNTERS)
    for moment in range(40):  # more turns of the loop than it takes to be let through
        call = asyncio.create_task(limits.reply(ANA, ask(timeout_seconds=100.0)))
        for _ in range(moment):
            await asyncio.sleep(0)
        call.cancel()
        await asyncio.wait({call})
        await limits.close(patience())
        assert await desk.store.counters.read_spending(COUNTERS) == before, f"stopped after {moment} turns of the loop"
    assert len(desk.server.requests) == 1


async def test_what_is_sent_again_is_counted_again_and_of_a_silent_call_the_estimate_stands(desk: Desk) -> None:
    limits = desk.limits(rates={"": RateLimit(requests=100)}, budgets={"person": SpendingBudget(tokens=100_000)})
    replies: list[Reply | Fault] = [Fault("server_error"), Fault("server_error"), FINE]
    desk.script.words = lambda: replies.pop(0)
    await limits.reply(ANA, ask())
    await limits.close(patience())
    requests = Counter("gpt-6.1-terra:requests", "rate", 100)
    assert await desk.store.counters.read_spending([requests]) == [3]
    (before,) = await desk.store.counters.read_spending([TOKENS])
    desk.script.words = lambda: Fault("hang")
    with pytest.raises(ModelError, match="did not answer"):
        await limits.reply(ANA, ask(timeout_seconds=0.2))
    await limits.close(patience())
    assert await desk.store.counters.read_spending([requests, TOKENS]) == [
        4,
        before + estimate_prompt_tokens(ask()) + 500,
    ]


async def test_what_is_taken_of_each_limit_is_told(desk: Desk) -> None:
    rates = {"": RateLimit(requests=50), HOME: RateLimit(tokens=9_000)}
    limits = desk.limits(rates=rates, max_concurrent=3, budgets={"job": SpendingBudget(tokens=1_000)})
    turn = await limits.reply(ANA, ask())
    await limits.close(patience())
    taken = turn.usage.tokens_in + turn.usage.tokens_out
    assert await limits.describe_usage(ANA) == [
        f"Budget of this job: {taken} of 1k tokens used.",
        "Model calls at once: 0 of 3",
        f"{HOME}: {taken} of 9,000 tokens used this minute",
        "gpt-6-luna: 0 of 50 requests used this minute",
        "gpt-6.1-sol: 0 of 50 requests used this minute",
        "gpt-6.1-terra: 1 of 50 requests used this minute",
    ]
    assert len(await limits.describe_usage(Payer("T1", "C1", "U1", ""))) == 5, "no job, no budget of a job"


async def test_a_budget_in_dollars_says_where_it_bounds_nothing(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    limits = desk.limits(budgets={"day": SpendingBudget(micro_dollars=1)})
    for _ in range(2):
        await limits.reply(ANA, ask())
    assert [record.levelname for record in caplog.records if "no price is known" in record.message] == ["WARNING"]
    assert "No price is known for gpt-6.1-terra, so budgets in dollars do not count it." in await limits.describe_usage(
        ANA
    )


async def test_nothing_is_asked_where_nothing_is_set_and_once_where_something_is(desk: Desk) -> None:
    asked: list[str] = []

    class CountersThatRecord(Counters):
        async def admit(self, *args: Any, **kwargs: Any) -> Any:
            asked.append(f"admit, {len(kwargs['settlements'])} settled")
            return await super().admit(*args, **kwargs)

        async def record_breaker_success(self, *args: Any, **kwargs: Any) -> Any:
            asked.append("succeeded")
            return await super().record_breaker_success(*args, **kwargs)

    desk.store.counters = CountersThatRecord(desk.store._calls)
    plain = desk.limits()
    for _ in range(3):
        await plain.reply(ANA, ask())
    assert asked == []
    counted = desk.limits(
        rates={"": RateLimit(requests=100, tokens=1_000_000)}, budgets={"job": SpendingBudget(tokens=1_000_000)}
    )
    for _ in range(3):
        await counted.reply(ANA, ask())
    assert asked == ["admit, 0 settled", "admit, 1 settled", "admit, 1 settled"]


def test_limits_are_read_as_they_are_documented() -> None:
    rates = parse_rates("50 requests, 40k tokens; claude-opus-5-5: 10 requests; qwen3:8b: 1.5M tokens;")
    assert rates == {
        "": RateLimit(50, 40_000),
        "claude-opus-5-5": RateLimit(10),
        "qwen3:8b": RateLimit(tokens=1_500_000),
    }
    assert parse_budget("$2.50, 400k tokens") == SpendingBudget(2_500_000, 400_000)
    assert parse_budget("3 usd") == SpendingBudget(3_000_000)
    assert parse_budget(" ") is None
    assert parse_rates("") == {}


@pytest.mark.parametrize("text", ["50", "much", "$5", "10 requests, 5 requests", "0 tokens", "10 requests; 5 tokens"])
def test_a_rate_that_is_not_one_is_refused(text: str) -> None:
    with pytest.raises(InvalidLimitError, match="it takes a"):
        parse_rates(text)


@pytest.mark.parametrize("text", ["5", "10 requests", "$0", "-3 tokens", "0.2 tokens", "$5, $6"])
def test_a_budget_that_is_not_one_is_refused(text: str) -> None:
    with pytest.raises(InvalidLimitError, match="it takes a"):
        parse_budget(text)
