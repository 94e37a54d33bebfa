"""`/leadhand` and its subcommands, which are listed in `SUBCOMMANDS`. Each answers the person alone."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slack_bolt.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.receive.payloads import Command, Malformed, parse_command
from bot.slack.send.web_calls import Background
from bot.slack.show import notices
from bot.slack.show.notices import Unrecorded, note, soon, tell
from bot.slack.text.cleaning import clean, mention, plain
from bot.slack.views.home import help_message
from bot.slack.views.outgoing import Outgoing
from bot.tracing.steps import Step, events_json
from handoff.contracts import Place
from handoff.state import Job

if TYPE_CHECKING:
    from bot.slack.receive.service import Denied, ReleaseVerdict, Service
    from bot.slack.receive.settings_form import SettingsForm

log = logging.getLogger(__name__)

COMMAND = "/leadhand"
_JOB = re.compile(r"J[0-9A-HJKMNP-TV-Z]{10}")
_ANYTHING = re.compile(r".*", re.DOTALL)
IN_MESSAGES = "The whole trace is on its way to your direct messages with me, as a JSON file."
OWN_IN_MESSAGES = (
    "These are the steps of what you asked for: those of others are theirs, and admins see all. The whole of yours "
    "is on its way to your direct messages with me, as a JSON file."
)
_DENIED: dict[Denied, str] = {
    "unknown": notices.UNKNOWN,
    "not_yours": notices.NOT_SEEN,
    "newer": notices.NEWER,
    "unreadable": notices.UNREADABLE,
    "forgotten": notices.IS_FORGOTTEN,
}


class Commands:
    """The listener of the slash command."""

    def __init__(self, service: Service, background: Background, form: SettingsForm) -> None:
        self._service = service
        self._background = background
        self._form = form

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
                message = await self.answer(command, client)
        except Unrecorded:
            message = note(notices.NOT_RECORDED)
        await ack(text=message.text, blocks=list(message.blocks), response_type="ephemeral")

    async def answer(self, command: Command, client: AsyncWebClient) -> Outgoing:
        """Carry out one subcommand, and give what its person is shown."""
        job = command.rest.strip("`").upper()
        person = job == "ME" or job.startswith("<@")
        subcommand = next((one for one in SUBCOMMANDS if one.name == (command.word or "help")), None)
        if subcommand is None:
            return note(f"I do not know “{clean(plain(command.word, 40))}”. There are {_known()}.")
        takes_job = any(usage for usage, _ in subcommand.usages)
        if not takes_job or (not job and subcommand.usages[0][0] == "") or (person and subcommand.name == "forget"):
            return await subcommand.run(self, command, "", client)
        if not job:
            return note(f"Which job? `{COMMAND} status` lists yours, then: `{COMMAND} {command.word} JOB`.")
        if not _JOB.fullmatch(job):
            name = clean(plain(command.rest, 40))
            return note(
                f"“{name}” is no job. A job's name is J and ten letters and digits; `{COMMAND} status` lists yours."
            )
        return await subcommand.run(self, command, job, client)

    async def help(self, command: Command, job: str, client: AsyncWebClient) -> Outgoing:
        """Say how to use the bot."""
        del command, job, client
        return help_message(usage_lines(), thread_words(), self._service.crews)

    async def cancel(self, command: Command, job: str, client: AsyncWebClient) -> Outgoing:
        """Stop a job."""
        del client
        stop = await self._service.cancel(command.team, job, None, user=command.user)
        return note(f"{job} is over already." if stop.verdict == "nothing" else notices.stop_words(stop))

    async def release(self, command: Command, job: str, client: AsyncWebClient) -> Outgoing:
        """Let a job in quarantine go on."""
        del client
        verdict = await self._service.release(command.team, job, user=command.user)
        admins = ", ".join(mention(admin) for admin in sorted(self._service.admins))
        words: dict[ReleaseVerdict, str] = {
            "released": f"{job} goes on.",
            "not_quarantined": notices.NOT_QUARANTINED,
            "not_admin": f"Only an admin may do that: {admins}." if admins else notices.NO_ADMINS,
            "unknown": notices.UNKNOWN,
            "forgotten": notices.IS_FORGOTTEN,
        }
        return note(words[verdict])

    async def settings(self, command: Command, job: str, client: AsyncWebClient) -> Outgoing:
        """Say what holds in the channel; open a window besides for an admin."""
        del job
        return await self._form.show(command, client)

    async def forget(self, command: Command, job: str, client: AsyncWebClient) -> Outgoing:
        """Ask in a window if a job, or all of a person's, is to be forgotten."""
        from bot.slack.receive.forget_window import ask_to_forget  # noqa: PLC0415 - only for those who ask

        return await ask_to_forget(self._service, command, job, client)

    async def status(self, command: Command, job: str, client: AsyncWebClient) -> Outgoing:
        """List the person's jobs, or show one in detail."""
        from bot.slack.views.status import status_job, status_list  # noqa: PLC0415 - only for those who ask

        del client
        if not job:
            left = await self._service.left(command.team, command.channel, command.user)
            jobs = await self._service.jobs(command.team, command.user)
            return status_list(jobs, command.user, await self._service.trouble(), left)
        found = await self._service.job(command.team, job, command.user)
        if isinstance(found, str):
            return note(_DENIED[found])
        return status_job(found, self._service.clock(), command.user, await self._left(found, command.user))

    async def _left(self, job: Job, user: str) -> list[str]:
        """Say what is spent and left of the budgets of the latest request of a job, to whom they concern."""
        if user not in {job.latest.request.user, *self._service.admins}:
            return []
        return await self._service.left(job.place.team, job.place.channel, job.latest.request.user, job.id)

    async def trace(self, command: Command, job: str, client: AsyncWebClient) -> Outgoing:
        """Show a job's timeline, and send its whole trace as a file."""
        from bot.slack.views.status import trace as trace_message  # noqa: PLC0415 - only for those who ask

        found = await self._service.trace(command.team, job, command.user)
        if isinstance(found, str):
            return note(notices.NOT_TRACED if found == "not_yours" else _DENIED[found])
        left = [] if found.job is None else await self._left(found.job, command.user)
        self._background.start(self._send(command, job, found.steps, left, client), "send a trace")
        if found.job is None:  # as JSON it can be told all the same
            return note(f"{_DENIED[found.why]} {IN_MESSAGES}")
        shared = not found.whole and len({ask.request.user for ask in found.job.asks}) > 1
        return trace_message(found.job, found.steps, OWN_IN_MESSAGES if shared else IN_MESSAGES, left)

    async def _send(
        self, command: Command, job: str, steps: Sequence[Step], left: Sequence[str], client: AsyncWebClient
    ) -> None:
        """Send the trace to the person's direct messages: a file cannot be ephemeral."""
        try:
            direct = await client.conversations_open(users=command.user)
            await client.files_upload_v2(
                channel=direct["channel"]["id"],
                filename=f"{job}.json",
                title=f"Trace of {job}",
                content=trace_json(job, steps, left),
            )
        except Exception:
            place = Place(team=command.team, channel=command.channel, thread_ts="")
            await tell(
                client, place, command.user, note(f"The trace of {job} could not be sent. Try again in a minute.")
            )
            raise


