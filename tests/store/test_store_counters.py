"""What all instances count together, held to one suite: on a server, sent twice, on a cluster."""

import asyncio
import math

from bot.store.counters import CLOSED_BREAKER, DAY_SECONDS, AdmitReply, BreakerRule, Counter, Settlement
from tests.patience import eventually
from tests.store.kit import Kit

RULE = BreakerRule(3, rest_seconds=30.0, longest_rest_seconds=100.0, forget_seconds=600.0)
REQUESTS = Counter("model", "rate", 3)
TOKENS = Counter("model tokens", "rate", 1000, 400)
BUDGET = Counter("person", "day", 1000, 400)
SLOTS = Counter("team", "slots", 2)


async def admit(kit: Kit, operation: str, *counters: Counter, patience: float = 0.0, last: bool = False) -> AdmitReply:
    return await kit.store.counters.admit(operation, counters, patience=patience, hold=20.0, ignores_budgets=last)


async def test_a_rate_lets_so_many_through_in_a_minute_and_no_more(kit: Kit) -> None:
    assert [(await admit(kit, f"o{n}", REQUESTS)).ruling for n in range(4)] == ["ok", "ok", "ok", "late"]
    late = await admit(kit, "late", REQUESTS)
    assert 59 < late.wait <= 61
    assert await kit.store.counters.read_spending([REQUESTS]) == [3]
    kit.advance(62)
    assert (await admit(kit, "later", REQUESTS)).ruling == "ok"


async def test_who_can_wait_is_given_a_place_and_those_after_it_come_later(kit: Kit) -> None:
    for n in range(3):
        await admit(kit, f"o{n}", REQUESTS)
    waits = [await admit(kit, f"w{n}", REQUESTS, patience=200.0) for n in range(4)]
    assert [one.ruling for one in waits] == ["ok"] * 4
    assert all(59 < one.wait <= 61 for one in waits[:3])
    assert 120 < waits[3].wait <= 122
    assert waits[3].second == waits[0].second + 61


async def test_a_repeat_counts_once_and_is_told_the_same(kit: Kit) -> None:
    first = await admit(kit, "same", REQUESTS, TOKENS, BUDGET)
    again = await admit(kit, "same", REQUESTS, TOKENS, BUDGET)
    assert (first.ruling, first.second) == (again.ruling, again.second)
    assert await kit.store.counters.read_spending([REQUESTS, TOKENS, BUDGET]) == [1, 400, 400]


async def test_all_counters_or_none(kit: Kit) -> None:
    full = Counter("small", "rate", 100, 200)
    assert (await admit(kit, "a", full)).ruling == "ok", "more than the limit fits where nothing else is"
    refused = await admit(kit, "b", REQUESTS, BUDGET, SLOTS, full)
    assert (refused.ruling, refused.counter_index) == ("late", 3)
    assert await kit.store.counters.read_spending([REQUESTS, BUDGET, SLOTS]) == [0, 0, 0]


async def test_what_was_really_taken_is_set_right_once(kit: Kit) -> None:
    wanted = (REQUESTS, TOKENS, BUDGET, SLOTS)
    admission = await admit(kit, "a", *wanted)
    done = Settlement("a", admission.second, wanted, (1, 50, 1200, 0))
    await kit.store.counters.settle([done])
    await kit.store.counters.settle([done])
    assert await kit.store.counters.read_spending(wanted) == [1, 50, 1200, 0]
    assert await kit.store.counters.admit("b", (BUDGET,), patience=0, hold=1) == AdmitReply("spent")
    assert (await admit(kit, "c", BUDGET, last=True)).ruling == "ok"


async def test_what_was_settled_counts_for_the_call_that_brings_it(kit: Kit) -> None:
    admission = await admit(kit, "a", BUDGET)
    settled = [Settlement("a", admission.second, (BUDGET,), (1000,))]
    refused = await kit.store.counters.admit("b", (BUDGET,), patience=0, hold=1, settlements=settled)
    assert refused.ruling == "spent"


