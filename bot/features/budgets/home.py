"""The sections of the home on money."""

from __future__ import annotations

from bot.features.budgets.service import Budgets
from bot.slack.views.home_part import HomePart
from bot.slack.views.outgoing import sections
from bot.slack.views.paging import part_of


class MoneyParts:
    """What was spent, and what budgets hold."""

    def __init__(self, budgets: Budgets) -> None:
        self._budgets = budgets

    async def mine(self, team: str, user: str, page: int) -> HomePart:
        """Show what a person spent this month, and what is left of their budgets. Raises StoreError."""
        del page
        lines = await self._budgets.lines(team, user)
        return HomePart("This month", part_of([tuple(sections(lines))], 1, 1))

    async def of_all(self, team: str, user: str, page: int) -> HomePart:
        """Show an admin what all spent together, and every limit. Raises StoreError."""
        del page
        return HomePart("The workspace", part_of([tuple(sections(await self._budgets.all_lines(team, user)))], 1, 1))
