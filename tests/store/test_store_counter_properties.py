"""Rates and breakers on the server: whatever happens in whatever order, the caps hold and everything opens again."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Coroutine, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.store.counters import CLOSED_BREAKER, RATE_SECONDS, BreakerRule, Counter
from tests.store.kit import MovedClock, fresh_store

RULE = BreakerRule(3, rest_seconds=30.0, longest_rest_seconds=200.0, forget_seconds=100.0)
SLACK = 0.5
"""Seconds that real time may pass by within one step."""


class Counting:
    """The counters of an empty store, used from outside of its event loop. Each example has names of its own."""

    def __init__(self, url: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._store = self.wait(fresh_store(url))
        self._clock = MovedClock(self._store)
        self._numbers = itertools.count()
        self.counters = self._store.counters

    def wait(self, call: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(call)

    def name(self) -> str:
        """A name that was never used."""
        return f"n{next(self._numbers)}"

    def now(self) -> float:
        return float(self.wait(self._store.read_time()))

    def advance(self, seconds: float) -> None:
        self._clock.advance(seconds)

    def record_failure(self, name: str, probe: str = "") -> Any:
        return self.wait(self.counters.record_breaker_failure(name, self.name(), RULE, probe=probe))

    def record_success(self, name: str, probe: str = "") -> Any:
        return self.wait(self.counters.record_breaker_success(name, self.name(), probe=probe))

    def request_passage(self, name: str, probe: str, hold: float = 10.0) -> Any:
        return self.wait(self.counters.request_passage(name, probe=probe, hold=hold))

    def close(self) -> None:
        self.wait(self._store.close())
        self._loop.close()


@pytest.fixture
def counting(server_url: str) -> Iterator[Counting]:
    made = Counting(server_url)
    yield made
    made.close()


asks = st.lists(st.tuples(st.integers(0, 90), st.integers(1, 60)), max_size=60)
on_one_store = [HealthCheck.function_scoped_fixture]


@given(asks=asks, limit=st.integers(1, 100))
@settings(max_examples=45, deadline=None, suppress_health_check=on_one_store)
def test_no_minute_ever_holds_more_than_the_limit_and_nobody_overtakes(
    counting: Counting, asks: list[tuple[int, int]], limit: int
) -> None:
    booked: dict[int, int] = {}
    name, last = counting.name(), 0
    for later, amount in asks:
        counting.advance(later)
        before = int(counting.now())
        rate = Counter(name, "rate", limit, amount)
        admission = counting.wait(counting.counters.admit(counting.name(), [rate], patience=1e9, hold=1.0))
        second, now = admission.second, int(counting.now())
        assert admission.ruling == "ok"
        assert second >= max(before, last)
        assert second <= max(now, last) + RATE_SECONDS + 1, "the wait for one more is a minute at most"
        window = sum(taken for at, taken in booked.items() if second - RATE_SECONDS <= at <= second)
        assert window + amount <= limit or window == 0
        booked[second] = booked.get(second, 0) + amount
        last = second


steps = st.lists(
    st.tuples(st.sampled_from(["fail", "ok", "try", "probe fails", "probe works", "give back"]), st.floats(0, 150)),
    max_size=60,
)


@given(steps=steps)
@settings(max_examples=60, deadline=None, suppress_health_check=on_one_store)
def test_a_breaker_lets_one_probe_through_and_always_opens_to_one_again(
    counting: Counting, steps: list[tuple[str, float]]
) -> None:
    name, breaker, held = counting.name(), CLOSED_BREAKER, ""
    for what, later in steps:
        counting.advance(later)
        before, now = breaker, counting.now()
        if what == "fail":
            breaker = counting.record_failure(name)
        elif what == "ok":
            breaker = counting.record_success(name)
        elif what == "try":
            probe = counting.name()
            through, breaker = counting.request_passage(name, probe)
            if before.open_until and through:
                assert now >= before.open_until - SLACK
                assert not before.probe or now >= before.probe_until - SLACK, "two probes at once"
                held = probe
            assert through or now < before.open_until or now < before.probe_until
        elif what == "give back" and held and breaker.probe == held:
            _, breaker = counting.request_passage(name, held, hold=0.0)
            through, breaker = counting.request_passage(name, "next")
            assert through
            held = ""
        elif held:
            breaker = (counting.record_success if what == "probe works" else counting.record_failure)(name, held)
            held = ""
        assert breaker == counting.counters.recall_breaker(name)
        assert bool(breaker.open_until) or breaker.failures < RULE.threshold
        assert breaker.open_until - now <= RULE.longest_rest_seconds + SLACK, "no rest is longer than the longest"
    # Whatever came before: after the longest rest somebody gets through, and one success closes it.
    counting.advance(RULE.longest_rest_seconds + 10.0)
    through, breaker = counting.request_passage(name, "last")
    assert through
    assert counting.record_success(name, "last" if breaker.open_until else "") == CLOSED_BREAKER


def test_rests_double_and_are_forgotten_after_a_long_peace(counting: Counting) -> None:
    name, breaker, rests = counting.name(), CLOSED_BREAKER, []
    for _ in range(5):
        for _ in range(3 if not breaker.open_until else 1):
            probe = ""
            if breaker.open_until:
                counting.advance(breaker.open_until - counting.now() + 0.01)
                probe = "p"
                assert counting.request_passage(name, probe, hold=1.0)[0]
            breaker = counting.record_failure(name, probe)
        rests.append(round(breaker.open_until - counting.now()))
    assert rests == [30, 60, 120, 200, 200]
    other = counting.name()
    assert [counting.record_failure(other).failures for _ in range(2)] == [1, 2]
    counting.advance(RULE.forget_seconds + 1)
    assert counting.record_failure(other).failures == 1
