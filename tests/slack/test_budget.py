"""Slack's limits kept by ourselves: who waits, who goes first, and what instances share."""

from __future__ import annotations

import asyncio

import pytest

from bot.slack.send import budget as budgets
from bot.slack.send.budget import CallBudget, LocalTurnGranter
from bot.slack.send.published_limits import JITTER_SECONDS, LIMIT_BY_METHOD, RANK_BY_PRIORITY, Priority
from bot.store.counters import CallLane, LaneRequest, TurnGrant
from bot.store.redis import redis_counters
from bot.store.redis.redis_store import Store
from bot.store.values import StoreError
from tests.patience import patience
from tests.store.kit import MovedClock, age

POST, EDIT, STREAM = "chat.postMessage", "chat.update", "chat.startStream"


@pytest.fixture(autouse=True)
def unhurried_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is not taken for a store that is away."""
    monkeypatch.setattr(budgets, "TURN_REQUEST_SECONDS", 60.0)


async def all_there_are(budget: CallBudget, method: str = EDIT, priority: Priority = "answer") -> int:
    """Use up what goes at once."""
    count = 0
    while await budget.try_take_turn(method, "C1", priority):
        count += 1
    return count


async def test_a_burst_goes_at_once_and_the_next_waits() -> None:
    budget = CallBudget(clock=lambda: 0.0)  # time stands still: who had to wait would wait for ever
    for _ in range(3):
        await budget.wait_for_turn(POST, "C1")
    assert not await budget.try_take_turn(POST, "C1", "answer")
    await budget.wait_for_turn(POST, "C2")  # each channel has its own


async def test_answers_overtake_cards_that_wait_also_those_of_other_instances(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A busy machine is not taken for an instance that left.
    monkeypatch.setattr(redis_counters, "LATENESS_SECONDS", patience())
    here, there = (CallBudget(store.counters, instance=name, team="T1") for name in ("here", "there"))
    assert await all_there_are(here, POST) == 3
    await here.hold_calls(POST, "C1", patience(3))  # nobody goes before all of them wait
    order: list[str] = []

    async def go(budget: CallBudget, priority: Priority) -> None:
        await budget.wait_for_turn(POST, "C1", priority)
        order.append(priority)

    cards = [asyncio.create_task(go(budget, "card")) for budget in (here, there)]
    while not (here.has_waiting_calls(POST, "C1", "card") and there.has_waiting_calls(POST, "C1", "card")):  # noqa: ASYNC110 - no event
        await asyncio.sleep(0)
    await asyncio.gather(go(there, "answer"), go(here, "question"))
    assert order[:2] == ["answer", "question"] or order[:2] == ["question", "answer"]
    for card in cards:
        card.cancel()


@pytest.mark.parametrize("calls", [1, 6])
async def test_instances_share_what_slack_allows_and_take_some_at_a_time(store: Store, calls: int) -> None:
    asked: list[TurnGrant] = []

    class CountersThatRecord(type(store.counters)):  # type: ignore[misc]
        async def request_turns(self, lane: CallLane, who: str, wish: LaneRequest) -> TurnGrant:
            asked.append(await super().request_turns(lane, who, wish))
            return asked[-1]

    both = [CallBudget(CountersThatRecord(store._calls), instance=str(number), team="T1") for number in range(2)]
    await asyncio.gather(*(budget.wait_for_turn(EDIT) for budget in both for _ in range(calls)))
    assert len(asked) == (2 if calls == 1 else 4), "five at a time, and two more while there are plenty"
    left = sum([await all_there_are(budget) for budget in both])
    assert left + sum(one.turns for one in asked[: 2 if calls == 1 else 4]) >= LIMIT_BY_METHOD[EDIT].calls
    assert sum(one.turns for one in asked) == LIMIT_BY_METHOD[EDIT].calls


async def test_progress_leaves_room_for_the_edits_that_are_sure_to_come(store: Store) -> None:
    here, there = (CallBudget(store.counters, instance=name, team="T1") for name in ("here", "there"))
    here.reserve_turns(EDIT, lambda: 20)
    there.reserve_turns(EDIT, lambda: 15)
    lane = CallLane("a lane", 50, 62.0)
    at_once = [
        await store.counters.request_turns(lane, name, LaneRequest(50, 5, yields=True, expected_calls=20))
        for name in ("a", "b")
    ]
    assert sum(one.turns for one in at_once) == 13, "a fourth of them in a fourth of the time"
    assert (
        await store.counters.request_turns(lane, "c", LaneRequest(50, RANK_BY_PRIORITY["settled"]))
    ).turns == 50 - 2 - 13
    assert (await store.counters.request_turns(lane, "c", LaneRequest(50, RANK_BY_PRIORITY["answer"]))).turns == 2, (
        "and those are for answers"
    )
    refused = await store.counters.request_turns(lane, "c", LaneRequest(1, 0))
    assert (refused.turns, refused.asker_count) == (0, 3)
    assert 55 < refused.wait <= 62


async def test_who_gives_up_uses_no_turn() -> None:
    now = 0.0
    budget = CallBudget(clock=lambda: now)
    for _ in range(3):
        await budget.wait_for_turn(POST, "C1")
    given_up = [asyncio.create_task(budget.wait_for_turn(POST, "C1")) for _ in range(5)]
    await asyncio.sleep(0)
    for task in given_up:
        task.cancel()
    await asyncio.gather(*given_up, return_exceptions=True)
    now = LIMIT_BY_METHOD[POST].seconds
    assert await all_there_are(budget, POST) == 3


async def test_too_many_holds_every_instance_back_and_then_one_goes_at_a_time(store: Store) -> None:
    here, there = (CallBudget(store.counters, instance=name, team="T1") for name in ("here", "there"))
    await here.hold_calls(STREAM, "", 30)
    MovedClock(store).advance(29)
    await age(store, 29)
    assert not await there.try_take_turn(STREAM, "", "answer")
    MovedClock(store).advance(1)
    await age(store, 1)
    await there.wait_for_turn(STREAM)
    assert not await here.try_take_turn(STREAM, "", "answer"), "the next in time"


class Away:
    """Counters of a store that is away."""

    ask_count = 0

    async def request_turns(self, *_: object) -> TurnGrant:
        self.ask_count += 1
        raise StoreError("away")


async def test_without_the_store_each_instance_keeps_to_its_share() -> None:
    counters = Away()
    budget = CallBudget(counters, instance="here", team="T1")  # type: ignore[arg-type]
    budget._sharers = 2
    assert await all_there_are(budget) == LIMIT_BY_METHOD[EDIT].calls // 2
    assert counters.ask_count == 1, "it is not asked again and again"


def test_after_too_many_an_instance_on_its_own_goes_on_evenly() -> None:
    now = 0.0
    share = LocalTurnGranter(lambda: now)
    lane = CallLane("edits", 50, 60.0)
    share.hold_lane(lane, 30)
    now = 29.0
    assert share.grant_turns(lane, LaneRequest(1, 0)).wait == pytest.approx(1.0)
    now = 30.01
    assert share.grant_turns(lane, LaneRequest(5, 0)).turns == 1
    now = 31.3
    assert share.grant_turns(lane, LaneRequest(5, 0)).turns == 1
    now = 92.0
    assert share.grant_turns(lane, LaneRequest(100, 0)).turns == 50


def test_more_instances_than_turns_take_theirs_more_rarely() -> None:
    now = 0.0
    share = LocalTurnGranter(lambda: now)
    lane = CallLane("posts", 3, 3.0)
    assert share.grant_turns(lane, LaneRequest(5, 0), sharers=6).turns == 1
    now = 5.9
    assert share.grant_turns(lane, LaneRequest(1, 0), sharers=6).turns == 0
    now = 6.1
    assert share.grant_turns(lane, LaneRequest(1, 0), sharers=6).turns == 1


async def test_unlimited_and_unknown_methods_never_wait() -> None:
    async with asyncio.timeout(patience()):
        for _ in range(1000):
            await CallBudget(is_unlimited=True).wait_for_turn(POST, "C1")
            await CallBudget().wait_for_turn("auth.test")


async def test_no_minute_sees_more_than_slack_allows(store: Store) -> None:
    """A call may reach Slack `JITTER` seconds after its turn; so any minute there is a window of ours."""
    for limit in LIMIT_BY_METHOD.values():
        assert limit.calls * 60 / (limit.seconds - (0 if limit.is_per_channel else JITTER_SECONDS)) <= 100
    lane = CallLane("edits", 50, 60.0 + JITTER_SECONDS)
    given = [await store.counters.request_turns(lane, "a", LaneRequest(7, 0)) for _ in range(10)]
    assert sum(one.turns for one in given) == 50
    assert given[-1].wait > 60.0 - 5.0
