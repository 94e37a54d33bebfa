"""Limits as people set them: their parsers, the counters of the store that they need, and their texts for people."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from bot.store.counters import Counter
from handoff.state.job_state import Job, RequestState
from handoff.text.capitalization import capitalize_first
from handoff.text.counts import format_dollars, format_short_number

Scope = Literal["job", "person", "channel", "day"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
MICROS_PER_DOLLAR = 1_000_000
"""Millionths of a dollar in one dollar: money is counted in whole millionths."""
_AMOUNT_PATTERN = re.compile(r"(\$)?\s*(\d+(?:\.\d+)?)\s*([km]?)\s*(requests?|tokens?|usd|dollars?)?", re.IGNORECASE)
_MULTIPLIERS = {"": 1, "k": 1_000, "m": 1_000_000}


class InvalidLimitError(ValueError):
    """A limit is written in an invalid form. The text says how to write it."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """The maximum requests and tokens per minute; 0 means no limit."""

    requests: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class SpendingBudget:
    """The maximum spending in money and in tokens; 0 means no limit. `micro_dollars` are millionths of a dollar."""

    micro_dollars: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Payer:
    """Who pays for a call: the Slack ids of workspace, channel and person, and the id of the job."""

    team: str
    channel: str
    user: str
    job_id: str


def make_payer(job: Job, request: RequestState) -> Payer:
    """Return the payer of the work on a request."""
    return Payer(job.place.team, job.place.channel, request.spec.user, job.id)


@dataclass(frozen=True, slots=True)
class LimitRules:
    """All limits that are set.

    `rates` are by the name of a model or a provider; `""` is for each model without a rate of its own. `max_concurrent`
    is the maximum number of concurrent calls in a workspace; 0 means no limit.
    """

    breakers: bool = True
    rates: Mapping[str, RateLimit] = field(default_factory=dict)
    max_concurrent: int = 0
    budgets: Mapping[Scope, SpendingBudget] = field(default_factory=dict)

    @property
    def needs_counting(self) -> bool:
        """True if anything has to be counted before a call."""
        return bool(self.rates or self.max_concurrent or self.budgets)

    @property
    def needs_prices(self) -> bool:
        """True if a budget is in dollars, so that prices have to be known before a call."""
        return any(budget.micro_dollars for budget in self.budgets.values())

    def describe_stray_rates(self, provider: str, models: Iterable[str]) -> str:
        """Return a sentence naming the rates that apply to no provider or model in use, or "" if there are none."""
        known_names = tuple(dict.fromkeys((provider, *sorted(set(models)))))
        strays = sorted(name for name in self.rates if name and name not in known_names)
        if not strays:
            return ""
        names = ", ".join(known_names)
        return f"LEADHAND_RATES names {' and '.join(strays)}, which no call uses; in use are {names}"


@dataclass(frozen=True, slots=True)
class CounterLimit:
    """A counter with its meaning: the scope it limits and the unit it counts.

    `rate_owner` is the model or provider that a rate limits; "" for other limits.
    """

    counter: Counter
    scope: Scope | Literal["rate", "slots"]
    unit: Literal["requests", "tokens", "dollars", "calls"]
    rate_owner: str = ""

    def explain_reached_limit(self, wait: float) -> str:
        """Return a sentence that says why a call is not made. `wait` is the seconds until a rate admits it."""
        if self.scope == "rate":
            what = f"{self.counter.limit:,} {self.unit} a minute for {self.rate_owner}"
            return f"The limit of {what} is used up for the next {wait:.0f} seconds."
        if self.scope == "slots":
            return f"This workspace already makes {self.counter.limit} model calls at once, which is its limit."
        return f"{capitalize_first(self.budget_phrase)} is used up."

    @property
    def budget_phrase(self) -> str:
        """The budget in a few words; empty if the limit is no budget."""
        return (
            f"{_BUDGET_PHRASES[self.scope]} ({self.format_amount(self.counter.limit)})"
            if self.scope in _BUDGET_PHRASES
            else ""
        )

    @property
    def is_budget(self) -> bool:
        """True for a budget of money or tokens, False for a rate and for slots."""
        return self.scope in _BUDGET_PHRASES

    @property
    def budget_title(self) -> str:
        """The budget's name, as the beginning of a sentence."""
        return capitalize_first(_BUDGET_PHRASES[self.scope])

    @property
    def refusal(self) -> str:
        """The refusal of a new request because its budget is used up, with what people can do."""
        return f"{self.explain_reached_limit(0.0)} I have not started on your request. {self.advice}"

    @property
    def advice(self) -> str:
        """Advice for people once the limit is reached."""
        if self.scope in {"rate", "slots"}:
            return "Mention me again in a minute or two."
        form = ", or an admin with `/leadhand settings`" if self.scope == "channel" else ""
        return f"{_RESET_ADVICE[self.scope]} Whoever runs me can raise it (LEADHAND_BUDGET_{self.scope.upper()}){form}."

    def describe_usage(self, amount: int, raised_amount: int = 0) -> str:
        """Describe in one line how much of a budget is spent, or how much of another limit is taken.

        `raised_amount` is the amount by which an admin raised the budget.
        """
        if self.scope == "rate":
            return f"{self.rate_owner}: {amount:,} of {self.counter.limit:,} {self.unit} used this minute"
        if self.scope == "slots":
            return f"Model calls at once: {amount:,} of {self.counter.limit:,}"
        total = self.counter.limit + raised_amount
        raised_note = f" ({self.format_amount(raised_amount)} of it allowed by an admin)" if raised_amount else ""
        if self.unit == "tokens":
            return (
                f"{_USAGE_TITLES[self.scope]}: {format_short_number(amount)} of {format_short_number(total)} "
                f"tokens{raised_note} used."
            )
        budget = self.format_amount(total).removesuffix(".00")
        return f"{_USAGE_TITLES[self.scope]}: {self.format_amount(amount)} of {budget}{raised_note} used."

    def format_amount(self, amount: int) -> str:
        """Render an amount in the counter's unit for people, such as `$2.50` or `400,000 tokens`."""
        if self.unit != "dollars":
            return f"{amount:,} {self.unit}"
        return format_dollars(amount / MICROS_PER_DOLLAR)


