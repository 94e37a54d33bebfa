"""The shared counters on a Redis-compatible server: see `bot.store.counters` for what they promise.

All keys carry the tag `{limits}`, so that one script reaches each of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from bot.store.counters import (
    ASKER_COUNTS,
    ASKS_AGAIN,
    CLOSED,
    DAY,
    FEW_OF,
    FORGOTTEN,
    LIFE,
    MOST_BREAKERS,
    PACE,
    Admission,
    Breaker,
    BreakerRule,
    Counter,
    Lane,
    Settlement,
    Turns,
    Wish,
)
from bot.store.redis.script_calls import Calls, nonce
from bot.store.redis_server import Arg

NOTICE = b"!"
"""The first letter of a notice about a breaker, and of no other."""
_KEPT_MS = _DAY_MS = DAY * 1000
_FORGOTTEN_MS = round(FORGOTTEN * 1000)
_LIFE_MS = round(LIFE * 1000)


class RedisCounters:
    """`Counters` on a server. Notices about breakers go out on a channel of their own."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._base = calls.keys.limits
        self._channel = calls.keys.breaker_channel
        self._heard: dict[str, Breaker] = {}

    async def admit(
        self,
        operation: str,
        counters: Sequence[Counter],
        *,
        patience: float,
        hold: float,
        last: bool = False,
        settled: Sequence[Settlement] = (),
    ) -> Admission:
        """See `Counters.admit`."""
        wanted = [part for one in counters for part in (one.kind, one.name, one.limit, one.amount)]
        ruling, wait, second, place = await self._count(
            "admit",
            operation,
            repr(float(patience)),
            repr(float(hold)),
            int(last),
            _FORGOTTEN_MS,
            _LIFE_MS,
            *_flat(settled),
            len(counters),
            *wanted,
        )
        return Admission(ruling.decode(), float(wait), int(second), int(place))

    async def settle(self, settled: Sequence[Settlement]) -> None:
        """See `Counters.settle`."""
        if settled:
            await self._count("settle", _FORGOTTEN_MS, _LIFE_MS, *_flat(settled))

    async def spent(self, counters: Sequence[Counter]) -> list[int]:
        """See `Counters.spent`."""
        if not counters:
            return []
        names = [part for one in counters for part in (one.kind, one.name)]
        return [int(used) for used in await self._count("spent", len(counters), *names)]

    async def raised(self, counters: Sequence[Counter], operation: str = "") -> list[int]:
        """See `Counters.raised`."""
        if not counters:
            return []
        amounts = [part for one in counters for part in (one.kind, one.name, one.amount)]
        reply = await self._count("raise", operation, _DAY_MS, _LIFE_MS, len(counters), *amounts)
        return [int(raised) for raised in reply]

    async def _count(self, script: str, *args: Arg) -> Any:
        return await self._calls.run(script, [f"{self._base}op"], self._base, *args)

    async def forget(self, counters: Sequence[Counter]) -> None:
        """See `Counters.forget`."""
        midnight = (math.floor(await self._calls.now() / DAY) + 1) * DAY
        for one in counters:
            name = f"{self._base}{one.kind}:{one.name}"
            command: tuple[Arg, ...] = ("DEL", name) if one.kind == "life" else ("EXPIREAT", name, midnight)
            await self._calls.server.command(*command)

    async def first(self, mark: str, *, seconds: float) -> bool:
        """See `Counters.first`."""
        return bool(await self._calls.run("first", [f"{self._base}mark:{mark}"], nonce(), round(seconds * 1000)))

    async def turns(self, lane: Lane, who: str, wish: Wish) -> Turns:
        """See `Counters.turns`."""
        asked = (wish.wanted, wish.more, wish.rank, int(wish.yields))
        pace = (math.ceil(lane.limit / PACE), repr(lane.seconds / PACE))
        bounds = (lane.limit, repr(float(lane.seconds)))
        rest = (wish.sure, FEW_OF, repr(ASKS_AGAIN), repr(ASKER_COUNTS))
        reply = await self._count("turns", lane.name, who, *bounds, *asked, *pace, *rest)
        given, wait, askers = reply
        return Turns(int(given), float(wait), int(askers))

    async def hold_turns(self, lane: Lane, *, seconds: float) -> None:
        """See `Counters.hold_turns`."""
        await self._count("hold_turns", lane.name, lane.limit, repr(float(lane.seconds)), repr(float(seconds)))

    async def breaker_failed(
        self, name: str, operation: str, rule: BreakerRule, *, probe: str = "", rest: float = 0.0
    ) -> Breaker:
        """See `Counters.breaker_failed`."""
        return (await self._breaker("failed", name, operation, probe=probe, rule=rule, rest=rest))[1]

    async def breaker_succeeded(self, name: str, operation: str, *, probe: str = "") -> Breaker:
        """See `Counters.breaker_succeeded`."""
        return (await self._breaker("succeeded", name, operation, probe=probe))[1]

    async def breaker_tried(self, name: str, *, probe: str, hold: float) -> tuple[bool, Breaker]:
        """See `Counters.breaker_tried`."""
        return await self._breaker("tried", name, probe, probe=probe, hold=hold)

    async def _breaker(
        self,
        what: str,
        name: str,
        operation: str,
        *,
        probe: str,
        rule: BreakerRule | None = None,
        rest: float = 0.0,
        hold: float = 0.0,
    ) -> tuple[bool, Breaker]:
        rule = rule or BreakerRule(1)
        keys = [f"{self._base}breakers", f"{self._base}op:breaker:{operation}"]
        sizes = (MOST_BREAKERS, _KEPT_MS, _FORGOTTEN_MS)
        times = (repr(float(each)) for each in (rule.rest, rule.longest, rule.forget, rest, hold))
        told: tuple[Arg, ...] = (what, name, probe, self._channel, *sizes, rule.threshold, *times)
        through, kept = await self._calls.run("breaker", keys, *told)
        return bool(through), self._hear(name, kept)

    async def breakers(self) -> Mapping[str, Breaker]:
        """See `Counters.breakers`."""
        kept = await self._calls.server.command("HGETALL", f"{self._base}breakers")
        self._heard.clear()
        for name, text in kept.items():
            self._hear(name.decode(), text)
        return dict(self._heard)

    def heard(self, name: str) -> Breaker:
        """See `Counters.heard`."""
        return self._heard.get(name, CLOSED)

    def noticed(self, notice: bytes) -> None:
        """Take in a notice: the name of a breaker and what it is like now."""
        name, _, kept = notice.removeprefix(NOTICE).partition(b" ")
        self._hear(name.decode(), kept)

    def _hear(self, name: str, kept: bytes) -> Breaker:
        breaker = _breaker(kept.decode())
        if breaker == CLOSED:
            self._heard.pop(name, None)
        else:
            self._heard[name] = breaker
        return breaker


def _breaker(kept: str) -> Breaker:
    if not kept:
        return CLOSED
    failures, openings, until, at, probe_until, probe = kept.split(" ", 5)
    return Breaker(int(failures), int(openings), float(until), float(at), probe, float(probe_until))


def _flat(settled: Sequence[Settlement]) -> list[Arg]:
    flat: list[Arg] = [len(settled)]
    for one in settled:
        flat += [one.operation, one.second, len(one.counters)]
        for counter, amount in zip(one.counters, one.amounts, strict=True):
            flat += [counter.kind, counter.name, amount - counter.amount]
    return flat
