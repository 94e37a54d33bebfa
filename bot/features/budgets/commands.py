"""`/leadhand budget`: what was spent this month, and what is left."""

from __future__ import annotations

from bot.features.budgets.service import Budgets
from bot.jobs.job_records import JobRecords
from bot.slack.receive.subcommand import CommandContext
from bot.slack.views.outgoing import Outgoing, header, sections


async def budget(given: CommandContext) -> Outgoing:
    """Say what was spent and is left; to an admin, also of the workspace."""
    money = given.find(Budgets)
    lines = [*await money.lines(given.team, given.user, given.channel)]
    if len(lines) == 1:
        lines.append("No budget is set for you here.")
    blocks = [header("Your budget"), *sections(lines)]
    if given.user in given.find(JobRecords).admins:
        blocks += [header("The workspace"), *sections(await money.all_lines(given.team, given.user))]
    return Outgoing(text="Your budget", blocks=tuple(blocks))
