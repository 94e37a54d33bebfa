"""The help feature: a command that shows how to use the bot."""

from __future__ import annotations

from bot.features.crews.service import CrewDesk
from bot.features.kit import Kit
from bot.features.requests.service import RequestDesk
from bot.slack.receive.router import list_help_words, usage_lines
from bot.slack.receive.subcommand import CommandContext, SpokenCommand, Subcommand, match_alone
from bot.slack.views.home import help_message
from bot.slack.views.outgoing import Outgoing


async def help_me(given: CommandContext) -> Outgoing:
    """Render the help text."""
    examples = await given.find(CrewDesk).examples(given.team, given.channel)
    crews = given.find(RequestDesk).crews
    return help_message(usage_lines(given.subcommands), list_help_words(given.spoken), crews, examples)


COMMANDS = (Subcommand("help", (("", "this text"),), help_me),)
SPOKEN = (SpokenCommand("help", match_alone("help"), help_me, ("help",)),)


def register(kit: Kit) -> None:
    """Register the command."""
    kit.add(COMMANDS, SPOKEN)
