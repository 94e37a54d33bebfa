"""`/leadhand help`, and the word after a mention."""

from __future__ import annotations

from bot.slack.receive.subcommand import Given
from bot.slack.views.home import help_message
from bot.slack.views.outgoing import Outgoing


async def help_me(given: Given) -> Outgoing:
    """Say how to use the bot."""
    from bot.slack.receive.commands import usage_lines  # noqa: PLC0415 - the table of commands names this one
    from bot.slack.receive.spoken_commands import shown_words  # noqa: PLC0415 - and so does this

    return help_message(usage_lines(), shown_words(), given.service.crews)
