"""Decides whether a model call may be made: breakers, rates, concurrent calls and budgets, shared by all instances.

If no limit is set and nothing fails, a call costs no round trip to the store.
The limits that channels set are read every other second.
A call that is counted costs one round trip, which also reports the real usage of earlier calls. That usage is sent
separately only if no call follows soon.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from bot.limits.breakers import POLL_PAUSE_RANGE, Breakers, find_breaker_name
from bot.limits.held_slots import SLOT_HOLD_SECONDS, SlotRenewer
from bot.limits.limit_rules import (
    MICROS_PER_DOLLAR,
    CounterLimit,
    LimitRules,
    Payer,
    Scope,
    describe_limits,
    list_budgets,
    list_limits,
)
from bot.models.chosen_model import ChosenModel
from bot.models.named_models import get_model_name
from bot.store.counters import AdmitReply, Settlement
from bot.store.redis.redis_counters import Counters
from bot.store.values import StoreError
from handoff.contracts import Turn, Usage
from specialists.model import CallWithheld, Model, ModelCall, ModelError, WithholdReason

log = logging.getLogger(__name__)

SETTLE_DELAY_SECONDS = 0.25
"""Seconds until the usage of a call is sent separately, if no later call has carried it along."""
MAX_PENDING_SETTLEMENTS = 1_000
"""Maximum number of settlements kept while the store is away. Older ones are dropped: their calls stay estimated."""
MAX_WAIT_SHARE = 0.75
"""The share of its deadline that a call may spend waiting, so that time is left for the model's reply."""
MAX_WAIT_SECONDS = 120.0
"""Maximum seconds that a call waits, whatever its deadline."""
ESTIMATED_TOKENS_OUT = 500
"""Estimated tokens of a reply, counted before the call is made."""
NO_USAGE = Usage()
"""The usage of a call that was admitted, and cancelled before it was made."""

RulesResolver = Callable[[LimitRules, str, str], Awaitable[LimitRules]]
"""A function of (rules, team, channel) that returns the limits that apply in the channel."""


async def keep_rules_unchanged(rules: LimitRules, _team: str, _channel: str) -> LimitRules:
    """Return the limits unchanged: channels have no limits of their own."""
    return rules


