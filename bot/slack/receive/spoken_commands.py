"""What is said to the bot that is a command and no request: asked before a mention or a direct message is recorded."""

from __future__ import annotations

from collections.abc import Iterator

from bot.slack.receive.help_command import help_me
from bot.slack.receive.job_commands import status
from bot.slack.receive.remembering import forget_this, forget_words, memory, remember_this, remember_words
from bot.slack.receive.schedule_command import says, spoken_schedule
from bot.slack.receive.second_tries import again, match
from bot.slack.receive.stopping import stop_here
from bot.slack.receive.subcommand import SpokenCommand, alone

SPOKEN = (
    SpokenCommand("status", alone("status"), status, ("status",)),
    SpokenCommand("cancel", alone("stop", "cancel"), stop_here, ("stop", "cancel")),
    SpokenCommand("remember", remember_words, remember_this, ("remember that ...",)),
    SpokenCommand("forget", forget_words, forget_this, ("forget that ...",)),
    SpokenCommand("memory", alone("memory", "what do you remember"), memory, ("memory",)),
    SpokenCommand("again", match, again, ("retry", "retry from STEP", "continue", "again"), files=True),
    SpokenCommand("schedule", says, spoken_schedule, files=True),
    SpokenCommand("help", alone("help"), help_me, ("help",)),
)
"""All spoken commands, in the order in which they are asked. A part adds its own, in a module of its own, by a line."""


def spoken(text: str, *, files: bool = False) -> Iterator[tuple[SpokenCommand, str]]:
    """Give the commands that a message may be, each with what it is about, in order."""
    for one in SPOKEN:
        if (not files or one.files) and (about := one.match(text)) is not None:
            yield one, about


def shown_words() -> list[str]:
    """List the words after a mention that the help names."""
    return [word for one in SPOKEN for word in one.shown]
