"""How to use the bot."""

from __future__ import annotations

from bot.features.help.commands import help_me
from bot.features.kit import Kit
from bot.slack.receive.subcommand import SpokenCommand, Subcommand, match_alone

COMMANDS = (Subcommand("help", (("", "this text"),), help_me),)
SPOKEN = (SpokenCommand("help", match_alone("help"), help_me, ("help",)),)


def register(kit: Kit) -> None:
    """Add the command."""
    kit.add(COMMANDS, SPOKEN)
