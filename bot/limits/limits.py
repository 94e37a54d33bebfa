"""Stands before every model call: breakers, rates, calls at once and budgets, shared by all instances.

Where nothing is set and nothing fails, a call costs no round trip to the
store. Where something is counted it costs one, which also brings what earlier
calls have really taken; only where no call follows soon is that sent by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from bot.limits.breakers import LOOK_AGAIN, Breakers, breaker_of
from bot.limits.holding import HOLD, Holding
from bot.limits.rules import MICROS, Limit, Payer, Rules, budgets, limits_of
from bot.models.choosing import ChosenModel
from bot.models.prices import Priced
from bot.store.counters import Admission, Counters, Settlement
from bot.store.interface import StoreError
from handoff.contracts import Turn, Usage
from handoff.planning.estimates import CHARACTERS
from specialists.turns.model import Model, ModelCall, ModelError, Withheld, WithheldFor

log = logging.getLogger(__name__)

SOON = 0.25
"""Seconds until what a call has taken is noted by itself, if no other call brings it along."""
MOST_OWED = 1_000
"""Settlements kept while the store is away; of older ones the estimate stands."""
WAITS = 0.75
"""The share of a call's deadline that it may wait: one that has no time left to be answered fails for no reason."""
OUT = 500
"""Tokens that a call is taken to bring, before it is known."""
NOT_MADE = Usage()
"""What a call took that was let through and then not made."""


class Gauges(Protocol):
    """Counts what is withheld and how long is waited, see `Metrics`."""

    def withheld(self, reason: str) -> None:
        """A call was not made, for that reason."""

    def waited(self, seconds: float) -> None:
        """A call waited so long to be let through."""


class Limits:
    """What stands before the calls of one instance.

    Args:
        counters: The store's.
        model: What is called in the end; its calls go through `bound`.
        rules: What is limited.
        clock: The store's clock.
        gauges: Counts, if given.
    """

    def __init__(
        self,
        counters: Counters,
        model: ChosenModel,
        rules: Rules,
        clock: Callable[[], float],
        gauges: Gauges | None = None,
    ) -> None:
        self.rules = rules
        self.breakers = Breakers(counters, clock, on=rules.breakers)
        self._counters = counters
        self._holding = Holding(counters)
        self._model = model
        self._gauges = gauges
        self._provider = provider_of(model)
        self._owed: list[Settlement] = []
        self._noting: asyncio.Task[None] | None = None
        self._unpriced: list[str] = []

    def bound(self, payer: Payer) -> Model:
        """The model for one job and person: what is called through it is on their account."""
        return _Bound(self, self._model, payer)

    async def reply(self, payer: Payer, call: ModelCall) -> Turn:
        """One turn. Raises `ModelError`; `Withheld` where the call was not made."""
        patience = WAITS * call.deadline
        ends = time.monotonic() + patience
        waits = self.breakers.through(self._watched(call), patience=patience, hold=HOLD, last=call.last)
        try:
            async with waits as rested:
                limits, ticket = await self._let_through(payer, call, ends)
                waited = rested + (ticket.wait if ticket else 0.0)
                if waited and self._gauges is not None:
                    self._gauges.waited(waited)
                return await self._made(replace(call, deadline=call.deadline - waited), limits, ticket)
        except Withheld as error:
            if self._gauges is not None:
                self._gauges.withheld(error.reason)
            raise

    async def _made(self, call: ModelCall, limits: Sequence[Limit], ticket: _Ticket | None) -> Turn:
        usage: Usage | None = None  # of a call that is cut off nobody knows it: its estimate stands
        try:
            turn = await self._model.reply(call)
            usage = turn.usage
        except ModelError as error:
            usage = error.usage if error.kind != "timeout" else None
            raise
        finally:
            self._settle(limits, ticket, usage)
        return turn

    def _watched(self, call: ModelCall) -> list[str]:
        own = breaker_of(call.purpose)
        return [*([own] if own else []), f"model:{self._model.tiers[call.tier]}"]

    async def _let_through(self, payer: Payer, call: ModelCall, ends: float) -> tuple[list[Limit], _Ticket | None]:
        """Count the call by all that is set, and wait where that is all it takes. Raises Withheld."""
        if not self.rules.counts:
            return [], None
        limits = self._limits(payer, call)
        if not limits:
            return [], None
        began, pause = time.monotonic(), LOOK_AGAIN[0]
        while True:
            operation = secrets.token_hex(8)
            admission = await self._admit(operation, limits, call, patience=max(0.0, ends - time.monotonic()))
            if admission.ruling == "ok":
                ticket = _Ticket(operation, admission.second)
                self._holding.take(operation, [limit.counter for limit in limits])
                try:
                    await asyncio.sleep(admission.wait)
                except asyncio.CancelledError:
                    self._settle(limits, ticket, NOT_MADE)
                    raise
                waits = admission.wait or pause > LOOK_AGAIN[0]
                return limits, replace(ticket, wait=time.monotonic() - began) if waits else ticket
            limit = limits[admission.counter]
            if admission.ruling != "busy" or time.monotonic() + pause >= ends:
                raise _withheld(limit, admission)
            await asyncio.sleep(pause)
            pause = min(2 * pause, LOOK_AGAIN[1])

    async def _admit(self, operation: str, limits: Sequence[Limit], call: ModelCall, *, patience: float) -> Admission:
        owed, self._owed = self._owed, []
        try:
            return await self._counters.admit(
                operation,
                [limit.counter for limit in limits],
                patience=patience,
                hold=HOLD,
                last=call.last,
                settled=owed,
            )
        except BaseException:
            self._owed = [*owed, *self._owed]
            raise

    def _limits(self, payer: Payer, call: ModelCall) -> list[Limit]:
        tokens = prompt_tokens(call)
        dollars = self._model.price(call.tier, tokens, OUT) if isinstance(self._model, Priced) else None
        return limits_of(
            self.rules,
            payer,
            provider=self._provider,
            model=self._model.tiers[call.tier],
            tokens=tokens + min(OUT, call.max_tokens),
            micros=round((dollars or 0.0) * MICROS),
        )

    # What was taken -------------------------------------------------------------------------------------

    def _settle(self, limits: Sequence[Limit], ticket: _Ticket | None, usage: Usage | None) -> None:
        if ticket is None:
            return
        self._holding.let_go(ticket.operation)
        if (
            usage is not None
            and usage.cost is None
            and usage.tokens_in
            and any(one.unit == "dollars" for one in limits)
        ):
            self._note_unpriced(usage.model)
        counters = tuple(limit.counter for limit in limits)
        amounts = tuple(_taken(limit, usage) for limit in limits)
        self._owed = [*self._owed, Settlement(ticket.operation, ticket.second, counters, amounts)][-MOST_OWED:]
        if self._noting is None or self._noting.done():
            self._noting = asyncio.create_task(self._note(0.0 if self.rules.at_once else SOON))

    def _note_unpriced(self, model: str) -> None:
        if model not in self._unpriced:
            self._unpriced = [*self._unpriced, model]
            log.warning("no price is known for %s: budgets in dollars do not bound it; give them in tokens too", model)

    async def _note(self, delay: float) -> None:
        await asyncio.sleep(delay)
        while self._owed:
            owed, self._owed = self._owed, []
            try:
                await self._counters.settle(owed)
            except StoreError as error:
                self._owed = [*owed, *self._owed]
                log.warning("what model calls have taken is noted later: %s", error)
                return

    async def close(self, seconds: float = 1.0) -> None:
        """Note what is still to be noted, for so long at most: of the rest the estimates stand."""
        await self._holding.close()
        if self._noting is not None:
            self._noting.cancel()
            await asyncio.wait({self._noting}, timeout=seconds)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._note(0.0)

    # What people are told -------------------------------------------------------------------------------

    async def over(self, payer: Payer) -> str:
        """Why no new request can be paid for, and what to do; empty where it can. Raises StoreError."""
        kept = budgets(self.rules, payer)
        for limit, spent in zip(kept, await self._spent(kept), strict=True):
            if spent >= limit.counter.limit:
                return f"{limit.reached(0.0)} I have not begun with that. {limit.advice}"
        return ""

    async def left(self, payer: Payer) -> list[str]:
        """What is spent and left of each limit, a line each, and what is left alone now. Raises StoreError.

        The budget of a job is told of only where the payer names one.
        """
        kept: dict[Limit, None] = {}
        for model in sorted(set(self._model.tiers.values())):
            kept |= dict.fromkeys(
                limits_of(self.rules, payer, provider=self._provider, model=model, tokens=0, micros=0)
            )
        told = [limit for limit in kept if payer.job or limit.scope != "job"]
        lines = [limit.left(spent) for limit, spent in zip(told, await self._spent(told), strict=True)]
        unpriced = [f"No price is known for {name}: what it takes counts for no dollars." for name in self._unpriced]
        return [*lines, *unpriced, *await self.breakers.told()]

    async def first(self, mark: str) -> bool:
        """Whether nobody asked so within the last hour."""
        return await self._counters.first(mark, seconds=3600.0)

    async def _spent(self, kept: Sequence[Limit]) -> list[int]:
        return await self._counters.spent([limit.counter for limit in kept]) if kept else []


