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

from bot.slack.receive.bolt_dispatch import make_error_response
from bot.slack.receive.job_references import looks_like_job_id, parse_job_reference
from bot.slack.receive.payload_reader import CONTENT_KEY, PayloadContent
from bot.slack.receive.payloads import (
    AppContextChanged,
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
    ViewSubmission,
)
from bot.slack.receive.reactions import ThumbReaction
from bot.slack.receive.services import FeatureServices
from bot.slack.receive.subcommand import (
    MAX_SUBCOMMAND_WORDS,
    CommandContext,
    SpokenCommand,
    Subcommand,
    guess_subcommand,
)
from bot.slack.send.web_calls import BackgroundTasks, replace_clicked_message
from bot.slack.show import notices
from bot.slack.show.notices import (
    RecordingFailed,
    answer_click,
    limit_to_ack_time,
    make_note,
    make_note_with_input,
    show_ephemeral_message,
)
from bot.slack.text.cleaning import clean_mrkdwn, to_plain_line
from bot.slack.views.outgoing import Outgoing
from bot.slack.views.paging import TURN_PAGE_ACTION_PREFIX, decode_turn
from bot.store.values import PayloadTooLarge

log = logging.getLogger(__name__)

SLASH_COMMAND = "/leadhand"
REQUEST_HINT = "If it is a request, mention me with it:"
_ANYTHING = re.compile(r".*", re.DOTALL)
_PAGE_TURN = re.compile(rf"^{TURN_PAGE_ACTION_PREFIX}_(back|on)$")

BoltListener = Callable[..., Awaitable[None]]
ClickReply = str | Outgoing | None
"""The message that is shown only to the person who clicked; None or "" for no message."""
OnClick = Callable[[Click, AsyncWebClient], Awaitable[ClickReply]]
"""Handles a click. Work that takes longer than Slack waits must be started in the background."""
OnWindow = Callable[[ViewSubmission, AsyncWebClient], Awaitable[Mapping[str, Any] | None]]
"""Handles a submitted window.

Returns Slack's response_action (`make_field_error`, `make_push_answer`, `make_redraw_answer`), or None to close it.
"""
OnShortcut = Callable[[MessageShortcut, AsyncWebClient], Awaitable[ClickReply]]
Event = (
    IncomingMessage
    | MessageEdited
    | MessageDeleted
    | StopPressed
    | ThumbReaction
    | HomeOpened
    | AppContextChanged
    | FileRemoved
)
E = TypeVar("E", bound=Event)
OnEvent = Callable[[E, AsyncWebClient], Awaitable[None]]
StartRequest = Callable[[CommandContext], Awaitable[Outgoing]]
"""Starts a request with the words of a slash command, and returns the message for the person."""
ShowPage = Callable[[str, str, int], None]
"""Shows a page of a list. Takes the person's id, the rest of the list's name after its prefix, and the page from 1."""
CLOSE_ALL_WINDOWS = {"response_action": "clear"}
"""The answer that closes a window and all windows below it."""


def make_field_error(block: str, words: str) -> dict[str, Any]:
    """Return the answer to a window that shows an error at a field."""
    return make_field_errors({block: words})


def make_field_errors(errors: Mapping[str, str]) -> dict[str, Any]:
    """Return the answer to a window that shows errors at its fields, by the ids of their blocks."""
    return {"response_action": "errors", "errors": dict(errors)}