_BUDGET_PHRASES: Mapping[str, str] = {
    "job": "the budget of this job",
    "person": "the requester's budget for today",
    "channel": "the budget for today of this channel",
    "day": "the budget for today of the whole workspace",
}
_RESET_ADVICE: Mapping[str, str] = {
    "job": "A new thread is a new job, with a budget of its own.",
    "person": "It starts afresh at 00:00 UTC.",
    "channel": "It starts afresh at 00:00 UTC.",
    "day": "It starts afresh at 00:00 UTC.",
}
_USAGE_TITLES: Mapping[str, str] = {
    "job": "Budget of this job",
    "person": "Your budget today",
    "channel": "Budget of this channel today",
    "day": "Budget of the workspace today",
}


def describe_limits(
    limits: Sequence[CounterLimit], amounts: Sequence[int], raises: Mapping[CounterLimit, int]
) -> list[str]:
    """Describe in a line each how much of each limit is used.

    A budget in dollars and tokens has one line, for the unit of which a larger share is used.
    """
    lines: dict[str, tuple[float, str]] = {}
    for limit, amount in zip(limits, amounts, strict=True):
        more = raises.get(limit, 0)
        key = limit.scope if limit.is_budget else limit.counter.name
        line = amount / max(1, limit.counter.limit + more), limit.describe_usage(amount, more)
        lines[key] = max(lines.get(key, line), line, key=lambda one: one[0])
    return [line for _, line in lines.values()]


def list_budgets(rules: LimitRules, payer: Payer, *, tokens: int = 0, micros: int = 0) -> list[CounterLimit]:
    """List the budgets that a call of these tokens and millionths of a dollar counts against, narrowest scope first."""
    owner_by_scope: Mapping[Scope, str] = {
        "job": payer.job_id,
        "person": payer.user,
        "channel": payer.channel,
        "day": "all",
    }
    budgets = []
    for scope in SCOPES:
        if (budget := rules.budgets.get(scope)) is None:
            continue
        kind: Literal["life", "day"] = "life" if scope == "job" else "day"
        name = f"{scope}:{payer.team}/{owner_by_scope[scope]}"
        if budget.micro_dollars:
            budgets.append(
                CounterLimit(Counter(f"{name}:micros", kind, budget.micro_dollars, micros), scope, "dollars")
            )
        if budget.tokens:
            budgets.append(CounterLimit(Counter(f"{name}:tokens", kind, budget.tokens, tokens), scope, "tokens"))
    return budgets