@dataclass(frozen=True, slots=True)
class _Ticket:
    """A call that was let through, after `wait` seconds."""

    operation: str
    second: int
    wait: float = 0.0


class _Bound:
    """A `Model` on somebody's account."""

    def __init__(self, limits: Limits, model: ChosenModel, payer: Payer) -> None:
        self._limits = limits
        self._model = model
        self._payer = payer

    @property
    def label(self) -> str:
        """See `Model.label`."""
        return self._model.label

    async def reply(self, call: ModelCall) -> Turn:
        """See `Model.reply`. Raises `Withheld` where no call was made, and StoreError."""
        return await self._limits.reply(self._payer, call)

    async def close(self) -> None:
        """Nothing: the model is everybody's."""


def provider_of(model: Model) -> str:
    """The provider's name as settings have it: anthropic, openai or rehearsal."""
    named = getattr(model, "provider", "") or type(model).__module__.rpartition(".")[2]
    return str(named).partition("_")[0]


def prompt_tokens(call: ModelCall) -> int:
    """About how many tokens a call sends."""
    letters = len(call.system)
    for message in call.messages:
        letters += len(message.text) + sum(len(reply.text) for reply in message.replies)
        letters += sum(len(str(one.arguments)) for one in message.calls)
    letters += sum(len(tool.description) + len(str(tool.parameters)) for tool in call.tools)
    return letters // CHARACTERS + 1


def _taken(limit: Limit, usage: Usage | None) -> int:
    if usage is None:
        return limit.counter.amount
    if limit.unit == "requests":
        return usage.calls
    if limit.unit == "tokens":
        return usage.tokens_in + usage.tokens_out
    return round((usage.cost or 0.0) * MICROS)


def _withheld(limit: Limit, admission: Admission) -> Withheld:
    if admission.ruling == "spent":
        return Withheld("budget", limit.reached(0.0), transient=False, advice=limit.advice, limit=limit.named)
    reason: WithheldFor = "slots" if admission.ruling == "busy" else "rate"
    pause = admission.wait or LOOK_AGAIN[1]
    return Withheld(reason, limit.reached(pause), transient=True, pause=pause, advice=limit.advice)
