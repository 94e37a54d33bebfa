"""Takes what people do in Slack to the features: commands, words, events and pages, and what no feature knows.

The app must be made with `process_before_response=True`. Then an exception in a handler (the store is away, say) leaves
an event unacknowledged, and Slack sends it again.
"""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

from slack_bolt.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.receive.bolt_dispatch import unhandled
from bot.slack.receive.job_named import job_named
from bot.slack.receive.payloads import Click, Command, Deleted, Edited, Malformed, parse_click, parse_command
from bot.slack.receive.services import Services
from bot.slack.receive.subcommand import Given, SpokenCommand, Subcommand
from bot.slack.send.web_calls import Background, replace_message
from bot.slack.show import notices
from bot.slack.show.notices import Unrecorded, answer_click, note, soon
from bot.slack.text.cleaning import clean, plain
from bot.slack.views.outgoing import Outgoing
from bot.slack.views.paging import TURN, turned

log = logging.getLogger(__name__)

COMMAND = "/leadhand"
ALIKE = 0.6
"""How alike (0 to 1) a word must be to a command for that to be offered in its place."""
_ANYTHING = re.compile(r".*", re.DOTALL)
_TURNS = re.compile(rf"^{TURN}_(back|on)$")

Listener = Callable[..., Awaitable[None]]
Change = Edited | Deleted
OnChange = Callable[[Change, AsyncWebClient], Awaitable[None]]
"""Takes in that a message was edited or deleted."""
OnPage = Callable[[str, str, int], None]
"""Shows somebody (their id) a page (from 1) of a list: the words behind the prefix that the list is registered by."""


class Router:
    """What the features of a bot listen to. The order in which they add is that of the help, and of spoken commands."""

    def __init__(self, services: Services, background: Background) -> None:
        self.events: dict[str, Listener] = {}
        self.subcommands: list[Subcommand] = []
        self.spoken: list[SpokenCommand] = []
        self.changes: list[OnChange] = []
        self._pages: dict[str, OnPage] = {}
        self._services = services
        self._background = background

    # -- what features add -------------------------------------------------------------------------------

    def on_event(self, kind: str, listener: Listener) -> None:
        """Listen to an event of Slack's."""
        self.events[kind] = listener

    def on_change(self, listener: OnChange) -> None:
        """Be told of messages that are edited or deleted, after those that asked before."""
        self.changes.append(listener)

    def on_page(self, prefix: str, show: OnPage) -> None:
        """Turn the pages of a list that is no command's answer, by the prefix of the word in its buttons."""
        self._pages[prefix] = show

    # -- spoken commands ---------------------------------------------------------------------------------

    def spoken_in(self, text: str, *, files: bool = False) -> Iterator[tuple[SpokenCommand, str]]:
        """Give the commands that a message may be, each with what it is about, in order."""
        return spoken_in(self.spoken, text, files=files)

    def given(self, command: Command, client: AsyncWebClient, **more: Any) -> Given:
        """Put together a command and what carrying it out takes; `more` are fields of `Given`."""
        of = {"services": self._services, "background": self._background}
        of |= {"subcommands": self.subcommands, "spoken": self.spoken}
        return Given(command=command, client=client, **{"rest": command.rest, **of, **more})

    # -- the slash command -------------------------------------------------------------------------------

    async def answer(self, given: Given) -> Outgoing:
        """Carry out a subcommand, and give what its person is shown."""
        word = given.command.word or "help"
        subcommand = next((one for one in self.subcommands if one.name == word), None)
        if subcommand is None:
            return note(_not_known(word, self.subcommands))
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

    # -- listening ---------------------------------------------------------------------------------------

    def listen(self, app: AsyncApp) -> None:
        """Make the app listen, once all features have added: what none of them knows is acknowledged, too."""
        for event, listener in self.events.items():
            app.event(event)(listener)
        app.command(COMMAND)(self._on_command)
        app.command(_ANYTHING)(_unknown_command)
        app.action(_TURNS)(self._on_turn)
        app.action(_ANYTHING)(self._on_unknown_action)
        app.shortcut(_ANYTHING)(_acknowledge)
        app.view(_ANYTHING)(_acknowledge)
        app.view_closed(_ANYTHING)(_acknowledge)
        app.event(_ANYTHING)(_nothing)  # in Socket Mode an event without a listener is never acknowledged
        app.error(_failed)

    async def _on_command(self, ack: AsyncAck, body: dict[str, Any], client: AsyncWebClient) -> None:
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

    async def _on_turn(
        self, ack: AsyncAck, body: dict[str, Any], action: dict[str, Any], client: AsyncWebClient
    ) -> None:
        """Show a page. Who may see what is asked again, as the command or the home does."""
        wanted = turned(str(action.get("value") or ""))
        user = str((body.get("user") or {}).get("id") or "")
        prefix = next((one for one in self._pages if wanted is not None and wanted.word.startswith(one)), None)
        if wanted is None or not user:
            log.warning("a button that turns a page was left alone: it says no page")
        elif prefix is not None:
            self._pages[prefix](user, wanted.word.removeprefix(prefix)[:40], wanted.page)
        else:
            team, channel = str((body.get("team") or {}).get("id") or ""), (body.get("channel") or {}).get("id") or ""
            command = Command(team, str(channel), user, wanted.word, wanted.rest, str(body.get("trigger_id") or ""))
            try:
                async with soon():
                    message = await self.answer(self.given(command, client, page=wanted.page))
            except Unrecorded:
                message = note(notices.NOT_READ)
            await ack()
            await replace_message(client, body, text=message.text, blocks=message.blocks)
            return
        await ack()

    async def _on_unknown_action(
        self, ack: AsyncAck, body: dict[str, Any], action: dict[str, Any], client: AsyncWebClient
    ) -> None:
        """Answer a click on a button of an older version: a click is never swallowed."""
        click = parse_click(body, {"value": "-", **action})
        if isinstance(click, Click):
            self._background.start(answer_click(client, click, notices.OLD_BUTTON), "answer a click")
        await ack()


