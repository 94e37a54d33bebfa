"""The pure side of limits: whatever happens in whatever order, the caps hold and everything opens again."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.store.counter_rules import CLOSED, WINDOW, Breaker, BreakerRule, failed, free_at, succeeded, tried

RULE = BreakerRule(3, rest=30.0, longest=200.0, forget=100.0)
asks = st.lists(st.tuples(st.integers(0, 90), st.integers(1, 60)), max_size=60)


@given(asks=asks, limit=st.integers(1, 100))
@settings(max_examples=150, deadline=None)
def test_no_minute_ever_holds_more_than_the_limit_and_nobody_overtakes(asks: list[tuple[int, int]], limit: int) -> None:
    booked: dict[int, int] = {}
    now, last, alone = 0, 0, 0
    for later, amount in asks:
        now += later
        second = free_at(booked, limit, amount, start=now)
        assert second >= max(now, last)
        assert second <= max(now, last) + WINDOW + 1, "the wait for one more is a minute at most"
        window = sum(taken for at, taken in booked.items() if second - WINDOW <= at <= second)
        alone += window == 0 < amount - limit
        assert window + amount <= limit or window == 0
        booked[second] = booked.get(second, 0) + amount
        last = second


steps = st.lists(
    st.tuples(st.sampled_from(["fail", "ok", "try", "probe fails", "probe works", "give back"]), st.floats(0, 150)),
    max_size=60,
)


@given(steps=steps)
@settings(max_examples=200, deadline=None)
def test_a_breaker_lets_one_probe_through_and_always_opens_to_one_again(steps: list[tuple[str, float]]) -> None:
    breaker, now, row, held = CLOSED, 1000.0, 0, ""
    for number, (what, later) in enumerate(steps):
        now += later
        before = breaker
        if what == "fail":
            breaker = failed(breaker, now, RULE)
        elif what == "ok":
            breaker = succeeded(breaker)
        elif what == "try":
            through, breaker = tried(breaker, now, probe=f"p{number}", hold=10.0)
            if before.until and through:
                assert now >= before.until
                assert not before.probe or now >= before.probe_until, "two probes at once"
                held = f"p{number}"
            assert through or now < before.until or now < before.probe_until
        elif what == "give back" and held and breaker.probe == held:
            _, breaker = tried(breaker, now, probe=held, hold=0.0)
            assert tried(breaker, now, probe="next", hold=10.0)[0]
            held = ""
        elif held:
            works = what == "probe works"
            breaker = succeeded(breaker, probe=held) if works else failed(breaker, now, RULE, probe=held)
            held = ""
        row = 0 if breaker == CLOSED else breaker.failures
        assert bool(breaker.until) or row < RULE.threshold
        assert breaker.until - now <= RULE.longest, "no rest is longer than the longest"
    # Whatever came before: after the longest rest somebody gets through, and one success closes it.
    end = now + RULE.longest + 10.0
    through, breaker = tried(breaker, end, probe="last", hold=10.0)
    assert through
    assert succeeded(breaker, probe="last" if breaker.until else "") == CLOSED


def test_rests_double_and_are_forgotten_after_a_long_peace() -> None:
    breaker, now, rests = CLOSED, 0.0, []
    for _ in range(5):
        for _ in range(3 if not breaker.until else 1):
            probe = ""
            if breaker.until:
                now = breaker.until
                probe = "p"
                _, breaker = tried(breaker, now, probe=probe, hold=1.0)
            breaker = failed(breaker, now, RULE, probe=probe)
        rests.append(breaker.until - now)
    assert rests == [30.0, 60.0, 120.0, 200.0, 200.0]
    assert failed(Breaker(failures=2, at=0.0), 101.0, RULE).failures == 1