async def test_a_slot_is_free_once_settled_or_when_its_holder_is_lost(kit: Kit) -> None:
    first = await admit(kit, "a", SLOTS)
    await admit(kit, "b", SLOTS)
    assert (await admit(kit, "c", SLOTS)).ruling == "busy"
    await kit.store.counters.settle([Settlement("a", first.second, (SLOTS,), (0,))])
    assert (await admit(kit, "c", SLOTS)).ruling == "ok"
    assert (await admit(kit, "d", SLOTS)).ruling == "busy"
    kit.advance(21)
    assert (await admit(kit, "d", SLOTS)).ruling == "ok"


async def test_who_is_heard_of_keeps_a_slot_and_who_is_not_loses_it(kit: Kit) -> None:
    counters = kit.store.counters
    assert (await admit(kit, "dead", SLOTS)).ruling == "ok"
    assert (await admit(kit, "alive", SLOTS)).ruling == "ok"
    assert await counters.read_spending([SLOTS]) == [2]
    for _ in range(3):
        kit.advance(15)
        assert (await counters.admit("alive", (SLOTS,), patience=0, hold=20.0)).ruling == "ok"
    assert await counters.read_spending([SLOTS]) == [1]
    await counters.settle([Settlement("alive", 0, (SLOTS,), (0,))])
    await counters.admit("alive", (SLOTS,), patience=0, hold=20.0)
    assert await counters.read_spending([SLOTS]) == [0], "what is over takes no slot again"


async def test_a_budget_of_a_day_is_free_again_the_next_and_one_for_life_is_not(kit: Kit) -> None:
    now = await kit.store.read_time()
    kit.advance(math.ceil(now / DAY_SECONDS) * DAY_SECONDS - now + 3600)  # an hour into a day
    life = Counter("job", "life", 300, 300)
    first = await admit(kit, "a", BUDGET, life)
    kit.advance(DAY_SECONDS)
    await kit.store.counters.settle([Settlement("a", first.second, (BUDGET, life), (900, 310))])
    assert await kit.store.counters.read_spending([BUDGET, life]) == [0, 310]
    assert (await admit(kit, "b", life)).ruling == "spent"


async def test_instances_share_a_limit(kit: Kit) -> None:
    stores = [kit.store, *kit.others]
    rulings = await asyncio.gather(
        *(stores[n % len(stores)].counters.admit(f"o{n}", (REQUESTS,), patience=0, hold=1) for n in range(12))
    )
    assert [one.ruling for one in rulings].count("ok") == 3


async def test_the_first_who_asks_is_told_so(kit: Kit) -> None:
    assert await kit.store.counters.claim_mark("mark", seconds=60)
    assert not await kit.others[0].counters.claim_mark("mark", seconds=60)


async def test_failures_in_a_row_open_a_breaker_and_a_success_between_them_does_not(kit: Kit) -> None:
    breakers = kit.store.counters
    for n in range(2):
        assert (await breakers.record_breaker_failure("writer", f"f{n}", RULE)).open_until == 0
        assert (await breakers.record_breaker_failure("writer", f"f{n}", RULE)).failures == n + 1, (
            "a repeat counts once"
        )
    assert await breakers.record_breaker_success("writer", "s") == CLOSED_BREAKER
    opened = [await breakers.record_breaker_failure("writer", f"g{n}", RULE) for n in range(3)]
    now = await kit.store.read_time()
    assert [one.get_state(now) for one in opened] == ["closed", "closed", "open"]
    assert 29 < opened[-1].open_until - now <= 30
    assert (await breakers.read_breakers())["writer"] == opened[-1] == breakers.recall_breaker("writer")


