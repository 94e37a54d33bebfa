"""`/leadhand settings`."""

from __future__ import annotations

from bot.slack.receive.subcommand import Given
from bot.slack.views.outgoing import Outgoing


async def settings(given: Given) -> Outgoing:
    """Say what holds in the channel; open a window besides for an admin."""
    return await given.desks.settings.show(given.command, given.client)
