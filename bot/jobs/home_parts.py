"""The sections of the home that are made of jobs, of what they cost, and of how the bot itself is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bot.jobs.job_lists import JobLists
from bot.limits.call_limits import CallLimits
from bot.limits.rules import Payer
from bot.limits.spending import EVERYBODY, Spending
from bot.slack.text.cleaning import clean, plain
from bot.slack.views.bot_state import InstanceLine, instance_lines, model_lines
from bot.slack.views.budget_lines import spent_words
from bot.slack.views.home_part import HomePart, Row
from bot.slack.views.job_rows import card_rows, job_line
from bot.slack.views.outgoing import Block, context, section, sections
from bot.slack.views.paging import Page, page_of, part_of
from bot.store.interface import Store
from bot.supervisor.instance_board import InstanceBoard
from specialists.several_crews import Crews


class JobParts:
    """Jobs under way, and those that ended."""

    def __init__(self, lists: JobLists) -> None:
        self._lists = lists

    async def running(self, team: str, user: str, page: int) -> HomePart:
        """Show a person's jobs under way with the rows of their cards. Raises StoreError."""
        found = await self._lists.of(team, user, page, "open")
        rows: list[Row] = []
        for line in found.rows:
            card = card_rows(line)
            rows.append((section(job_line(line, user, name=False) + (f"\n{card}" if card else "")),))
        return HomePart("Under way", _page(found, rows), "Nothing is under way.")

    async def recent(self, team: str, user: str, page: int) -> HomePart:
        """Show a person's jobs that ended. Raises StoreError."""
        found = await self._lists.of(team, user, page, "over")
        rows = [tuple(sections(job_line(line, user, name=False) for line in found.rows))] if found.rows else []
        return HomePart("Recent", _page(found, rows), "None yet.")


class MoneyParts:
    """What was spent, and what budgets hold."""

    def __init__(self, store: Store, limits: CallLimits) -> None:
        self._store = store
        self._limits = limits
        self.spending = Spending(store.counters)

    async def mine(self, team: str, user: str, page: int) -> HomePart:
        """Show what a person spent this month, and what is left of their budgets. Raises StoreError."""
        del page
        lines = await self.lines(team, user)
        return HomePart("This month", part_of([tuple(sections(lines))], 1, 1))

    async def lines(self, team: str, user: str, channel: str = "") -> list[str]:
        """Say what a person spent this month, and what is left of the budgets that hold for them there."""
        now = self._store.clock()
        spent = await self.spending.of(team, user, now)
        left = await self.spending.budgets_left(self._limits.rules, Payer(team, channel, user, ""))
        return [spent_words(spent, now), *(f"• {clean(plain(line, 200))}" for line in left)]

    async def of_all(self, team: str, user: str, page: int) -> HomePart:
        """Show an admin what all spent together, and every limit. Raises StoreError."""
        del page
        return HomePart("The workspace", part_of([tuple(sections(await self.all_lines(team, user)))], 1, 1))

    async def all_lines(self, team: str, user: str) -> list[str]:
        """Say what all spent together this month, and how much of each limit is taken. Raises StoreError."""
        now = self._store.clock()
        spent = await self.spending.of(team, EVERYBODY, now)
        left = await self._limits.status(Payer(team, "", user, ""))
        return [spent_words(spent, now, everybody=True), *(f"• {clean(plain(line, 200))}" for line in left[:30])]


class StateParts:
    """How the bot itself is, for admins."""

    def __init__(
        self, crews: Crews, limits: CallLimits, board: InstanceBoard, lists: JobLists, models: Sequence[str]
    ) -> None:
        self._crews = crews
        self._limits = limits
        self._board = board
        self._lists = lists
        self._models = tuple(models)

    async def set_aside(self, team: str, user: str, page: int) -> HomePart:
        """Show the jobs that are set aside. Raises StoreError."""
        lines = [self._lists.line(head) for head in await self._lists.set_aside(team)]
        found = page_of(lines, page)
        rows = [tuple(sections(job_line(line, user, asker=True) for line in found.rows))] if lines else []
        hint: list[Block] = [context("`/leadhand release JOB` lets one go on.")] if rows else []
        return HomePart("Set aside", _page(found, [*rows, *([tuple(hint)] if hint else [])]))

    async def specialists(self, team: str, user: str, page: int) -> HomePart:
        """Show the models, and which specialists and models are left alone at the moment. Raises StoreError."""
        del team, user, page
        names = [name for crew in self._crews.by_name.values() for name in crew.everyone]
        lines = model_lines(self._models, len(names), await self._limits.breakers.status())
        return HomePart("Specialists and models", part_of([tuple(sections(lines))], 1, 1))

    async def instances(self, team: str, user: str, page: int) -> HomePart:
        """Show the instances that are heard of. Raises StoreError."""
        del team, user
        known = [InstanceLine(one.name, one.age, one.crews, one.busy) for one in await self._board.everyone()]
        found = page_of(instance_lines(known), page)
        return HomePart(
            "Instances", _page(found, [tuple(sections(found.rows))] if found.rows else []), "None is heard of."
        )


def _page(found: Page[Any], rows: Sequence[Row]) -> Page[Row]:
    return Page(tuple(rows), found.number, found.pages, found.total)