@dataclass(frozen=True, slots=True)
class Subcommand:
    """One word after `/leadhand`.

    `usages` holds, for each way to write it, what follows the word and what that does, in the words of the help.
    `in_thread` are the words that do the same after a mention: slash commands cannot be given inside a thread.
    """

    name: str
    usages: tuple[tuple[str, str], ...]
    run: Callable[[Commands, Command, str, AsyncWebClient], Awaitable[Outgoing]]
    in_thread: tuple[str, ...] = ()


SUBCOMMANDS = (
    Subcommand("status", (("", "your jobs"), ("JOB", "one of them")), Commands.status, ("status",)),
    Subcommand(
        "trace",
        (("JOB", "each step of what you asked for: a timeline, and a file in your direct messages"),),
        Commands.trace,
    ),
    Subcommand("cancel", (("JOB", "stop what you asked for in a job"),), Commands.cancel, ("stop", "cancel")),
    Subcommand(
        "forget",
        (("JOB", "erase a job, and what I posted for it"), ("me", "all you asked for"), ("@PERSON", "theirs (admins)")),
        Commands.forget,
    ),
    Subcommand("release", (("JOB", "let a job that was set aside go on (admins)"),), Commands.release),
    Subcommand("settings", (("", "who may use me in this channel, and more; admins change it"),), Commands.settings),
    Subcommand("help", (("", "this text"),), Commands.help, ("help",)),
)
"""All subcommands. The help, the reply to an unknown word and the words in threads are made of this table."""


def usage_lines() -> list[str]:
    """List the ways to write each subcommand, a line each, in mrkdwn."""
    return [
        "; ".join(f"`{COMMAND} {one.name}{' ' if usage else ''}{usage}` {does}" for usage, does in one.usages)
        for one in SUBCOMMANDS
    ]


def thread_words() -> dict[str, Subcommand]:
    """Map the words that are understood after a mention to their subcommands."""
    return {word: one for one in SUBCOMMANDS for word in one.in_thread}


def _known() -> str:
    """Name all subcommands in a sentence's words."""
    names = [f"`{one.name} {one.usages[0][0]}".rstrip() + "`" for one in SUBCOMMANDS]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def trace_json(job: str, steps: Sequence[Step], left: Sequence[str] = ()) -> str:
    """Write the steps as one JSON object: `job`, `budgets` in words, `events` in order, each with its `seq`."""
    whole = {"job": job, **({"budgets": list(left)} if left else {}), "events": events_json(steps)}
    return json.dumps(whole, indent=2, ensure_ascii=False)


async def _unknown(ack: AsyncAck) -> None:
    await ack(text=f"I only know `{COMMAND}`.", response_type="ephemeral")