def make_push_answer(view: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to a window that opens another window on top of it."""
    return {"response_action": "push", "view": view}


def make_redraw_answer(view: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to a window that redraws it."""
    return {"response_action": "update", "view": view}


class Router:
    """Routes payloads to the listeners that features registered.

    Subcommands are listed in the help, and spoken commands are matched, in the order in which they were added. A
    listener gets the content that the gate read from the payload, and returns its answer. Slack gets the
    acknowledgement after that, within its three seconds. If the store is unavailable, a person who clicked or submitted
    a window is told that nothing was recorded.
    """

    def __init__(self, services: FeatureServices, background: BackgroundTasks) -> None:
        self.subcommands: list[Subcommand] = []
        self.spoken: list[SpokenCommand] = []
        self.events: dict[type[Any], list[OnEvent[Any]]] = {}
        self.on_request: StartRequest | None = None
        """Handles slash commands that begin with no subcommand."""
        self._clicks: dict[str | re.Pattern[str], tuple[OnClick, str]] = {}
        self._windows: dict[str, OnWindow] = {}
        self._shortcuts: dict[str, OnShortcut] = {}
        self._pages: dict[str, ShowPage] = {}
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

    def add_paged_list(self, prefix: str, show: ShowPage) -> None:
        """Add a list that is not the answer to a command: `show` turns its pages.

        `prefix` is how the list's name begins in the buttons that turn pages.
        """
        self._pages[prefix] = show

    # -- spoken commands ---------------------------------------------------------------------------------

    def match_spoken_commands(self, text: str, *, has_files: bool = False) -> Iterator[tuple[SpokenCommand, str]]:
        """Yield the spoken commands that match a message, in order, each with the words that its `match` returned."""
        return match_spoken_commands(self.spoken, text, has_files=has_files)

    def make_context(self, command: SlashCommand, client: AsyncWebClient, **context_fields: Any) -> CommandContext:
        """Make the context of a command; `context_fields` are further fields of `CommandContext`."""
        of = {"services": self._services, "background": self._background}
        of |= {"subcommands": self.subcommands, "spoken": self.spoken}
        return CommandContext(command=command, client=client, **{"rest": command.rest, **of, **context_fields})

    # -- the slash command -------------------------------------------------------------------------------

    async def run_command(self, context: CommandContext) -> Outgoing:
        """Carry out a subcommand, or start a request with the words. Returns the message for the person."""
        context = self._replace_spoken_words(context)
        word = context.command.first_word or "help"
        subcommand = next((one for one in self.subcommands if one.name == word), None)
        if subcommand is None or _is_sentence(context, subcommand):
            return await self._start_request(context)
        if subcommand.input_kind != "job":
            return await subcommand.run(context)
        job, rest = parse_job_reference(context.team, context.rest)
        if job:
            return await subcommand.run(context.with_job(job, rest))
        if context.rest:
            return _render_unknown_job(context)
        if subcommand.usages[0][0]:
            return make_note(f"Which job? `{SLASH_COMMAND} status` lists yours, then: `{SLASH_COMMAND} {word} JOB`.")
        return await subcommand.run(context)

    def _replace_spoken_words(self, context: CommandContext) -> CommandContext:
        """Return the context with the subcommand in place of a spoken command's words; any other is unchanged."""
        command = context.command
        if any(one.name == command.first_word for one in self.subcommands):
            return context
        for one, about in self.match_spoken_commands(command.text):
            if one.slash_words:
                word, _, rest = f"{one.slash_words} {about}".strip().partition(" ")
                return replace(context, command=replace(command, first_word=word, rest=rest), rest=rest)
        return context

    async def _start_request(self, context: CommandContext) -> Outgoing:
        """Start a request with the words of a command, or suggest the subcommand that they probably misspell."""
        text, names = context.command.text, [one.name for one in self.subcommands]
        names_job = bool(parse_job_reference(context.team, context.command.rest)[0])
        if context.command.first_word not in names and (
            suggested_name := guess_subcommand(text, names, names_job=names_job)
        ):
            return _render_suggestion(next(one for one in self.subcommands if one.name == suggested_name), text)
        if self.on_request is None or not text:  # not typed, but a page button of a command that was removed
            return make_note(notices.OLD_BUTTON)
        return await self.on_request(context)

    # -- listening ---------------------------------------------------------------------------------------

    def register_listeners(self, app: AsyncApp) -> None:
        """Register all listeners with the app, once the features have added theirs.

        Payloads that no feature listens to are acknowledged too.
        """
        app.command(SLASH_COMMAND)(self._handle_command)
        app.command(_ANYTHING)(_answer_unknown_command)
        for action, (on_click, fault) in self._clicks.items():
            app.action(action)(self._make_click_listener(on_click, fault))
        app.action(_PAGE_TURN)(self._handle_page_turn)
        app.action(_ANYTHING)(self._make_click_listener(_answer_old_button, ""))
        for callback, on_shortcut in self._shortcuts.items():
            app.shortcut(callback)(self._make_shortcut_listener(on_shortcut))
        app.shortcut(_ANYTHING)(_acknowledge)
        for callback, on_window in self._windows.items():
            app.view(callback)(self._make_window_listener(on_window))
        app.view(_ANYTHING)(_acknowledge)
        app.view_closed(_ANYTHING)(_acknowledge)
        app.event(_ANYTHING)(self._handle_event)  # in Socket Mode an event without a listener is never acknowledged
        app.error(_handle_error)

    async def _handle_event(self, context: AsyncBoltContext, client: AsyncWebClient) -> None:
        """Pass an event to its listeners. If one raises an error, the event stays unacknowledged: Slack repeats it."""
        content: PayloadContent = context[CONTENT_KEY]
        if isinstance(content, Malformed):
            log.warning("an event without %s was left alone", content.reason)
        for take_in in self.events.get(type(content), ()):
            await take_in(content, client)

    def _make_click_listener(self, handle: OnClick, fault: str) -> BoltListener:
        async def on_click(ack: AsyncAck, context: AsyncBoltContext, client: AsyncWebClient) -> None:
            click = context[CONTENT_KEY]
            if isinstance(click, Click):
                reply = await self._await_reply(handle(click, client), fault)
                if reply:
                    self._background.start(answer_click(client, click, reply), "answer a click")
            else:
                _log_unreadable("a click", click)
            await ack()

        return on_click

    def _make_shortcut_listener(self, handle: OnShortcut) -> BoltListener:
        async def on_shortcut(ack: AsyncAck, context: AsyncBoltContext, client: AsyncWebClient) -> None:
            shortcut = context[CONTENT_KEY]
            if isinstance(shortcut, MessageShortcut):
                reply = await self._await_reply(handle(shortcut, client), notices.WINDOW_FAILED)
                if reply:
                    message = make_note(reply) if isinstance(reply, str) else reply
                    self._background.start(
                        show_ephemeral_message(client, shortcut.private_place, shortcut.user, message),
                        "answer a shortcut",
                    )
            else:
                _log_unreadable("a shortcut", shortcut)
            await ack()

        return on_shortcut

    async def _await_reply(self, work: Awaitable[ClickReply], fault: str) -> ClickReply:
        try:
            async with limit_to_ack_time():
                return await work
        except RecordingFailed as error:
            return _explain_failed_recording(error, fault)

    def _make_window_listener(self, handle: OnWindow) -> BoltListener:
        async def on_window(ack: AsyncAck, context: AsyncBoltContext, client: AsyncWebClient) -> None:
            submission = context[CONTENT_KEY]
            if not isinstance(submission, ViewSubmission):
                _log_unreadable("a window", submission)
                await ack()
                return
            try:
                async with limit_to_ack_time():
                    answer = await handle(submission, client)
            except RecordingFailed as error:
                answer = self._report_not_recorded(
                    submission, client, _explain_failed_recording(error, notices.NOT_RECORDED)
                )
            await ack(**(answer or {}))

        return on_window

    def _report_not_recorded(self, submission: ViewSubmission, client: AsyncWebClient, words: str) -> Mapping[str, Any]:
        """Return the answer to a window that was not recorded: an error at its first field, so that the input is kept.

        Without a field, the window is closed, and the person is told.
        """
        if submission.first_block:
            return make_field_error(submission.first_block, words)
        self._background.start(
            show_ephemeral_message(client, submission.place, submission.user, make_note(words)), "answer a window"
        )
        return CLOSE_ALL_WINDOWS

    async def _handle_command(self, ack: AsyncAck, context: AsyncBoltContext, client: AsyncWebClient) -> None:
        """Handle a command. Its answer is sent with the acknowledgement."""
        command = context[CONTENT_KEY]
        if not isinstance(command, SlashCommand):
            _log_unreadable("a command", command)
            await ack()
            return
        try:
            async with limit_to_ack_time():
                message = await self.run_command(self.make_context(command, client, dedupe_key=command.trigger_id))
        except RecordingFailed:
            message = make_note_with_input(notices.NOT_RECORDED, command.text)
        await ack(text=message.text, blocks=list(message.blocks), response_type="ephemeral")

    async def _handle_page_turn(self, ack: AsyncAck, context: AsyncBoltContext, client: AsyncWebClient) -> None:
        """Show a page of a list. The command or the App Home checks again what the person may see."""
        click = context[CONTENT_KEY]
        page_turn = decode_turn(click.value) if isinstance(click, Click) else None
        if page_turn is None:
            log.warning("a button that turns a page was left alone: it says no page")
            await ack()
            return
        prefix = next((one for one in self._pages if page_turn.word.startswith(one)), None)
        if prefix is not None:
            self._pages[prefix](click.user, page_turn.word.removeprefix(prefix)[:40], page_turn.page)
            await ack()
            return
        team, channel = click.place.team, click.place.channel
        command = SlashCommand(team, channel, click.user, page_turn.word, page_turn.rest, click.trigger_id)
        try:
            async with limit_to_ack_time():
                message = await self.run_command(self.make_context(command, client, page=page_turn.page))
        except RecordingFailed:
            message = make_note(notices.NOT_READ)
        await ack()
        await replace_clicked_message(client, click.response_url, text=message.text, blocks=message.blocks)


def match_spoken_commands(
    commands: Sequence[SpokenCommand], text: str, *, has_files: bool = False
) -> Iterator[tuple[SpokenCommand, str]]:
    """Yield the commands that match a message, in order, each with the words that its `match` returned.

    With `has_files`, only commands that allow files are tried.
    """
    for one in commands:
        if (not has_files or one.allows_files) and (about := one.match(text)) is not None:
            yield one, about


def list_help_words(commands: Sequence[SpokenCommand]) -> list[str]:
    """List the examples of spoken commands that the help shows."""
    return [word for one in commands for word in one.help_words]


def list_usage_lines(subcommands: Sequence[Subcommand]) -> list[str]:
    """List the ways to write each subcommand, a line each, in mrkdwn."""
    return ["; ".join(_render_usages(one)) for one in subcommands]


def _render_usages(subcommand: Subcommand) -> list[str]:
    return [
        f"`{SLASH_COMMAND} {subcommand.name}{' ' if usage else ''}{usage}` {does}" for usage, does in subcommand.usages
    ]


def _render_suggestion(subcommand: Subcommand, text: str) -> Outgoing:
    """Render the note that suggests a subcommand, with all that was typed, since Slack does not keep it."""
    words = (
        f"Did you mean `{SLASH_COMMAND} {subcommand.name}`? Nothing was started. "
        f"{'; '.join(_render_usages(subcommand))}."
    )
    return make_note_with_input(f"{words} {REQUEST_HINT}", text)


def _is_sentence(context: CommandContext, subcommand: Subcommand) -> bool:
    """Return True for a sentence that only begins like a subcommand: "status of the Berlin order?"."""
    words = context.rest.split()
    if not context.command.text or len(words) <= MAX_SUBCOMMAND_WORDS or subcommand.takes_text(words[0]):
        return False
    return subcommand.input_kind != "job" or not (
        parse_job_reference(context.team, context.rest)[0] or looks_like_job_id(words[0])
    )


def _render_unknown_job(context: CommandContext) -> Outgoing:
    name = clean_mrkdwn(to_plain_line(context.rest, 40))
    words = (
        f"“{name}” is no job. A job's name is J and ten letters and digits; `{SLASH_COMMAND} status` lists yours. "
        "A link to a message of its thread does too."
    )
    return make_note_with_input(f"{words} {REQUEST_HINT}", context.command.text)


async def _answer_unknown_command(ack: AsyncAck) -> None:
    await ack(text=f"I only know `{SLASH_COMMAND}`.", response_type="ephemeral")


async def _acknowledge(ack: AsyncAck) -> None:
    await ack()


async def _answer_old_button(click: Click, client: AsyncWebClient) -> ClickReply:
    """Return the note for a click that no feature handles, such as on a button of an older version."""
    del click, client
    return notices.OLD_BUTTON


def _log_unreadable(kind: str, content: PayloadContent) -> None:
    log.warning(
        "%s without %s was left alone", kind, content.reason if isinstance(content, Malformed) else "what it needs"
    )


def _explain_failed_recording(error: RecordingFailed, fault: str) -> str:
    return str(error) if isinstance(error.__cause__, PayloadTooLarge) else fault


async def _handle_error(error: Exception, body: Any) -> BoltResponse:
    return make_error_response(error, body)
