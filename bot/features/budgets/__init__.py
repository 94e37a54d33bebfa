"""What was spent, what is left, and how people get more at a cap."""

from __future__ import annotations

from bot.features.budgets.actions import BudgetClicks, MoneyParts, budget
from bot.features.budgets.service import BudgetDesk
from bot.features.budgets.view import ALLOW_MORE
from bot.features.kit import Kit
from bot.slack.receive.subcommand import Subcommand
from bot.slack.views.paging import HomeSection

COMMANDS = (Subcommand("budget", (("", "what you spent this month, and what is left"),), budget),)


def register(kit: Kit) -> None:
    """Add the command, the buttons at a cap, and the sections of the home on money."""
    budgets = kit.offer(BudgetDesk, lambda: BudgetDesk(kit.records, kit.limits))
    kit.add(COMMANDS)
    BudgetClicks(budgets, kit.records.admins, kit.background).register(kit.router)
    kit.note_deeds({ALLOW_MORE: "configured"})
    parts = MoneyParts(budgets)
    kit.sections += (
        HomeSection("month", parts.show_own_spending),
        HomeSection("budgets", parts.show_all_spending, admins=True),
    )
