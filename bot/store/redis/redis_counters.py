"""The counters that all instances share: rates, calls at once, budgets, breakers. Everything expires by itself.

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
    LATE,
    LIFE,
    MOST_BREAKERS,
    PACE,
    AdmitReply,
    Breaker,
    BreakerRule,
    CallLane,
    Counter,
    LaneRequest,
    Settlement,
    TurnGrant,
)
from bot.store.redis.script_calls import Calls, nonce
from bot.store.script import Arg

NOTICE = b"!"
"""The first letter of a notice about a breaker, and of no other."""
_KEPT_MS = _DAY_MS = DAY * 1000
_FORGOTTEN_MS = round(FORGOTTEN * 1000)
_LIFE_MS = round(LIFE * 1000)


class Counters:
    """Counts for all instances. A method that is repeated by the same operation counts it once.

    All counters lie in one slot, so that one round trip asks all limits of a call, on a cluster too. Notices about
    breakers go out on a channel of their own.
    """

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
    ) -> AdmitReply:
        """Let a call through all `counters`, or none; with it, note how earlier ones ended.

        `patience` is how long (s) it may wait for a rate; a place in a later second is booked for good. A slot is
        held until settled, `hold` seconds at most; an operation that asks again holds it for as long from then on. With
        `last`, no budget stands in the way.
        """
        wanted = [part for one in counters for part in (one.kind, one.name, one.limit, one.amount)]
        ruling, wait, second, place = await self._run_script(
            "admit",
            operation,
            repr(float(patience)),
            repr(float(hold)),
            int(last),
            _FORGOTTEN_MS,
            _LIFE_MS,
            *_flatten_settlements(settled),
            len(counters),
            *wanted,
        )
        return AdmitReply(ruling.decode(), float(wait), int(second), int(place))

    async def settle(self, settled: Sequence[Settlement]) -> None:
        """Note how calls ended: set amounts right, free slots."""
        if settled:
            await self._run_script("settle", _FORGOTTEN_MS, _LIFE_MS, *_flatten_settlements(settled))

    async def read_spending(self, counters: Sequence[Counter]) -> list[int]:
        """Tell what is used of each at the moment: of a rate, in the last minute."""
        if not counters:
            return []
        names = [part for one in counters for part in (one.kind, one.name)]
        return [int(used) for used in await self._run_script("spent", len(counters), *names)]

    async def read_raises(self, counters: Sequence[Counter]) -> list[int]:
        """Tell by how much each budget is raised."""
        return await self.raise_budgets(counters, "")

    async def raise_budgets(self, counters: Sequence[Counter], operation: str) -> list[int]:
        """Raise each budget by its `amount`, once for the operation, and return by how much each is raised.

        An empty operation raises nothing. The budget of a day is raised for that day alone.
        """
        if not counters:
            return []
        amounts = [part for one in counters for part in (one.kind, one.name, one.amount)]
        reply = await self._run_script("raise", operation, _DAY_MS, _LIFE_MS, len(counters), *amounts)
        return [int(raised) for raised in reply]

    async def _run_script(self, script: str, *args: Arg) -> Any:
        return await self._calls.run(script, [f"{self._base}op"], self._base, *args)

    async def forget(self, counters: Sequence[Counter]) -> None:
        """Erase counters of the kind `life`, and have those of the kind `day` erased when their day is over.

        Until then they stay: else a person who is forgotten could spend the day's budget again.
        """
        midnight = (math.floor(await self._calls.now() / DAY) + 1) * DAY
        for one in counters:
            name = f"{self._base}{one.kind}:{one.name}"
            command: tuple[Arg, ...] = ("DEL", name) if one.kind == "life" else ("EXPIREAT", name, midnight)
            await self._calls.server.command(*command)

    async def claim_mark(self, mark: str, *, seconds: float) -> bool:
        """Return True to the first call with a mark within that time."""
        return bool(await self._calls.run("first", [f"{self._base}mark:{mark}"], nonce(), round(seconds * 1000)))

    async def request_turns(self, lane: CallLane, who: str, wish: LaneRequest) -> TurnGrant:
        """Give turns of a lane to an instance (`who`). A turn that was given counts, used or not."""
        asked = (wish.wanted, wish.more, wish.rank, int(wish.yields))
        pace = (math.ceil(lane.limit / PACE), repr(lane.seconds / PACE))
        bounds = (lane.limit, repr(float(lane.seconds)))
        rest = (wish.sure, FEW_OF, repr(ASKS_AGAIN), repr(LATE), repr(ASKER_COUNTS))
        reply = await self._run_script("turns", lane.name, who, *bounds, *asked, *pace, *rest)
        given, wait, askers = reply
        return TurnGrant(int(given), float(wait), int(askers))

    async def hold_turns(self, lane: CallLane, *, seconds: float) -> None:
        """Give no turn for so many seconds, then one, and further ones at an even pace."""
        await self._run_script("hold_turns", lane.name, lane.limit, repr(float(lane.seconds)), repr(float(seconds)))

    async def breaker_failed(
        self, name: str, operation: str, rule: BreakerRule, *, probe: str = "", rest: float = 0.0
    ) -> Breaker:
        """Count a failure, open the breaker if `rule` says so, tell all instances, and return the breaker.

        `probe` names the probe that failed; empty for any other call. While the breaker is not closed, the failure of
        another call (one that was in flight) does not count. Only its `rest` does: the seconds for which the provider
        wants to be left alone, and for which the breaker is open at least.
        """
        return (await self._change_breaker("failed", name, operation, probe=probe, rule=rule, rest=rest))[1]

    async def breaker_succeeded(self, name: str, operation: str, *, probe: str = "") -> Breaker:
        """Close the breaker and tell all instances. Once it has opened, only the success of its probe closes it."""
        return (await self._change_breaker("succeeded", name, operation, probe=probe))[1]

    async def try_breaker(self, name: str, *, probe: str, hold: float) -> tuple[bool, Breaker]:
        """Say whether `probe` may go through, and return the breaker as it is then.

        A closed breaker lets everybody through. One whose rest is over lets one probe through, which then has `hold`
        seconds; after that another may try. A probe that asks again has as many from then on, and with a `hold` of 0
        gives its place back.
        """
        return await self._change_breaker("tried", name, probe, probe=probe, hold=hold)

    async def _change_breaker(
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
        return bool(through), self._remember_breaker(name, kept)

    async def breakers(self) -> Mapping[str, Breaker]:
        """Ask for all breakers that are not closed or have failures, by name."""
        kept = await self._calls.server.command("HGETALL", f"{self._base}breakers")
        self._heard.clear()
        for name, text in kept.items():
            self._remember_breaker(name.decode(), text)
        return dict(self._heard)

    def last_heard(self, name: str) -> Breaker:
        """Return a breaker as this instance last heard of it, without asking the server. A notice may be lost."""
        return self._heard.get(name, CLOSED)

    def take_notice(self, notice: bytes) -> None:
        """Take in a notice, which has the name of a breaker and its new state."""
        name, _, kept = notice.removeprefix(NOTICE).partition(b" ")
        self._remember_breaker(name.decode(), kept)

    def _remember_breaker(self, name: str, kept: bytes) -> Breaker:
        breaker = _parse_breaker(kept.decode())
        if breaker == CLOSED:
            self._heard.pop(name, None)
        else:
            self._heard[name] = breaker
        return breaker


def _parse_breaker(kept: str) -> Breaker:
    if not kept:
        return CLOSED
    failures, openings, until, at, probe_until, probe = kept.split(" ", 5)
    return Breaker(int(failures), int(openings), float(until), float(at), probe, float(probe_until))


def _flatten_settlements(settled: Sequence[Settlement]) -> list[Arg]:
    flat: list[Arg] = [len(settled)]
    for one in settled:
        flat += [one.operation, one.second, len(one.counters)]
        for counter, amount in zip(one.counters, one.amounts, strict=True):
            flat += [counter.kind, counter.name, amount - counter.amount]
    return flat