def list_erasable_counters(team: str, job: str, person: str) -> list[Counter]:
    """List the budget counters of a job and, unless `person` is empty, of a person."""
    units = ("micros", "tokens")
    person_counters = [Counter(f"person:{team}/{person}:{unit}", "day", 0) for unit in units if person]
    return [*(Counter(f"job:{team}/{job}:{unit}", "life", 0) for unit in units), *person_counters]


def list_limits(
    rules: LimitRules, payer: Payer, *, provider: str, model: str, tokens: int, micros: int
) -> list[CounterLimit]:
    """List all limits that have to admit a call. Budgets come first, since no wait helps once one is used up."""
    limits = list_budgets(rules, payer, tokens=tokens, micros=micros)
    if rules.max_concurrent:
        limits.append(CounterLimit(Counter(f"calls:{payer.team}", "slots", rules.max_concurrent), "slots", "calls"))
    rates_by_owner = {provider: rules.rates.get(provider), model: rules.rates.get(model, rules.rates.get(""))}
    for name, rate in rates_by_owner.items():
        if rate is not None and rate.requests:
            limits.append(CounterLimit(Counter(f"{name}:requests", "rate", rate.requests), "rate", "requests", name))
        if rate is not None and rate.tokens:
            limits.append(CounterLimit(Counter(f"{name}:tokens", "rate", rate.tokens, tokens), "rate", "tokens", name))
    return limits


def parse_rates(text: str) -> dict[str, RateLimit]:
    """Parse rates such as `50 requests, 40k tokens; claude-opus-5-5: 10 requests`. Raises InvalidLimitError."""
    rates: dict[str, RateLimit] = {}
    for part in filter(None, (part.strip() for part in text.split(";"))):
        name, colon, amounts = part.rpartition(":")  # the name of a model or a host may have a colon in it
        name = name.strip() if colon else ""
        amount_by_unit = _parse_amounts(amounts)
        if not amount_by_unit or set(amount_by_unit) - {"requests", "tokens"} or name in rates:
            raise InvalidLimitError("it takes amounts such as `50 requests, 40k tokens; claude-opus-5-5: 10 requests`")
        rates[name] = RateLimit(**{unit: round(amount) for unit, amount in amount_by_unit.items()})
    return rates


def parse_budget(text: str) -> SpendingBudget | None:
    """Parse a budget such as `$2.50, 400k tokens`; None for an empty text. Raises InvalidLimitError."""
    if not text.strip():
        return None
    amount_by_unit = _parse_amounts(text)
    if not amount_by_unit or set(amount_by_unit) - {"dollars", "tokens"}:
        raise InvalidLimitError("it takes an amount such as `$2.50`, `400k tokens` or both: `$2.50, 400k tokens`")
    return SpendingBudget(
        round(amount_by_unit.get("dollars", 0.0) * MICROS_PER_DOLLAR), round(amount_by_unit.get("tokens", 0.0))
    )


def _parse_amounts(text: str) -> dict[str, float]:
    """Parse amounts into a dict by unit; empty if any part is not an amount above zero."""
    amount_by_unit: dict[str, float] = {}
    for part in text.split(","):
        match = _AMOUNT_PATTERN.fullmatch(part.strip())
        if match is None or bool(match[1]) == bool(match[4]):
            return {}
        unit_word = (match[4] or "usd").lower().rstrip("s")
        unit = {"request": "requests", "token": "tokens"}.get(unit_word, "dollars")
        amount = float(match[2]) * _MULTIPLIERS[match[3].lower()]
        if unit in amount_by_unit or amount <= 0 or (unit != "dollars" and amount < 1):
            return {}
        amount_by_unit[unit] = amount
    return amount_by_unit
