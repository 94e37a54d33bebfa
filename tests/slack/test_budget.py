"""Slack's limits kept by ourselves: who waits, and who goes first."""

import asyncio
import time

import pytest

from bot.slack.send.budget import RATES, Budget, Priority

POST = "chat.postMessage"


async def test_a_burst_goes_at_once_and_the_next_waits() -> None:
    budget = Budget()
    started = time.monotonic()
    for _ in range(3):
        await budget.take(POST, "C1")
    assert time.monotonic() - started < 0.5
    assert not budget.room(POST, "C1", "answer")
    await budget.take(POST, "C2")  # each channel has its own
    assert time.monotonic() - started < 0.5
    await budget.take(POST, "C1")
    assert time.monotonic() - started > 0.9


async def test_answers_overtake_cards_that_wait() -> None:
    budget = Budget()
    for _ in range(3):
        await budget.take(POST, "C1")
    order: list[str] = []

    async def go(name: str, priority: str) -> None:
        await budget.take(POST, "C1", priority)  # type: ignore[arg-type]
        order.append(name)

    waiting = [asyncio.create_task(go("card", "card")), asyncio.create_task(go("answer", "answer"))]
    await asyncio.gather(*waiting)
    assert order == ["answer", "card"]


async def test_cards_leave_room_for_what_people_wait_for() -> None:
    budget = Budget(clock=lambda: 0.0)
    while budget.room("chat.update"):
        await budget.take("chat.update", priority="card")
    assert budget.short("chat.update")
    assert budget.room("chat.update", priority="question")


async def test_who_gives_up_uses_no_turn() -> None:
    budget = Budget()
    for _ in range(3):
        await budget.take(POST, "C1")
    given_up = [asyncio.create_task(budget.take(POST, "C1")) for _ in range(5)]
    await asyncio.sleep(0)
    for task in given_up:
        task.cancel()
    await asyncio.gather(*given_up, return_exceptions=True)
    started = time.monotonic()
    await budget.take(POST, "C1")
    assert time.monotonic() - started < 2


async def test_too_many_holds_everybody_back() -> None:
    now = 0.0
    budget = Budget(clock=lambda: now)
    budget.hold("chat.update", "", 30)
    now = 29.0
    assert not budget.room("chat.update", priority="answer")
    now = 40.0
    assert budget.room("chat.update", priority="answer")


@pytest.mark.parametrize("priority", ["answer", "card"])
async def test_after_too_many_one_call_goes_as_soon_as_slack_allows_it(priority: Priority) -> None:
    now = 0.0
    budget = Budget(clock=lambda: now)
    while budget.room("chat.update"):
        await budget.take("chat.update", priority="card")
    budget.hold("chat.update", "", 1)
    now = 1.1
    assert budget.room("chat.update", priority=priority), "it need not wait until the reserve is there again"
    await budget.take("chat.update", priority=priority)
    assert not budget.room("chat.update", priority=priority)
    now = 3.2
    assert budget.room("chat.update", priority=priority), "the next as the limit lets calls through"
    now = 60.0
    while budget.room("chat.update"):
        await budget.take("chat.update", priority="card")
    assert budget.room("chat.update", priority="question"), "what is kept back is kept back again"


async def test_unlimited_and_unknown_methods_never_wait() -> None:
    async with asyncio.timeout(1):
        for _ in range(1000):
            await Budget(unlimited=True).take(POST, "C1")
            await Budget().take("auth.test")


@pytest.mark.parametrize("method", [name for name, rate in RATES.items() if not rate.by_channel])
def test_no_minute_sees_more_than_slack_allows(method: str) -> None:
    rate = RATES[method]
    assert rate.burst + 60 * rate.per_second <= rate.per_minute
