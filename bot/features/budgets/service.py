"""The budgets service: describes spending, finds used-up budgets, and lets admins raise them."""

from __future__ import annotations

import time
from dataclasses import dataclass

from bot.jobs.job_records import JobRecords, make_job_key
from bot.limits.call_limits import CallLimits
from bot.limits.limit_rules import SCOPES, Payer
from bot.limits.spending import EVERYBODY, MonthSpending, SpendingRecorder
from bot.slack.text.cleaning import clean_mrkdwn, to_plain_line
from handoff.access.audit_entry import AuditEntry
from handoff.contracts import Place
from handoff.text.counts import format_count, format_dollars, format_short_number


def describe_spending(spending: MonthSpending, now: float, *, everybody: bool = False) -> str:
    """Render a line on the spending of a person, or of all with `everybody`, in the month (UTC) of `now` (seconds)."""
    month = time.strftime("%B", time.gmtime(now)) + (", everybody together" if everybody else "")
    requests = f" on {format_count(spending.requests, 'request')}" if spending.requests else ""
    if not spending.tokens:
        return f"*{month}:* nothing spent{requests or ' yet'}."
    money = f"{format_dollars(spending.dollars)}, " if spending.dollars else ""
    return f"*{month}:* {money}{format_short_number(spending.tokens)} tokens{requests}."


NOT_ADMIN_REASON = "not an admin"
RAISED_REASON = "raised by as much again"


@dataclass(frozen=True, slots=True)
class ExceededBudget:
    """A used-up budget: its scope, its name in words, and the refusal, which is empty if it was sent already."""

    scope: str
    phrase: str
    refusal: str


class BudgetService:
    """The budgets of a running bot. Each coroutine raises StoreError."""

    def __init__(self, records: JobRecords, limits: CallLimits) -> None:
        self._records = records
        self._limits = limits
        self._spending = SpendingRecorder(records.store.counters)

    @property
    def can_be_raised(self) -> bool:
        """True if there is an admin who could allow more."""
        return bool(self._records.admins)

    async def find_exceeded_budget(self, place: Place, user: str, ts: str) -> ExceededBudget | None:
        """Return the used-up budget that blocks the new request `ts`; None if there is none.

        A request that is recorded already is not blocked. If no budget is set, no spending is read.
        """
        limit = await self._limits.find_used_up_budget(Payer(place.team, place.channel, user, place.job_id))
        if limit is None or await self._records.is_message_recorded(make_job_key(place), ts):
            return None
        was_told = not await self._limits.claim_hourly_mark(f"over:{place.team}/{place.channel}/{ts}")
        return ExceededBudget(limit.scope, limit.budget_phrase, "" if was_told else limit.refusal)

    async def claim_admin_request(self, place: Place, user: str, scope: str) -> bool:
        """Claim one request to the admins for more of a budget. Returns False if there was one within the hour."""
        return await self._limits.claim_hourly_mark(f"more:{place.team}/{place.channel}/{user}/{scope}")

    async def raise_budget(self, place: Place, user: str, scope: str, *, admin: str, operation: str) -> str | None:
        """Raise a budget by its own amount on behalf of `admin`, once per operation id.

        `place` and `user` are those of the request that needs the budget. Returns a sentence with the new budget, None
        if `admin` is no admin, or "" if there is no such budget.
        """
        key, target = make_job_key(place), f"budget {scope}"
        if admin not in self._records.admins:
            await self._records.record_refusal("configured", key, None, admin, NOT_ADMIN_REASON, target=target)
            return None
        payer = Payer(place.team, place.channel, user, place.job_id)
        now = await self._limits.raise_budget(payer, scope, operation) if scope in SCOPES else ""
        if now and await self._limits.claim_hourly_mark(f"raised:{place.team}/{operation}"):
            audit_fields = {
                "at": self._records.clock(),
                "team": key.team,
                "channel": place.channel,
                "job": key.job,
                "user": admin,
            }
            await self._records.record_audit(
                AuditEntry.model_validate(
                    {"deed": "configured", **audit_fields, "target": target, "why": RAISED_REASON}
                )
            )
        return now

    async def describe_usage(self, team: str, channel: str, user: str, job: str = "") -> list[str]:
        """Return a line on the use of each limit. The budget of a job is included only if `job` is given."""
        return await self._limits.describe_usage(Payer(team, channel, user, job))

    async def describe_own_spending(self, team: str, user: str, channel: str = "") -> list[str]:
        """Return lines on a person's spending this month, and on the use of each budget that applies to them."""
        now = self._records.clock()
        month_spending = await self._spending.read_month(team, user, now)
        usage_lines = await self._spending.describe_budget_usage(self._limits.rules, Payer(team, channel, user, ""))
        return [
            describe_spending(month_spending, now),
            *(f"• {clean_mrkdwn(to_plain_line(line, 200))}" for line in usage_lines),
        ]

    async def describe_workspace_spending(self, team: str, user: str) -> list[str]:
        """Return lines on the spending of all people this month, and on the use of each limit (at most 30)."""
        now = self._records.clock()
        month_spending = await self._spending.read_month(team, EVERYBODY, now)
        usage_lines = await self._limits.describe_usage(Payer(team, "", user, ""))
        return [
            describe_spending(month_spending, now, everybody=True),
            *(f"• {clean_mrkdwn(to_plain_line(line, 200))}" for line in usage_lines[:30]),
        ]
