"""The budgets feature: shows what was spent and what is left, and lets admins raise a budget that is used up."""

from __future__ import annotations

from bot.features.budgets.actions import BudgetClicks, SpendingSections, show_budget
from bot.features.budgets.service import BudgetService
from bot.features.budgets.view import ALLOW_MORE
from bot.features.kit import Kit
from bot.slack.receive.subcommand import Subcommand
from bot.slack.views.paging import HomeSection

COMMANDS = (Subcommand("budget", (("", "what you spent this month, and what is left"),), show_budget),)


def register(kit: Kit) -> None:
    """Register the command, the buttons at a used-up budget, and the App Home sections on spending."""
    budgets = kit.add_service(BudgetService, lambda: BudgetService(kit.records, kit.limits))
    kit.add_commands(COMMANDS)
    BudgetClicks(budgets, kit.records.admins, kit.background).register(kit.router)
    kit.add_deeds({ALLOW_MORE: "configured"})
    parts = SpendingSections(budgets)
    kit.sections += (
        HomeSection("month", parts.render_own_spending),
        HomeSection("budgets", parts.render_all_spending, is_for_admins=True),
    )
