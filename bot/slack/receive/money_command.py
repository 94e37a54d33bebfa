"""`/leadhand budget`: what was spent this month, and what is left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from bot.slack.receive.subcommand import Given
from bot.slack.show.notices import note
from bot.slack.views.outgoing import Outgoing, header, sections

NOT_COUNTED = "Nothing is counted here."


class Money(Protocol):
    """What was spent, and what budgets hold. Raises StoreError."""

    async def lines(self, team: str, user: str, channel: str = "") -> Sequence[str]:
        """Say what a person spent this month, and what is left of the budgets that hold for them there."""

    async def all_lines(self, team: str, user: str) -> Sequence[str]:
        """Say what all spent together this month, and how much of each limit is taken."""


async def budget(given: Given) -> Outgoing:
    """Say what was spent and is left; to an admin, also of the workspace."""
    money = given.desks.money
    if money is None:
        return note(NOT_COUNTED)
    lines = [*await money.lines(given.team, given.user, given.channel)]
    if len(lines) == 1:
        lines.append("No budget is set for you here.")
    blocks = [header("Your budget"), *sections(lines)]
    if given.user in given.service.admins:
        blocks += [header("The workspace"), *sections(await money.all_lines(given.team, given.user))]
    return Outgoing(text="Your budget", blocks=tuple(blocks))
