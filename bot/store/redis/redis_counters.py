"""The counters that all instances share: rates, slots, budgets, lanes, breakers. Everything expires by itself.

All keys carry the tag `{limits}`, so that one script reaches each of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from bot.store.counters import (
    ASKER_SECONDS,
    CLOSED_BREAKER,
    DAY_SECONDS,
    LATENESS_SECONDS,
    LIFE_SECONDS,
    MAX_BREAKERS,
    OPERATION_SECONDS,
    PACE_DIVISOR,
    REPEAT_SECONDS,
    RESERVE_DIVISOR,
    AdmitReply,
    Breaker,
    BreakerRule,
    CallLane,
    Counter,
    LaneRequest,
    Settlement,
    TurnGrant,
)
from bot.store.redis.script_runner import ScriptRunner, make_nonce
from bot.store.script import Arg

NOTICE_PREFIX = b"!"
"""The first byte of each notice about a breaker, and of no other notice."""
_BREAKERS_EXPIRY_MS = _DAY_MS = DAY_SECONDS * 1000
_OPERATION_EXPIRY_MS = round(OPERATION_SECONDS * 1000)
_LIFE_EXPIRY_MS = round(LIFE_SECONDS * 1000)


class Counters:
    """The counters that all instances share. A repeat with the same operation id does not count again.

    All counters are in one slot, so that one round trip checks all limits of a call, on a cluster too. Notices about
    breakers have a channel of their own.
    """

    def __init__(self, calls: ScriptRunner) -> None:
        self._calls = calls
        self._base = calls.keys.limits_prefix
        self._channel = calls.keys.breaker_channel
        self._known_breakers: dict[str, Breaker] = {}

    async def admit(
        self,
        operation: str,
        counters: Sequence[Counter],
        *,
        patience: float,
        hold: float,
        ignores_budgets: bool = False,
        settlements: Sequence[Settlement] = (),
    ) -> AdmitReply:
        """Admit a call to all `counters` or to none, and record the ends of earlier calls.

        Args:
            operation: The id of the call. If it asks again, it uses the same id.
            counters: The limits that have to admit it.
            patience: Seconds that it may wait for a rate. Once it is admitted with a wait, its later second is booked.
            hold: Seconds for which slots are held at most until the call is settled. Asking again renews them.
            ignores_budgets: True to admit it even if budgets are used up.
            settlements: The ends of earlier calls.
        """
        counter_args = [part for one in counters for part in (one.kind, one.name, one.limit, one.amount)]
        ruling, wait, second, place = await self._run_script(
            "admit",
            operation,
            repr(float(patience)),
            repr(float(hold)),
            int(ignores_budgets),
            _OPERATION_EXPIRY_MS,
            _LIFE_EXPIRY_MS,
            *_flatten_settlements(settlements),
            len(counters),
            *counter_args,
        )
        return AdmitReply(ruling.decode(), float(wait), int(second), int(place))

    async def settle(self, settlements: Sequence[Settlement]) -> None:
        """Record the ends of calls: correct their amounts and free their slots."""
        if settlements:
            await self._run_script("settle", _OPERATION_EXPIRY_MS, _LIFE_EXPIRY_MS, *_flatten_settlements(settlements))

    async def read_spending(self, counters: Sequence[Counter]) -> list[int]:
        """Return how much of each counter is used at the moment; of a rate, in the last minute."""
        if not counters:
            return []
        names = [part for one in counters for part in (one.kind, one.name)]
        return [int(amount) for amount in await self._run_script("spent", len(counters), *names)]

    async def read_budget_raises(self, counters: Sequence[Counter]) -> list[int]:
        """Return by how much each budget is raised."""
        return await self.raise_budgets(counters, "")

    async def raise_budgets(self, counters: Sequence[Counter], operation: str) -> list[int]:
        """Raise each budget by its `amount`, once for the operation, and return by how much each is raised.

        An empty operation raises nothing. The budget of a day is raised for that day alone.
        """
        if not counters:
            return []
        amounts = [part for one in counters for part in (one.kind, one.name, one.amount)]
        reply = await self._run_script("raise", operation, _DAY_MS, _LIFE_EXPIRY_MS, len(counters), *amounts)
        return [int(amount) for amount in reply]

    async def _run_script(self, script: str, *args: Arg) -> Any:
        return await self._calls.run(script, [f"{self._base}op"], self._base, *args)

    async def forget_counters(self, counters: Sequence[Counter]) -> None:
        """Erase counters of the kind `life` now, and those of the kind `day` at the end of their day.

        If these were erased at once, a forgotten person could spend the day's budget again.
        """
        midnight = (math.floor(await self._calls.read_time() / DAY_SECONDS) + 1) * DAY_SECONDS
        for one in counters:
            name = f"{self._base}{one.kind}:{one.name}"
            command: tuple[Arg, ...] = ("DEL", name) if one.kind == "life" else ("EXPIREAT", name, midnight)
            await self._calls.server.run_command(*command)

    async def claim_mark(self, mark: str, *, seconds: float) -> bool:
        """Return True for the first call with a mark, and False for any other within `seconds` after it."""
        return bool(await self._calls.run("first", [f"{self._base}mark:{mark}"], make_nonce(), round(seconds * 1000)))

    async def request_turns(self, lane: CallLane, instance: str, request: LaneRequest) -> TurnGrant:
        """Request turns of a lane for an instance. A granted turn counts, whether it is used or not."""
        request_args = (request.waiting_calls, request.spare_turns, request.rank, int(request.yields))
        pace = (math.ceil(lane.limit / PACE_DIVISOR), repr(lane.seconds / PACE_DIVISOR))
        bounds = (lane.limit, repr(float(lane.seconds)))
        rest = (
            request.expected_calls,
            RESERVE_DIVISOR,
            repr(REPEAT_SECONDS),
            repr(LATENESS_SECONDS),
            repr(ASKER_SECONDS),
        )
        reply = await self._run_script("turns", lane.name, instance, *bounds, *request_args, *pace, *rest)
        turns, wait, askers = reply
        return TurnGrant(int(turns), float(wait), int(askers))

    async def pause_lane(self, lane: CallLane, *, seconds: float) -> None:
        """Grant no turns of a lane for `seconds`, then one turn, and further ones at an even pace."""
        await self._run_script("hold_turns", lane.name, lane.limit, repr(float(lane.seconds)), repr(float(seconds)))

    async def record_breaker_failure(
        self, name: str, operation: str, rule: BreakerRule, *, probe: str = "", rest_seconds: float = 0.0
    ) -> Breaker:
        """Count a failure, open the breaker if `rule` says so, notify all instances, and return the breaker.

        `probe` names the failed call if it is the breaker's probe, otherwise it is empty. `rest_seconds` is the pause
        that the provider asked for; the breaker stays open at least as long. While the breaker is open or half-open,
        only its probe's failure counts; of any other call's failure, only `rest_seconds` has an effect.
        """
        return (
            await self._change_breaker("failed", name, operation, probe=probe, rule=rule, rest_seconds=rest_seconds)
        )[1]

    async def record_breaker_success(self, name: str, operation: str, *, probe: str = "") -> Breaker:
        """Close the breaker, notify all instances, and return it. An open breaker is closed by its probe alone."""
        return (await self._change_breaker("succeeded", name, operation, probe=probe))[1]

    async def request_passage(self, name: str, *, probe: str, hold: float) -> tuple[bool, Breaker]:
        """Return whether the call named `probe` may pass, and the breaker after that.

        A closed breaker lets all calls pass. Once its rest is over, an open breaker lets one probe pass, which has
        `hold` seconds until another may try. Asking again renews these seconds, and a `hold` of 0 gives up the place.
        """
        return await self._change_breaker("tried", name, probe, probe=probe, hold=hold)

    async def _change_breaker(
        self,
        change: str,
        name: str,
        operation: str,
        *,
        probe: str,
        rule: BreakerRule | None = None,
        rest_seconds: float = 0.0,
        hold: float = 0.0,
    ) -> tuple[bool, Breaker]:
        rule = rule or BreakerRule(1)
        keys = [f"{self._base}breakers", f"{self._base}op:breaker:{operation}"]
        sizes = (MAX_BREAKERS, _BREAKERS_EXPIRY_MS, _OPERATION_EXPIRY_MS)
        times = (
            repr(float(each))
            for each in (rule.rest_seconds, rule.longest_rest_seconds, rule.forget_seconds, rest_seconds, hold)
        )
        script_args: tuple[Arg, ...] = (change, name, probe, self._channel, *sizes, rule.threshold, *times)
        may_pass, state = await self._calls.run("breaker", keys, *script_args)
        return bool(may_pass), self._remember_breaker(name, state)

    async def read_breakers(self) -> Mapping[str, Breaker]:
        """Read all breakers that are not closed or have failures from the server, by name, and remember them."""
        states = await self._calls.server.run_command("HGETALL", f"{self._base}breakers")
        self._known_breakers.clear()
        for name, text in states.items():
            self._remember_breaker(name.decode(), text)
        return dict(self._known_breakers)

    def recall_breaker(self, name: str) -> Breaker:
        """Return a breaker as this instance remembers it, without asking the server. It may have missed a notice."""
        return self._known_breakers.get(name, CLOSED_BREAKER)

    def apply_breaker_notice(self, notice: bytes) -> None:
        """Update the remembered breakers by a notice, which has the name of a breaker and its new state."""
        name, _, state = notice.removeprefix(NOTICE_PREFIX).partition(b" ")
        self._remember_breaker(name.decode(), state)

    def _remember_breaker(self, name: str, text: bytes) -> Breaker:
        breaker = _parse_breaker(text.decode())
        if breaker == CLOSED_BREAKER:
            self._known_breakers.pop(name, None)
        else:
            self._known_breakers[name] = breaker
        return breaker


def _parse_breaker(text: str) -> Breaker:
    if not text:
        return CLOSED_BREAKER
    failures, openings, until, at, probe_until, probe = text.split(" ", 5)
    return Breaker(int(failures), int(openings), float(until), float(at), probe, float(probe_until))


def _flatten_settlements(settlements: Sequence[Settlement]) -> list[Arg]:
    flat: list[Arg] = [len(settlements)]
    for one in settlements:
        flat += [one.operation, one.second, len(one.counters)]
        for counter, amount in zip(one.counters, one.amounts, strict=True):
            flat += [counter.kind, counter.name, amount - counter.amount]
    return flat
