"""The help feature: a command that shows how to use the bot."""

from __future__ import annotations

from bot.features.crews.service import CrewService
from bot.features.kit import Kit
from bot.features.requests.service import RequestService
from bot.slack.receive.router import list_help_words, list_usage_lines
from bot.slack.receive.subcommand import CommandContext, SpokenCommand, Subcommand, make_word_matcher
from bot.slack.views.home import render_help
from bot.slack.views.outgoing import Outgoing


async def show_help(ctx: CommandContext) -> Outgoing:
    """Render the help text, with example requests for the channel's crew."""
    examples = await ctx.find_service(CrewService).list_examples(ctx.team, ctx.channel)
    crews = ctx.find_service(RequestService).crews
    return render_help(list_usage_lines(ctx.subcommands), list_help_words(ctx.spoken), crews, examples)


COMMANDS = (Subcommand("help", (("", "this text"),), show_help),)
SPOKEN_COMMANDS = (SpokenCommand("help", make_word_matcher("help"), show_help, ("help",)),)


def register(kit: Kit) -> None:
    """Register the slash command and the spoken command."""
    kit.add_commands(COMMANDS, SPOKEN_COMMANDS)
