"""`/leadhand`: status, trace, cancel, release, help. Answered to the person alone."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Sequence
from typing import Any

from slack_bolt.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.receive.background import Background
from bot.slack.receive.outage_notices import Unrecorded, soon
from bot.slack.receive.payloads import Command, Malformed, parse_command
from bot.slack.receive.service import CancelVerdict, Denied, Desk, ReleaseVerdict
from bot.slack.show import notices
from bot.slack.show.notices import note, tell
from bot.slack.text.outgoing_text import clean, mention, plain
from bot.slack.views.home import help_message
from bot.slack.views.outgoing import Outgoing
from bot.slack.views.status import status_job, status_list, trace
from bot.store.interface import Entry
from bot.trace import events_json
from handoff.contracts import Place
from handoff.state import Job

log = logging.getLogger(__name__)

COMMAND = "/leadhand"
_JOB = re.compile(r"J[0-9A-HJKMNP-TV-Z]{10}")
_ANYTHING = re.compile(r".*", re.DOTALL)
IN_MESSAGES = "The whole trace is on its way to your direct messages with me, as a JSON file."
_DENIED: dict[Denied, str] = {
    "unknown": notices.UNKNOWN,
    "not_yours": notices.NOT_YOURS,
    "newer": notices.NEWER,
    "unreadable": notices.UNREADABLE,
}


class Commands:
    """The listener of the slash command."""

    def __init__(self, desk: Desk, background: Background) -> None:
        self._desk = desk
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
                message = await self._answer(command, client)
        except Unrecorded:
            message = note(notices.NOT_RECORDED)
        await ack(text=message.text, blocks=list(message.blocks), response_type="ephemeral")

    async def _answer(self, command: Command, client: AsyncWebClient) -> Outgoing:
        job = command.rest.strip("`").upper()
        if command.word in {"", "help"}:
            return help_message()
        if command.word == "status" and not job:
            left = await self._desk.left(command.team, command.channel, command.user)
            jobs = await self._desk.jobs(command.team, command.user)
            return status_list(jobs, await self._desk.trouble(), left)
        if command.word not in {"status", "trace", "cancel", "release"}:
            known = "`status`, `trace JOB`, `cancel JOB`, `release JOB` and `help`"
            return note(f"I do not know “{clean(plain(command.word, 40))}”. There are {known}.")
        if not job:
            return note(f"Which job? `{COMMAND} status` lists yours, then: `{COMMAND} {command.word} JOB`.")
        if not _JOB.fullmatch(job):
            name = clean(plain(command.rest, 40))
            return note(
                f"“{name}” is no job. A job's name is J and ten letters and digits; `{COMMAND} status` lists yours."
            )
        if command.word == "cancel":
            return await self._cancel(command, job)
        if command.word == "release":
            return await self._release(command, job)
        return await (self._status if command.word == "status" else self._trace)(command, job, client)

    async def _cancel(self, command: Command, job: str) -> Outgoing:
        verdict = await self._desk.cancel(command.team, job, None, user=command.user)
        words: dict[CancelVerdict, str] = {
            "cancelling": notices.STOPPING,
            "nothing": f"{job} is over already.",
            "unknown": notices.UNKNOWN,
            "not_yours": notices.NOT_YOURS,
        }
        return note(words[verdict])

    async def _release(self, command: Command, job: str) -> Outgoing:
        verdict = await self._desk.release(command.team, job, user=command.user)
        admins = ", ".join(mention(admin) for admin in sorted(self._desk.admins))
        words: dict[ReleaseVerdict, str] = {
            "released": f"{job} goes on.",
            "not_aside": notices.NOT_ASIDE,
            "not_admin": f"Only an admin may do that: {admins}." if admins else notices.NO_ADMINS,
            "unknown": notices.UNKNOWN,
        }
        return note(words[verdict])

    async def _status(self, command: Command, job: str, client: AsyncWebClient) -> Outgoing:
        del client
        found = await self._desk.job(command.team, job, command.user)
        if isinstance(found, str):
            return note(_DENIED[found])
        return status_job(found, self._desk.clock(), await self._left(found))

    async def _left(self, job: Job) -> list[str]:
        """What is spent and left of the budgets that the job's latest request is paid from."""
        return await self._desk.left(job.place.team, job.place.channel, job.latest.request.user, job.id)

    async def _trace(self, command: Command, job: str, client: AsyncWebClient) -> Outgoing:
        found = await self._desk.job(command.team, job, command.user)
        if isinstance(found, str) and found not in {"newer", "unreadable"}:
            return note(_DENIED[found])
        entries = await self._desk.trace(command.team, job, command.user)
        if isinstance(entries, str):
            return note(_DENIED[entries])
        left = [] if isinstance(found, str) else await self._left(found)
        self._background.start(self._send(command, job, entries, left, client), "send a trace")
        if isinstance(found, str):  # as JSON it can be told all the same
            return note(f"{_DENIED[found]} {IN_MESSAGES}")
        return trace(found, entries, IN_MESSAGES, left)

    async def _send(
        self, command: Command, job: str, entries: Sequence[Entry], left: Sequence[str], client: AsyncWebClient
    ) -> None:
        """A file cannot be ephemeral, so the trace goes to the person's direct messages."""
        try:
            direct = await client.conversations_open(users=command.user)
            await client.files_upload_v2(
                channel=direct["channel"]["id"],
                filename=f"{job}.json",
                title=f"Trace of {job}",
                content=trace_json(job, entries, left),
            )
        except Exception:
            place = Place(team=command.team, channel=command.channel, thread_ts="")
            await tell(
                client, place, command.user, note(f"The trace of {job} could not be sent. Try again in a minute.")
            )
            raise


def trace_json(job: str, entries: Sequence[Entry], left: Sequence[str] = ()) -> str:
    """The whole log as one JSON object: `job`, its `budgets` in words, and `events` in order, each with its `seq`."""
    whole = {"job": job, **({"budgets": list(left)} if left else {}), "events": events_json(entries)}
    return json.dumps(whole, indent=2, ensure_ascii=False)


async def _unknown(ack: AsyncAck) -> None:
    await ack(text=f"I only know `{COMMAND}`.", response_type="ephemeral")
