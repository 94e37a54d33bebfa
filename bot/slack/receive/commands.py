"""`/leadhand`: which subcommands there are, and how one is found. Each answers the person alone."""

from __future__ import annotations

import difflib
import logging
import re
from typing import TYPE_CHECKING, Any

from slack_bolt.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.receive.crew_command import crew, route
from bot.slack.receive.forget_window import ask_to_forget
from bot.slack.receive.help_command import help_me
from bot.slack.receive.job_commands import cancel, jobs, release, status
from bot.slack.receive.job_named import job_named
from bot.slack.receive.money_command import budget
from bot.slack.receive.payloads import Command, Malformed, parse_command
from bot.slack.receive.remembering import memory
from bot.slack.receive.schedule_command import SCHEDULE_USAGES, schedule
from bot.slack.receive.second_tries import retry
from bot.slack.receive.settings_command import settings
from bot.slack.receive.subcommand import Given, Subcommand
from bot.slack.receive.trace_command import trace
from bot.slack.send.web_calls import Background
from bot.slack.show import notices
from bot.slack.show.notices import Unrecorded, note, soon
from bot.slack.text.cleaning import clean, plain
from bot.slack.views.outgoing import Outgoing

if TYPE_CHECKING:
    from bot.slack.receive.desks import Desks
    from bot.slack.receive.service import Service

log = logging.getLogger(__name__)

COMMAND = "/leadhand"
_ANYTHING = re.compile(r".*", re.DOTALL)
ALIKE = 0.6
"""How alike (0 to 1) a word must be to a command for that to be offered in its place."""

SUBCOMMANDS = (
    Subcommand("status", (("", "your jobs"), ("JOB", "one of them")), status, "job"),
    Subcommand(
        "jobs",
        (("", "your jobs"), ("open|waiting|done|failed|stopped", "those of them"), ("all", "everybody's (admins)")),
        jobs,
        "words",
    ),
    Subcommand(
        "trace",
        (("JOB", "each step of what you asked for: a timeline; a picture, a page and JSON in your direct messages"),),
        trace,
        "job",
    ),
    Subcommand("cancel", (("JOB", "stop what you asked for in a job"),), cancel, "job"),
    Subcommand(
        "retry",
        (
            ("JOB", "run again what failed in it"),
            ("JOB STEP", "a step, by its number, id or title, and what follows it"),
        ),
        retry,
        "job",
    ),
    Subcommand(
        "forget",
        (("JOB", "erase a job, and what I posted for it"), ("me", "all you asked for"), ("@PERSON", "theirs (admins)")),
        ask_to_forget,
        "words",
    ),
    Subcommand("release", (("JOB", "let a job that was set aside go on (admins)"),), release, "job"),
    Subcommand("schedule", SCHEDULE_USAGES, schedule, "words"),
    Subcommand("crew", (("", "who works here, and what they can do"),), crew, "words"),
    Subcommand("route", (("TEXT", "who would get a request, and why, without any work"),), route, "words"),
    Subcommand("budget", (("", "what you spent this month, and what is left"),), budget),
    Subcommand("settings", (("", "who may use me in this channel, and more; admins change it"),), settings),
    Subcommand(
        "memory",
        (("", "what I remember for this channel and about you: edit, forget, add"), ("add TEXT", "remember it here")),
        memory,
        "words",
    ),
    Subcommand("help", (("", "this text"),), help_me),
)
"""All subcommands, in the order of the help, which is made of this table as the reply to an unknown word is."""


class Commands:
    """The listener of the slash command."""

    def __init__(self, service: Service, desks: Desks, background: Background) -> None:
        self._service = service
        self.desks = desks
        self._background = background

    def register(self, app: AsyncApp) -> None:
        """Make the app listen."""
        app.command(COMMAND)(self.on_command)
        app.command(_ANYTHING)(_unknown)

    async def on_command(self, ack: AsyncAck, body: dict[str, Any], client: AsyncWebClient) -> None:
        """One command: the answer goes back with the acknowledgement."""
        command = parse_command(body)
        if isinstance(command, Malformed):
            log.warning("a command without %s was left alone", command.reason)
            await ack()
            return
        try:
            async with soon():
                message = await self.answer(self.given(command, client, mark=command.trigger))
        except Unrecorded:
            message = note(notices.NOT_RECORDED)
        await ack(text=message.text, blocks=list(message.blocks), response_type="ephemeral")

    def given(self, command: Command, client: AsyncWebClient, **more: Any) -> Given:
        """Put together a command and what carrying it out takes; `more` are fields of `Given`."""
        of = {"service": self._service, "desks": self.desks, "background": self._background}
        return Given(command=command, client=client, **{"rest": command.rest, **of, **more})

    async def answer(self, given: Given) -> Outgoing:
        """Carry out a subcommand, and give what its person is shown."""
        word = given.command.word or "help"
        subcommand = next((one for one in SUBCOMMANDS if one.name == word), None)
        if subcommand is None:
            return note(_not_known(word))
        if subcommand.takes != "job":
            return await subcommand.run(given)
        job, rest = job_named(given.team, given.rest)
        if job:
            return await subcommand.run(given.about(job, rest))
        if given.rest:
            return note(_no_job(given.rest))
        if subcommand.usages[0][0]:
            return note(f"Which job? `{COMMAND} status` lists yours, then: `{COMMAND} {word} JOB`.")
        return await subcommand.run(given)


def usage_lines() -> list[str]:
    """List the ways to write each subcommand, a line each, in mrkdwn."""
    return ["; ".join(_usages(one)) for one in SUBCOMMANDS]


def _usages(one: Subcommand) -> list[str]:
    return [f"`{COMMAND} {one.name}{' ' if usage else ''}{usage}` {does}" for usage, does in one.usages]


def _not_known(word: str) -> str:
    """Answer a word that is no command: with the nearest that is one, and all others."""
    names = [f"`{one.name} {one.usages[0][0]}".rstrip() + "`" for one in SUBCOMMANDS]
    known = f"There are {', '.join(names[:-1])} and {names[-1]}."
    told = f"I do not know “{clean(plain(word, 40))}”."
    near = difflib.get_close_matches(word[:40], [one.name for one in SUBCOMMANDS], 1, ALIKE)
    meant = next((one for one in SUBCOMMANDS if one.name in near), None)
    return f"{told} Did you mean this? {'; '.join(_usages(meant))}\n{known}" if meant else f"{told} {known}"


def _no_job(words: str) -> str:
    name = clean(plain(words, 40))
    return (
        f"“{name}” is no job. A job's name is J and ten letters and digits; `{COMMAND} status` lists yours. "
        "A link to a message of its thread does too."
    )


async def _unknown(ack: AsyncAck) -> None:
    await ack(text=f"I only know `{COMMAND}`.", response_type="ephemeral")