async def test_one_probe_among_all_instances_closes_it_or_doubles_its_rest(kit: Kit) -> None:
    one, two = kit.store.counters, kit.others[0].counters
    for n in range(3):
        await one.record_breaker_failure("m", f"f{n}", RULE)
    assert not (await one.request_passage("m", probe="early", hold=5))[0]
    kit.advance(31)
    assert (await one.request_passage("m", probe="p1", hold=5))[0]
    assert not (await two.request_passage("m", probe="p2", hold=5))[0]
    late = await two.record_breaker_success("m", "late")
    assert late.get_state(await kit.store.read_time()) == "half-open", "a call begun before proves nothing"
    again = await one.record_breaker_failure("m", "e1", RULE, probe="p1")
    assert 59 < again.open_until - await kit.store.read_time() <= 60
    kit.advance(61)
    assert (await two.request_passage("m", probe="p3", hold=5))[0]
    kit.advance(6)
    assert (await one.request_passage("m", probe="p4", hold=5))[0], "its prober is lost"
    assert await one.record_breaker_success("m", "e2", probe="p4") == CLOSED_BREAKER
    assert await two.read_breakers() == {}


async def test_a_probe_may_give_its_place_back(kit: Kit) -> None:
    one, two = kit.store.counters, kit.others[0].counters
    await one.record_breaker_failure("m", "f", RULE, rest_seconds=10.0)
    kit.advance(11)
    assert (await one.request_passage("m", probe="p1", hold=50))[0]
    assert not (await two.request_passage("m", probe="p2", hold=50))[0]
    await one.request_passage("m", probe="p1", hold=0)
    assert (await two.request_passage("m", probe="p2", hold=50))[0]
    assert not (await one.request_passage("m", probe="p1", hold=0))[0], "it is another's by now"
    assert await two.record_breaker_success("m", "s", probe="p2") == CLOSED_BREAKER


async def test_a_rest_that_was_asked_for_opens_it_at_once_and_holds(kit: Kit) -> None:
    breakers = kit.store.counters
    opened = await breakers.record_breaker_failure("m", "f", RULE, rest_seconds=12.0)
    assert 11 < opened.open_until - await kit.store.read_time() <= 12
    longer = await breakers.record_breaker_failure("m", "g", RULE, rest_seconds=80.0)
    assert 79 < longer.open_until - await kit.store.read_time() <= 80


async def test_other_instances_hear_of_a_breaker(server_kit: Kit) -> None:
    other = server_kit.others[0]
    hears = asyncio.ensure_future(anext(aiter(other.listen())))
    try:

        async def is_heard() -> bool:
            await server_kit.store.counters.record_breaker_failure("m", "f", RULE, rest_seconds=45.0)
            return bool(other.counters.recall_breaker("m").open_until)

        await eventually(is_heard)
        await server_kit.store.counters.request_passage("m", probe="none", hold=1)
        kept = server_kit.store.counters.recall_breaker("m")
        assert other.counters.recall_breaker("m") == kept
    finally:
        hears.cancel()


async def test_nothing_is_kept_for_ever(server_kit: Kit) -> None:
    admission = await admit(server_kit, "a", REQUESTS, TOKENS, BUDGET, SLOTS, Counter("j", "life", 9))
    await server_kit.store.counters.settle([Settlement("a", admission.second, (REQUESTS,), (1,))])
    await server_kit.store.counters.record_breaker_failure("m", "f", RULE)
    await server_kit.store.counters.claim_mark("mark", seconds=60)
    full = Counter("full", "slots", 0)
    refused = [Counter("r", "day", 9), Counter("k", "life", 9), full]
    assert (await admit(server_kit, "b", *refused)).ruling == "busy"
    assert await server_kit.store.counters.read_spending(refused) == [0, 0, 0]
    server = server_kit.store._server  # type: ignore[attr-defined]
    prefix = server_kit.store._keys.prefix  # type: ignore[attr-defined]
    keys = await server.run_command("KEYS", f"{prefix}:{{limits}}:*")
    assert len(keys) == 10
    assert all([0 < await server.run_command("PTTL", key) <= 32 * DAY_SECONDS * 1000 for key in keys])