class CallLimits:
    """The limits on the model calls of one instance.

    Args:
        counters: The store's counters.
        model: The model behind all calls; each job calls it through what `bind` returns.
        rules: The limits that are set.
        clock: The store's clock.
        named_models: Models that specialists name in place of a tier, as the provider calls them.
        resolve_rules: Returns the limits that apply in a channel, its own budget included; awaited before each call.
        has_several_teams: True if several workspaces share the rates: then no workspace is shown how much is used.

    `on_wait` is called with the seconds that a call waited, `on_withheld` with the reason why one was not made.
    """

    def __init__(
        self,
        counters: Counters,
        model: ChosenModel,
        rules: LimitRules,
        clock: Callable[[], float],
        named_models: Iterable[str] = (),
        resolve_rules: RulesResolver = keep_rules_unchanged,
        *,
        has_several_teams: bool = False,
    ) -> None:
        self.rules = rules
        self._resolve_rules = resolve_rules
        self._has_several_teams = has_several_teams
        self.breakers = Breakers(counters, clock, is_enabled=rules.breakers)
        self._counters = counters
        self._held_slots = SlotRenewer(counters)
        self._model = model
        self.on_wait: Callable[[float], None] = lambda _: None
        self.on_withheld: Callable[[WithholdReason], None] = lambda _: None
        self._pending_settlements: list[Settlement] = []
        self._settle_task: asyncio.Task[None] | None = None
        self._abandoned_admissions: set[asyncio.Task[AdmitReply]] = set()
        self._unpriced_models: list[str] = []
        self._model_names = sorted({*model.tiers.values(), *named_models})
        if strays := rules.describe_stray_rates(model.provider, self._model_names):
            log.warning("%s", strays)

    def bind(self, payer: Payer) -> Model:
        """Return a model for one job and person: calls through it are charged to them."""
        return _BoundModel(self, self._model, payer)

    async def reply(self, payer: Payer, call: ModelCall) -> Turn:
        """Make one turn for the payer. Raises `ModelError`; `CallWithheld` if a limit or breaker stops the call."""
        patience = min(MAX_WAIT_SHARE * call.timeout_seconds, MAX_WAIT_SECONDS)
        deadline = time.monotonic() + patience
        admission = self.breakers.admit_call(
            self._list_breaker_names(call),
            max_wait_seconds=patience,
            hold_seconds=SLOT_HOLD_SECONDS,
            is_last=call.is_last,
        )
        try:
            async with admission as breaker_wait:
                limits, ticket = await self._admit_call(payer, call, deadline)
                waited_seconds = breaker_wait + (ticket.waited_seconds if ticket else 0.0)
                if waited_seconds:
                    self.on_wait(waited_seconds)
                return await self._make_call(
                    replace(call, timeout_seconds=call.timeout_seconds - waited_seconds), limits, ticket
                )
        except CallWithheld as error:
            self.on_withheld(error.reason)
            raise

    async def _make_call(
        self, call: ModelCall, limits: Sequence[CounterLimit], ticket: _AdmissionTicket | None
    ) -> Turn:
        usage: Usage | None = None  # unknown for a call that is cut off: its estimate stands
        try:
            turn = await self._model.reply(call)
            usage = turn.usage
        except ModelError as error:
            usage = error.usage if error.kind != "timeout" else None
            raise
        finally:
            self._queue_settlement(limits, ticket, usage)
        return turn

    def _list_breaker_names(self, call: ModelCall) -> list[str]:
        own = find_breaker_name(call.purpose)
        return [*([own] if own else []), f"model:{get_model_name(self._model, call)}"]

    async def _admit_call(
        self, payer: Payer, call: ModelCall, deadline: float
    ) -> tuple[list[CounterLimit], _AdmissionTicket | None]:
        """Count the call against all limits, after a wait until `deadline` if that helps. Raises CallWithheld.

        Returns the limits and the call's ticket; the ticket is None if nothing is counted.
        """
        rules = await self._resolve_rules(self.rules, payer.team, payer.channel)
        if not rules.needs_counting:
            return [], None
        began, pause = time.monotonic(), POLL_PAUSE_RANGE[0]
        if rules.needs_prices:
            await self._wait_for_prices(deadline)
        price_wait = time.monotonic() - began
        limits = self._list_call_limits(rules, payer, call)
        if not limits:
            return [], None
        while True:
            operation = secrets.token_hex(8)
            admission = await self._admit_or_refund(
                operation, limits, call, patience=max(0.0, deadline - time.monotonic())
            )
            if admission.ruling == "ok":
                ticket = _AdmissionTicket(operation, admission.second)
                self._held_slots.start_renewing(operation, [limit.counter for limit in limits])
                try:
                    await asyncio.sleep(admission.wait)
                except asyncio.CancelledError:
                    self._queue_settlement(limits, ticket, NO_USAGE)
                    raise
                has_waited = admission.wait or pause > POLL_PAUSE_RANGE[0] or price_wait > POLL_PAUSE_RANGE[0] / 2
                return limits, replace(ticket, waited_seconds=time.monotonic() - began) if has_waited else ticket
            limit = limits[admission.counter_index]
            if admission.ruling != "busy" or time.monotonic() + pause >= deadline:
                raise _make_withheld_error(limit, admission)
            await asyncio.sleep(pause)
            pause = min(2 * pause, POLL_PAUSE_RANGE[1])

    async def _wait_for_prices(self, deadline: float) -> None:
        """Wait until prices are known: a call without a price would bypass budgets in dollars. Raises CallWithheld."""
        try:
            async with asyncio.timeout(deadline - time.monotonic()):
                await self._model.warm()
        except TimeoutError:
            text = "The prices of models are still being looked up, and a budget in dollars is set."
            advice = "Mention me again in a minute or two."
            raise CallWithheld("budget", text, transient=True, pause=POLL_PAUSE_RANGE[1], advice=advice) from None

    async def _admit_or_refund(
        self, operation: str, limits: Sequence[CounterLimit], call: ModelCall, *, patience: float
    ) -> AdmitReply:
        """Ask the store to admit the call. If the task is cancelled while it waits, the admission is given back."""
        admission_task = asyncio.create_task(self._admit(operation, limits, call, patience=patience))
        try:
            return await asyncio.shield(admission_task)
        except asyncio.CancelledError:
            self._abandoned_admissions.add(admission_task)
            admission_task.add_done_callback(lambda task: self._refund_admission(task, operation, limits))
            raise

    def _refund_admission(
        self, admission_task: asyncio.Task[AdmitReply], operation: str, limits: Sequence[CounterLimit]
    ) -> None:
        self._abandoned_admissions.discard(admission_task)
        if (
            not admission_task.cancelled()
            and admission_task.exception() is None
            and admission_task.result().ruling == "ok"
        ):
            self._queue_settlement(limits, _AdmissionTicket(operation, admission_task.result().second), NO_USAGE)

    async def _admit(
        self, operation: str, limits: Sequence[CounterLimit], call: ModelCall, *, patience: float
    ) -> AdmitReply:
        settlements, self._pending_settlements = self._pending_settlements, []
        try:
            return await self._counters.admit(
                operation,
                [limit.counter for limit in limits],
                patience=patience,
                hold=SLOT_HOLD_SECONDS,
                ignores_budgets=call.is_last,
                settlements=settlements,
            )
        except BaseException:
            self._pending_settlements = [*settlements, *self._pending_settlements]
            raise

    def _list_call_limits(self, rules: LimitRules, payer: Payer, call: ModelCall) -> list[CounterLimit]:
        from bot.models.server_facts import estimate_prompt_tokens  # noqa: PLC0415 - only where calls are counted

        tokens = estimate_prompt_tokens(call)
        model_names = (call.model,) if call.model else ()
        dollars = self._model.compute_price(call.tier, tokens, ESTIMATED_TOKENS_OUT, *model_names)
        return list_limits(
            rules,
            payer,
            provider=self._model.provider,
            model=get_model_name(self._model, call),
            tokens=tokens + min(ESTIMATED_TOKENS_OUT, call.max_tokens),
            micros=round((dollars or 0.0) * MICROS_PER_DOLLAR),
        )

    # Usage -------------------------------------------------------------------------------------

    def _queue_settlement(
        self, limits: Sequence[CounterLimit], ticket: _AdmissionTicket | None, usage: Usage | None
    ) -> None:
        if ticket is None:
            return
        self._held_slots.stop_renewing(ticket.operation)
        if (
            usage is not None
            and usage.cost is None
            and usage.tokens_in
            and any(one.unit == "dollars" for one in limits)
            and not any(one.unit == "tokens" and one.is_budget for one in limits)
        ):
            self._warn_unpriced_model(usage.model)
        counters = tuple(limit.counter for limit in limits)
        amounts = tuple(_compute_settled_amount(limit, usage) for limit in limits)
        self._pending_settlements = [
            *self._pending_settlements,
            Settlement(ticket.operation, ticket.booked_second, counters, amounts),
        ][-MAX_PENDING_SETTLEMENTS:]
        if self._settle_task is None or self._settle_task.done():
            self._settle_task = asyncio.create_task(
                self._send_settlements(0.0 if self.rules.max_concurrent else SETTLE_DELAY_SECONDS)
            )

    def _warn_unpriced_model(self, model: str) -> None:
        if model not in self._unpriced_models:
            self._unpriced_models = [*self._unpriced_models, model]
            log.warning("no price is known for %s: budgets in dollars do not bound it; give them in tokens too", model)

    async def _send_settlements(self, delay: float) -> None:
        await asyncio.sleep(delay)
        while self._pending_settlements:
            settlements, self._pending_settlements = self._pending_settlements, []
            try:
                await self._counters.settle(settlements)
            except StoreError as error:
                self._pending_settlements = [*settlements, *self._pending_settlements]
                log.warning("the cost of model calls could not be stored and is tried again: %s", error)
                return

    async def close(self, seconds: float = 1.0) -> None:
        """Stop renewals and send the remaining usage, each step within `seconds`. Unsent usage stays an estimate."""
        await self._held_slots.close()
        if self._abandoned_admissions:
            await asyncio.wait(self._abandoned_admissions, timeout=seconds)
        if self._settle_task is not None:
            self._settle_task.cancel()
            await asyncio.wait({self._settle_task}, timeout=seconds)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._send_settlements(0.0)

    # Words for people -------------------------------------------------------------------------------

    async def find_used_up_budget(self, payer: Payer) -> CounterLimit | None:
        """Return the used-up budget that blocks a new request, or None if no budget does. Raises StoreError."""
        budgets = list_budgets(await self._resolve_rules(self.rules, payer.team, payer.channel), payer)
        used_up = [
            limit
            for limit, spent_amount in zip(budgets, await self._read_spending(budgets), strict=True)
            if spent_amount >= limit.counter.limit
        ]
        if not used_up:
            return None
        amounts = await self._read_spending(used_up)
        raises = await self._counters.read_budget_raises([limit.counter for limit in used_up])
        for limit, amount, more in zip(used_up, amounts, raises, strict=True):
            raised_budget = replace(limit, counter=replace(limit.counter, limit=limit.counter.limit + more))
            if amount >= raised_budget.counter.limit:
                return raised_budget
        return None

    async def raise_budget(self, payer: Payer, scope: Scope, operation: str) -> str:
        """Raise the budgets of a scope by their configured amounts, once per operation id. Raises StoreError.

        Returns a sentence with the new budgets, or "" if the scope has no budget.
        """
        rules = await self._resolve_rules(self.rules, payer.team, payer.channel)
        budgets = [limit for limit in list_budgets(rules, payer) if limit.scope == scope]
        counters = [replace(limit.counter, amount=limit.counter.limit) for limit in budgets]
        raises = await self._counters.raise_budgets(counters, operation)
        new_amounts = (
            limit.format_amount(limit.counter.limit + more) for limit, more in zip(budgets, raises, strict=True)
        )
        return f"{budgets[0].budget_title} is now {' and '.join(new_amounts)}." if budgets else ""

    async def describe_usage(self, payer: Payer) -> list[str]:
        """Describe how much of each limit is used, one line each, then the open breakers. Raises StoreError.

        The budget of a job is included only if the payer names a job.
        """
        limits_in_order: dict[CounterLimit, None] = {}
        rules = await self._resolve_rules(self.rules, payer.team, payer.channel)
        for model in self._model_names:
            limits_in_order |= dict.fromkeys(
                list_limits(rules, payer, provider=self._model.provider, model=model, tokens=0, micros=0)
            )
        hidden_scopes = {*([] if payer.job_id else ["job"]), *(["rate"] if self._has_several_teams else [])}
        shown_limits = [limit for limit in limits_in_order if limit.scope not in hidden_scopes]
        raises = await self._read_raises(shown_limits)
        lines = describe_limits(shown_limits, await self._read_spending(shown_limits), raises)
        unpriced_lines = [
            f"No price is known for {name}, so budgets in dollars do not count it." for name in self._unpriced_models
        ]
        return [*lines, *unpriced_lines, *await self.breakers.describe_open_breakers()]

    async def _read_raises(self, limits: Sequence[CounterLimit]) -> dict[CounterLimit, int]:
        budgets = [limit for limit in limits if limit.is_budget]
        return dict(
            zip(budgets, await self._counters.read_budget_raises([one.counter for one in budgets]), strict=True)
        )

    async def claim_hourly_mark(self, mark: str) -> bool:
        """Claim a mark for one hour. Returns False if it is claimed already."""
        return await self._counters.claim_mark(mark, seconds=3600.0)

    async def _read_spending(self, limits: Sequence[CounterLimit]) -> list[int]:
        return await self._counters.read_spending([limit.counter for limit in limits]) if limits else []