def spoken_in(
    commands: Sequence[SpokenCommand], text: str, *, files: bool = False
) -> Iterator[tuple[SpokenCommand, str]]:
    """Give those of the commands that a message may be, each with what it is about, in order."""
    for one in commands:
        if (not files or one.files) and (about := one.match(text)) is not None:
            yield one, about


def shown_words(commands: Sequence[SpokenCommand]) -> list[str]:
    """List the words after a mention that the help names."""
    return [word for one in commands for word in one.shown]


def usage_lines(subcommands: Sequence[Subcommand]) -> list[str]:
    """List the ways to write each subcommand, a line each, in mrkdwn."""
    return ["; ".join(_usages(one)) for one in subcommands]


def _usages(one: Subcommand) -> list[str]:
    return [f"`{COMMAND} {one.name}{' ' if usage else ''}{usage}` {does}" for usage, does in one.usages]


def _not_known(word: str, subcommands: list[Subcommand]) -> str:
    """Answer a word that is no command: with the nearest that is one, and all others."""
    names = [f"`{one.name} {one.usages[0][0]}".rstrip() + "`" for one in subcommands]
    known = f"There are {', '.join(names[:-1])} and {names[-1]}."
    told = f"I do not know “{clean(plain(word, 40))}”."
    near = difflib.get_close_matches(word[:40], [one.name for one in subcommands], 1, ALIKE)
    meant = next((one for one in subcommands if one.name in near), None)
    return f"{told} Did you mean this? {'; '.join(_usages(meant))}\n{known}" if meant else f"{told} {known}"


def _no_job(words: str) -> str:
    name = clean(plain(words, 40))
    return (
        f"“{name}” is no job. A job's name is J and ten letters and digits; `{COMMAND} status` lists yours. "
        "A link to a message of its thread does too."
    )


async def _unknown_command(ack: AsyncAck) -> None:
    await ack(text=f"I only know `{COMMAND}`.", response_type="ephemeral")


async def _acknowledge(ack: AsyncAck) -> None:
    await ack()


async def _nothing() -> None:
    """Acknowledge an event that calls for nothing."""


async def _failed(error: Exception, body: Any) -> BoltResponse:
    return unhandled(error, body)
