"""Routes what people do in Slack to the features: commands, clicks, windows, shortcuts, events and pages of lists.

The Bolt app must be made with `process_before_response=True`. Then an exception in a listener (if the store is
unavailable, say) leaves an event unacknowledged, and Slack sends it again.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from slack_bolt.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_bolt.context.async_context import AsyncBoltContext
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.receive.bolt_dispatch import answer_unhandled
from bot.slack.receive.job_references import find_named_job, is_like_job
from bot.slack.receive.payload_reader import READ, Read
from bot.slack.receive.payloads import (
    Click,
    FileRemoved,
    HomeOpened,
    IncomingMessage,
    Malformed,
    MessageDeleted,
    MessageEdited,
    MessageShortcut,
    SlashCommand,
    StopPressed,
    ViewChanged,
    ViewSubmission,
)
from bot.slack.receive.reactions import Reaction
from bot.slack.receive.services import FeatureServices
from bot.slack.receive.subcommand import FEW, CommandContext, SpokenCommand, Subcommand, guess_subcommand
from bot.slack.send.web_calls import Background, replace_message
from bot.slack.show import notices
from bot.slack.show.notices import Unrecorded, answer_click, limit_to_ack_time, make_note, make_note_with_input, tell
from bot.slack.text.cleaning import clean, plain
from bot.slack.views.outgoing import Outgoing
from bot.slack.views.paging import TURN, read_turn
from bot.store.values import PayloadTooLarge

log = logging.getLogger(__name__)

COMMAND = "/leadhand"
IS_REQUEST = "If it is a request, mention me with it:"
_ANYTHING = re.compile(r".*", re.DOTALL)
_TURNS = re.compile(rf"^{TURN}_(back|on)$")

Listener = Callable[..., Awaitable[None]]
ClickReply = str | Outgoing | None
"""The message that only the person who clicked is shown; None or "" for no message."""
OnClick = Callable[[Click, AsyncWebClient], Awaitable[ClickReply]]
"""Handles a click. Work that takes longer than Slack waits is started in the background."""
OnWindow = Callable[[ViewSubmission, AsyncWebClient], Awaitable[Mapping[str, Any] | None]]
"""Handles a submitted window. Returns the answer (`field_error`, `push_view`, `redraw_view`), or None to close it."""
OnShortcut = Callable[[MessageShortcut, AsyncWebClient], Awaitable[ClickReply]]
Event = (
    IncomingMessage | MessageEdited | MessageDeleted | StopPressed | Reaction | HomeOpened | ViewChanged | FileRemoved
)
E = TypeVar("E", bound=Event)
OnEvent = Callable[[E, AsyncWebClient], Awaitable[None]]
OnRequest = Callable[[CommandContext], Awaitable[Outgoing]]
"""Makes a request of the words of a slash command, and returns the message for the person."""
OnPage = Callable[[str, str, int], None]
"""Shows a page of a list. Takes the person's id, the rest of the list's name after its prefix, and the page from 1."""
CLOSED = {"response_action": "clear"}
"""The answer that closes a window and all windows below it."""


def field_error(block: str, words: str) -> dict[str, Any]:
    """Return the answer to a window that shows an error at a field."""
    return field_errors({block: words})


def field_errors(errors: Mapping[str, str]) -> dict[str, Any]:
    """Return the answer to a window that shows errors at its fields, by the ids of their blocks."""
    return {"response_action": "errors", "errors": dict(errors)}


def push_view(view: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to a window that opens another window on top of it."""
    return {"response_action": "push", "view": view}


