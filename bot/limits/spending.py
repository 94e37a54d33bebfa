"""Counts the spending of people by month, once for each request that ends. Nothing is limited here."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bot.limits.limit_rules import MICROS_PER_DOLLAR, LimitRules, Payer, describe_limits, list_budgets
from bot.store.counters import Counter, Settlement
from bot.store.redis.redis_counters import Counters
from handoff.contracts import Usage

_COUNTER_UNITS = ("micros", "tokens", "requests")
EVERYBODY = "*"
"""Stands for the whole workspace in place of a person's id."""


@dataclass(frozen=True, slots=True)
class MonthSpending:
    """The spending of a month: dollars (where prices are known), tokens, and the number of requests that ended."""

    dollars: float = 0.0
    tokens: int = 0
    requests: int = 0


@dataclass(frozen=True, slots=True)
class EndedRequest:
    """A request that ended.

    `unique_name` is unique, so that it counts once; `at` is its end in seconds since the epoch.
    """

    team: str
    user: str
    unique_name: str
    usage: Usage
    at: float


class SpendingRecorder:
    """Counts spending in the store that all instances share."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters

    async def record_requests(self, requests: Sequence[EndedRequest]) -> None:
        """Count requests that ended; one that is reported twice within minutes counts once. Raises StoreError."""
        await self._counters.settle([_make_settlement(one) for one in requests])

    async def read_month(self, team: str, user: str, at: float) -> MonthSpending:
        """Return the spending of a person, or of `EVERYBODY`, in the month (UTC) that `at` is in. Raises StoreError."""
        micros, tokens, requests = await self._counters.read_spending(list_month_counters(team, user, at))
        return MonthSpending(micros / MICROS_PER_DOLLAR, tokens, requests)

    async def describe_budget_usage(self, rules: LimitRules, payer: Payer) -> list[str]:
        """Describe in a line each how much of the payer's budgets is used. Raises StoreError."""
        budgets = [limit for limit in list_budgets(rules, payer) if payer.job_id or limit.scope != "job"]
        counters = [limit.counter for limit in budgets]
        amounts, raises = (
            await self._counters.read_spending(counters),
            await self._counters.read_budget_raises(counters),
        )
        return describe_limits(budgets, amounts, dict(zip(budgets, raises, strict=True)))


def list_month_counters(team: str, user: str, at: float) -> list[Counter]:
    """List the counters of a person for the month that `at` is in."""
    month = time.strftime("%Y-%m", time.gmtime(at))
    return [Counter(f"month:{team}/{user}:{month}:{unit}", "life", 0, 0) for unit in _COUNTER_UNITS]


def list_recent_counters(team: str, user: str, at: float) -> list[Counter]:
    """List the counters of a person that the store may still hold: for the month that `at` is in and the one before."""
    first = datetime.fromtimestamp(at, UTC).replace(day=1)
    before = (first - timedelta(days=1)).timestamp()
    return [*list_month_counters(team, user, at), *list_month_counters(team, user, before)]


def _make_settlement(request: EndedRequest) -> Settlement:
    usage = request.usage
    amounts = (round((usage.cost or 0.0) * MICROS_PER_DOLLAR), usage.tokens_in + usage.tokens_out, 1)
    counters = [
        *list_month_counters(request.team, request.user, request.at),
        *list_month_counters(request.team, EVERYBODY, request.at),
    ]
    mark = hashlib.sha256(request.unique_name.encode()).hexdigest()[:24]  # hashed, as it outlives a job that is erased
    return Settlement(f"month:{mark}", 0, tuple(counters), (*amounts, *amounts))