@dataclass(frozen=True, slots=True)
class _AdmissionTicket:
    """An admitted call: its operation id, the second at which it was booked, and the seconds that it waited."""

    operation: str
    booked_second: int
    waited_seconds: float = 0.0


class _BoundModel:
    """A `Model` whose calls are charged to one payer."""

    def __init__(self, limits: CallLimits, model: ChosenModel, payer: Payer) -> None:
        self._limits = limits
        self._model = model
        self._payer = payer

    @property
    def label(self) -> str:
        """The name of the model for people."""
        return self._model.label

    async def reply(self, call: ModelCall) -> Turn:
        """Make a turn within the limits. Raises ModelError, `CallWithheld` if no call was made, and StoreError."""
        return await self._limits.reply(self._payer, call)

    async def close(self) -> None:
        """Do nothing, since all payers share the model."""


def _compute_settled_amount(limit: CounterLimit, usage: Usage | None) -> int:
    if usage is None:
        return limit.counter.amount
    if limit.unit == "requests":
        return usage.calls
    if limit.unit == "tokens":
        return usage.tokens_in + usage.tokens_out
    return round((usage.cost or 0.0) * MICROS_PER_DOLLAR)


def _make_withheld_error(limit: CounterLimit, admission: AdmitReply) -> CallWithheld:
    if admission.ruling == "spent":
        return CallWithheld(
            "budget", limit.explain_reached_limit(0.0), transient=False, advice=limit.advice, limit=limit.budget_phrase
        )
    reason: WithholdReason = "slots" if admission.ruling == "busy" else "rate"
    pause = admission.wait or POLL_PAUSE_RANGE[1]
    return CallWithheld(reason, limit.explain_reached_limit(pause), transient=True, pause=pause, advice=limit.advice)