def redraw_view(view: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to a window that redraws it."""
    return {"response_action": "update", "view": view}


class Router:
    """Routes payloads to the listeners that features registered.

    Subcommands are listed in the help, and spoken commands are matched, in the order in which they were added. A
    listener gets the content that the gate read from the payload, and returns its answer. Slack gets the
    acknowledgement after that, within its three seconds. If the store is unavailable, a person who clicked or submitted
    a window is told that nothing was recorded.
    """

    def __init__(self, services: FeatureServices, background: Background) -> None:
        self.subcommands: list[Subcommand] = []
        self.spoken: list[SpokenCommand] = []
        self.events: dict[type[Any], list[OnEvent[Any]]] = {}
        self.on_request: OnRequest | None = None
        """Handles slash commands that begin with no subcommand."""
        self._clicks: dict[str | re.Pattern[str], tuple[OnClick, str]] = {}
        self._windows: dict[str, OnWindow] = {}
        self._shortcuts: dict[str, OnShortcut] = {}
        self._pages: dict[str, OnPage] = {}
        self._services = services
        self._background = background

    # -- what features add -------------------------------------------------------------------------------

    def on_event(self, kind: type[E], listener: OnEvent[E]) -> None:
        """Add a listener for a kind of events. Listeners are called in the order in which they were added."""
        self.events.setdefault(kind, []).append(listener)

    def on_click(self, action: str | re.Pattern[str], listener: OnClick, *, fault: str = notices.NOT_RECORDED) -> None:
        """Add the listener for clicks on a button, by its action_id.

        `fault` is shown to the person if the store or Slack does not answer in time.
        """
        self._clicks[action] = (listener, fault)

    def on_window(self, callback: str, listener: OnWindow) -> None:
        """Add the listener for submitted windows with a callback_id."""
        self._windows[callback] = listener

    def on_shortcut(self, callback: str, listener: OnShortcut) -> None:
        """Add the listener for a message shortcut, by its callback_id."""
        self._shortcuts[callback] = listener

    def on_page(self, prefix: str, show: OnPage) -> None:
        """Add a list that is not the answer to a command: `show` turns its pages.

        `prefix` is how the list's name begins in the buttons that turn pages.
        """
        self._pages[prefix] = show

    # -- spoken commands ---------------------------------------------------------------------------------

    def find_commands(self, text: str, *, files: bool = False) -> Iterator[tuple[SpokenCommand, str]]:
        """Yield the spoken commands that a message may be, in order, each with the words that it is about."""
        return match_spoken(self.spoken, text, files=files)

    def make_context(self, command: SlashCommand, client: AsyncWebClient, **more: Any) -> CommandContext:
        """Make the context in which a command is carried out; `more` are further fields of `CommandContext`."""
        of = {"services": self._services, "background": self._background}
        of |= {"subcommands": self.subcommands, "spoken": self.spoken}
        return CommandContext(command=command, client=client, **{"rest": command.rest, **of, **more})

    # -- the slash command -------------------------------------------------------------------------------

    async def answer(self, given: CommandContext) -> Outgoing:
        """Carry out a subcommand, or make a request of the words. Returns the message for the person."""
        given = self._apply_subcommand(given)
        word = given.command.word or "help"
        subcommand = next((one for one in self.subcommands if one.name == word), None)
        if subcommand is None or _is_sentence(given, subcommand):
            return await self._take_as_request(given)
        if subcommand.takes != "job":
            return await subcommand.run(given)
        job, rest = find_named_job(given.team, given.rest)
        if job:
            return await subcommand.run(given.replace_job(job, rest))
        if given.rest:
            return _render_no_job(given)
        if subcommand.usages[0][0]:
            return make_note(f"Which job? `{COMMAND} status` lists yours, then: `{COMMAND} {word} JOB`.")
        return await subcommand.run(given)

    def _apply_subcommand(self, given: CommandContext) -> CommandContext:
        """Return the context with the subcommand for words that are a spoken command; other contexts are unchanged."""
        command = given.command
        if any(one.name == command.word for one in self.subcommands):
            return given
        for one, about in self.find_commands(command.text):
            if one.typed:
                word, _, rest = f"{one.typed} {about}".strip().partition(" ")
                return replace(given, command=replace(command, word=word, rest=rest), rest=rest)
        return given

    async def _take_as_request(self, given: CommandContext) -> Outgoing:
        """Make a request of the words, or suggest the subcommand that they look like a misspelling of."""
        text, names = given.command.text, [one.name for one in self.subcommands]
        names_job = bool(find_named_job(given.team, given.command.rest)[0])
        if given.command.word not in names and (meant := guess_subcommand(text, names, names_job=names_job)):
            return _suggest_subcommand(next(one for one in self.subcommands if one.name == meant), text)
        if self.on_request is None or not text:  # not typed, but a page button of a command that was removed
            return make_note(notices.OLD_BUTTON)
        return await self.on_request(given)

    # -- listening ---------------------------------------------------------------------------------------

    def listen(self, app: AsyncApp) -> None:
        """Register all listeners with the app, once the features have added theirs.

        Payloads that no feature listens to are acknowledged too.
        """
        app.command(COMMAND)(self._handle_command)
        app.command(_ANYTHING)(_unknown_command)
        for action, (on_click, fault) in self._clicks.items():
            app.action(action)(self._click_listener(on_click, fault))
        app.action(_TURNS)(self._handle_page_turn)
        app.action(_ANYTHING)(self._click_listener(_answer_old_button, ""))
        for callback, on_shortcut in self._shortcuts.items():
            app.shortcut(callback)(self._shortcut_listener(on_shortcut))
        app.shortcut(_ANYTHING)(_acknowledge)
        for callback, on_window in self._windows.items():
            app.view(callback)(self._window_listener(on_window))
        app.view(_ANYTHING)(_acknowledge)
        app.view_closed(_ANYTHING)(_acknowledge)
        app.event(_ANYTHING)(self._handle_event)  # in Socket Mode an event without a listener is never acknowledged
        app.error(_handle_error)

    async def _handle_event(self, context: AsyncBoltContext, client: AsyncWebClient) -> None:
        """Pass an event to its listeners. If one raises an error, it stays unacknowledged, and Slack sends it again."""
        read: Read = context[READ]
        if isinstance(read, Malformed):
            log.warning("an event without %s was left alone", read.reason)
        for take_in in self.events.get(type(read), ()):
            await take_in(read, client)

    def _click_listener(self, take: OnClick, fault: str) -> Listener:
        async def on_click(ack: AsyncAck, context: AsyncBoltContext, client: AsyncWebClient) -> None:
            click = context[READ]
            if isinstance(click, Click):
                said = await self._wait_in_time(take(click, client), fault)
                if said:
                    self._background.start(answer_click(client, click, said), "answer a click")
            else:
                _log_unread("a click", click)
            await ack()

        return on_click

    def _shortcut_listener(self, take: OnShortcut) -> Listener:
        async def on_shortcut(ack: AsyncAck, context: AsyncBoltContext, client: AsyncWebClient) -> None:
            used = context[READ]
            if isinstance(used, MessageShortcut):
                said = await self._wait_in_time(take(used, client), notices.NO_WINDOW)
                if said:
                    message = make_note(said) if isinstance(said, str) else said
                    self._background.start(tell(client, used.private_place, used.user, message), "answer a shortcut")
            else:
                _log_unread("a shortcut", used)
            await ack()

        return on_shortcut

    async def _wait_in_time(self, work: Awaitable[ClickReply], fault: str) -> ClickReply:
        try:
            async with limit_to_ack_time():
                return await work
        except Unrecorded as error:
            return _explain_unrecorded(error, fault)

    def _window_listener(self, take: OnWindow) -> Listener:
        async def on_window(ack: AsyncAck, context: AsyncBoltContext, client: AsyncWebClient) -> None:
            sent = context[READ]
            if not isinstance(sent, ViewSubmission):
                _log_unread("a window", sent)
                await ack()
                return
            try:
                async with limit_to_ack_time():
                    answer = await take(sent, client)
            except Unrecorded as error:
                answer = self._report_not_recorded(sent, client, _explain_unrecorded(error, notices.NOT_RECORDED))
            await ack(**(answer or {}))

        return on_window

    def _report_not_recorded(self, sent: ViewSubmission, client: AsyncWebClient, words: str) -> Mapping[str, Any]:
        """Return the answer to a window that was not recorded: an error at its first field, so that the input is kept.

        Without a field, the window is closed, and the person is told.
        """
        if sent.first:
            return field_error(sent.first, words)
        self._background.start(tell(client, sent.place, sent.user, make_note(words)), "answer a window")
        return CLOSED

    async def _handle_command(self, ack: AsyncAck, context: AsyncBoltContext, client: AsyncWebClient) -> None:
        """Handle a command. Its answer is sent with the acknowledgement."""
        command = context[READ]
        if not isinstance(command, SlashCommand):
            _log_unread("a command", command)
            await ack()
            return
        try:
            async with limit_to_ack_time():
                message = await self.answer(self.make_context(command, client, mark=command.trigger))
        except Unrecorded:
            message = make_note_with_input(notices.NOT_RECORDED, command.text)
        await ack(text=message.text, blocks=list(message.blocks), response_type="ephemeral")

    async def _handle_page_turn(self, ack: AsyncAck, context: AsyncBoltContext, client: AsyncWebClient) -> None:
        """Show a page of a list. The command or the App Home checks again what the person may see."""
        click = context[READ]
        wanted = read_turn(click.value) if isinstance(click, Click) else None
        if wanted is None:
            log.warning("a button that turns a page was left alone: it says no page")
            await ack()
            return
        prefix = next((one for one in self._pages if wanted.word.startswith(one)), None)
        if prefix is not None:
            self._pages[prefix](click.user, wanted.word.removeprefix(prefix)[:40], wanted.page)
            await ack()
            return
        team, channel = click.place.team, click.place.channel
        command = SlashCommand(team, channel, click.user, wanted.word, wanted.rest, click.trigger)
        try:
            async with limit_to_ack_time():
                message = await self.answer(self.make_context(command, client, page=wanted.page))
        except Unrecorded:
            message = make_note(notices.NOT_READ)
        await ack()
        await replace_message(client, click.response_url, text=message.text, blocks=message.blocks)


def match_spoken(
    commands: Sequence[SpokenCommand], text: str, *, files: bool = False
) -> Iterator[tuple[SpokenCommand, str]]:
    """Yield those of the spoken commands that a message may be, in order, each with the words that it is about.

    `files`: the message has files, which only some commands take.
    """
    for one in commands:
        if (not files or one.files) and (about := one.match(text)) is not None:
            yield one, about


def list_help_words(commands: Sequence[SpokenCommand]) -> list[str]:
    """List the spoken commands in the words that the help shows."""
    return [word for one in commands for word in one.shown]


def usage_lines(subcommands: Sequence[Subcommand]) -> list[str]:
    """List the ways to write each subcommand, a line each, in mrkdwn."""
    return ["; ".join(_render_usages(one)) for one in subcommands]


def _render_usages(one: Subcommand) -> list[str]:
    return [f"`{COMMAND} {one.name}{' ' if usage else ''}{usage}` {does}" for usage, does in one.usages]


def _suggest_subcommand(meant: Subcommand, text: str) -> Outgoing:
    """Render the note that suggests a subcommand, with all that was typed, since Slack does not keep it."""
    words = f"Did you mean `{COMMAND} {meant.name}`? Nothing was started. {'; '.join(_render_usages(meant))}."
    return make_note_with_input(f"{words} {IS_REQUEST}", text)


def _is_sentence(given: CommandContext, subcommand: Subcommand) -> bool:
    """Return True for a sentence that only begins like a subcommand: "status of the Berlin order?"."""
    words = given.rest.split()
    if not given.command.text or len(words) <= FEW or subcommand.takes_text(words[0]):
        return False
    return subcommand.takes != "job" or not (find_named_job(given.team, given.rest)[0] or is_like_job(words[0]))


def _render_no_job(given: CommandContext) -> Outgoing:
    name = clean(plain(given.rest, 40))
    words = (
        f"“{name}” is no job. A job's name is J and ten letters and digits; `{COMMAND} status` lists yours. "
        "A link to a message of its thread does too."
    )
    return make_note_with_input(f"{words} {IS_REQUEST}", given.command.text)


async def _unknown_command(ack: AsyncAck) -> None:
    await ack(text=f"I only know `{COMMAND}`.", response_type="ephemeral")


async def _acknowledge(ack: AsyncAck) -> None:
    await ack()


async def _answer_old_button(click: Click, client: AsyncWebClient) -> ClickReply:
    """Return the note for a click on a button of an older version, so that no click goes without an answer."""
    del click, client
    return notices.OLD_BUTTON


def _log_unread(what: str, read: Read) -> None:
    log.warning("%s without %s was left alone", what, read.reason if isinstance(read, Malformed) else "what it needs")


def _explain_unrecorded(error: Unrecorded, fault: str) -> str:
    return str(error) if isinstance(error.__cause__, PayloadTooLarge) else fault


async def _handle_error(error: Exception, body: Any) -> BoltResponse:
    return answer_unhandled(error, body)
